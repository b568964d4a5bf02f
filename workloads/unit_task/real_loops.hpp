// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/random.hpp"

// Loops from real programs.
namespace unit_task {

/// A row of a sparse matrix times a vector. The matrix is a graph's whose degrees follow a power law, sorted as graphs often are:
/// the first rows are the longest.
class SparseRow {
 public:
  explicit SparseRow(std::uint64_t n) : begin_(n + 1), x_(n) {
    driver::Random draw(2, 0, 0);
    for (std::uint64_t row = 0; row < n; ++row) begin_[row + 1] = begin_[row] + degree(row);
    column_.resize(begin_[n]);
    for (std::uint32_t& one : column_) one = static_cast<std::uint32_t>(draw.bits() % n);
    for (double& one : x_) one = draw.unit();
  }

  double operator()(std::uint64_t row) const {
    double sum = 0;
    for (std::uint64_t k = begin_[row]; k < begin_[row + 1]; ++k) sum += x_[column_[k]];
    return sum;
  }

 private:
  static std::uint64_t degree(std::uint64_t row) {
    return 4 + static_cast<std::uint64_t>(8000 / std::pow(1.0 + static_cast<double>(row), 0.7));
  }
  std::vector<std::uint64_t> begin_;
  std::vector<std::uint32_t> column_;
  std::vector<double> x_;
};

/// A row of 256 points of the Mandelbrot set: the steps in which they escape, at most 100 each.
struct MandelbrotRow {
  std::uint64_t n;

  std::uint64_t operator()(std::uint64_t row) const {
    const double cy = 2 * static_cast<double>(row) / static_cast<double>(n) - 1;
    std::uint64_t steps = 0;
    for (int column = 0; column < 256; ++column) steps += steps_of(column / 85.0 - 2, cy);
    return steps;
  }

 private:
  static std::uint64_t steps_of(double cx, double cy) {
    double x = 0, y = 0;
    std::uint64_t k = 0;
    for (; k < 100 && x * x + y * y < 4; ++k) {
      const double next = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = next;
    }
    return k;
  }
};

/// Insertions, deletions and changes that turn the one word into the other (Wagner and Fischer 1974). The second has at most 63
/// letters.
inline std::uint64_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::uint64_t, 64> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::uint64_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::uint64_t change = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Edit distances from one word to random words of 3 to 40 letters.
class EditDistance {
 public:
  explicit EditDistance(std::uint64_t n) : words_(n) {
    driver::Random draw(3, 0, 0);
    for (std::string& word : words_)
      for (int letters = 3 + draw.below(38); letters > 0; --letters)
        word += static_cast<char>('a' + draw.below(26));
  }
  std::uint64_t operator()(std::uint64_t i) const { return edit_distance(words_[i], "parallelisation"); }

 private:
  std::vector<std::string> words_;
};

}  // namespace unit_task
