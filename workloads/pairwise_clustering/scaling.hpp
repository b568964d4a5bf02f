// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "driver/random.hpp"
#include "pairwise_clustering/crew.hpp"

namespace pairwise_clustering {

/// A point's place in the picture.
using Place = std::array<double, 3>;

/// Classical multidimensional scaling (Torgerson 1952) of squared distances D: the three leading eigenpairs of -1/2 J D J, where J
/// centres, by orthogonal iteration. The matrix is used as it is, only in products D X.
class ClassicalScaling {
 public:
  ClassicalScaling(const Distances& distances, const Crew& crew, std::uint64_t seed, std::size_t steps = 60)
      : distances_(distances),
        crew_(crew),
        stride_(distances.panels() * panel_rows),
        x_(width * stride_),
        y_(width * stride_),
        packed_(width * distances.rows()),
        product_(distances, crew) {
    const std::size_t first = crew.ranks.first_of(distances.size(), crew.ranks.rank());
    for (std::size_t c = 0; c < width; ++c)
      for (std::size_t i = 0; i < distances.rows(); ++i)
        x_[c * stride_ + i] = driver::Random(seed, c, first + i).unit() - 0.5;
    for (std::size_t step = 0; step < steps; ++step) {
      orthonormalise();
      apply();
    }
  }

  /// The places of this rank's rows.
  std::vector<Place> places() {
    std::vector<Place> made(distances_.rows());
    for (std::size_t c = 0; c < std::tuple_size_v<Place>; ++c) {
      const double root = std::sqrt(std::max(0.0, dot(c, y_, c)));  // x' G x; y = G x
      for (std::size_t i = 0; i < made.size(); ++i) made[i][c] = root * x_[c * stride_ + i];
    }
    return made;
  }

 private:
  /// Two more than are wanted: the last ones converge slowest.
  static constexpr std::size_t width = 5;

  double dot(std::size_t a, const std::vector<double>& other, std::size_t b) const {
    std::array<double, 1> sum{};
    for (std::size_t i = 0; i < distances_.rows(); ++i)
      sum[0] += x_[a * stride_ + i] * other[b * stride_ + i];
    crew_.ranks.sum(sum);
    return sum[0];
  }

  double mean(const std::vector<double>& of, std::size_t c) const {
    std::array<double, 1> sum{};
    for (std::size_t i = 0; i < distances_.rows(); ++i) sum[0] += of[c * stride_ + i];
    crew_.ranks.sum(sum);
    return sum[0] / static_cast<double>(distances_.size());
  }

  void centre(std::vector<double>& values, std::size_t c) const {
    const double shift = mean(values, c);
    for (std::size_t i = 0; i < distances_.rows(); ++i) values[c * stride_ + i] -= shift;
  }

  /// X = the orthonormal basis of Y's columns, or of X's own before the first product (Gram and Schmidt).
  void orthonormalise() {
    if (applied_) x_.swap(y_);
    for (std::size_t c = 0; c < width; ++c) {
      centre(x_, c);
      for (std::size_t other = 0; other < c; ++other) {
        const double along = dot(other, x_, c);
        for (std::size_t i = 0; i < distances_.rows(); ++i)
          x_[c * stride_ + i] -= along * x_[other * stride_ + i];
      }
      const double length = std::max(std::sqrt(dot(c, x_, c)), 1e-300);
      for (std::size_t i = 0; i < distances_.rows(); ++i) x_[c * stride_ + i] /= length;
    }
  }

  /// Y = -1/2 J D X; X is centred.
  void apply() {
    for (std::size_t i = 0; i < distances_.rows(); ++i)
      for (std::size_t c = 0; c < width; ++c)
        packed_[i * width + c] = static_cast<float>(x_[c * stride_ + i]);
    product_.run(packed_, width, y_, stride_);
    for (std::size_t c = 0; c < width; ++c) {
      centre(y_, c);
      for (std::size_t i = 0; i < distances_.rows(); ++i) y_[c * stride_ + i] *= -0.5;
    }
    applied_ = true;
  }

  const Distances& distances_;
  const Crew& crew_;
  std::size_t stride_;
  std::vector<double> x_, y_;
  std::vector<float> packed_;
  SharedProduct product_;
  bool applied_ = false;
};

}  // namespace pairwise_clustering
