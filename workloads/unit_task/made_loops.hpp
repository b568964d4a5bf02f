// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "driver/random.hpp"
#include "unit_task/loop.hpp"

// Loops made for one property each.
namespace unit_task {

/// `units` times some 1.2 ns of arithmetic that no compiler folds.
[[gnu::noinline]] inline std::uint64_t compute(std::uint64_t units) {
  std::uint64_t x = ~units;  // not 0, which would leave no trace
  for (std::uint64_t i = 0; i < units; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x));
  }
  return x;
}

/// One multiplication and one store: a body that costs less than a claim.
class Tiny final : public Loop {
 public:
  explicit Tiny(std::uint64_t n) : values_(n, 1.0) {}
  std::uint64_t size() const override { return values_.size(); }
  void run(std::uint64_t begin, std::uint64_t end) override {
    for (std::uint64_t i = begin; i < end; ++i) at(i);
  }
  void reset() override { values_.assign(values_.size(), 1.0); }
  bool is_right() const override {
    return std::ranges::all_of(values_, [](double value) { return value == factor; });
  }

 private:
  static constexpr double factor = 1.0000001;
  [[gnu::noinline]] void at(std::uint64_t i) { values_[i] *= factor; }
  std::vector<double> values_;
};

/// Each iteration reads and writes a page, so that memory is the limit.
class Streaming final : public Loop {
 public:
  explicit Streaming(std::uint64_t n) : n_(n), values_(n * doubles) {}
  std::uint64_t size() const override { return n_; }
  void run(std::uint64_t begin, std::uint64_t end) override {
    for (std::uint64_t i = begin; i < end; ++i) page(&values_[i * doubles]);
  }
  void reset() override { values_.assign(values_.size(), 0.0); }
  bool is_right() const override {
    return std::ranges::all_of(values_, [](double value) { return value == 1; });
  }

 private:
  static constexpr std::uint64_t doubles = 512;
  [[gnu::noinline]] static void page(double* first) {
    for (double* p = first; p != first + doubles; ++p) *p += 1;
  }
  std::uint64_t n_;
  std::vector<double> values_;
};

/// Iteration i costs i units.
struct Linear {
  std::uint64_t operator()(std::uint64_t i) const { return compute(i); }
};

/// The last sixteenth costs sixteen times as much as the rest.
struct LastSixteenth {
  std::uint64_t n;
  std::uint64_t operator()(std::uint64_t i) const { return compute(i < n - n / 16 ? 150 : 16 * 150); }
};

/// Exponentially distributed costs with a mean of 300 units, which no policy knows.
class RandomCost {
 public:
  explicit RandomCost(std::uint64_t n) : cost_(n) {
    driver::Random draw(1, 0, 0);
    for (std::uint64_t& one : cost_) one = static_cast<std::uint64_t>(-300 * std::log1p(-draw.unit()));
  }
  std::uint64_t operator()(std::uint64_t i) const { return compute(cost_[i]); }

 private:
  std::vector<std::uint64_t> cost_;
};

}  // namespace unit_task
