// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// The loops of the race; `cycles` is what an iteration costs about, for contenders that want to be told.
// Their bodies, and the serial loop that everything is measured by, are compiled once (loops.cpp) and linked into every
// contender, so that each runs the same machine code at the same alignment.
namespace loops {

/// All iterations of a loop, one after the other.
template <class Loop>
void serial();

struct tiny {
  static constexpr const char* name = "tiny, n = 1e6";
  static constexpr std::size_t n = 1'000'000;
  static constexpr double cycles = 4;
  static void at(std::size_t i);
};

struct tiny_short {
  static constexpr const char* name = "tiny, n = 1024";
  static constexpr std::size_t n = 1024;
  static constexpr double cycles = 4;
  static void at(std::size_t i) { tiny::at(i); }
};

/// The same work as `tiny` in a body that is vectorised: contenders call it by their range form, or block by block (ranges.hpp).
struct tiny_blocks {
  static constexpr const char* name = "tiny by ranges, n = 1e6";
  static constexpr std::size_t n = 1'000'000;
  static constexpr double cycles = 1;
  static void at(std::size_t i) { tiny::at(i); }
  static void range(std::size_t begin, std::size_t end);
};

/// The study's unit task, R = W = 1024, with C folded away as its compilers did.
struct published_task {
  static constexpr const char* name = "unit task 1024, n = 4096";
  static constexpr std::size_t n = 4096;
  static constexpr double cycles = 2000;
  static void at(std::size_t);
};

/// Sixteen real operations for each of 1024 bytes.
struct real_operations {
  static constexpr const char* name = "16 operations a byte, n = 256";
  static constexpr std::size_t n = 256;
  static constexpr double cycles = 12000;
  static void at(std::size_t);
};

// Those of the workload unit_task.

struct linear {
  static constexpr const char* name = "linear imbalance, n = 2000";
  static constexpr std::size_t n = 2000;
  static constexpr double cycles = 3500;
  static void at(std::size_t i);
};

struct last_sixteenth {
  static constexpr const char* name = "last sixteenth 16x, n = 4096";
  static constexpr std::size_t n = 4096;
  static constexpr double cycles = 900;
  static void at(std::size_t i);
};

struct random_cost {
  static constexpr const char* name = "random cost, n = 4096";
  static constexpr std::size_t n = 4096;
  static constexpr double cycles = 1000;
  static void at(std::size_t i);
};

struct streaming {
  static constexpr const char* name = "memory streaming, 64 MiB";
  static constexpr std::size_t n = 16384;
  static constexpr double cycles = 1000;
  static void at(std::size_t i);
};

struct power_law_matrix {
  static constexpr const char* name = "sparse rows of a power law, n = 20000";
  static constexpr std::size_t n = 20'000;
  static constexpr double cycles = 60;
  static void at(std::size_t i);
};

struct mandelbrot {
  static constexpr const char* name = "Mandelbrot rows, n = 256";
  static constexpr std::size_t n = 256;
  static constexpr double cycles = 120000;
  static void at(std::size_t i);
};

struct edit_distances {
  static constexpr const char* name = "edit distances of words, n = 2000";
  static constexpr std::size_t n = 2000;
  static constexpr double cycles = 1500;
  static void at(std::size_t i);
};

/// Rows of arithmetic in registers of two, four or eight doubles (SSE, AVX2, AVX-512). How fast SSE runs may depend on what the thread's
/// wider registers had before.
template <std::size_t doubles>
struct vector_rows {
  static constexpr const char* name = doubles == 2   ? "vectors, SSE"
                                      : doubles == 4 ? "vectors, AVX2"
                                                     : "vectors, AVX-512";
  static constexpr std::size_t n = 256;
  static constexpr double cycles = 30000;
  static bool can_run();
  static void at(std::size_t i);
};

/// The same behind a sleep of the caller, in which the workers fall asleep too.
template <class Loop>
struct after_a_sleep : Loop {
  static constexpr const char* state = ", after a sleep";
  static void before();
};

enum class openmp { libgomp, libomp };

/// The same behind a parallel region of an OpenMP library, whose threads go on spinning on the other cores: those of libgomp for as long as
/// GOMP_SPINCOUNT says, those of libomp for KMP_BLOCKTIME.
template <class Loop, openmp Library>
struct after_openmp : Loop {
  static constexpr const char* state = Library == openmp::libgomp ? ", after OpenMP" : ", after libomp";
  static bool can_run();
  static void before();
};

// Threads take each other's cache lines, or wait for each other, so the serial loop may be the fastest.

/// 256 counters, to which all threads add.
struct shared_histogram {
  static constexpr const char* name = "shared histogram, n = 50000";
  static constexpr std::size_t n = 50'000;
  static constexpr double cycles = 15;
  static void at(std::size_t i);
};

/// A counter for each thread, all in one cache line.
struct shared_line {
  static constexpr const char* name = "shared cache line, n = 50000";
  static constexpr std::size_t n = 50'000;
  static constexpr double cycles = 6;
  static void at(std::size_t);
};

/// A std::mutex around a short sum.
struct shared_lock {
  static constexpr const char* name = "shared lock, n = 20000";
  static constexpr std::size_t n = 20'000;
  static constexpr double cycles = 40;
  static void at(std::size_t i);
};

/// What a call costs by itself.
struct nothing {
  static constexpr const char* name = "empty, n = 2";
  static constexpr std::size_t n = 2;
  static constexpr double cycles = 1;
  static void at(std::size_t);
};

template <class... Loop>
struct list {
  template <class Visit>
  static void for_each(Visit visit) {
    (visit.template operator()<Loop>(), ...);
  }
};

using all = list<tiny, tiny_short, tiny_blocks, published_task, real_operations, linear, last_sixteenth,
                 random_cost, streaming, power_law_matrix, mandelbrot, edit_distances>;

/// Their time depends on what the threads did before.
using states = list<vector_rows<2>, vector_rows<4>, vector_rows<8>, after_a_sleep<vector_rows<2>>,
                    after_a_sleep<vector_rows<4>>, after_a_sleep<vector_rows<8>>,
                    after_openmp<real_operations, openmp::libgomp>, after_openmp<mandelbrot, openmp::libgomp>,
                    after_openmp<real_operations, openmp::libomp>, after_openmp<mandelbrot, openmp::libomp>>;

using contended = list<shared_histogram, shared_line, shared_lock>;

}  // namespace loops
