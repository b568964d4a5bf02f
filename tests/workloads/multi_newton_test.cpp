// SPDX-License-Identifier: Apache-2.0
#include "multi_newton/multi_newton.hpp"

#include <gtest/gtest.h>

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <corescale/team/any_team.hpp>

#include "build_kind.hpp"
#include "multi_newton/derivatives.hpp"
#include "multi_newton/functions.hpp"
#include "program.hpp"

namespace {

using namespace multi_newton;
using corescale::thread_alloc;

struct Shifted {
  double by;
  Point operator()(double x) const { return {std::sin(x + by), std::cos(x + by)}; }
};

/// The zeros by `threads` shares, searched one after another.
template <class Function>
std::vector<Zero> zeros(const Problem& problem, std::size_t threads, Function&& f) {
  MultiNewton<thread_alloc> method(problem, threads);
  method.divide();
  for (std::size_t m = 0; m < threads; ++m) method.search(m, f);
  std::vector<Zero> found;
  method.combine(found);
  return found;
}

TEST(BoundedNewton, FindsTheZeroInside) {
  const auto zero = bounded_newton(Shifted{0}, 3, 3.5, 20, 1e-14);
  ASSERT_TRUE(zero);
  EXPECT_NEAR(zero->x, std::numbers::pi, 1e-14);
  EXPECT_LT(zero->residual, 1e-14);
}

TEST(BoundedNewton, EndsAtABoundBeyondWhichItWouldGo) {
  int calls = 0;
  const auto line = [&calls](double x) { return ++calls, Point{x, 1}; };
  EXPECT_FALSE(bounded_newton(line, 1, 2, 20, 1e-12));
  EXPECT_EQ(calls, 2);  // the middle, then the lower bound
  calls = 0;
  EXPECT_FALSE(bounded_newton(line, -2, -1, 20, 1e-12));
  EXPECT_EQ(calls, 2);
}

TEST(BoundedNewton, CountsStepsNotEvaluations) {
  int calls = 0;
  const auto never = [&calls](double x) { return ++calls, Point{1 + x * x, 2 * x + 1e-3}; };
  EXPECT_FALSE(bounded_newton(never, -1e9, 1e9, 20, 1e-12));
  EXPECT_EQ(calls, 21);
}

TEST(BoundedNewton, EndsWithoutASlopeAndWithoutANumber) {
  EXPECT_FALSE(bounded_newton([](double) { return Point{1, 0}; }, 0, 1, 20, 1e-12));
  EXPECT_FALSE(bounded_newton([](double) { return Point{-1, 0}; }, 0, 1, 20, 1e-12));
  EXPECT_FALSE(bounded_newton([](double) { return Point{NAN, NAN}; }, 0, 1, 20, 1e-12));
}

TEST(MultiNewton, FindsTheSameZerosForAnyNumberOfThreads) {
  const Sine<false> sine{1, 500};
  const Problem problem = sine.problem(5000, 20);
  const std::vector<double> known = sine.known();
  for (std::size_t threads = 1; threads <= 64; ++threads) {
    const auto found = zeros(problem, threads, ByHand<Sine<false>>{sine});
    ASSERT_EQ(found.size(), 500U) << threads;
    for (std::size_t z = 0; z < known.size(); ++z)
      EXPECT_NEAR(found[z].x, known[z], 2 * problem.epsilon) << threads;
  }
}

TEST(MultiNewton, NegativeIntervalsAndThreadsWithoutZeros) {
  for (std::size_t threads = 1; threads <= 64; ++threads) {
    const auto found =
        zeros({-1.5, 1.5, 10, 20, 1e-13}, threads, Shifted{0.1});  // more threads than intervals, too
    ASSERT_EQ(found.size(), 1U) << threads;
    EXPECT_NEAR(found[0].x, -0.1, 2e-13);
    const auto far = zeros({-10, 10, 200, 20, 1e-13}, threads, Shifted{0});
    ASSERT_EQ(far.size(), 7U) << threads;
    for (int k = -3; k <= 3; ++k)
      EXPECT_NEAR(far[static_cast<std::size_t>(k + 3)].x, k * std::numbers::pi, 1e-12);
  }
}

TEST(MultiNewton, AZeroOnABoundIsFoundOnce) {
  // x = 0 is the bound of intervals 5 and 6 of 10, and of shares for an even number of threads.
  for (std::size_t threads = 1; threads <= 20; ++threads)
    EXPECT_EQ(zeros({-1, 1, 10, 20, 1e-12}, threads, Shifted{0}).size(), 1U) << threads;
}

TEST(MultiNewton, OfTwoThatAreOneTheSmallerResidualStays) {
  std::vector<Zero> found;
  for (const Zero zero : {Zero{1, 1e-9}, Zero{1.05, 1e-12}, Zero{1.06, 1e-10}, Zero{2, 1e-9}})
    add(found, zero, 0.1);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].x, 1.05);
  EXPECT_EQ(found[1].x, 2);
}

TEST(MultiNewton, SharesAreTheStudys) {
  // J = 10 over M = 4: 3, 3, 2, 2 intervals; what a share ends with the next begins with.
  std::vector<std::pair<double, double>> bounds;
  MultiNewton<thread_alloc> method({0, 1, 10, 0, 1e-300}, 4);
  method.divide();
  for (std::size_t m = 0; m < 4; ++m) {
    std::vector<double> middles;
    method.search(m, [&](double x) { return middles.push_back(x), Point{1, 0}; });
    EXPECT_EQ(middles.size(), m < 2 ? 3U : 2U);
    bounds.emplace_back(middles.front(), middles.back());
  }
  EXPECT_NEAR(bounds[0].first, 0.05, 1e-15);
  for (std::size_t m = 1; m < 4; ++m) EXPECT_NEAR(bounds[m].first - bounds[m - 1].second, 0.1, 1e-15);
  EXPECT_NEAR(bounds[3].second, 0.95, 1e-15);
}

template <class Function>
void expect_derivatives(const Function& f, double x) {
  const Point hand = f.by_hand(x);
  EXPECT_NEAR(f(x), hand.value, 1e-12) << x;
  const double step = 1e-6, difference = (f(x + step) - f(x - step)) / (2 * step);
  EXPECT_NEAR(hand.derivative, difference, 1e-6 * std::max(1.0, std::abs(difference))) << x;
  const Point tapes[] = {Taped<Function, thread_alloc>{f}(x), TapedForward<Function, thread_alloc>{f}(x),
                         StudyTaped<Function, thread_alloc>{f}(x), Replayed<Function, thread_alloc>{f}(x)};
  for (const Point& tape : tapes) {
    EXPECT_NEAR(tape.value, hand.value, 1e-12) << x;
    EXPECT_NEAR(tape.derivative, hand.derivative, 1e-11 * std::max(1.0, std::abs(hand.derivative))) << x;
  }
}

TEST(Derivatives, EveryTapeGivesThoseByHand) {
  for (const double x : {-0.93, -0.2, 0.0, 0.11, 0.7, 0.99}) {
    expect_derivatives(Sine<false>{37, 500}, x);
    expect_derivatives(Sine<true>{37, 500}, x);
    expect_derivatives(Chebyshev{}, x);
    expect_derivatives(BesselJ0{}, x * 30);
  }
}

/// Counts what is asked of it and what it has lent.
struct Counted {
  static inline int asked = 0, lent = 0;
  static void* get_memory(std::size_t bytes, std::size_t& capacity, std::size_t = 0) {
    ++asked, ++lent;
    return thread_alloc::get_memory(bytes, capacity);
  }
  static void return_memory(void* memory) {
    --lent;
    thread_alloc::return_memory(memory);
  }
};

TEST(Derivatives, TheStudysTapeGrowsByCopyingAndReturnsAllWithEachRecording) {
  const Sine<false> few{10, 500}, many{1000, 500};
  const auto requests = [](const Sine<false>& f) {
    const int before = Counted::asked;
    (void)StudyTaped<Sine<false>, Counted>{f}(0.7);
    EXPECT_EQ(Counted::lent, 0);
    return Counted::asked - before;
  };
  const int first = requests(few), larger = requests(many);
  EXPECT_EQ(requests(few), first);  // nothing is kept from recording to recording
  EXPECT_GE(larger, first + 10);    // some 1.5 times as large at each copy, in three vectors
  EXPECT_LE(larger, 40);
}

TEST(Derivatives, OneReplayServesManyPoints) {
  const BesselJ0 f;
  Replayed<BesselJ0, thread_alloc> replay{f};
  for (double x = -20; x < 20; x += 0.37) EXPECT_NEAR(replay(x).derivative, f.by_hand(x).derivative, 1e-13);
}

TEST(Functions, BesselsZerosAreThoseOfBoostMath) {
  const BesselJ0 f;
  const std::vector<double> known = f.known();
  ASSERT_EQ(known.size(), 20U);
  for (int k = 1; k <= 10; ++k) {
    EXPECT_NEAR(known[static_cast<std::size_t>(9 + k)], boost::math::cyl_bessel_j_zero(0.0, k), 1e-13);
    EXPECT_EQ(known[static_cast<std::size_t>(10 - k)], -known[static_cast<std::size_t>(9 + k)]);
  }
  EXPECT_GT(boost::math::cyl_bessel_j_zero(0.0, 11), BesselJ0::upper);
  for (double x = -32; x <= 32; x += 0.61) EXPECT_NEAR(f(x), boost::math::cyl_bessel_j(0, x), 1e-14);
}

/// Those that hold several threads, and whose own races no sanitizer would report.
std::vector<std::string> systems_of_threads() {
  std::vector<std::string> systems;
  for (const corescale::threading_system& one : corescale::threading_systems())
    if (one.is_present() && one.name != "serial" && !(tsan && (one.name == "openmp" || one.name == "tbb")))
      systems.emplace_back(one.name);
  return systems;
}

TEST(MultiNewtonProgram, SixtyFourThreadsOfAnySystemFindTheSameZeros) {
  for (const std::string& system : systems_of_threads())
    for (const std::string memory : {"per_thread", "separate", "contiguous", "system", "bare"}) {
      const Finished run =
          run_program(MULTI_NEWTON,
                      "--repeat-for 0 --terms 1 --derivative hand --threads 64 --threading " + system +
                          " --memory " + memory,
                      "");
      EXPECT_EQ(run.status, 0) << run.output;
      EXPECT_EQ(field(run.output, "all_zeros_found"), "true");
      EXPECT_EQ(field(run.output, "evaluations"), "10638");
    }
}

TEST(MultiNewtonProgram, ZerosOfAPolynomialAndOfBesselsFunctionOverZero) {
  for (const std::string function : {"chebyshev", "bessel"})
    for (const std::string derivative : {"hand", "tape", "tape-forward", "study-tape", "replay"})
      for (const std::string threads : {"1", "7", "64"}) {
        const Finished run = run_program(MULTI_NEWTON,
                                         "--repeat-for 0 --intervals 640 --function " + function +
                                             " --derivative " + derivative + " --threads " + threads,
                                         "");
        EXPECT_EQ(run.status, 0) << run.output;
        EXPECT_EQ(field(run.output, "zeros"), "20");
      }
}

TEST(MultiNewtonProgram, EverySystemVariantAndDerivative) {
  const std::string quick = "--repeat-for 0 --terms 5 --zeros 20 --intervals 300 ";
  std::vector<std::string> systems = systems_of_threads();
  systems.insert(systems.end(), {"none", "serial"});
  for (const std::string& system : systems)
    for (const std::string memory : {"per_thread", "separate", "contiguous", "system", "bare"})
      for (const std::string derivative :
           {"hand", "hand-opaque", "tape", "tape-forward", "study-tape", "replay"}) {
        const std::string threads = system == "none" || system == "serial" ? "1" : "5";
        const Finished run = run_program(MULTI_NEWTON,
                                         quick + "--threading " + system + " --threads " + threads +
                                             " --memory " + memory + " --derivative " + derivative,
                                         "");
        EXPECT_EQ(run.status, 0) << run.output;
        EXPECT_EQ(field(run.output, "all_zeros_found"), "true");
        EXPECT_EQ(field(run.output, "zeros"), "20");
      }
}

TEST(MultiNewtonProgram, TheStudysProblemTakesItsEvaluations) {
  const Finished run = run_program(MULTI_NEWTON, "--repeat-for 0 --terms 1 --derivative hand", "");
  EXPECT_EQ(field(run.output, "evaluations"), "10638");  // as the published program counts them
  EXPECT_EQ(field(run.output, "zeros"), "500");
}

TEST(MultiNewtonProgram, PairsAreTimedOnEachVariant) {
  for (const std::string memory : {"per_thread", "separate", "contiguous", "system", "bare"}) {
    const Finished run =
        run_program(MULTI_NEWTON, "--derivative pairs --repeat-for 0 --threads 2 --memory " + memory, "");
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_GT(std::stod(field(run.output, "nanoseconds_each")), 0.1);
  }
}

TEST(MultiNewtonProgram, ASleeperIsAThreadBesideTheOneThatWorks) {
  for (const std::string sleeper : {"", "--sleeper"}) {
    const std::string count = "ls /proc/$p/task | wc -l";
    const Finished run = run_program(
        MULTI_NEWTON,
        "--threading none --repeat-for 60000 " + sleeper + " > /dev/null & p=$!; k=0; until [ $(" + count +
            ") = 2 ] || [ $k = 20 ]; do sleep 0.01; k=$((k + 1)); done; " + count + "; kill $p; true",
        "");
    EXPECT_EQ(run.output, sleeper.empty() ? "1\n" : "2\n");
  }
}

TEST(MultiNewtonProgram, ARequestThatLosesZerosFailsItsCheck) {
  const Finished run = run_program(MULTI_NEWTON, "--repeat-for 0 --intervals 100 --derivative hand", "");
  EXPECT_EQ(run.status, 1) << run.output;
  EXPECT_EQ(field(run.output, "all_zeros_found"), "false");
  EXPECT_NE(run.output.find("which are not the 500 that there are"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("give more --intervals or --steps"), std::string::npos) << run.output;
}

TEST(MultiNewtonProgram, BadInputIsOneLineAndStatusTwo) {
  const Finished none = run_program(MULTI_NEWTON, "--threading none --threads 2", "");
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(
      none.output,
      "multi_newton: without a threading system there is one thread, not 2; give --threads 1, or a system\n");
  EXPECT_EQ(run_program(MULTI_NEWTON, "--threading serial --threads 2", "").status, 2);
  EXPECT_EQ(run_program(MULTI_NEWTON, "--terms 0", "").status, 2);
}

}  // namespace
