// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "corescale/tape/detail/cheap.hpp"
#include "corescale/tape/detail/operation_list.hpp"
#include "corescale/tape/real.hpp"

namespace corescale::inline v0::detail {

// --- what sweeps ask of the type of their tangents and adjoints ---

/// Whether x is 0 and stays 0: such an adjoint is not handed on. It saves work, and lets a selection that
/// took the other side ignore an infinite derivative.
template <class T>
bool is_zero(const T& x) {
  return x == T(0.0);
}

template <class Base>
bool is_zero(const real<Base>& x) {
  return !x.is_variable() && is_zero(x.value());
}

/// sum += weight * partial.
template <class T>
[[gnu::always_inline]] inline void add_product(T& sum, const T& weight, const T& partial) {
  sum += weight * partial;
}

/// As above, but what is known to be 0 or 1 is not recorded again.
template <class Base>
void add_product(real<Base>& sum, const real<Base>& weight, const real<Base>& partial) {
  if (is_zero(partial)) return;
  const bool is_one = !partial.is_variable() && is_zero(partial.value() - Base(1.0));
  const real<Base> product = is_one ? weight : weight * partial;
  sum = is_zero(sum) ? product : sum + product;
}

// --- forward ---

/// The derivative of each operation along the direction in which the tangents of the independent variables
/// point, which the caller has set; by the recorded partial derivatives.
template <class Base, class Alloc>
void tangent_sweep(const operation_list<Base, Alloc>& operations, Base* tangents) {
  const auto handed_on = [tangents](std::uint32_t from, const Base& partial, bool picked) {
    return from < parameter_slots || is_zero(tangents[from]) || (picked && is_zero(partial))
               ? Base(0.0)
               : Base(tangents[from] * partial);
  };
  for_each_operation(operations, [&](recorded_operation<Base> one, std::uint32_t i) {
    const bool picks = operations::picks(one.op());
    if (one.op() != operations::number_of<operations::independent>())
      tangents[i] = handed_on(one.x(), one.dx(), picks) + handed_on(one.y(), one.dy(), picks);
  });
}

/// An evaluation of recorded operations in the type T: Base itself, or series over it.
template <class Base, class T>
struct evaluation {
  T* values;  ///< by number of variable; the caller has set those of the independent ones

  T x(recorded_operation<Base> one) const {
    return one.x() < parameter_slots ? T(one.x_value()) : values[one.x()];
  }
  T y(recorded_operation<Base> one) const {
    return one.y() < parameter_slots ? T(one.y_value()) : values[one.y()];
  }
};

/// Computes the value of one operation; if T is Base, its partial derivatives too.
template <class Row, class Base, class T>
void evaluate(const evaluation<Base, T>& at, recorded_operation<Base> one, std::uint32_t i) {
  constexpr bool renew = std::is_same_v<T, Base>;
  const bool x_varies = one.x() >= parameter_slots, y_varies = one.y() >= parameter_slots;
  if constexpr (!operations::has_row<T, Row>) {
    // no operator over T records it
  } else if constexpr (operations::unary<Row>) {
    if constexpr (renew) {
      const auto [z, dx] = operations::value_and_dx<Row>(at.x(one));
      at.values[i] = z;
      if constexpr (operations::kept_of<Row>() > 0) one.kept[0] = dx;
    } else {
      at.values[i] = static_cast<T>(Row::value(at.x(one)));
    }
  } else if constexpr (!renew && std::is_same_v<Row, operations::multiply>) {
    at.values[i] = at.values[one.x()] * at.values[one.y()];
  } else if constexpr (!renew && std::is_same_v<Row, operations::with_parameter<operations::multiply>>) {
    at.values[i] = at.values[one.x()] * one.kept[0];  // the variable is the first operand
  } else if constexpr (operations::binary<Row>) {
    const T x = at.x(one), y = at.y(one);
    const T z = static_cast<T>(Row::value(x, y));
    at.values[i] = z;
    if constexpr (renew && operations::kept_of<Row>() == 2) {
      if (x_varies) one.kept[0] = static_cast<Base>(Row::dx(x, y, z));
      if (y_varies) one.kept[1] = static_cast<Base>(Row::dy(x, y, z));
    }
  } else if constexpr (operations::branching<Row>) {
    if (Row::holds(at.x(one), at.y(one)) != Row::outcome)
      throw_branch_change(Row::name, Row::outcome, i - parameter_slots);
  } else if constexpr (operations::comparison<Row>) {
    at.values[i] = choose(typename Row::compared(), at.x(one), at.y(one), T(1.0), T(0.0));
  } else if constexpr (std::is_same_v<Row, operations::selection>) {
    const auto chosen = [second = T(0.0), &choice = at.values[i - 1]](const T& x, const T& y) {
      return choose(operations::equal(), choice, second, y, x);
    };
    at.values[i] = chosen(at.x(one), at.y(one));
    if constexpr (renew) {
      if (x_varies) one.kept[0] = chosen(T(1.0), T(0.0));
      if (y_varies) one.kept[1] = chosen(T(0.0), T(1.0));
    }
  }
}

/// evaluate(), by number of operation.
template <class Base, class T>
inline constexpr auto evaluators = []<std::size_t... Place>(std::index_sequence<Place...>) {
  using step = void (*)(const evaluation<Base, T>&, recorded_operation<Base>, std::uint32_t);
  return std::array<step, sizeof...(Place)>{
      &evaluate<std::tuple_element_t<Place, operations::table>, Base, T>...};
}
(std::make_index_sequence<operations::count>());

/// Every operation anew; sums and products, which most operations are, without a call. Throws branch_change, and what
/// operations on T throw.
template <class Base, class Alloc, class T>
void forward_sweep(const operation_list<Base, Alloc>& operations, T* values) {
  const evaluation<Base, T> at{values};
  for_each_operation(operations, [&](recorded_operation<Base> one, std::uint32_t i) {
    if (operations::is_sum(one.op())) {
      evaluate<operations::add>(at, one, i);
    } else if (one.op() == operations::number_of<operations::multiply>()) {
      evaluate<operations::multiply>(at, one, i);
    } else if (one.op() == operations::number_of<operations::with_parameter<operations::multiply>>()) {
      evaluate<operations::with_parameter<operations::multiply>>(at, one, i);
    } else {
      evaluators<Base, T>[one.op()](at, one, i);
    }
  });
}

// --- back ---

/// From operation `last` back to the first: each hands its adjoint, times its recorded partial derivatives,
/// on to its operands. adjoints[0 .. last]; the caller has set those that it starts from.
template <class Base, class Alloc>
void reverse_sweep(const operation_list<Base, Alloc>& operations, std::uint32_t last, Base* adjoints) {
  const auto hand_on = [adjoints](std::uint32_t to, const Base& weight, const Base& partial, bool picked) {
    if (to >= parameter_slots && !(picked && is_zero(partial))) add_product(adjoints[to], weight, partial);
  };
  for_each_operation_back(operations, last, [&](recorded_operation<Base> one, std::size_t i) {
    if (const Base weight = adjoints[i]; !is_zero(weight)) {
      hand_on(one.x(), weight, one.dx(), operations::picks(one.op()));
      hand_on(one.y(), weight, one.dy(), operations::picks(one.op()));
    }
    return operations::kept[one.op()];
  });
}

/// How an operation hands its adjoint w on to its operands x and y, with the numbers k that are kept of it.
enum class step_back : std::uint8_t {
  sum,                        ///< x += w, y += w
  sum_with_parameter,         ///< x += w, past a number
  difference,                 ///< x += w, y -= w
  difference_with_parameter,  ///< the same, past a number
  negative,                   ///< x -= w
  nothing,                    ///< it has no operand
  one,                        ///< x += w k[0]
  two,                        ///< x += w k[0], y += w k[1]
  picked,                     ///< the same, but nothing at all by a k of 0
};

/// step_back by the lowest byte of the word of an operation, which needs no mask.
inline constexpr auto steps_back = [] {
  using namespace operations;
  std::array<step_back, 256> all{};
  for (std::size_t byte = 0; byte < all.size(); ++byte) {
    const unsigned op = static_cast<unsigned>(byte) % (1U << op_bits);
    all[byte] = op == number_of<add>()                        ? step_back::sum
                : op == number_of<with_parameter<add>>()      ? step_back::sum_with_parameter
                : op == number_of<subtract>()                 ? step_back::difference
                : op == number_of<with_parameter<subtract>>() ? step_back::difference_with_parameter
                : op == number_of<negate>()                   ? step_back::negative
                : op == number_of<independent>()              ? step_back::nothing
                : !keeps_two(op)                              ? step_back::one
                : picks(op)                                   ? step_back::picked
                                                              : step_back::two;
  }
  return all;
}();

/// The operations of a chunk from operation i back.
///
/// Often the operation before is the last operand, and its adjoint was written just now: it is then taken from the
/// register and not from memory, which would wait for the store. On Zen 4 that is a third of the sweep. The adjoint of a
/// series is read from memory, because g++ has no register for it as a pair and as two numbers.
template <class Base, class Chunk>
[[gnu::always_inline]] inline void go_back_over(Chunk& chunk, std::size_t i, const Base* kept,
                                                Base* adjoints) {
  constexpr bool in_register = std::is_floating_point_v<Base>;
  Base* at = adjoints + i;
  Base weight = *at;
  const operation* next = chunk.operations() + (i + 1 - chunk.first);
  for (;;) {
    const operation one = *--next;
    const std::conditional_t<in_register, const Base, const Base&> mine = in_register ? weight : *at;
    --at;  // the adjoint of the operation before
    const auto go_on = [&](const Base& written) __attribute__((always_inline)) {
      if constexpr (!in_register) return;
      if (&written == at)
        weight = written;
      else
        weight = *at;
    };
    switch (steps_back[one.word % steps_back.size()]) {
      case step_back::sum:
        adjoints[one.x()] += mine;
        go_on(adjoints[one.y()] += mine);
        break;
      case step_back::sum_with_parameter:
        kept += 1;
        go_on(adjoints[one.x()] += mine);
        break;
      case step_back::difference_with_parameter:
        kept += 1;
        [[fallthrough]];
      case step_back::difference:
        adjoints[one.x()] += mine;
        go_on(adjoints[one.y()] -= mine);
        break;
      case step_back::negative:
        go_on(adjoints[one.x()] -= mine);
        break;
      case step_back::nothing:
        if (next == &chunk.begin) return;
        go_on(*at);
        break;
      case step_back::one:
        if (is_zero(mine)) {
          go_on(*at);
        } else {
          go_on(adjoints[one.x()] += mine * kept[0]);
        }
        kept += 1;
        break;
      case step_back::two:
        if (is_zero(mine)) {
          go_on(*at);
        } else {
          adjoints[one.x()] += mine * kept[0];
          go_on(adjoints[one.y()] += mine * kept[1]);
        }
        kept += 2;
        break;
      case step_back::picked:
        if (!is_zero(mine)) {
          if (!is_zero(kept[0])) adjoints[one.x()] += mine * kept[0];
          if (!is_zero(kept[1])) adjoints[one.y()] += mine * kept[1];
        }
        go_on(*at);
        kept += 2;
        break;
      default:
        __builtin_unreachable();  // without it, a comparison whether the table of jumps has the step
    }
  }
}

/// The same where arithmetic is a few instructions, which is then all that most operations take. "No variable" has an adjoint,
/// too, because an addition is cheaper than a branch. A sum or difference passes its adjoint on unchanged, because the sweep would wait for
/// a multiplication by 1.
template <class Base, class Alloc>
requires is_cheap<Base>
void reverse_sweep(const operation_list<Base, Alloc>& operations, std::uint32_t last, Base* adjoints) {
  for_each_chunk_back(operations, last, [&](auto& chunk, std::size_t i, const Base* kept) {
    go_back_over(chunk, i, kept, adjoints);
  });
}

}  // namespace corescale::detail
