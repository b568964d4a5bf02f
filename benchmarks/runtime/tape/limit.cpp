// SPDX-License-Identifier: Apache-2.0
// What a tape cannot save, in a bare loop: per operation, the mathematics itself and its derivative, a partial derivative
// and the numbers of two operands written (16 bytes) and one pass back that multiplies and adds. Of a Hessian-vector
// product in series of order 1 (24 bytes). The passes do not wait for the operation before, as those of a real tape do;
// no checks, no memory management.
#include <cstdint>

#include "contender.hpp"
#include "corescale/tape/series.hpp"

namespace {

using line = corescale::series<double, 1>;

template <class T>
struct entry {
  T partial;
  std::uint32_t x, y;
};

constexpr std::size_t room = std::size_t{1} << 18;
template <class T>
entry<T> entries[room];
template <class T>
T adjoints[room + 1];

/// Writes n entries and multiplies back over them.
template <class T, class Partial>
T pass(std::size_t n, Partial partial) {
  for (std::size_t i = 0; i < n; ++i)
    entries<T>[i] = {partial(i), static_cast<std::uint32_t>(i & 63), static_cast<std::uint32_t>(i & 31)};
  for (std::size_t i = 0; i <= n; ++i) adjoints<T>[i] = T(1e-9);
  for (std::size_t i = n; i-- > 64;) adjoints<T>[entries<T>[i].x] += adjoints<T>[i] * entries<T>[i].partial;
  return adjoints<T>[0];
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
    const double one = pass<double>(n, [&](std::size_t i) {
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
    return {pass<double>(n, [](std::size_t) { return 0.999999; }), value};
  }
}

template <class Kernel>
std::vector<double> hessian_vector() {
  const std::vector<double> at = Kernel::at(), along = bench::direction(at.size());
  std::vector<line> lines(at.begin(), at.end());
  for (std::size_t j = 0; j < at.size(); ++j) lines[j][1] = along[j];
  const line value = Kernel::value(lines.data());
  const line one =
      pass<line>(static_cast<std::size_t>(Kernel::operations), [](std::size_t) { return line(0.999999); });
  return {one[1], value[1]};
}

}  // namespace

void bench::add_limit(contenders& all) {
  BENCH_THREE_KERNELS(all, "limit", task::gradient, gradient);
  all.push_back(
      {"limit", task::hessian_vector, two_body::name, two_body::operations, &hessian_vector<two_body>});
}
