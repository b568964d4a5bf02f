// SPDX-License-Identifier: Apache-2.0
#include "multi_newton/cppad.hpp"

#include "driver/error.hpp"
#include "multi_newton/functions.hpp"

#ifdef MULTI_NEWTON_HAS_CPPAD
#include <atomic>
#include <cppad/cppad.hpp>
#endif

namespace multi_newton::cppad {

#ifdef MULTI_NEWTON_HAS_CPPAD

namespace {
// CppAD asks a program with threads for both.
std::atomic<bool> team_works{false};
thread_local std::size_t this_thread = 0;
bool in_parallel() { return team_works; }
std::size_t thread_number() { return this_thread; }
}  // namespace

Session::Session(std::size_t threads, bool hold) : threads_(threads) {
  if (threads > CPPAD_MAX_NUM_THREADS)
    throw driver::Error("multi_newton",
                        "this CppAD has at most " + std::to_string(CPPAD_MAX_NUM_THREADS) + " threads",
                        "ask for fewer");
  if (threads > 1)
    CppAD::thread_alloc::parallel_setup(threads, in_parallel, thread_number);
  else
    CppAD::thread_alloc::parallel_setup(1, nullptr, nullptr);
  CppAD::thread_alloc::hold_memory(hold);
  CppAD::parallel_ad<double>();
}

void Session::begin() { team_works = threads_ > 1; }
void Session::end() { team_works = false; }
void Session::enter(std::size_t thread) { this_thread = thread; }

template <class Function>
Point differentiate(const Function& f, double x) {
  using Number = CppAD::AD<double>;
  CppAD::vector<Number> at(1), y(1);
  at[0] = x;
  CppAD::Independent(at);
  y[0] = f(at[0]);
  CppAD::ADFun<double> recorded(at, y);
  CppAD::vector<double> along(1);
  along[0] = 1;
  return {CppAD::Value(y[0]), recorded.Forward(1, along)[0]};
}

#else

Session::Session(std::size_t threads, bool) : threads_(threads) {
  throw driver::Error("multi_newton", "was built without CppAD",
                      "configure with -DCORESCALE_CPPAD=FOLDER, where it is installed");
}

void Session::begin() {}
void Session::end() {}
void Session::enter(std::size_t) {}

template <class Function>
Point differentiate(const Function&, double) {
  return {};
}

#endif

template Point differentiate(const Sine<false>&, double);
template Point differentiate(const Chebyshev&, double);
template Point differentiate(const BesselJ0&, double);

}  // namespace multi_newton::cppad
