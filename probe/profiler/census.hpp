// SPDX-License-Identifier: Apache-2.0
// One word, exchanged atomically, has the number of threads in each state and the time of the last change. The thread that changes it
// books the time since the last change. So every moment is booked exactly once, without a lock.
#pragma once
#include <cstdint>

#include "profiler/format.hpp"

namespace corescale::profiler::census {

enum Count : unsigned { running, lock, messages, barriers, blocks, joins, counts };

// 44 bits of time in steps of 8 ns, then six counts of 14 bits. An offset allows a count below 0: a worker may begin a region before its
// master has announced the number of workers.
inline constexpr unsigned time_bits = 44, width = 14;
inline constexpr int offset = 1024, step = 8;
inline constexpr Word time_mask = (Word{1} << time_bits) - 1;

constexpr Word one(Count which) { return Word{1} << (time_bits + width * which); }

constexpr int count(Word word, Count which) {
  const int found = static_cast<int>((word >> (time_bits + width * which)) & ((1U << width) - 1)) - offset;
  return found > 0 ? found : 0;
}

constexpr Word zero() {
  Word word = 0;
  for (unsigned i = 0; i < counts; ++i) word += one(static_cast<Count>(i)) * offset;
  return word;
}

// Divides `length` among the shares. `idle`: threads that wait for an event, which the word does not count. While another thread computes,
// they count as absent. While no thread computes, and one is blocked or idle, all free processors count as blocked.
inline void book(Word word, std::int64_t length, int processors, int idle, std::int64_t* share) {
  int free = processors;
  const auto take = [&](Share to, int threads) {
    const int taken = threads < free ? threads : free;
    share[to] += length * taken;
    free -= taken;
  };
  const int now = count(word, running);
  take(active, now);
  if (now > processors) share[excess] += length * (now - processors);
  take(lock_wait, count(word, lock));
  take(message_wait, count(word, messages));
  take(barrier_wait, count(word, barriers));
  take(block_wait, count(word, blocks));
  take(join_wait, count(word, joins));
  if (!now && count(word, blocks) + idle > 0) take(block_wait, free);
  share[absent] += length * free;
}

// How many of `processors` have no thread.
constexpr int nobody(Word word, int processors) {
  int rest = processors;
  for (unsigned i = 0; i < joins; ++i) rest -= count(word, static_cast<Count>(i));
  return rest > 0 ? rest : 0;
}

}  // namespace corescale::profiler::census
