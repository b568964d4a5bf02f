// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "corescale/tape/gradient_tape.hpp"

/// Derivatives of a callable in one call. Each function records the callable once, on a temporary tape of the calling thread.
namespace corescale::inline v0 {

/// The independent variables of a tape, at x.
template <class Base, class Alloc>
std::vector<real<Base>> variables(gradient_tape<Base, Alloc>& tape, std::span<const Base> x) {
  std::vector<real<Base>> all;
  all.reserve(x.size());
  for (const Base& value : x) all.push_back(tape.variable(value));
  return all;
}

/// A value and its derivatives.
template <class Base, class Derivatives>
struct with_derivatives {
  Base value;
  Derivatives derivatives;
};

/// y = f(x) and dy/dx of a function of one number.
template <class Base, class Function>
with_derivatives<Base, Base> derivative(Function&& f, const Base& x) {
  gradient_tape<Base> tape;
  const real<Base> variable = tape.variable(x);
  const real<Base> y = f(variable);
  tape.reverse(y);
  return {y.value(), tape.adjoint(variable)};
}

/// y = f(x) and its gradient, for real<Base> f(std::span<const real<Base>>).
template <class Base, class Function>
with_derivatives<Base, std::vector<Base>> gradient(Function&& f, std::span<const Base> x) {
  gradient_tape<Base> tape;
  const std::vector<real<Base>> at = variables(tape, x);
  const real<Base> y = f(std::span<const real<Base>>(at));
  tape.reverse(y);
  std::vector<Base> all;
  all.reserve(x.size());
  for (const real<Base>& one : at) all.push_back(tape.adjoint(one));
  return {y.value(), std::move(all)};
}

/// The function f, recorded at x. f returns a real<Base> or a vector of them.
template <class Base, class Function>
function<Base> record(Function&& f, std::span<const Base> x) {
  gradient_tape<Base> tape;
  const std::vector<real<Base>> at = variables(tape, x);
  return tape.finish(f(std::span<const real<Base>>(at)));
}

/// dy[i]/dx[j], row after row, of a function to a vector.
template <class Base, class Function>
std::vector<Base> jacobian(Function&& f, std::span<const Base> x) {
  return record<Base>(std::forward<Function>(f), x).jacobian(x);
}

/// The Hessian of a function to one number, times v. Takes one recording over series of order 1 and one reverse sweep. For a single product
/// this is faster than a recorded function's hessian_vector().
template <class Base, class Function>
std::vector<Base> hessian_vector(Function&& f, std::span<const Base> x, std::span<const Base> v) {
  using line = series<Base, 1>;
  if (v.size() != x.size()) detail::throw_wrong_size("hessian_vector", "v", v.size(), x.size());
  std::vector<line> lines(x.begin(), x.end());
  for (std::size_t j = 0; j < v.size(); ++j) lines[j][1] = v[j];
  gradient_tape<line> tape;
  const std::vector<real<line>> at = variables(tape, std::span<const line>(lines));
  tape.reverse(f(std::span<const real<line>>(at)));
  std::vector<Base> product;
  product.reserve(x.size());
  for (const real<line>& one : at) product.push_back(tape.adjoint(one)[1]);
  return product;
}

/// The Hessian of a function to one number, row after row.
template <class Base, class Function>
std::vector<Base> hessian(Function&& f, std::span<const Base> x) {
  const Base one(1.0);
  return record<Base>(std::forward<Function>(f), x).hessian(x, std::span(&one, 1));
}

/// The sum of term(i, x) for i < terms, and its gradient, by the threads of a reduction. The terms are divided into parts. Each part is one
/// recording and one reverse sweep, on a tape of the thread that takes it. `reduce` adds the gradients of the parts. The parts do not
/// depend on the number of threads. So a reduction that keeps their order gives the same bits for any team.
///
/// reduce(parts, identity, body, combine) is any reduction, such as corescale::parallel_reduce with a team:
///
///     [&](auto parts, auto identity, auto body, auto combine) {
///       return parallel_reduce(team, 0u, parts, identity, body, combine, reduction::deterministic);
///     }
template <class Base, class Term, class Reduce>
with_derivatives<Base, std::vector<Base>> gradient_of_sum(Term&& term, std::size_t terms,
                                                          std::span<const Base> x, Reduce&& reduce,
                                                          unsigned parts = 64) {
  using answer = with_derivatives<Base, std::vector<Base>>;
  const auto body = [&](unsigned part) {
    return gradient<Base>(
        [&](std::span<const real<Base>> at) {
          real<Base> sum = Base(0.0);
          for (std::size_t i = terms * part / parts; i < terms * (part + 1) / parts; ++i) sum += term(i, at);
          return sum;
        },
        x);
  };
  const auto combine = [](answer a, const answer& b) {
    if (a.derivatives.empty()) return b;
    a.value += b.value;
    for (std::size_t j = 0; j < a.derivatives.size(); ++j) a.derivatives[j] += b.derivatives[j];
    return a;
  };
  return reduce(parts, answer{Base(0.0), {}}, body, combine);
}

}  // namespace corescale::inline v0
