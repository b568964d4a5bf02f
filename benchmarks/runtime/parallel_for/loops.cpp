// SPDX-License-Identifier: Apache-2.0
#include "loops.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "unit_task/made_loops.hpp"
#include "unit_task/real_loops.hpp"

// noipa: a loop calls its body here as the contenders do, which are compiled apart from it.
namespace loops {
namespace {

std::vector<double> values(tiny::n, 1.0);

/// What a thread reads and writes: apart from each other in their page, or a core takes one for the other now and then (4 KiB aliasing),
/// which doubles an iteration's time.
struct alignas(4096) buffers {
  std::array<unsigned char, 1024> read{};
  std::array<unsigned char, 64> between{};
  std::array<unsigned char, 1024> written{};
};
thread_local buffers of_thread;

/// A loop of the workload; what an iteration gives is kept. Made before main(), so that no iteration asks whether it is made.
template <class Body>
class kept {
 public:
  kept(Body body, std::size_t n) : body_(std::move(body)), result_(n) {}
  void at(std::size_t i) { result_[i] = body_(i); }

 private:
  Body body_;
  std::vector<decltype(std::declval<const Body&>()(0))> result_;
};

kept linear_loop(unit_task::Linear{}, linear::n);
kept last_sixteenth_loop(unit_task::LastSixteenth{last_sixteenth::n}, last_sixteenth::n);
kept random_cost_loop(unit_task::RandomCost(random_cost::n), random_cost::n);
kept power_law_loop(unit_task::SparseRow(power_law_matrix::n), power_law_matrix::n);
kept mandelbrot_loop(unit_task::MandelbrotRow{mandelbrot::n}, mandelbrot::n);
kept edit_distances_loop(unit_task::EditDistance(edit_distances::n), edit_distances::n);
unit_task::Streaming streaming_loop(streaming::n);

}  // namespace

[[gnu::noipa]] void tiny::at(std::size_t i) { values[i] = values[i] * 1.0000001; }

[[gnu::noipa, gnu::optimize("tree-vectorize")]] void tiny_blocks::range(std::size_t begin, std::size_t end) {
  double* const v = values.data();
  for (std::size_t i = begin; i < end; ++i) v[i] = v[i] * 1.0000001;
}

[[gnu::noipa]] void published_task::at(std::size_t) {
  buffers& own = of_thread;
  for (std::size_t b = 0; b < own.read.size(); ++b) {
    auto integer = static_cast<volatile unsigned char&>(own.read[b]);
    own.written[b] = static_cast<unsigned char>(integer + 1);
  }
}

[[gnu::noipa]] void real_operations::at(std::size_t) { unit_task::compute(16 * 1024 / 4); }

[[gnu::noipa]] void linear::at(std::size_t i) { linear_loop.at(i); }
[[gnu::noipa]] void last_sixteenth::at(std::size_t i) { last_sixteenth_loop.at(i); }
[[gnu::noipa]] void random_cost::at(std::size_t i) { random_cost_loop.at(i); }
[[gnu::noipa]] void power_law_matrix::at(std::size_t i) { power_law_loop.at(i); }
[[gnu::noipa]] void mandelbrot::at(std::size_t i) { mandelbrot_loop.at(i); }
[[gnu::noipa]] void edit_distances::at(std::size_t i) { edit_distances_loop.at(i); }
[[gnu::noipa]] void streaming::at(std::size_t i) { streaming_loop.run(i, i + 1); }

namespace {

/// A row of the Mandelbrot set, 64 steps of every point, in vectors.
template <class Vector, std::size_t doubles>
[[gnu::always_inline]] inline void vector_row(std::size_t i) {
  constexpr std::size_t columns = 256;
  alignas(64) static thread_local double row[columns];
  const Vector imaginary = Vector{} + (static_cast<double>(i) / 128 - 1);
  for (std::size_t j = 0; j < columns; j += doubles) {
    Vector real{}, x{}, y{};
    for (std::size_t k = 0; k < doubles; ++k) real[k] = static_cast<double>(j + k) / 1024 - 0.5;
    for (int step = 0; step < 64; ++step) {
      const Vector next = x * x - y * y + real;
      y = 2 * x * y + imaginary;
      x = next < 4.0 ? next : Vector{} + 4.0;
      y = y < 4.0 ? y : Vector{} + 4.0;
    }
    reinterpret_cast<Vector&>(row[j]) = x + y;
  }
  asm volatile("" ::"r"(row) : "memory");
}

using two = double __attribute__((vector_size(16)));
using four = double __attribute__((vector_size(32)));
using eight = double __attribute__((vector_size(64)));

}  // namespace

template <>
[[gnu::noipa]] void vector_rows<2>::at(std::size_t i) {
  vector_row<two, 2>(i);
}
template <>
[[gnu::noipa, gnu::target("avx2")]] void vector_rows<4>::at(std::size_t i) {
  vector_row<four, 4>(i);
}
template <>
[[gnu::noipa, gnu::target("avx512f")]] void vector_rows<8>::at(std::size_t i) {
  vector_row<eight, 8>(i);
}

template <>
bool vector_rows<2>::can_run() {
  return true;
}
template <>
bool vector_rows<4>::can_run() {
  return __builtin_cpu_supports("avx2");
}
template <>
bool vector_rows<8>::can_run() {
  return __builtin_cpu_supports("avx512f");
}

template <class Loop>
void after_a_sleep<Loop>::before() {
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
}
template struct after_a_sleep<vector_rows<2>>;
template struct after_a_sleep<vector_rows<4>>;
template struct after_a_sleep<vector_rows<8>>;

namespace {

using region = void (*)(void (*)(void*), void*, unsigned, unsigned);

// Both libraries have this function.
region region_of(openmp which) {
  void* const library = dlopen(which == openmp::libgomp ? "libgomp.so.1" : "libomp.so.5", RTLD_NOW);
  return library ? reinterpret_cast<region>(dlsym(library, "GOMP_parallel")) : nullptr;
}

}  // namespace

template <class Loop, openmp Library>
bool after_openmp<Loop, Library>::can_run() {
  return region_of(Library) != nullptr;
}
template <class Loop, openmp Library>
void after_openmp<Loop, Library>::before() {
  static const region run = region_of(Library);
  run([](void*) {}, nullptr, 0, 0);
}
template struct after_openmp<real_operations, openmp::libgomp>;
template struct after_openmp<mandelbrot, openmp::libgomp>;
template struct after_openmp<real_operations, openmp::libomp>;
template struct after_openmp<mandelbrot, openmp::libomp>;

namespace {

std::array<std::atomic<int>, 256> bins;
alignas(64) std::array<std::atomic<long>, 8> line;
std::atomic<std::size_t> threads{0};
std::mutex sum_is_used;
double sum = 0;

}  // namespace

[[gnu::noipa]] void shared_histogram::at(std::size_t i) {
  std::uint64_t hash = i * 0x9e3779b97f4a7c15U;
  hash ^= hash >> 29;
  bins[hash % bins.size()].fetch_add(1, std::memory_order_relaxed);
}

[[gnu::noipa]] void shared_line::at(std::size_t) {
  thread_local const std::size_t own = threads++ % line.size();
  line[own].store(line[own].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

[[gnu::noipa]] void shared_lock::at(std::size_t i) {
  double value = static_cast<double>(i);
  for (int step = 0; step < 5; ++step) value = value * 0.999 + 1;
  const std::lock_guard used(sum_is_used);
  sum += value;
}

[[gnu::noipa]] void nothing::at(std::size_t) { asm volatile(""); }

template <class Loop>
void serial() {
  if constexpr (requires { Loop::range(0, 0); }) {
    Loop::range(0, Loop::n);
  } else {
    for (std::size_t i = 0; i < Loop::n; ++i) Loop::at(i);
  }
}

template void serial<tiny>();
template void serial<tiny_short>();
template void serial<tiny_blocks>();
template void serial<published_task>();
template void serial<real_operations>();
template void serial<linear>();
template void serial<last_sixteenth>();
template void serial<random_cost>();
template void serial<streaming>();
template void serial<power_law_matrix>();
template void serial<mandelbrot>();
template void serial<edit_distances>();
template void serial<nothing>();
template void serial<shared_histogram>();
template void serial<shared_line>();
template void serial<shared_lock>();
template void serial<vector_rows<2>>();
template void serial<vector_rows<4>>();
template void serial<vector_rows<8>>();
template void serial<after_a_sleep<vector_rows<2>>>();
template void serial<after_a_sleep<vector_rows<4>>>();
template void serial<after_a_sleep<vector_rows<8>>>();
template void serial<after_openmp<real_operations, openmp::libgomp>>();
template void serial<after_openmp<mandelbrot, openmp::libgomp>>();
template void serial<after_openmp<real_operations, openmp::libomp>>();
template void serial<after_openmp<mandelbrot, openmp::libomp>>();

}  // namespace loops
