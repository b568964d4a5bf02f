// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "unit_task/made_loops.hpp"
#include "unit_task/real_loops.hpp"
#include "unit_task/task_loop.hpp"

namespace unit_task {

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

inline double operation_ns(const Shape& shape) {
  return shape.compute == Compute::real ? ns_per_operation<Compute::real>()
                                        : ns_per_operation<Compute::published>();
}

/// What an iteration needs, approximately: its mean time, and its share of the bytes.
struct Needs {
  double ns;
  double bytes;
};

inline Needs task_needs(const Shape& shape) {
  constexpr double least_ns = 0.3;  // nanoseconds of an iteration that does nothing
  const double bytes = TaskLoop<Compute::real>::bytes(shape.n, shape.task, shape.buffers, shape.threads);
  return {least_ns + static_cast<double>(shape.task.operations) * operation_ns(shape),
          bytes / static_cast<double>(shape.n)};
}

inline Needs sparse_row_needs(const Shape& shape) {
  const double entries = 4 + 8000 / 0.3 * std::pow(static_cast<double>(shape.n), -0.7);
  return {0.5 * entries, 32 + 4 * entries};
}

struct LoopRow {
  std::string_view name;
  std::uint64_t n;  ///< the default; that of unit-task fits the knees of the published tables
  std::unique_ptr<Loop> (*make)(const Shape& shape);
  Needs (*needs)(const Shape& shape);
};

template <class Made>
std::unique_ptr<Loop> made(const Shape& shape) {
  return std::make_unique<Made>(shape.n);
}

inline constexpr std::array loops{
    LoopRow{"unit-task", 4096, task_loop, task_needs},
    LoopRow{"tiny", 1'000'000, made<Tiny>,
            [](const Shape&) {
              return Needs{0.3, 8};
            }},
    LoopRow{"linear", 2000, [](const Shape& s) { return result_loop(s.n, Linear{}); },
            [](const Shape& s) {
              return Needs{0.6 * static_cast<double>(s.n), 8};
            }},
    LoopRow{"last-sixteenth", 4096, [](const Shape& s) { return result_loop(s.n, LastSixteenth{s.n}); },
            [](const Shape&) {
              return Needs{350, 8};
            }},
    LoopRow{"random", 4096, [](const Shape& s) { return result_loop(s.n, RandomCost(s.n)); },
            [](const Shape&) {
              return Needs{350, 16};
            }},
    LoopRow{"streaming", 16'384, made<Streaming>,
            [](const Shape&) {
              return Needs{100, 4096};
            }},
    LoopRow{"sparse-rows", 20'000, [](const Shape& s) { return result_loop(s.n, SparseRow(s.n)); },
            sparse_row_needs},
    LoopRow{"mandelbrot", 256, [](const Shape& s) { return result_loop(s.n, MandelbrotRow{s.n}); },
            [](const Shape&) {
              return Needs{10'000, 8};
            }},
    LoopRow{"edit-distances", 2000, [](const Shape& s) { return result_loop(s.n, EditDistance(s.n)); },
            [](const Shape&) {
              return Needs{700, 80};
            }},
};

}  // namespace unit_task
