// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <ostream>
#include <type_traits>

#include "corescale/tape/detail/apply.hpp"

namespace corescale::inline v0 {

/// A number that records what is done with it: a value of Base, and, for a variable, its place in the
/// recording that its thread has open for this Base (gradient_tape.hpp). A number made of a Base or a
/// built-in number is a parameter: operations on nothing but parameters are computed and not recorded.
///
/// Base         double, float, series (series.hpp), an interval (interval.hpp), or a real again: derivatives
///              of derivatives.
/// Operators    + - * / and their assignments, comparisons, and the functions of <cmath> below, found by
///              argument-dependent lookup: write `using std::sin; sin(x)` in generic code.
/// Comparisons  give bool and are recorded, because the program may branch on them: a recorded function that is
///              evaluated where one has another outcome says so (branch_change). select_* does not branch.
/// Throws       tape_misuse for a variable whose recording this thread does not have open;
///              std::length_error beyond 2^29 - 1 operations; what memory throws. The recording stays usable.
/// Threads      A variable belongs to one thread; a parameter may be read by any.
template <class Base>
class real {
  using record = detail::operators<Base>;

 public:
  using base_type = Base;

  constexpr real() noexcept : value_() {}
  // NOLINTBEGIN(google-explicit-constructor): numbers become it as they become double
  constexpr real(const Base& value) noexcept : value_(value) {}
  template <class Number>
  requires(std::is_arithmetic_v<Number> &&
           !std::is_same_v<Number, Base>) constexpr real(Number value) noexcept
      : value_(static_cast<double>(value)) {}
  // NOLINTEND(google-explicit-constructor)

  constexpr real(const real&) noexcept = default;
  /// Member by member: as one copy of 16 bytes it would wait until the stores before it are in the cache.
  constexpr real& operator=(const real& other) noexcept {
    value_ = other.value_;
    place_.recording = other.place_.recording;
    place_.index = other.place_.index;
    return *this;
  }

  /// Only the value, which keeps nothing of the recording.
  constexpr const Base& value() const noexcept { return value_; }

  /// Whether it depends on a variable of a recording, open or ended.
  constexpr bool is_variable() const noexcept { return place_.recording != detail::parameter; }

  [[gnu::always_inline]] friend real operator+(const real& x, const real& y) {
    return record::template apply<operations::add>(x, y);
  }
  [[gnu::always_inline]] friend real operator-(const real& x, const real& y) {
    return record::template apply<operations::subtract>(x, y);
  }
  [[gnu::always_inline]] friend real operator*(const real& x, const real& y) {
    return record::template apply<operations::multiply>(x, y);
  }
  [[gnu::always_inline]] friend real operator/(const real& x, const real& y) {
    return record::template apply<operations::divide>(x, y);
  }
  [[gnu::always_inline]] friend real operator-(const real& x) {
    return record::template apply<operations::negate>(x);
  }
  friend real operator+(const real& x) { return x; }
  real& operator+=(const real& y) { return *this = *this + y; }
  real& operator-=(const real& y) { return *this = *this - y; }
  real& operator*=(const real& y) { return *this = *this * y; }
  real& operator/=(const real& y) { return *this = *this / y; }

  friend bool operator<(const real& x, const real& y) {
    return record::template compare<operations::less>(x, y);
  }
  friend bool operator>(const real& x, const real& y) {
    return record::template compare<operations::less>(y, x);
  }
  friend bool operator<=(const real& x, const real& y) {
    return record::template compare<operations::less_equal>(x, y);
  }
  friend bool operator>=(const real& x, const real& y) {
    return record::template compare<operations::less_equal>(y, x);
  }
  friend bool operator==(const real& x, const real& y) {
    return record::template compare<operations::equal>(x, y);
  }

  /// left < right ? x : y, and so on, without a branch: each evaluation of a recorded function decides anew.
  friend real select_less(const real& left, const real& right, const real& x, const real& y) {
    return record::template select<operations::less>(left, right, x, y);
  }
  friend real select_less_equal(const real& left, const real& right, const real& x, const real& y) {
    return record::template select<operations::less_equal>(left, right, x, y);
  }
  friend real select_equal(const real& left, const real& right, const real& x, const real& y) {
    return record::template select<operations::equal>(left, right, x, y);
  }

  friend real sqrt(const real& x) { return record::template apply<operations::square_root>(x); }
  friend real cbrt(const real& x) { return record::template apply<operations::cube_root>(x); }
  friend real exp(const real& x) { return record::template apply<operations::exponential>(x); }
  friend real exp2(const real& x) { return record::template apply<operations::exponential_2>(x); }
  friend real expm1(const real& x) { return record::template apply<operations::exponential_minus_1>(x); }
  friend real log(const real& x) { return record::template apply<operations::logarithm>(x); }
  friend real log2(const real& x) { return record::template apply<operations::logarithm_2>(x); }
  friend real log10(const real& x) { return record::template apply<operations::logarithm_10>(x); }
  friend real log1p(const real& x) { return record::template apply<operations::logarithm_plus_1>(x); }
  friend real sin(const real& x) { return record::template apply<operations::sine>(x); }
  friend real cos(const real& x) { return record::template apply<operations::cosine>(x); }
  friend real tan(const real& x) { return record::template apply<operations::tangent>(x); }
  friend real asin(const real& x) { return record::template apply<operations::arc_sine>(x); }
  friend real acos(const real& x) { return record::template apply<operations::arc_cosine>(x); }
  friend real atan(const real& x) { return record::template apply<operations::arc_tangent>(x); }
  friend real sinh(const real& x) { return record::template apply<operations::hyperbolic_sine>(x); }
  friend real cosh(const real& x) { return record::template apply<operations::hyperbolic_cosine>(x); }
  friend real tanh(const real& x) { return record::template apply<operations::hyperbolic_tangent>(x); }
  friend real asinh(const real& x) { return record::template apply<operations::inverse_hyperbolic_sine>(x); }
  friend real acosh(const real& x) {
    return record::template apply<operations::inverse_hyperbolic_cosine>(x);
  }
  friend real atanh(const real& x) {
    return record::template apply<operations::inverse_hyperbolic_tangent>(x);
  }
  friend real erf(const real& x) { return record::template apply<operations::error_function>(x); }
  friend real erfc(const real& x) {
    return record::template apply<operations::complementary_error_function>(x);
  }
  friend real tgamma(const real& x) { return record::template apply<operations::gamma_function>(x); }
  friend real lgamma(const real& x) { return record::template apply<operations::logarithm_of_gamma>(x); }
  friend real log_gamma(const real& x) { return record::template apply<operations::logarithm_of_gamma>(x); }
  friend real fabs(const real& x) { return record::template apply<operations::absolute>(x); }
  friend real abs(const real& x) { return record::template apply<operations::absolute>(x); }
  friend real sign(const real& x) { return record::template apply<operations::sign_of>(x); }
  friend real floor(const real& x) { return record::template apply<operations::floor_of>(x); }
  friend real ceil(const real& x) { return record::template apply<operations::ceiling>(x); }
  friend real trunc(const real& x) { return record::template apply<operations::truncated>(x); }
  friend real round(const real& x) { return record::template apply<operations::rounded>(x); }
  friend real rint(const real& x) { return record::template apply<operations::rounded_to_even>(x); }
  friend real nearbyint(const real& x) { return record::template apply<operations::rounded_to_even>(x); }

  friend real pow(const real& x, const real& y) { return record::template apply<operations::power>(x, y); }
  friend real hypot(const real& x, const real& y) {
    return record::template apply<operations::hypotenuse>(x, y);
  }
  friend real atan2(const real& x, const real& y) {
    return record::template apply<operations::arc_tangent_2>(x, y);
  }
  friend real fmin(const real& x, const real& y) { return record::template apply<operations::lesser>(x, y); }
  friend real fmax(const real& x, const real& y) { return record::template apply<operations::greater>(x, y); }
  friend real fdim(const real& x, const real& y) {
    return record::template apply<operations::positive_difference>(x, y);
  }
  friend real copysign(const real& x, const real& y) {
    return record::template apply<operations::copy_sign>(x, y);
  }
  friend real fmod(const real& x, const real& y) { return record::template apply<operations::modulo>(x, y); }
  friend real remainder(const real& x, const real& y) {
    return record::template apply<operations::ieee_remainder>(x, y);
  }
  friend real fma(const real& x, const real& y, const real& z) { return x * y + z; }
  /// In steps whose factors Base holds, the rest first: so a result is rounded once.
  friend real ldexp(const real& x, int power) {
    constexpr int exponents = std::numeric_limits<Base>::max_exponent;
    constexpr int step = exponents > 2 ? exponents - 2 : 1022;
    const int bounded = std::clamp(power, -3 * step, 3 * step);
    real z = x * std::ldexp(1.0, bounded % step);
    for (int steps = bounded / step; steps != 0; steps += steps < 0 ? 1 : -1)
      z = z * std::ldexp(1.0, steps < 0 ? -step : step);
    return z;
  }
  friend real polygamma(unsigned n, const real& x) {
    return record::template apply<operations::polygamma_function>(real(static_cast<double>(n)), x);
  }

  /// What is asked of the value only, and recorded nowhere.
  friend bool isnan(const real& x) { return x.value_ != x.value_; }
  friend bool isfinite(const real& x) { return !isnan(x.value_ - x.value_); }
  friend bool isinf(const real& x) { return !isnan(x) && !isfinite(x); }
  friend bool is_whole(const real& x) {
    using special::is_whole;
    return is_whole(x.value_);
  }
  friend unsigned whole(const real& x) {
    using special::whole;
    return whole(x.value_);
  }

  friend std::ostream& operator<<(std::ostream& out, const real& x) { return out << x.value_; }

 private:
  constexpr real(const Base& value, detail::place place) : value_(value), place_(place) {}

  friend detail::operators<Base>;

  Base value_;
  detail::place place_;
};

}  // namespace corescale

template <class Base>
struct std::numeric_limits<corescale::real<Base>> : std::numeric_limits<Base> {
  static constexpr corescale::real<Base> min() noexcept { return std::numeric_limits<Base>::min(); }
  static constexpr corescale::real<Base> max() noexcept { return std::numeric_limits<Base>::max(); }
  static constexpr corescale::real<Base> lowest() noexcept { return std::numeric_limits<Base>::lowest(); }
  static constexpr corescale::real<Base> epsilon() noexcept { return std::numeric_limits<Base>::epsilon(); }
  static constexpr corescale::real<Base> infinity() noexcept { return std::numeric_limits<Base>::infinity(); }
  static constexpr corescale::real<Base> quiet_NaN() noexcept {
    return std::numeric_limits<Base>::quiet_NaN();
  }
};
