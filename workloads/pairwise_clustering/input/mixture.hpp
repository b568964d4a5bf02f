// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "driver/random.hpp"

namespace pairwise_clustering {

/// Points of a Gaussian mixture of unit variance, and their squared Euclidean distances. Point i is the same however many there are:
/// the first points of a larger sample are the smaller one.
class Mixture {
 public:
  struct Shape {
    std::size_t components = 5, dimensions = 3;
    double separation = 10;  ///< standard deviation of the components' centres, in those of a component
  };

  Mixture(std::size_t points, const Shape& shape, std::uint64_t seed) : shape_(shape) {
    for (std::size_t i = 0; i < points; ++i)
      for (std::size_t d = 0; d < shape.dimensions; ++d)
        coordinates_.push_back(shape.separation * centre(seed, label(i), d) + normal(seed, 1, i, d));
  }

  std::size_t size() const { return coordinates_.size() / shape_.dimensions; }
  std::size_t label(std::size_t i) const { return i % shape_.components; }
  const double* point(std::size_t i) const { return coordinates_.data() + i * shape_.dimensions; }

  double distance(std::size_t i, std::size_t j) const {
    double sum = 0;
    for (std::size_t d = 0; d < shape_.dimensions; ++d) sum += square(point(i)[d] - point(j)[d]);
    return sum;
  }

  /// No distance exceeds it: twice the reach from the centre of all, squared.
  double largest() const {
    std::vector<double> middle(shape_.dimensions);
    for (std::size_t i = 0; i < size(); ++i)
      for (std::size_t d = 0; d < middle.size(); ++d) middle[d] += point(i)[d] / static_cast<double>(size());
    double reach = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      double sum = 0;
      for (std::size_t d = 0; d < middle.size(); ++d) sum += square(point(i)[d] - middle[d]);
      reach = std::max(reach, sum);
    }
    return 4 * reach * (1 + 1e-9);
  }

 private:
  static double square(double x) { return x * x; }
  double centre(std::uint64_t seed, std::size_t component, std::size_t d) const {
    return shape_.components == 1 ? 0 : normal(seed, 0, component, d);
  }

  /// Box and Muller (1958).
  static double normal(std::uint64_t seed, std::uint64_t stream, std::size_t i, std::size_t d) {
    driver::Random random(seed, stream, i * 4096 + d);
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    return radius * std::cos(2 * std::numbers::pi * random.unit());
  }

  Shape shape_;
  std::vector<double> coordinates_;
};

}  // namespace pairwise_clustering
