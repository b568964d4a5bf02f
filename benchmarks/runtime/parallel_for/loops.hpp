// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// The loops of the race; `cycles` is what an iteration costs about, for contenders that want to be told. Every body is a function that is not inlined, so that each contender runs the same code.
namespace loops {

/// `units` times some 1.2 ns of arithmetic that no compiler folds.
[[gnu::noinline]] inline void compute(std::size_t units) {
  std::uint64_t x = units;
  for (std::size_t i = 0; i < units; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x));
  }
}

inline std::vector<double> values(1'000'000, 1.0);

/// One iteration of a single store and multiplication.
struct tiny_body {
  [[gnu::noinline]] static void at(std::size_t i) { values[i] = values[i] * 1.0000001; }
};

struct tiny : tiny_body {
  static constexpr const char* name = "tiny, n = 1e6";
  static constexpr std::size_t n = 1'000'000;
  static constexpr double cycles = 4;
};

struct tiny_short : tiny_body {
  static constexpr const char* name = "tiny, n = 1024";
  static constexpr std::size_t n = 1024;
  static constexpr double cycles = 4;
};

/// The same work as `tiny` in a body that compilers vectorise: contenders that have a range form use it.
struct tiny_blocks {
  static constexpr const char* name = "tiny by ranges, n = 1e6";
  static constexpr std::size_t n = 1'000'000;
  static constexpr double cycles = 1;
  static void at(std::size_t i) { values[i] = values[i] * 1.0000001; }
  [[gnu::noinline]] static void range(std::size_t begin, std::size_t end) {
    double* const v = values.data();
    for (std::size_t i = begin; i < end; ++i) v[i] = v[i] * 1.0000001;
  }
};

/// The study's unit task, R = W = 1024, with C folded away as its compilers did.
struct unit_task {
  static constexpr const char* name = "unit task 1024, n = 4096";
  static constexpr std::size_t n = 4096;
  static constexpr double cycles = 2000;
  [[gnu::noinline]] static void at(std::size_t) {
    static thread_local std::array<unsigned char, 1024> read{}, written{};
    for (std::size_t b = 0; b < read.size(); ++b) {
      auto integer = static_cast<volatile unsigned char&>(read[b]);
      written[b] = static_cast<unsigned char>(integer + 1);
    }
  }
};

/// Sixteen real operations for each of 1024 bytes.
struct real_operations {
  static constexpr const char* name = "16 operations a byte, n = 256";
  static constexpr std::size_t n = 256;
  static constexpr double cycles = 12000;
  static void at(std::size_t) { compute(16 * 1024 / 4); }
};

struct linear {
  static constexpr const char* name = "linear imbalance, n = 2000";
  static constexpr std::size_t n = 2000;
  static constexpr double cycles = 3500;
  static void at(std::size_t i) { compute(i); }
};

struct last_sixteenth {
  static constexpr const char* name = "last sixteenth 16x, n = 4096";
  static constexpr std::size_t n = 4096;
  static constexpr double cycles = 900;
  static void at(std::size_t i) { compute(i < n - n / 16 ? 150 : 16 * 150); }
};

struct random_cost {
  static constexpr const char* name = "random cost, n = 4096";
  static constexpr std::size_t n = 4096;
  static constexpr double cycles = 1000;
  static void at(std::size_t i) {
    static const std::vector<std::size_t> cost = [] {
      std::mt19937 random(1);
      std::exponential_distribution<double> draw(1.0 / 300);
      std::vector<std::size_t> drawn(n);
      for (std::size_t& one : drawn) one = static_cast<std::size_t>(draw(random));
      return drawn;
    }();
    compute(cost[i]);
  }
};

/// 64 MiB read and written, a page an iteration.
struct streaming {
  static constexpr const char* name = "memory streaming, 64 MiB";
  static constexpr std::size_t n = 16384;
  static constexpr double cycles = 1000;
  [[gnu::noinline]] static void at(std::size_t i) {
    static std::vector<double> memory(n * 512, 1.0);
    for (double* p = &memory[i * 512]; p != &memory[i * 512] + 512; ++p) *p += 1;
  }
};

/// Sparse matrix times vector: the rows' lengths follow a power law, the longest come first.
struct power_law_matrix {
  static constexpr const char* name = "sparse rows of a power law, n = 20000";
  static constexpr std::size_t n = 20'000;
  static constexpr double cycles = 60;
  [[gnu::noinline]] static void at(std::size_t row) {
    static const power_law_matrix matrix;
    double sum = 0;
    for (std::size_t k = matrix.begin_[row]; k < matrix.begin_[row + 1]; ++k)
      sum += matrix.x_[matrix.column_[k]];
    matrix.y_[row] = sum;
  }

 private:
  power_law_matrix() : begin_(n + 1), x_(n, 1.0), y_(n) {
    std::mt19937 random(2);
    for (std::size_t row = 0; row < n; ++row)
      begin_[row + 1] =
          begin_[row] + 4 + static_cast<std::size_t>(8000 / std::pow(1.0 + static_cast<double>(row), 0.7));
    column_.resize(begin_[n]);
    for (std::uint32_t& one : column_) one = static_cast<std::uint32_t>(random() % n);
  }
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> column_;
  std::vector<double> x_;
  mutable std::vector<double> y_;
};

struct mandelbrot {
  static constexpr const char* name = "Mandelbrot rows, n = 256";
  static constexpr std::size_t n = 256;
  static constexpr double cycles = 120000;
  [[gnu::noinline]] static void at(std::size_t row) {
    static std::array<int, n> counts;
    int steps = 0;
    for (std::size_t column = 0; column < 256; ++column) {
      const double cx = static_cast<double>(column) / 85 - 2;
      const double cy = static_cast<double>(row) / 128 - 1;
      double x = 0;
      double y = 0;
      for (int k = 0; k < 100 && x * x + y * y < 4; ++k, ++steps) {
        const double next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
      }
    }
    counts[row] = steps;
  }
};

/// Edit distances of 2000 words to one, their lengths from 3 to 40.
struct edit_distances {
  static constexpr const char* name = "edit distances of words, n = 2000";
  static constexpr std::size_t n = 2000;
  static constexpr double cycles = 1500;
  [[gnu::noinline]] static void at(std::size_t i) {
    static const std::vector<std::string> words = draw();
    static std::array<int, n> distance;
    distance[i] = edits(words[i], "parallelisation");
  }

 private:
  static std::vector<std::string> draw() {
    std::mt19937 random(3);
    std::vector<std::string> words(n);
    for (std::string& one : words)
      for (auto letters = 3 + random() % 38; letters > 0; --letters)
        one += static_cast<char>('a' + random() % 26);
    return words;
  }
  static int edits(const std::string& a, std::string_view b) {
    std::array<int, 64> row{};
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
      int diagonal = row[0]++;
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const int change = diagonal + (a[i - 1] != b[j - 1]);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    return row[b.size()];
  }
};

template <class... Loop>
struct list {
  template <class Visit>
  static void for_each(Visit visit) {
    (visit.template operator()<Loop>(), ...);
  }
};

using all = list<tiny, tiny_short, tiny_blocks, unit_task, real_operations, linear, last_sixteenth,
                 random_cost, streaming, power_law_matrix, mandelbrot, edit_distances>;

}  // namespace loops
