// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace corescale::inline v0::detail {

/// What the blocks of a loop took, in ticks. An outlier counts as `most_times` the mean so far: a thread that was
/// preempted in a block says nothing about the loop.
class loop_times {
 public:
  void add(std::uint64_t iterations, std::uint64_t ticks) noexcept {
    const auto i = static_cast<double>(iterations);
    auto t = static_cast<double>(ticks);
    if (iterations_ > 0) t = std::min(t, most_times * i * mean());
    iterations_ += i;
    ticks_ += t;
    squares_ += t * t / i;
  }

  void add(const loop_times& other) noexcept {
    iterations_ += other.iterations_;
    ticks_ += other.ticks_;
    squares_ += other.squares_;
  }

  double iterations() const noexcept { return iterations_; }

  /// Of an iteration; 0 when there was none.
  double mean() const noexcept { return iterations_ > 0 ? ticks_ / iterations_ : 0; }

  /// The coefficient of variation of blocks' times per iteration, each weighted by its length.
  double spread() const noexcept {
    if (!(iterations_ > 0) || !(ticks_ > 0)) return 0;
    return std::sqrt(std::max(0.0, squares_ * iterations_ / (ticks_ * ticks_) - 1));
  }

 private:
  static constexpr double most_times = 32;
  double iterations_ = 0;
  double ticks_ = 0;
  double squares_ = 0;
};

}  // namespace corescale::detail
