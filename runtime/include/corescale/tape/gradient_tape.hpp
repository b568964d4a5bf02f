// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "corescale/memory/capacity_vector.hpp"
#include "corescale/tape/detail/statement_list.hpp"
#include "corescale/tape/function.hpp"
#include "corescale/tape/real.hpp"

namespace corescale::inline v0 {

/// A recording of the calling thread. From its construction to its end it records what the thread does with variables over Base.
///
///     gradient_tape tape;
///     const real<double> x = tape.variable(2), y = x * sin(x);
///     tape.reverse(y);
///     tape.adjoint(x);  // sin(2) + 2 cos(2)
///
/// Use it for derivatives at this point. finish() makes a function of it, which can be evaluated at other points and
/// differentiated to any order.
///
/// Memory       Over double: 8 bytes for each number that a statement keeps, 4 for each operand, 16 for each row of statements of one type,
///              and in reverse() 8 for each statement. It comes from Alloc (thread_alloc of any variant), which keeps what one recording
///              returns for the thread's next.
/// Complexity   A statement O(1), amortised. reverse() is linear in the statements before y, clear() and the end in the chunks of memory.
/// Throws       tape_misuse for a second recording over Base on this thread, a variable of another recording, adjoint() before reverse(),
///              or use after the end. std::bad_alloc, also from operators. The tape is then as before the statement, except for parameters
///              that the statement recorded.
/// Threads      One tape per Base and thread at a time, used and ended by the thread that began it.
template <class Base = double, class Alloc = thread_alloc>
class gradient_tape : detail::recorder<Base> {
  static_assert(std::is_trivially_destructible_v<Base>, "a recording frees its memory, and destroys nothing");

 public:
  gradient_tape() {
    if (detail::open_recording<Base> != &detail::idle<Base>) detail::throw_nested();
    this->grow = [](detail::recorder<Base>& self, std::size_t bytes) {
      static_cast<gradient_tape&>(self).next_chunk(bytes);
    };
    begin();
    detail::open_recording<Base> = this;
  }
  gradient_tape(const gradient_tape&) = delete;
  gradient_tape& operator=(const gradient_tape&) = delete;
  ~gradient_tape() { end_recording(); }

  /// A new independent variable. If it comes before the first statement, it takes no room among the statements.
  [[nodiscard]] real<Base> variable(const Base& value) {
    require_open();
    if (!statements_.last()) {
      require_number();
      inputs_.leading = this->index;
      return detail::inside::variable(value, {this->recording(), this->index++});
    }
    const detail::place at = detail::append(*this, detail::input<Base>());
    inputs_.late.push_back(at.index);
    return detail::inside::variable(value, at);
  }

  /// The adjoints of weight * y with respect to all that was recorded before y. A parameter has none.
  void reverse(const real<Base>& y, const Base& weight = Base(1.0)) {
    require_open();
    const std::uint32_t last = y.is_variable() ? index_of(y) : 0;
    adjoints_.clear();
    has_reversed_ = true;
    if (!y.is_variable()) return;
    note_size();
    adjoints_.resize(std::size_t{last} + 1);
    adjoints_[last] = weight;
    detail::reverse_sweep(statements_, last, adjoints_.data());
  }

  /// The derivative of the last reversed y with respect to x; 0 for a parameter.
  Base adjoint(const real<Base>& x) const {
    require_open();
    if (!has_reversed_) detail::throw_adjoint_before_reverse();
    const std::uint32_t at = x.is_variable() ? index_of(x) : 0;
    return at != 0 && at < adjoints_.size() ? adjoints_[at] : Base(0.0);
  }

  /// Ends the recording and makes a function of it, from the variables in their order to outputs.
  [[nodiscard]] function<Base, Alloc> finish(std::span<const real<Base>> outputs) {
    require_open();
    function<Base, Alloc> result(inputs_, *this, outputs);
    note_size();
    result.statements_.swap(statements_);
    end_recording();
    return result;
  }
  [[nodiscard]] function<Base, Alloc> finish(const real<Base>& output) {
    return finish(std::span(&output, 1));
  }

  /// Begins anew and keeps the memory. Earlier variables become invalid.
  void clear() {
    require_open();
    statements_.clear();
    inputs_.leading = 0;
    inputs_.late.clear();
    adjoints_.clear();
    has_reversed_ = false;
    begin();
  }

  /// Size of the chunks that hold the statements.
  std::size_t bytes() const noexcept { return statements_.bytes(); }

  /// The number of statements so far. Independent variables count, and so do parameters that were operands.
  std::size_t num_statements() const noexcept { return this->index - 1; }

 private:
  using chunk = typename detail::statement_list<Base, Alloc>::chunk;

  void begin() {
    this->latest = nullptr;
    this->block = 0;
    this->number = detail::next_recording();
    this->index = 1;
  }

  void end_recording() noexcept {
    if (detail::open_recording<Base> == this) detail::open_recording<Base> = &detail::idle<Base>;
    this->number = detail::none_open;
  }

  void next_chunk(std::size_t bytes) {
    require_number();
    note_size();
    chunk& room = statements_.add(bytes);
    this->latest = room.last;
    this->block = reinterpret_cast<std::uintptr_t>(room.end());
  }

  void require_number() const {
    if (this->index > detail::last_index - most_of_a_chunk) detail::throw_too_long();
  }

  void note_size() noexcept {
    if (chunk* const filled = statements_.last()) {
      filled->behind_last = this->index;
      filled->last = this->latest;
      filled->block = filled->end() - (reinterpret_cast<std::uintptr_t>(filled->end()) - this->block);
    }
  }

  void require_open() const {
    if (detail::open_recording<Base> != this) detail::throw_ended();
  }

  std::uint32_t index_of(const real<Base>& x) const {
    const detail::place of_x = detail::inside::place_of(x);
    if (of_x.recording != this->recording()) detail::throw_not_open(of_x.recording, this->recording());
    return of_x.index;
  }

  static constexpr std::uint32_t most_of_a_chunk = static_cast<std::uint32_t>(
      2 * detail::statement_list<Base, Alloc>::largest_bytes / sizeof(std::uint32_t));

  detail::statement_list<Base, Alloc> statements_;
  detail::input_list<Alloc> inputs_;
  capacity_vector<Base, Alloc> adjoints_;
  bool has_reversed_ = false;  ///< since the recording began
};

}  // namespace corescale
