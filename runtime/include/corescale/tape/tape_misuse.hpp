// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace corescale::inline v0 {

/// A program's error with variables, tapes or functions; what() says what, where and the remedy. The call that threw it changed nothing.
class tape_misuse : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A recorded function was evaluated where the recorded program would have taken another branch.
class branch_change : public std::domain_error {
 public:
  using std::domain_error::domain_error;
};

namespace detail {

/// An operand belongs to recording `of`, but the thread has recording `open` open.
[[noreturn]] void throw_not_open(std::uint32_t of, std::uint32_t open);
[[noreturn]] void throw_nested();
[[noreturn]] void throw_ended();
[[noreturn]] void throw_too_long();
[[noreturn]] void throw_wrong_size(const char* function, const char* what, std::size_t is,
                                   std::size_t should_be);
[[noreturn]] void throw_branch_change(const char* comparison, bool recorded, std::size_t statement);
[[noreturn]] void throw_reverse_before_forward(const char* function, const char* forward);
[[noreturn]] void throw_adjoint_before_reverse();

}  // namespace detail
}  // namespace corescale
