// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corescale/tape/gradient_tape.hpp>
#include <optional>

#include "multi_newton/study_tape.hpp"

// How a function's value and derivative at a point are found: a callable from x to a Point. Each worker has its own.
namespace multi_newton {

template <class Function>
struct ByHand {
  const Function& f;
  Point operator()(double x) const { return f.by_hand(x); }
};

/// A new recording at every point, dropped after one reverse sweep.
template <class Function, class Alloc>
struct Taped {
  const Function& f;
  Point operator()(double x) const {
    corescale::gradient_tape<double, Alloc> tape;
    const corescale::real<double> at = tape.variable(x), y = f(at);
    tape.reverse(y);
    return {y.value(), tape.adjoint(at)};
  }
};

/// A new recording at every point, dropped after one forward sweep.
template <class Function, class Alloc>
struct TapedForward {
  const Function& f;
  Point operator()(double x) const {
    corescale::gradient_tape<double, Alloc> tape;
    const corescale::real<double> y = f(tape.variable(x));
    const double along = 1;
    return {y.value(), tape.finish(y).tangent({&along, 1})[0]};
  }
};

/// As in the study's program: a new recording at every point, dropped after one forward sweep of each order.
template <class Function, class Alloc>
struct StudyTaped {
  const Function& f;
  Point operator()(double x) const {
    study::Tape<Alloc> tape;
    const study::Real<Alloc> y = f(tape.independent(x));
    return tape.differentiate(x, y);
  }
};

/// One recording for all points of a worker. No figure of the study has this.
template <class Function, class Alloc>
struct Replayed {
  const Function& f;
  std::optional<corescale::function<double, Alloc>> recorded = std::nullopt;

  Point operator()(double x) {
    if (!recorded) {
      corescale::gradient_tape<double, Alloc> tape;
      recorded.emplace(tape.finish(f(tape.variable(x))));
    }
    const double along = 1;
    return {recorded->forward({&x, 1})[0], recorded->tangent({&along, 1})[0]};
  }
};

}  // namespace multi_newton
