// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "corescale/tape/detail/adjoints.hpp"
#include "corescale/tape/detail/statement_list.hpp"
#include "corescale/tape/operations.hpp"
#include "corescale/tape/series.hpp"

// Sweeps over series of Base. Lines are evaluated statement by statement, if statements are compiled for them. All other series are
// evaluated step by step, so that each row of the table of operations is compiled only once for them.
namespace corescale::inline v0::detail {

template <class Row, class T>
T value_of(const T& x, const T& y, std::size_t statement) {
  if constexpr (operations::unary<Row>) {
    return static_cast<T>(Row::value(x));
  } else if constexpr (operations::binary<Row>) {
    return static_cast<T>(Row::value(x, y));
  } else if constexpr (operations::branching<Row>) {
    if (Row::holds(x, y) != Row::outcome) throw_branch_change(Row::name, Row::outcome, statement - 1);
    return T(0.0);
  } else if constexpr (operations::comparison<Row>) {
    return choose(typename Row::compared(), x, y, T(1.0), T(0.0));
  } else {
    return T(0.0);  // a selection: see below
  }
}

/// Propagates the adjoint of z by partial derivatives in the arithmetic of T. The partial derivatives of a Taylor series are also series,
/// and give the derivatives of all its coefficients (Griewank and Walther, Evaluating Derivatives, section 13.3). A pointer is null if
/// that operand is a constant.
template <class Row, class T>
void go_back(const T& x, const T& y, const T& z, const T& weight, T* to_x, T* to_y) {
  const auto hand_on = [&weight](T& to, const T& partial) {
    if (!operations::picks<Row> || !is_zero(partial)) to += weight * partial;
  };
  if constexpr (std::is_same_v<Row, operations::negate>) {
    *to_x -= weight;
  } else if constexpr (operations::unary<Row>) {
    hand_on(*to_x, T(Row::dx(x, z)));
  } else if constexpr (operations::binary<Row>) {
    if (to_x) hand_on(*to_x, T(Row::dx(x, y, z)));
    if (to_y) hand_on(*to_y, T(Row::dy(x, y, z)));
  }
}

template <class T>
struct row_over {
  T (*value)(const T&, const T&, std::size_t);
  void (*back)(const T&, const T&, const T&, const T&, T*, T*);
};
/// By number of row.
template <class T>
inline constexpr auto rows_over = []<std::size_t... Place>(std::index_sequence<Place...>) {
  return std::array<row_over<T>, sizeof...(Place)>{
      row_over<T>{&value_of<std::tuple_element_t<Place, operations::table>, T>,
                  &go_back<std::tuple_element_t<Place, operations::table>, T>}...};
}
(std::make_index_sequence<operations::count>());

/// Evaluates one statement at a time in the arithmetic of T, a series of Base. Sums and products, which are the most frequent operations,
/// need no call.
template <class Base, class T>
class interpreter {
 public:
  explicit interpreter(T* values_of_variables) : values_(values_of_variables) {}

  /// The value of statement i from those of its operands.
  void forward(const kind<Base>& of, const std::byte* block, std::size_t i) {
    look_at(of, block, i);
    for (std::size_t n = 0; n + 1 < of.size; ++n)
      if (is_operation(n)) evaluate(n, results_[n]);
    evaluate(of.size - 1U, values_[i]);
  }

  /// Propagates its adjoint to its operands, after a forward sweep.
  void back(const kind<Base>& of, const std::byte* block, std::size_t i, T* adjoints) {
    look_at(of, block, i);
    for (std::size_t n = 0; n + 1 < of.size; ++n) {
      if (!is_operation(n)) continue;
      evaluate(n, results_[n]);
      adjoints_[n] = T(0.0);
    }
    for (std::size_t n = of.size; n-- > 0;) {
      const bool is_last = n + 1 == of.size;
      const T& weight = is_last ? adjoints[i] : adjoints_[n];
      if (is_operation(n) && !is_zero(weight))
        hand_on(n, is_last ? values_[i] : results_[n], weight, adjoints);
    }
  }

 private:
  template <class Row>
  static constexpr unsigned number = operations::number_of<Row>();

  void look_at(const kind<Base>& of, const std::byte* block, std::size_t i) {
    statement_ = i;
    steps_ = of.steps;
    numbers_ = reinterpret_cast<const Base*>(block);
    operands_ = reinterpret_cast<const std::uint32_t*>(numbers_ + of.numbers);
    if (results_.size() < of.size) results_.resize(of.size), adjoints_.resize(of.size);
  }

  bool is_operation(std::size_t n) const { return steps_[n].op < step::constant; }
  bool is_constant(std::size_t n) const { return steps_[n].op == step::constant; }

  const T& result(std::size_t n) {
    const step one = steps_[n];
    if (one.op == step::operand) return values_[operands_[one.x]];
    if (one.op == step::constant) results_[n] = T(numbers_[one.x]);
    return results_[n];
  }

  /// Null for a constant.
  T* adjoint(std::size_t n, T* of_variables) {
    const step one = steps_[n];
    if (one.op == step::constant) return nullptr;
    return one.op == step::operand ? &of_variables[operands_[one.x]] : &adjoints_[n];
  }

  /// A constant has no coefficients behind the first, so nothing is multiplied by zeros.
  T times(const T& factor, std::size_t n) {
    return is_constant(n) ? T(factor * numbers_[steps_[n].x]) : T(factor * result(n));
  }

  std::uint16_t chosen(std::size_t selection) const {
    const step one = steps_[selection];
    return is_zero(results_[selection - 1]) ? one.y : one.x;
  }

  void evaluate(std::size_t n, T& value) {
    const step one = steps_[n];
    if (one.op == step::constant)
      value = T(numbers_[one.x]);
    else if (one.op == number<operations::add>)
      value = result(one.x) + result(one.y);
    else if (one.op == number<operations::subtract>)
      value = result(one.x) - result(one.y);
    else if (one.op == number<operations::multiply>)
      value = is_constant(one.x) ? times(result(one.y), one.x) : times(result(one.x), one.y);
    else if (one.op == number<operations::selection>)
      value = result(chosen(n));
    else
      value = rows_over<T>[one.op].value(result(one.x), result(one.y), statement_);
  }

  void hand_on(std::size_t n, const T& value, const T& weight, T* of_variables) {
    const step one = steps_[n];
    if (one.op == number<operations::selection>) {
      if (T* const to = adjoint(chosen(n), of_variables)) *to += weight;
      return;
    }
    T *const to_x = adjoint(one.x, of_variables), *const to_y = adjoint(one.y, of_variables);
    if (one.op == number<operations::add> || one.op == number<operations::subtract>) {
      if (to_x) *to_x += weight;
      if (to_y && one.op == number<operations::add>) *to_y += weight;
      if (to_y && one.op == number<operations::subtract>) *to_y -= weight;
    } else if (one.op == number<operations::multiply>) {
      if (to_x) *to_x += times(weight, one.y);
      if (to_y) *to_y += times(weight, one.x);
    } else {
      rows_over<T>[one.op].back(result(one.x), result(one.y), value, weight, to_x, to_y);
    }
  }

  T* values_;
  std::size_t statement_ = 0;
  const step* steps_ = nullptr;
  const Base* numbers_ = nullptr;
  const std::uint32_t* operands_ = nullptr;
  std::vector<T> results_, adjoints_;
};

template <class Base, class T>
inline constexpr bool are_lines = has_lines<Base>&& std::is_same_v<T, line<Base>>;

/// Computes all values in T from those of the independent variables, which the caller has set. Throws branch_change.
template <class Base, class Alloc, class T>
requires are_lines<Base, T>
void forward_sweep_over(const statement_list<Base, Alloc>& all, T* values) {
  for_each_run(all, [&](const kind<Base>& of, const std::byte* block, std::size_t i, std::size_t count) {
    of.lines.forward(block, values, i, count);
  });
}
template <class Base, class Alloc, class T>
void forward_sweep_over(const statement_list<Base, Alloc>& all, T* values) {
  interpreter<Base, T> at(values);
  for_each_run(all, [&](const kind<Base>& of, const std::byte* block, std::size_t i, std::size_t count) {
    if (of.size == 0) return;
    for (; count > 0; --count, ++i, block -= of.bytes) at.forward(of, block, i);
  });
}

/// The reverse sweep over values of a forward_sweep_over(). adjoints: of all variables; the caller has set those
/// that it starts from.
template <class Base, class Alloc, class T>
requires are_lines<Base, T>
void reverse_sweep_over(const statement_list<Base, Alloc>& all, T* values, T* adjoints) {
  for_each_run_back(all, last_index,
                    [&](const kind<Base>& of, const std::byte* block, std::size_t i, std::size_t count) {
                      return of.lines.back(block, values, adjoints, i, count);
                    });
}
template <class Base, class Alloc, class T>
void reverse_sweep_over(const statement_list<Base, Alloc>& all, T* values, T* adjoints) {
  interpreter<Base, T> at(values);
  for_each_run_back(all, last_index,
                    [&](const kind<Base>& of, const std::byte* block, std::size_t i, std::size_t count) {
                      for (; count > 0; --count, --i, block += of.bytes)
                        if (of.size > 0 && !is_zero(adjoints[i])) at.back(of, block, i, adjoints);
                      return block;
                    });
}

}  // namespace corescale::detail
