// SPDX-License-Identifier: Apache-2.0
// Branches and selections replayed, misuse, and several threads.
#include <gtest/gtest.h>

#include <thread>

#include "corescale/parallel_for/parallel_reduce.hpp"
#include "corescale/tape/drivers.hpp"
#include "corescale/team/any_team.hpp"
#include "programs.hpp"

namespace {

using corescale::branch_change;
using corescale::gradient_tape;
using corescale::real;
using corescale::tape_misuse;

/// What the call says when it throws Exception; empty when it does not.
template <class Exception, class Call>
std::string said(Call call) {
  try {
    call();
  } catch (const Exception& thrown) {
    return thrown.what();
  }
  return "";
}

const std::vector<double> seed{1.0};

TEST(Branches, AReplayThatWouldBranchOtherwiseSaysSo) {
  const auto f = [](auto x) { return x[0] < 1.0 ? real<double>(x[0] * 2) : x[0] * x[0]; };
  auto recorded = corescale::record<double>(f, std::vector{0.5});
  EXPECT_EQ(recorded.forward(std::vector{0.75})[0], 1.5);
  const std::string what = said<branch_change>([&] { recorded.forward(std::vector{3.0}); });
  EXPECT_NE(what.find("'<'"), std::string::npos) << what;
  EXPECT_NE(said<tape_misuse>([&] { recorded.reverse(seed); }).find("call forward()"), std::string::npos);
  EXPECT_EQ(recorded.forward(std::vector{0.25})[0], 0.5);
  EXPECT_EQ(recorded.reverse(seed)[0], 2);
}

TEST(Branches, EveryComparisonIsKept) {
  const auto check = [](auto compare, double before, double after) {
    const auto f = [&](auto x) { return compare(x[0]) ? x[0] : -x[0]; };
    auto recorded = corescale::record<double>(f, std::vector{before});
    EXPECT_NO_THROW(recorded.forward(std::vector{before}));
    EXPECT_THROW(recorded.forward(std::vector{after}), branch_change);
    EXPECT_THROW(recorded.hessian_vector(std::vector{after}, seed, seed), branch_change);
  };
  check([](auto x) { return x < 1.0; }, 0.0, 1.0);
  check([](auto x) { return x > 1.0; }, 2.0, 1.0);
  check([](auto x) { return x <= 1.0; }, 1.0, 2.0);
  check([](auto x) { return x >= 1.0; }, 1.0, 0.0);
  check([](auto x) { return x == 1.0; }, 1.0, 2.0);
  check([](auto x) { return x != 1.0; }, 2.0, 1.0);
  check([](auto x) { return 1.0 < x; }, 2.0, 1.0);
  check([](auto x) { return 2.0 * x < x + 1.0; }, 0.0, 2.0);
}

TEST(Branches, ASelectionIsDecidedAnew) {
  const auto f = [](auto x) {
    using number = std::remove_cvref_t<decltype(x[0])>;
    const number low = select_less(x[0], x[1], 2 * x[0], 3 * x[1]);
    const number other = select_less_equal(low, number(4.0), low * low, number(1.5));
    return select_equal(x[0], number(7.0), low, other);
  };
  auto recorded = corescale::record<double>(f, std::vector{1.0, 2.0});
  for (const std::vector<double>& x :
       {std::vector{1.0, 2.0}, {2.0, 2.0}, {2.0, 1.0}, {5.0, 1.5}, {7.0, 9.0}, {3.0, 0.5}}) {
    const auto truth = corescale::gradient<double>(f, x);
    EXPECT_EQ(recorded.forward(x)[0], truth.value);
    EXPECT_EQ(recorded.reverse(seed), truth.derivatives);
    const double low = x[0] < x[1] ? 2 * x[0] : 3 * x[1];
    EXPECT_EQ(truth.value, x[0] == 7 || low > 4 ? (x[0] == 7 ? low : 1.5) : low * low);
    const std::vector<double> direction{1.0, 2.0};
    EXPECT_EQ(recorded.hessian_vector(x, direction, seed),
              corescale::hessian_vector<double>(f, x, direction));
  }
}

TEST(Misuse, IsSaidInWords) {
  auto f = corescale::record<double>([](auto x) { return x[0] * x[1]; }, std::vector{1.0, 2.0});
  EXPECT_EQ(said<tape_misuse>([&] { f.forward(seed); }), "forward: x has 1 elements and should have 2");
  EXPECT_NE(said<tape_misuse>([&] { f.tangent(seed); }), "");
  EXPECT_NE(said<tape_misuse>([&] { f.reverse(std::vector{1.0, 1.0}); }), "");
  EXPECT_NE(said<tape_misuse>([&] { f.hessian_vector(seed, seed, seed); }), "");
  EXPECT_NE(said<tape_misuse>([&] { f.taylor({}); }), "");
  const std::vector<corescale::series<double>> weight(1);
  EXPECT_NE(said<tape_misuse>([&] { f.reverse_taylor(weight); }).find("call taylor()"), std::string::npos);
  gradient_tape tape;
  const real<double> x = tape.variable(1);
  auto ended = tape.finish(x * 2);
  EXPECT_THROW((void)tape.variable(1), tape_misuse);
  EXPECT_THROW(tape.reverse(x), tape_misuse);
  EXPECT_THROW(tape.clear(), tape_misuse);
  gradient_tape<double> next;
  EXPECT_THROW((void)real<double>(x + 1), tape_misuse);
  EXPECT_THROW((void)next.finish(x), tape_misuse);
  EXPECT_EQ(next.finish(next.variable(3)).value()[0], 3);
}

TEST(Misuse, AVariableOfAnotherThreadIsRefused) {
  gradient_tape tape;
  const real<double> x = tape.variable(1);
  std::string idle, recording;
  std::thread([&] {
    idle = said<tape_misuse>([&] { (void)real<double>(x * 2); });
    gradient_tape<double> own;
    const real<double> y = own.variable(1);
    recording = said<tape_misuse>([&] { (void)real<double>(x * y); });
    EXPECT_THROW(tape.reverse(x), tape_misuse);
    EXPECT_THROW((void)(y < x), tape_misuse);
    EXPECT_THROW((void)select_less(y, y, x, y), tape_misuse);
    own.reverse(y * y);
    EXPECT_EQ(own.adjoint(y), 2);
  }).join();
  EXPECT_NE(idle.find("records nothing"), std::string::npos) << idle;
  EXPECT_NE(recording.find("another thread"), std::string::npos) << recording;
}

TEST(Functions, AParameterAndAnInputAreResultsToo) {
  const auto f = [](auto x) { return std::vector<real<double>>{x[1], 5.0, x[0] * 0.0 + 2}; };
  auto recorded = corescale::record<double>(f, std::vector{1.0, 2.0});
  EXPECT_EQ(recorded.forward(std::vector{3.0, 4.0}), (std::vector{4.0, 5.0, 2.0}));
  EXPECT_EQ(recorded.jacobian(std::vector{3.0, 4.0}), (std::vector{0.0, 1.0, 0.0, 0.0, 0.0, 0.0}));
  auto none = corescale::record<double>([](auto) { return std::vector<real<double>>(); }, seed);
  EXPECT_TRUE(none.forward(seed).empty());
  EXPECT_EQ(none.reverse({}), std::vector{0.0});
}

TEST(Functions, AVariableMayComeLate) {
  gradient_tape tape;
  const real<double> x = tape.variable(2), y = x * x, z = tape.variable(3);
  auto f = tape.finish(y * z);
  EXPECT_EQ(f.forward(std::vector{3.0, 5.0})[0], 45);
  EXPECT_EQ(f.reverse(seed), (std::vector{30.0, 9.0}));
}

TEST(Functions, OutliveTheirTapeAndMove) {
  corescale::function<double> f;
  EXPECT_TRUE(f.forward({}).empty());
  {
    auto recorded = corescale::record<double>([](auto x) { return x[0] * x[0]; }, std::vector{2.0});
    f = std::move(recorded);
  }
  EXPECT_EQ(f.forward(std::vector{4.0})[0], 16);
}

TEST(Threads, EightRecordAtOnce) {
  std::mt19937 random(7);
  const programs::program steps = programs::draw(random, 2000);
  const std::vector<double> x = programs::draw_point(random, 3);
  const auto f = [&](auto z) { return programs::run_smooth(steps, z); };
  const auto truth = corescale::gradient<double>(f, x);
  const std::vector<double> hessian_row = corescale::hessian_vector<double>(f, x, x);
  std::vector<std::thread> crew;
  for (int t = 0; t < 8; ++t)
    crew.emplace_back([&] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        EXPECT_EQ(corescale::gradient<double>(f, x).derivatives, truth.derivatives);
        EXPECT_EQ(corescale::record<double>(f, x).reverse(seed), truth.derivatives);
        EXPECT_EQ(corescale::hessian_vector<double>(f, x, x), hessian_row);
      }
    });
  for (std::thread& member : crew) member.join();
}

TEST(Threads, AGradientOfASumHasTheSameBitsForAnyTeam) {
  const std::vector<double> x{0.5, -0.25};
  const auto term = [](std::size_t i, auto z) {
    return sin(z[0] * static_cast<double>(i)) * exp(z[1]) + z[1];
  };
  const auto with = [&](std::size_t threads) {
    corescale::any_team team = corescale::make_team(threads);
    const auto reduce = [&](auto parts, auto identity, auto body, auto combine) {
      return corescale::parallel_reduce(team, 0U, parts, identity, body, combine,
                                        corescale::reduction::deterministic);
    };
    return corescale::gradient_of_sum<double>(term, 1000, x, reduce);
  };
  const auto alone = with(1), four = with(4);
  EXPECT_EQ(alone.value, four.value);
  EXPECT_EQ(alone.derivatives, four.derivatives);
  const auto all = [&](auto z) {
    std::remove_cvref_t<decltype(z[0])> sum = 0;
    for (std::size_t i = 0; i < 1000; ++i) sum += term(i, z);
    return sum;
  };
  const auto plain = corescale::gradient<double>(all, x);
  EXPECT_NEAR(alone.value, plain.value, 1e-9);
  for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(alone.derivatives[j], plain.derivatives[j], 1e-7);
}

TEST(Threads, EachHasACopyOfAFunction) {
  const auto f = [](auto x) {
    std::remove_cvref_t<decltype(x[0])> y = x[0];
    for (int i = 0; i < 20'000; ++i) y = sin(y) * 1.25 + x[1];  // several chunks
    return y;
  };
  const auto recorded = corescale::record<double>(f, std::vector{0.5, 0.25});
  std::vector<std::thread> crew;
  for (int t = 0; t < 3; ++t)
    crew.emplace_back([&, at = std::vector{0.5, 0.1 * t}] {
      auto own = recorded;
      const auto truth = corescale::gradient<double>(f, at);
      EXPECT_EQ(own.forward(at)[0], truth.value);
      EXPECT_EQ(own.reverse(seed), truth.derivatives);
    });
  for (std::thread& member : crew) member.join();
}

TEST(Threads, AFunctionMovesToAnother) {
  auto f = corescale::record<double>([](auto x) { return x[0] * x[0]; }, seed);
  std::thread([moved = std::move(f)]() mutable {
    EXPECT_EQ(moved.forward(std::vector{3.0})[0], 9);
    EXPECT_EQ(moved.reverse(seed)[0], 6);
  }).join();
}

}  // namespace
