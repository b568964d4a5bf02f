// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corescale/machine/cache_line.hpp>
#include <corescale/team/calling_thread.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/random.hpp"
#include "unit_task/loop.hpp"
#include "unit_task/task.hpp"

namespace unit_task {

/// What tasks read and write, which the study leaves open.
enum class Buffers {
  thread,     ///< each thread has its own: what a task reads is in its core's cache
  iteration,  ///< each iteration has its own: every task reads from farther away
  shared,     ///< all threads have one: its lines go from core to core
};

/// The id of a thread in another library's pool, for which corescale::thread_num() returns 0; 0 for all other threads.
inline thread_local std::size_t other_pools_thread = 0;

template <Compute how>
class TaskLoop final : public Loop {
 public:
  TaskLoop(std::uint64_t n, const Task& task, Buffers buffers, std::size_t threads)
      : n_(n), task_(task), buffers_(buffers), written_(expected()) {
    rooms_.resize(buffers == Buffers::thread ? threads : 1);
    if (buffers != Buffers::thread) make(rooms_[0], buffers == Buffers::iteration ? n : 1);
  }

  /// Bytes of all buffers together.
  static double bytes(std::uint64_t n, const Task& task, Buffers buffers, std::size_t threads) {
    const double count = buffers == Buffers::thread      ? static_cast<double>(threads)
                         : buffers == Buffers::iteration ? static_cast<double>(n)
                                                         : 1;
    return count * (static_cast<double>(task.bytes_read) + static_cast<double>(task.bytes_written));
  }

  std::uint64_t size() const override { return n_; }

  corescale::loop_cost cost() const override {
    return {static_cast<double>(task_.bytes_read), static_cast<double>(task_.bytes_written),
            static_cast<double>(task_.operations)};
  }

  void run(std::uint64_t begin, std::uint64_t end) override {
    if (buffers_ == Buffers::iteration)
      for (std::uint64_t i = begin; i < end; ++i) run_in<OwnMemory>(rooms_[0].get() + i * stride());
    else if (buffers_ == Buffers::shared)
      for (std::uint64_t i = begin; i < end; ++i) run_in<SharedMemory>(rooms_[0].get());
    else
      run_own(begin, end);
  }

  void reset() override {
    for (Room& room : rooms_)
      if (room) fill(room.get(), buffers_ == Buffers::iteration ? n_ : 1);
  }

  /// The buffers of threads do not show how often they were written. This checks that each is either whole or untouched.
  bool is_right() const override {
    bool any = false;
    for (const Room& room : rooms_) {
      const std::uint64_t count = buffers_ == Buffers::iteration ? n_ : 1;
      for (std::uint64_t b = 0; room && b < count; ++b) {
        const std::uint8_t* const found = room.get() + b * stride() + task_.bytes_read;
        const bool whole = std::equal(written_.begin(), written_.end(), found);
        if (!whole && (buffers_ != Buffers::thread || !is_untouched(found))) return false;
        any = any || whole;
      }
    }
    return any || n_ == 0;
  }

 private:
  using Room = std::unique_ptr<std::uint8_t[]>;

  /// The thread that uses a buffer allocates it, so that it is near the thread's core.
  void run_own(std::uint64_t begin, std::uint64_t end) {
    Room& own = rooms_.at(corescale::thread_num() + other_pools_thread);
    if (!own) make(own, 1);
    for (std::uint64_t i = begin; i < end; ++i) run_in<OwnMemory>(own.get());
  }

  template <class Memory>
  void run_in(std::uint8_t* room) {
    run_task<how, Memory>(task_, room, room + task_.bytes_read);
  }

  std::uint64_t stride() const { return task_.bytes_read + task_.bytes_written; }

  void make(Room& room, std::uint64_t count) {
    room = std::make_unique_for_overwrite<std::uint8_t[]>(count * stride() + 2 * corescale::cache_line);
    fill(room.get(), count);
  }

  void fill(std::uint8_t* room, std::uint64_t count) const {
    for (std::uint64_t b = 0; b < count; ++b, room += stride()) {
      for (std::uint64_t k = 0; k < task_.bytes_read; ++k) room[k] = read_byte(k);
      for (std::uint64_t k = 0; k < task_.bytes_written; ++k)
        room[task_.bytes_read + k] = static_cast<std::uint8_t>(~written_[k]);
    }
  }

  bool is_untouched(const std::uint8_t* found) const {
    return std::equal(written_.begin(), written_.end(), found, [](std::uint8_t wanted, std::uint8_t is) {
      return static_cast<std::uint8_t>(~wanted) == is;
    });
  }

  static std::uint8_t read_byte(std::uint64_t k) { return static_cast<std::uint8_t>(driver::Random::mix(k)); }

  /// What a task writes, computed without counting.
  std::vector<std::uint8_t> expected() const {
    const std::uint64_t read = task_.bytes_read, operations = task_.operations;
    std::vector<std::uint8_t> bytes(task_.bytes_written);
    for (std::uint64_t k = 0; k < bytes.size(); ++k) {
      const std::uint64_t from = std::min(k, std::max<std::uint64_t>(read, 1) - 1);
      const std::uint64_t more = how == Compute::real && read > 0 && from < operations % read ? 1 : 0;
      const std::uint64_t times = (read > 0 ? operations / read : operations) + more;
      bytes[k] = static_cast<std::uint8_t>((read > 0 ? read_byte(from) : 0) + times);
    }
    return bytes;
  }

  std::uint64_t n_;
  Task task_;
  Buffers buffers_;
  std::vector<std::uint8_t> written_;
  std::vector<Room> rooms_;
};

}  // namespace unit_task
