// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace corescale::inline v0::special {

/// sin(x) and cos(x), as a sine that is recorded needs both: in about half the time of the C library's sincos().
///
/// Accuracy   Below 0.9 units in the last place for |x| < 8192, where they may differ from std::sin and std::cos in the
///            last digit; those two beyond, and for infinities and NaN. Signs of zeros are theirs everywhere.
/// Method     x = n pi/2 + r with |r| <= pi/4 in two numbers, by pi/2 in three (Cody and Waite 1980); a polynomial in r^2
///            for each of the two, interpolated at Chebyshev's points; n mod 4 says which is which, and their signs.
///            No branch and no table, so that sines one after the other overlap.
struct sine_and_cosine {
  double sine;
  double cosine;

  explicit sine_and_cosine(double x) {
    if (!(std::abs(x) < largest)) [[unlikely]] {
      sine = std::sin(x), cosine = std::cos(x);
      return;
    }
    // Adding 1.5 * 2^52 rounds to a whole number, which then is in the lowest bits.
    constexpr double whole = 6755399441055744.0, two_over_pi = 0.6366197723675814;
    const double shifted = x * two_over_pi + whole, n = shifted - whole;
    const rest r(x, n);
    const double of_sine = sine_of(r), of_cosine = cosine_of(r);
    const auto turns = std::bit_cast<std::uint64_t>(shifted);
    const bool swapped = turns & 1;
    sine = negated(swapped ? of_cosine : of_sine, turns & 2);
    cosine = negated(swapped ? of_sine : of_cosine, (turns + 1) & 2);
  }

 private:
  static constexpr double largest = 8192;

  /// x - n pi/2 = high + low. Two parts of pi/2 have 33 bits, so that n times them is exact; the third has the next 53.
  struct rest {
    double high;
    double low;
    rest(double x, double n) {
      const double first = x - n * 1.5707963267341256, second = n * 6.077100506303966e-11;
      const double before = first - second;
      const double third = n * 2.0222662487959506e-21 - ((first - before) - second);
      high = before - third;
      low = (before - high) - third;
    }
  };

  static double sine_of(const rest& r) {
    const double z = r.high * r.high, cube = z * r.high;
    const double tail =
        0.008333333333330936 +
        z * (-0.00019841269836740527 +
             z * (2.7557316093196066e-06 + z * (-2.5051129895962807e-08 + z * 1.5917988944318716e-10)));
    return r.high - ((z * (0.5 * r.low - cube * tail) - r.low) + cube * 0.16666666666666666);
  }

  static double cosine_of(const rest& r) {
    const double z = r.high * r.high;
    const double tail =
        z *
        (0.041666666666666664 +
         z * (-0.0013888888888887389 +
              z * (2.48015872987544e-05 + z * (-2.7557317265876615e-07 +
                                               z * (2.087614504910828e-09 + z * -1.1382544623404291e-11)))));
    const double half = 0.5 * z, near = 1.0 - half;
    return near + (((1.0 - near) - half) + (z * tail - r.high * r.low));
  }

  /// -x where bit 1 is set.
  static double negated(double x, std::uint64_t bit_1) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ bit_1 << 62);
  }
};

}  // namespace corescale::special
