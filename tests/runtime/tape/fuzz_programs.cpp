// SPDX-License-Identifier: Apache-2.0
// libFuzzer: bytes are a program of operations and a point. Nothing crashes or leaks, a replay gives the recorded
// values to the bit, and sweeps that must agree do. fuzz_programs CORPUS -max_total_time=3600 runs it for an hour.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "corescale/tape/drivers.hpp"
#include "programs.hpp"

namespace {

using corescale::gradient_tape;
using corescale::real;

constexpr std::size_t inputs = 2;
const std::vector<double> one{1.0};

bool same(double a, double b) {
  return (a != a && b != b) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Whether no number on the way is so large, so small or so close to a pole that rounding explains a difference.
bool is_tame(const programs::program& steps, const std::vector<double>& x) {
  bool tame = true;
  (void)programs::run<double>(steps, x, [&](unsigned operation, double a, double b) {
    const double z = programs::apply_any(operation % programs::num_operations, a, b);
    for (const double number : {a, b, z}) tame = tame && std::abs(number) > 1e-2 && std::abs(number) < 1e2;
    return z;
  });
  return tame && steps.size() < 30;
}

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// Two numbers, then three bytes a step.
programs::program read(const std::uint8_t* data, std::size_t size, std::vector<double>& x) {
  x.assign(inputs, 0.5);
  for (double& number : x) {
    if (size < sizeof(double)) break;
    std::memcpy(&number, data, sizeof(double));
    data += sizeof(double), size -= sizeof(double);
  }
  programs::program steps;
  for (; size >= 3; data += 3, size -= 3) steps.push_back({data[0], data[1], data[2]});
  return steps;
}

void check(const std::uint8_t* data, std::size_t size) {
  std::vector<double> x;
  const programs::program steps = read(data, size, x);
  const auto f = [&](auto z) { return programs::run_any(steps, z); };
  const auto direct = corescale::gradient<double>(f, x);
  require(same(direct.value, programs::run_any<double>(steps, x)),
          "recorded value differs from the program's");
  auto recorded = corescale::record<double>(f, x);
  require(same(recorded.forward(x)[0], direct.value), "replayed value differs");
  const std::vector<double> gradient = recorded.reverse(one);
  for (std::size_t j = 0; j < inputs; ++j)
    require(same(gradient[j], direct.derivatives[j]), "replayed gradient differs");
  if (is_tame(steps, x)) {
    const double tangent = recorded.tangent(std::vector{1.0, 1.0})[0], slopes = gradient[0] + gradient[1];
    const double size_of_both = std::max({1.0, std::abs(gradient[0]), std::abs(gradient[1])});
    require(!(std::abs(tangent - slopes) > 1e-6 * size_of_both), "tangent and reverse differ");
  }
  (void)recorded.hessian_vector(x, std::vector{1.0, -0.5}, one);
  try {
    recorded.forward(std::vector{x[1], x[0]});
  } catch (const corescale::branch_change&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using corescale::thread_alloc;
  const std::size_t before = thread_alloc::inuse(thread_alloc::thread());
  check(data, size);
  require(thread_alloc::inuse(thread_alloc::thread()) == before, "memory was not returned");
  return 0;
}
