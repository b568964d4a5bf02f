// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace corescale::inline v0::detail {

/// What waking a team takes, in times of what the machine's constants say, as told by its own loops that had to wake it.
///
/// A loop that others take over from loses the mean of what its threads are late, half of a constant's round on two threads and
/// nearly all of it on many: that is what it tells, so that 1 is where a team begins and not what exact constants come to.
///
/// Loops that find the threads spinning tell nothing: what a timed fork takes then is mostly the timing, and the code of a long
/// loop is cold where that of a short one is not, so that fork_hot is the calibration's alone.
/// Any number of threads may read and write at once: a lost update is one loop less. Nothing is asked of memory or a lock.
class wake_times {
 public:
  /// Which team: one that is made where another one was, and as large, begins with what that one took.
  struct team {
    const void* where;
    std::size_t threads;
  };

  /// 1 until a loop has told.
  double of(team which) const noexcept {
    const std::uint64_t hash = hashed(which);
    const std::uint64_t known = slot_[hash % slots].load(std::memory_order_relaxed);
    return known >> 32 == name_of(hash) ? std::bit_cast<float>(static_cast<std::uint32_t>(known)) : 1;
  }

  /// Takes in a loop that woke it. However far off it was, it moves what is known by a small step, and three times as far down as
  /// up: so that is the lower quartile of the last hundred, of which a machine that is in use may disturb two thirds.
  void learn(team which, double times) noexcept {
    const double known = of(which);
    put(which, std::clamp(known * (times > known ? up : down), 1 / most_times, most_times));
  }

  /// Takes in a loop that was left alone by what is known, and that the constants alone would have divided: where no loop wakes
  /// the team none tells, and what a load taught would stay. A small step, so that of what comes to be tried again for nothing
  /// one call in six is lost at most.
  void doubt(team which) noexcept {
    if (const double known = of(which); known > 1) put(which, std::max(1.0, known * doubted));
  }

  /// Beyond this factor it is another program that was timed.
  static constexpr double most_times = 4;

 private:
  static constexpr double step = 0.1;
  static constexpr double quartile = 0.25;
  static constexpr double up = 1 + step * quartile;
  static constexpr double down = 1 - step * (1 - quartile);
  static constexpr double doubted = 0.995;

  // Two teams of one slot take it from each other, and both begin anew.
  static constexpr std::size_t slots = 64;

  void put(team which, double times) noexcept {
    const std::uint64_t hash = hashed(which);
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(times));
    slot_[hash % slots].store(name_of(hash) << 32 | bits, std::memory_order_relaxed);
  }

  static std::uint64_t hashed(team which) noexcept {
    const auto where = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(which.where));
    const std::uint64_t mixed = (where ^ which.threads << 48) * 0x9e3779b97f4a7c15U;
    return mixed ^ mixed >> 32;
  }

  // Of 32 bits, and never that of a slot that nobody has written.
  static std::uint64_t name_of(std::uint64_t hash) noexcept { return hash >> 32 | 1; }

  // A team's name above, a float below: one word, so that nobody reads one team's name beside another's factor.
  std::array<std::atomic<std::uint64_t>, slots> slot_{};
};

}  // namespace corescale::detail
