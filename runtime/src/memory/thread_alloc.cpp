// SPDX-License-Identifier: Apache-2.0
// The functions that take a thread number, and those about all threads.
#include "corescale/memory/thread_alloc.hpp"

#include <mutex>

#include "registry.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0 {
namespace {

thread_rules rules;

}  // namespace

void set_thread_rules(thread_rules replacement) noexcept { rules = replacement; }

namespace detail {
namespace {

/// Reads the owner's counts first. A batch leaves the other thread's count before it enters one of these, so
/// none is counted twice.
std::size_t bytes_on_their_way(registry& all, const pool& home) {
  std::size_t bytes = home.inbox_bytes.load(std::memory_order_acquire);
  all.for_each([&](const pool& p) { bytes += p.bytes_on_their_way_to(&home); });
  return bytes;
}

std::size_t bytes_in_use(registry& all, const pool& p) {
  const std::size_t gone = p.gone_bytes.load(std::memory_order_acquire);
  return p.inuse() - gone - bytes_on_their_way(all, p);
}

/// Whether this thread may touch the memory of thread `touched`. Only types with checks ask. If not, calls the handler of misuse and then
/// returns false.
bool has_right_to(std::size_t touched, bool checked) {
  if (!checked || !rules.in_parallel || !rules.in_parallel()) return true;
  const std::size_t caller = pool::attached().number;
  if (touched == caller) return true;
  report_misuse({misuse::wrong_thread, nullptr, 0, touched, caller});
  return false;
}

}  // namespace

thread_rules current_thread_rules() noexcept { return rules; }

void threads::hold_memory(bool hold) noexcept { pools.set_hold(hold); }

bool threads::bind(std::size_t number) {
  pool*& mine = own_pool;
  if (mine && mine->number == number) return true;
  pool* const bound = pools.attach(number);
  if (!bound) return false;
  if (mine) pools.detach(*mine);
  mine = bound;
  if (!address_sanitizer_watches()) current_pool = mine;
  return true;
}

std::size_t threads::inuse(std::size_t thread, bool checked) {
  if (!has_right_to(thread, checked)) return 0;
  registry& all = pools;
  const std::lock_guard lock(all.mutex);
  pool* const found = all.find(thread);
  return found ? bytes_in_use(all, *found) : 0;
}

std::size_t threads::available(std::size_t thread, bool checked) {
  if (!has_right_to(thread, checked)) return 0;
  registry& all = pools;
  const std::lock_guard lock(all.mutex);
  pool* const found = all.find(thread);
  return found ? found->available() + bytes_on_their_way(all, *found) : 0;
}

void threads::free_available(std::size_t thread, bool checked) {
  if (!has_right_to(thread, checked)) return;
  registry& all = pools;
  const std::lock_guard lock(all.mutex);
  pool* const found = all.find(thread);
  if (!found) return;
  if (found != own_pool)  // then the mode is sequential, and no thread fills a batch
    all.for_each([](pool& p) { p.flush_all(); });
  found->drain();
  found->release_available();
}

bool threads::free_all(bool checked) {
  if (!has_right_to(misuse_report::no_thread, checked)) return false;
  registry& all = pools;
  const std::lock_guard lock(all.mutex);
  all.for_each([](pool& p) { p.flush_all(); });
  bool nothing_in_use = true;
  all.for_each([&](pool& p) {
    p.drain();
    p.release_available();
    nothing_in_use &= bytes_in_use(all, p) == 0;
  });
  all.extract_if([&](const pool& p) { return !p.live && bytes_in_use(all, p) == 0; },
                 [&](pool& p) { all.destroy(p); });
  return nothing_in_use;
}

std::vector<const void*> threads::checked_in_use(std::size_t thread) {
  registry& all = pools;
  std::vector<const void*> memory;
  for (std::size_t blocks = 0;; memory.reserve(blocks)) {
    const std::lock_guard lock(all.mutex);
    pool* const found = all.find(thread);
    blocks = found ? found->account.list(memory) : 0;
    if (blocks == memory.size()) return memory;
  }
}

}  // namespace detail
}  // namespace corescale
