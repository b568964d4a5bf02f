// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "corescale/tape/detail/recorder.hpp"
#include "corescale/tape/operations.hpp"

namespace corescale::inline v0::detail {

inline constexpr auto row_names = []<std::size_t... Place>(std::index_sequence<Place...>) {
  return std::array<const char*, sizeof...(Place)>{std::tuple_element_t<Place, operations::table>::name...};
}
(std::make_index_sequence<operations::count>());

/// A statement in the words of the table of operations, for example `v7 = (v3 * sqrt(v3))`.
template <class Base>
void print_statement(std::ostream& out, const kind<Base>& of, const std::byte* block, std::size_t i) {
  const auto* const numbers = reinterpret_cast<const Base*>(block);
  const auto* const operands = reinterpret_cast<const std::uint32_t*>(numbers + of.numbers);
  const auto is_sign = [](const char* name) {
    return std::string("+-*/<=").find(*name) != std::string::npos;
  };
  std::vector<std::string> text(of.size);
  for (std::size_t n = 0; n < of.size; ++n) {
    const step one = of.steps[n];
    std::ostringstream words;
    if (one.op == step::operand) {
      words << 'v' << operands[one.x];
    } else if (one.op == step::constant) {
      if constexpr (requires { words << numbers[0]; })
        words << numbers[one.x];
      else
        words << "constant";
    } else if (is_sign(row_names[one.op])) {
      words << '(' << text[one.x] << ' ' << row_names[one.op] << ' ' << text[one.y] << ')';
    } else {
      words << row_names[one.op] << '(';
      if (one.op == operations::number_of<operations::selection>()) words << text[n - 1] << ", ";
      words << text[one.x];
      if (one.x != one.y) words << ", " << text[one.y];
      words << ')';
    }
    text[n] = words.str();
  }
  out << 'v' << i << " = " << (text.empty() ? "an independent variable" : text.back()) << '\n';
}

}  // namespace corescale::detail
