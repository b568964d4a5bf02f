// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corescale/parallel_for/loop_options.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace unit_task {

/// A loop whose iterations any threads may run in any order.
class Loop {
 public:
  virtual ~Loop() = default;

  virtual std::uint64_t size() const = 0;

  /// What an iteration costs, as far as it is known beforehand.
  virtual corescale::loop_cost cost() const { return {}; }

  /// Runs iterations begin .. end - 1 on the calling thread.
  virtual void run(std::uint64_t begin, std::uint64_t end) = 0;

  /// Forgets all runs.
  virtual void reset() = 0;

  /// Whether each iteration ran exactly once since the last reset.
  virtual bool is_right() const = 0;
};

/// A loop whose iteration i adds body(i) to the i-th element of a result. So the result shows iterations that were left out or ran twice.
template <class Body>
class ResultLoop final : public Loop {
 public:
  ResultLoop(std::uint64_t n, Body body) : body_(std::move(body)), result_(n) {}

  std::uint64_t size() const override { return result_.size(); }

  void run(std::uint64_t begin, std::uint64_t end) override {
    for (std::uint64_t i = begin; i < end; ++i) result_[i] += body_(i);
  }

  void reset() override { result_.assign(result_.size(), {}); }

  bool is_right() const override {
    for (std::uint64_t i = 0; i < result_.size(); ++i)
      if (result_[i] != body_(i)) return false;
    return true;
  }

 private:
  Body body_;
  std::vector<decltype(std::declval<const Body&>()(0))> result_;
};

}  // namespace unit_task
