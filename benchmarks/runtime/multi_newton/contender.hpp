// SPDX-License-Identifier: Apache-2.0
// The study's problem with N = 1000, solved by some library's derivatives on some threads.
#pragma once

#include <corescale/memory/thread_alloc.hpp>
#include <corescale/team/any_team.hpp>
#include <functional>
#include <stdexcept>
#include <vector>

#include "multi_newton/functions.hpp"
#include "multi_newton/multi_newton.hpp"

namespace bench {

using function = multi_newton::Sine<false>;
inline constexpr function sines{.terms = 1000, .zeros = 500};

/// Division, search by each thread of a team, combination; make(m) is the evaluator of thread m.
template <class Make>
class repeat {
 public:
  repeat(std::size_t threads, Make make)
      : method_(sines.problem(5000, 20), threads), team_(corescale::make_team(threads, "spin")), make_(make) {
    if (!team_) throw std::runtime_error("bench_multi_newton: no team of " + std::to_string(threads));
  }

  /// How many evaluations it took.
  std::size_t operator()() {
    method_.divide();
    const auto worked = team_.work([this](std::size_t m) { method_.search(m, make_(m)); });
    if (worked != corescale::outcome::done) throw std::runtime_error(corescale::name(worked));
    method_.combine(zeros_);
    if (zeros_.size() != sines.zeros) throw std::runtime_error("bench_multi_newton: zeros were lost");
    return method_.evaluations();
  }

 private:
  multi_newton::MultiNewton<corescale::thread_alloc> method_;
  corescale::any_team team_;
  Make make_;
  std::vector<multi_newton::Zero> zeros_;
};

struct contender {
  const char* library;
  std::size_t threads;
  std::function<std::size_t()> run;  ///< one repeat
};

void add_cppad(std::vector<contender>& all, std::size_t threads);

}  // namespace bench
