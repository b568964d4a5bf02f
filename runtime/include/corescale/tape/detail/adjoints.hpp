// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "corescale/tape/detail/cheap.hpp"
#include "corescale/tape/operations.hpp"

// The operations that sweeps need on the type of their tangents and adjoints.
namespace corescale::inline v0 {

namespace detail {

/// Whether operations on T may be recorded themselves.
template <class T>
inline constexpr bool records = false;
template <class Base>
inline constexpr bool records<real<Base>> = true;

/// Whether x is 0 and stays 0. Such an adjoint is not propagated, which saves work, and lets a selection ignore an infinite derivative of
/// the side that it did not take.
template <class T>
[[gnu::always_inline]] inline bool is_zero(const T& x) {
  return x == T(0.0);
}
template <class Base>
bool is_zero(const real<Base>& x) {
  return !x.is_variable() && is_zero(x.value());
}

/// Records an operation of the table as its own statement; one of the numbers may be a parameter.
template <class Row, class B>
real<B> immediate(const real<B>& x, const real<B>& y);

/// weight * partial, without recording a factor that is known to be 0 or 1.
template <class T, class V>
[[gnu::always_inline]] inline T times(const T& weight, const V& partial) {
  return static_cast<T>(weight * partial);
}
template <class Base>
real<Base> times(const real<Base>& weight, const real<Base>& partial) {
  if (is_zero(partial)) return real<Base>(0.0);
  const bool is_one = !partial.is_variable() && is_zero(static_cast<Base>(partial.value() - Base(1.0)));
  return is_one ? weight : immediate<operations::multiply>(weight, partial);
}

/// sum += weight, without recording a summand that is known to be 0.
template <class T>
[[gnu::always_inline]] inline void add_to(T& sum, const T& weight) {
  sum += weight;
}
template <class Base>
void add_to(real<Base>& sum, const real<Base>& weight) {
  if (!is_zero(weight)) sum = is_zero(sum) ? weight : real<Base>(sum + weight);
}

/// sum += weight * partial, recorded as one statement if all of them are variables.
template <class Base, class V>
void add_product_to(real<Base>& sum, const real<Base>& weight, const V& partial) {
  bool all_vary = sum.is_variable() && weight.is_variable();
  if constexpr (records<V>) all_vary = all_vary && partial.is_variable();
  if (all_vary)
    sum += weight * partial;
  else
    add_to(sum, times(weight, partial));
}

/// The adjoints that a sweep takes from statement to statement, and to which statements add.
template <class B>
struct adjoint_array {
  B* __restrict all;

  [[gnu::always_inline]] B take(std::size_t i) const { return all[i]; }
  [[gnu::always_inline]] void add(std::uint32_t i, const B& weight) { add_to(all[i], weight); }
  void add_product(std::uint32_t i, const B& weight, const auto& partial) {
    add_product_to(all[i], weight, partial);
  }
};

/// The same, with the adjoint of the next statement back in a register. In a long sum or product each statement adds to that one. The sweep
/// would wait each time until it can load what it has just stored.
template <class B>
class adjoint_chain {
 public:
  [[gnu::always_inline]] adjoint_chain(B* all, std::size_t i) : all_(all), next_(i), adjoint_(all[i]) {}
  adjoint_chain(const adjoint_chain&) = delete;
  adjoint_chain& operator=(const adjoint_chain&) = delete;
  [[gnu::always_inline]] ~adjoint_chain() { all_[next_] = adjoint_; }

  [[gnu::always_inline]] B take(std::size_t i) {
    const B taken = all_[i] = adjoint_;
    next_ = i - 1;
    adjoint_ = all_[next_];
    return taken;
  }
  [[gnu::always_inline]] void add(std::uint32_t i, const B& weight) {
    if (i == next_)
      adjoint_ += weight;
    else
      all_[i] += weight;
  }

 private:
  B* __restrict all_;
  std::size_t next_;  ///< the number of that statement
  B adjoint_;
};

/// tangent * partial; 0 for a tangent of 0, even if the partial derivative is infinite.
template <class T, class V>
[[gnu::always_inline]] inline T along(const T& tangent, const V& partial) {
  return is_zero(tangent) ? T(0.0) : times(tangent, partial);
}

}  // namespace detail
}  // namespace corescale
