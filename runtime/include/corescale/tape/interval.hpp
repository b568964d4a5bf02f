// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/numeric/interval.hpp>

#include "corescale/tape/gradient_tape.hpp"

/// Intervals as the Base of a real: derivatives with bounds that contain the truth, if the interval type rounds
/// outwards, transcendental functions included:
///
///     using bounds = boost::numeric::interval<
///         double, boost::numeric::interval_lib::policies<
///                     boost::numeric::interval_lib::save_state<boost::numeric::interval_lib::rounded_transc_std<double>>,
///                     boost::numeric::interval_lib::checking_base<double>>>;
///
/// Bounds of transcendental functions are as good as the C library's under directed rounding: glibc 2.36 was seen
/// to give a tanh whose upper bound lies below the lower one.
///
/// Supported, to first order, is what Boost.Interval has: + - * /, sqrt, exp, log, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh,
/// asinh, acosh, atanh, abs and comparisons. Any other function does not compile: "no matching function" names it. A comparison whose
/// outcome differs within the intervals throws boost's comparison_error.
namespace boost::numeric {

/// -1 if all of x is below 0, else 1. For an interval around 0, the derivative of tanh accepts either sign.
template <class T, class Policies>
interval<T, Policies> sign_bit(const interval<T, Policies>& x) {
  return interval<T, Policies>(x.upper() < T(0) ? T(-1) : T(1));
}

/// The slopes of |x|.
template <class T, class Policies>
interval<T, Policies> sign(const interval<T, Policies>& x) {
  if (x.lower() > T(0)) return interval<T, Policies>(T(1));
  if (x.upper() < T(0)) return interval<T, Policies>(T(-1));
  return interval<T, Policies>(T(-1), T(1));
}

/// Sweeps find it by argument-dependent lookup.
template <class T, class Policies>
bool is_zero(const interval<T, Policies>& x) {
  return x.lower() == T(0) && x.upper() == T(0);
}

}  // namespace boost::numeric
