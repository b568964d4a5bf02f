// SPDX-License-Identifier: Apache-2.0
// The study's problem by our tape, by CppAD and by a bare loop, block by block in random order, in one process: a line of JSON with
// the seconds of each repeat. ../multi_newton.py makes the table.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "contender.hpp"
#include "multi_newton/derivatives.hpp"

namespace {

using bench::contender, bench::function;

/// What no tape can save: for each term the sine and its derivative, once.
struct bare {
  multi_newton::Point operator()(double x) const {
    double sum = 0, slope = 0;
    for (std::size_t n = 0; n < bench::sines.terms; ++n) {
      asm volatile("" : "+x"(x));
      double sine = 0, cosine = 0;
      sincos(x, &sine, &cosine);
      sum += sine, slope += cosine;
    }
    const auto terms = static_cast<double>(bench::sines.terms);
    return {sum / terms, slope / terms};
  }
};

template <class Make>
void add(std::vector<contender>& all, const char* library, std::size_t threads, Make make) {
  const auto once = std::make_shared<bench::repeat<Make>>(threads, make);
  all.push_back({library, threads, [once] { return (*once)(); }});
}

std::vector<contender> present() {
  using Alloc = corescale::thread_alloc;
  std::vector<contender> all;
  for (const std::size_t threads : {1U, 2U}) {
    add(all, "limit", threads, [](std::size_t) { return bare{}; });
    add(all, "corescale", threads,
        [](std::size_t) { return multi_newton::Taped<function, Alloc>{bench::sines}; });
    add(all, "corescale, forward", threads,
        [](std::size_t) { return multi_newton::TapedForward<function, Alloc>{bench::sines}; });
#ifdef BENCH_CPPAD
    bench::add_cppad(all, threads);
#endif
  }
  return all;
}

void measure(int block, const contender& one) {
  const auto start = std::chrono::steady_clock::now();
  const std::size_t evaluations = one.run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      R"({"block": %d, "library": "%s", "threads": %zu, "seconds": %.6f, "evaluations": %zu, "terms": %zu})"
      "\n",
      block, one.library, one.threads, seconds, evaluations, bench::sines.terms);
}

}  // namespace

int main(int argc, char** argv) try {
  const int blocks = argc > 1 ? std::atoi(argv[1]) : 15;
  std::vector<contender> all = present();
  for (const contender& one : all) one.run();
  std::mt19937 draw(2012);
  for (int block = 0; block < blocks; ++block) {
    std::shuffle(all.begin(), all.end(), draw);
    for (const contender& one : all) measure(block, one);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
