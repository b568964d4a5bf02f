// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "corescale/memory/capacity_vector.hpp"
#include "corescale/tape/detail/cheap.hpp"
#include "corescale/tape/operations.hpp"

namespace corescale::inline v0 {

inline constexpr std::size_t any_order = static_cast<std::size_t>(-1);

/// A Taylor series x(t) = x[0] + x[1] t + x[2] t^2 + ..., truncated after an order: a number type, whose arithmetic and functions follow
/// from recurrences between coefficients (Griewank and Walther, Evaluating Derivatives, chapter 13; O(order^2) each).
///
/// With an Order it holds Order + 1 coefficients and may be the Base of a real: series<double, 1> is a value and
/// its derivative along a direction, and its reverse sweep gives Hessian-vector products.
/// With any_order each series has its own length; a shorter one counts as continued by zeros.
/// Comparisons compare x[0].
template <class Base, std::size_t Order = any_order>
class series {
  static constexpr bool is_fixed = Order != any_order;
  using storage =
      typename std::conditional_t<is_fixed, std::type_identity<std::array<Base, is_fixed ? Order + 1 : 1>>,
                                  std::type_identity<capacity_vector<Base>>>::type;

 public:
  /// 0. For a fixed Order it is one block of zeros, so that g++ writes an array of them by memset().
  constexpr series() : coefficients_{} {
    if constexpr (!is_fixed) coefficients_.push_back(Base(0.0));
  }
  // NOLINTBEGIN(google-explicit-constructor): numbers convert to it as to double
  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, Base>) constexpr series(Number value)
      : series(Base(value)) {}
  constexpr series(const Base& value) {
    if constexpr (is_fixed) {
      coefficients_.fill(Base(0.0));
      coefficients_[0] = value;
    } else {
      coefficients_.push_back(value);
    }
  }
  // NOLINTEND(google-explicit-constructor)

  /// A series of `size` coefficients, at least one; the k-th is coefficient(k, those before it). With few coefficients it is always
  /// inlined, as arithmetic on them is; otherwise never. A call would return the two coefficients of order 1 separately, and a load of both
  /// at once would wait for both stores.
  template <class Coefficient>
  requires(detail::is_cheap<series>) [[gnu::always_inline]] static series
      generate(std::size_t, Coefficient coefficient) {
    series result;
    for (std::size_t k = 0; k <= Order; ++k) result.coefficients_[k] = coefficient(k, result);
    return result;
  }
  template <class Coefficient>
  [[gnu::noinline]] static series generate(std::size_t size, Coefficient coefficient) {
    series result;
    if constexpr (!is_fixed) result.coefficients_.resize(std::max<std::size_t>(size, 1));
    for (std::size_t k = 0; k < result.size(); ++k) result.coefficients_[k] = coefficient(k, result);
    return result;
  }

  std::size_t size() const noexcept { return coefficients_.size(); }
  const Base& operator[](std::size_t k) const { return coefficients_[k]; }
  Base& operator[](std::size_t k) { return coefficients_[k]; }
  Base at(std::size_t k) const { return k < size() ? coefficients_[k] : Base(0.0); }

  [[gnu::always_inline]] friend series operator+(const series& x, const series& y) {
    return generate(longer(x, y), [&](std::size_t k, const series&) { return x.at(k) + y.at(k); });
  }
  [[gnu::always_inline]] friend series operator-(const series& x, const series& y) {
    return generate(longer(x, y), [&](std::size_t k, const series&) { return x.at(k) - y.at(k); });
  }
  [[gnu::always_inline]] friend series operator-(const series& x) {
    return generate(x.size(), [&](std::size_t k, const series&) { return -x[k]; });
  }
  [[gnu::always_inline]] friend series operator*(const series& x, const series& y) {
    return generate(
        longer(x, y), [&](std::size_t k, const series&) __attribute__((always_inline)) {
          Base sum = x.at(0) * y.at(k);
          for (std::size_t j = 1; j <= k; ++j) sum += x.at(j) * y.at(k - j);
          return sum;
        });
  }
  // A number has no coefficients behind the first, so nothing is multiplied by zeros.
  [[gnu::always_inline]] friend series operator*(const series& x, const std::same_as<Base> auto& factor) {
    return generate(x.size(), [&](std::size_t k, const series&) { return x[k] * factor; });
  }
  [[gnu::always_inline]] friend series operator*(const std::same_as<Base> auto& factor, const series& x) {
    return x * factor;
  }
  [[gnu::always_inline]] friend series operator/(const series& x, const series& y) {
    return generate(longer(x, y), [&](std::size_t k, const series& z) {
      Base rest = x.at(k);
      for (std::size_t j = 1; j <= k; ++j) rest -= y.at(j) * z[k - j];
      return rest / y[0];
    });
  }
  [[gnu::always_inline]] friend series operator/(const series& x, const std::same_as<Base> auto& divisor) {
    return generate(x.size(), [&](std::size_t k, const series&) { return x[k] / divisor; });
  }
  [[gnu::always_inline]] series& operator+=(const series& y) {
    if constexpr (!is_fixed) return *this = *this + y;
    for (std::size_t k = 0; k < size(); ++k) coefficients_[k] += y.coefficients_[k];
    return *this;
  }
  [[gnu::always_inline]] series& operator-=(const series& y) {
    if constexpr (!is_fixed) return *this = *this - y;
    for (std::size_t k = 0; k < size(); ++k) coefficients_[k] -= y.coefficients_[k];
    return *this;
  }
  series& operator*=(const series& y) { return *this = *this * y; }
  series& operator/=(const series& y) { return *this = *this / y; }

  friend bool operator<(const series& x, const series& y) { return x[0] < y[0]; }
  friend bool operator>(const series& x, const series& y) { return x[0] > y[0]; }
  friend bool operator<=(const series& x, const series& y) { return x[0] <= y[0]; }
  friend bool operator>=(const series& x, const series& y) { return x[0] >= y[0]; }
  friend bool operator==(const series& x, const series& y) { return x[0] == y[0]; }

  /// Whether all coefficients are 0. Sweeps ask for it: they must not drop an adjoint of which only the first coefficient is 0.
  friend bool is_zero(const series& x) {
    for (const Base& c : x.coefficients_)
      if (!(c == Base(0.0))) return false;
    return true;
  }

  friend std::size_t longer(const series& x, const series& y) { return std::max(x.size(), y.size()); }

 private:
  storage coefficients_;
};

}  // namespace corescale::inline v0

#include "corescale/tape/detail/series_functions.hpp"
