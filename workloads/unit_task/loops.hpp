// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "unit_task/made_loops.hpp"
#include "unit_task/real_loops.hpp"
#include "unit_task/task_loop.hpp"

namespace unit_task {

/// What a loop is made from.
struct Shape {
  std::uint64_t n = 4096;
  Task task{};
  Compute compute = Compute::real;
  Buffers buffers = Buffers::thread;
  std::size_t threads = 1;
};

template <class Body>
std::unique_ptr<Loop> result_loop(std::uint64_t n, Body body) {
  return std::make_unique<ResultLoop<Body>>(n, std::move(body));
}

inline std::unique_ptr<Loop> task_loop(const Shape& shape) {
  const auto& [n, task, compute, buffers, threads] = shape;
  if (compute == Compute::real) return std::make_unique<TaskLoop<Compute::real>>(n, task, buffers, threads);
  return std::make_unique<TaskLoop<Compute::published>>(n, task, buffers, threads);
}

/// One row per loop.
struct LoopRow {
  std::string_view name;
  std::uint64_t n;  ///< where none is asked for; of unit-task, it fits the knees of the published tables
  std::unique_ptr<Loop> (*make)(const Shape& shape);
};

inline constexpr std::array loops{
    LoopRow{"unit-task", 4096, task_loop},
    LoopRow{"tiny", 1'000'000,
            [](const Shape& s) -> std::unique_ptr<Loop> { return std::make_unique<Tiny>(s.n); }},
    LoopRow{"linear", 2000, [](const Shape& s) { return result_loop(s.n, Linear{}); }},
    LoopRow{"last-sixteenth", 4096, [](const Shape& s) { return result_loop(s.n, LastSixteenth{s.n}); }},
    LoopRow{"random", 4096, [](const Shape& s) { return result_loop(s.n, RandomCost(s.n)); }},
    LoopRow{"streaming", 16'384,
            [](const Shape& s) -> std::unique_ptr<Loop> { return std::make_unique<Streaming>(s.n); }},
    LoopRow{"sparse-rows", 20'000, [](const Shape& s) { return result_loop(s.n, SparseRow(s.n)); }},
    LoopRow{"mandelbrot", 256, [](const Shape& s) { return result_loop(s.n, MandelbrotRow{s.n}); }},
    LoopRow{"edit-distances", 2000, [](const Shape& s) { return result_loop(s.n, EditDistance(s.n)); }},
};

}  // namespace unit_task
