// SPDX-License-Identifier: Apache-2.0
// Programs of operations, drawn at random or read from a fuzzer's bytes, that run on any number type.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace programs {

struct step {
  std::uint8_t operation;
  std::uint8_t x;  ///< its operands are this many values back from the last one, at most to the first
  std::uint8_t y;
};

using program = std::vector<step>;

/// Operations that are smooth everywhere, and keep numbers small.
inline constexpr unsigned num_smooth = 16;
/// All, with poles, branches, and values that overflow.
inline constexpr unsigned num_operations = 40;

template <class T>
T apply_smooth(unsigned operation, const T& x, const T& y) {
  using std::atan, std::cos, std::exp, std::log, std::pow, std::sin, std::sinh, std::sqrt, std::tanh;
  switch (operation) {
    case 0:
      return 0.5 * (x + y);
    case 1:
      return 0.5 * (x - y);
    case 2:
      return sin(x) * y;
    case 3:
      return x / (2.0 + sin(y));
    case 4:
      return -x;
    case 5:
      return sin(x);
    case 6:
      return cos(x);
    case 7:
      return exp(sin(x));
    case 8:
      return log(2.0 + cos(x));
    case 9:
      return sqrt(2.0 + sin(x));
    case 10:
      return tanh(x);
    case 11:
      return atan(x);
    case 12:
      return pow(2.0 + sin(x), cos(y));
    case 13:
      return 1.5 - x;
    case 14:
      return 0.25 / (1.5 + cos(x));
    default:
      return sinh(sin(x)) * 0.75;
  }
}

template <class T>
T apply_any(unsigned operation, const T& x, const T& y) {
  using namespace std;
  switch (operation) {
    case 16:
      return x + y;
    case 17:
      return x * y;
    case 18:
      return x / y;
    case 19:
      return sqrt(x);
    case 20:
      return log(x);
    case 21:
      return exp(x);
    case 22:
      return pow(x, y);
    case 23:
      return abs(x);
    case 24:
      return fmin(x, y);
    case 25:
      return fmax(x, y);
    case 26:
      return x < y ? x : y * 2.0;
    case 27:
      return x == y ? T(x + 1.0) : x;
    case 28:
      return atan2(x, y);
    case 29:
      return hypot(x, y);
    case 30:
      return tan(x);
    case 31:
      return floor(x) + y;
    case 32:
      return erf(x) - erfc(y);
    case 33:
      return lgamma(x);
    case 34:
      return tgamma(x);
    case 35:
      return fmod(x, y);
    case 36:
      return isnan(y) ? T(x) : T(copysign(x, y));  // the sign of NaN differs from one compilation to the next
    case 37:
      return asin(x) + acosh(y);
    case 38:
      return cbrt(x);
    case 39:
      return T(1e200) * x;
    default:
      return apply_smooth(operation, x, y);
  }
}

/// The last value; before the steps come the inputs.
template <class T, class Apply>
T run(const program& steps, std::span<const T> inputs, Apply apply) {
  std::vector<T> values(inputs.begin(), inputs.end());
  for (const step& one : steps) {
    const std::size_t last = values.size() - 1;
    const T x = values[last - one.x % values.size()], y = values[last - one.y % values.size()];
    values.push_back(apply(one.operation, x, y));
  }
  return values.back();
}

template <class T>
T run_smooth(const program& steps, std::span<const T> inputs) {
  return run(steps, inputs, [](unsigned operation, const T& x, const T& y) {
    return apply_smooth(operation % num_smooth, x, y);
  });
}

template <class T>
T run_any(const program& steps, std::span<const T> inputs) {
  return run(steps, inputs, [](unsigned operation, const T& x, const T& y) {
    return apply_any(operation % num_operations, x, y);
  });
}

/// So many steps at random, most of whose operands are near.
inline program draw(std::mt19937& random, std::size_t length) {
  std::uniform_int_distribution<unsigned> byte(0, 255);
  program steps;
  for (std::size_t i = 0; i < length; ++i)
    steps.push_back({static_cast<std::uint8_t>(byte(random)), static_cast<std::uint8_t>(byte(random) % 6),
                     static_cast<std::uint8_t>(byte(random) % 12)});
  return steps;
}

inline std::vector<double> draw_point(std::mt19937& random, std::size_t n) {
  std::uniform_real_distribution<double> number(-2, 2);
  std::vector<double> all(n);
  for (double& one : all) one = number(random);
  return all;
}

}  // namespace programs
