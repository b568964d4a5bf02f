// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace driver {

/// SplitMix64 (Steele, Lea and Flood 2014): the k-th draw is a mix of key + k * golden ratio. So a stream is only its key, and no state
/// passes from one (seed, stream, step) to another.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t step)
      : state_(mix(mix(mix(seed) + stream) + step)) {}

  std::uint64_t bits() { return mix(state_ += golden); }

  /// Uniform in [0, 1), 53 bits.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  /// Uniform in [0, n); the bias is below n / 2^32.
  int below(int n) { return static_cast<int>(((bits() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

  /// A bijection in which each bit of z changes about half of the bits.
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

 private:
  static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;

  std::uint64_t state_;
};

}  // namespace driver
