// SPDX-License-Identifier: Apache-2.0
// What a tape cannot save, in a bare loop: per operation, the mathematics itself and its derivative, 16 bytes
// written (a partial derivative and the numbers of two operands) and one pass back that multiplies and adds. The
// passes do not wait for the operation before, as those of a real tape do; no checks, no memory management.
#include <cstdint>

#include "contender.hpp"

namespace {

struct entry {
  double partial;
  std::uint32_t x, y;
};

constexpr std::size_t room = std::size_t{1} << 18;
entry entries[room];
double adjoints[room + 1];

/// Writes n entries and multiplies back over them.
template <class Partial>
double pass(std::size_t n, Partial partial) {
  for (std::size_t i = 0; i < n; ++i)
    entries[i] = {partial(i), static_cast<std::uint32_t>(i & 63), static_cast<std::uint32_t>(i & 31)};
  for (std::size_t i = 0; i <= n; ++i) adjoints[i] = 1e-9;
  for (std::size_t i = n; i-- > 64;) adjoints[entries[i].x] += adjoints[i] * entries[i].partial;
  return adjoints[0];
}

double opaque(double x) {
  asm volatile("" : "+x"(x));
  return x;
}

template <class Kernel>
std::vector<double> gradient() {
  constexpr auto n = static_cast<std::size_t>(Kernel::operations);
  if constexpr (Kernel::operations == bench::sum_of_sines::operations) {
    double sum = 0;
    const double one = pass(n, [&](std::size_t i) {
      if (i % 2) return 1.0;
      const double x = opaque(1.25);
      double sine = 0, cosine = 0;
      sincos(x, &sine, &cosine);
      sum += sine;
      return cosine;
    });
    return {one, sum};
  } else {
    static const std::vector<double> at = Kernel::at();
    const double value = Kernel::value(at.data());
    return {pass(n, [](std::size_t) { return 0.999999; }), value};
  }
}

}  // namespace

void bench::add_limit(contenders& all) { BENCH_THREE_KERNELS(all, "limit", task::gradient, gradient); }
