// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "corescale/memory/capacity_vector.hpp"
#include "corescale/tape/detail/operation_list.hpp"
#include "corescale/tape/detail/sweeps.hpp"
#include "corescale/tape/function.hpp"
#include "corescale/tape/real.hpp"

namespace corescale::inline v0 {

/// A recording of the calling thread: from its construction to its end, what the thread does with variables
/// over Base is recorded here.
///
///     gradient_tape tape;
///     const real<double> x = tape.variable(2), y = x * sin(x);
///     tape.reverse(y);
///     tape.adjoint(x);  // sin(2) + 2 cos(2)
///
/// Use it for derivatives at this point. finish() makes a function of it, which can be evaluated at other points and
/// differentiated to any order.
///
/// Memory       8 to 24 bytes per operation over double (a sum 8, a function 16, a product 24), 8 more in reverse(); from Alloc (thread_alloc of any
///              variant), which keeps what one recording returns for the thread's next.
/// Complexity   An operation O(1), amortised; reverse() linear in the operations before y; clear() and the
/// end
///              linear in the chunks of memory.
/// Throws       tape_misuse: a second recording over Base on this thread, a variable of another recording,
///              adjoint() before reverse(), or use after the end. std::bad_alloc, also from operators: the tape then is as before the
///              operation.
/// Threads      One tape per Base and thread at a time, used and ended by the thread that began it.
template <class Base = double, class Alloc = thread_alloc>
class gradient_tape : detail::recorder<Base> {
  static_assert(std::is_trivially_destructible_v<Base>, "a recording frees its memory, and destroys nothing");

 public:
  gradient_tape() {
    if (detail::open_recording<Base> != &detail::idle<Base>) detail::throw_nested();
    this->grow = [](detail::recorder<Base>& self) { static_cast<gradient_tape&>(self).make_room(); };
    begin();
    detail::open_recording<Base> = this;
  }
  gradient_tape(const gradient_tape&) = delete;
  gradient_tape& operator=(const gradient_tape&) = delete;
  ~gradient_tape() { end_recording(); }

  /// A new independent variable. Those before the first operation take no room among the operations.
  [[nodiscard]] real<Base> variable(const Base& value) {
    require_open();
    const bool takes_room = operations_.last() != nullptr;
    if (takes_room && this->is_full()) make_room();
    require_number();
    inputs_.push_back(this->index);
    if (!takes_room) return detail::operators<Base>::variable(value, {this->recording(), this->index++});
    const std::uint32_t none = this->no_variable();
    const unsigned op = operations::number_of<operations::independent>();
    return detail::operators<Base>::variable(value, this->put(op, none, none));
  }

  /// The adjoints of weight * y with respect to all that was recorded before y. A parameter has none.
  void reverse(const real<Base>& y, const Base& weight = Base(1.0)) {
    require_open();
    const std::uint32_t last = y.is_variable() ? index_of(y) : 0;
    adjoints_.clear();
    has_reversed_ = true;
    if (!y.is_variable()) return;
    note_size();
    adjoints_.resize(last + 1);
    adjoints_[last] = weight;
    detail::reverse_sweep(operations_, last, adjoints_.data());
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
    result.operations_.swap(operations_);
    end_recording();
    return result;
  }
  [[nodiscard]] function<Base, Alloc> finish(const real<Base>& output) {
    return finish(std::span(&output, 1));
  }

  /// Begins anew and keeps the memory. Variables recorded before are invalid.
  void clear() {
    require_open();
    operations_.clear();
    inputs_.clear();
    adjoints_.clear();
    has_reversed_ = false;
    begin();
  }

  /// Size of the chunks that hold the operations.
  std::size_t bytes() const noexcept { return operations_.bytes(); }

  /// Operations recorded so far, the independent variables included.
  std::size_t num_operations() const noexcept { return this->index - detail::parameter_slots; }

 private:
  using chunk = typename detail::operation_list<Base, Alloc>::chunk;

  void begin() {
    this->origin = 0;
    this->numbers = nullptr;
    this->number = detail::next_recording();
    this->index = detail::parameter_slots;
    this->limit = 0;
  }

  void end_recording() noexcept {
    if (detail::open_recording<Base> == this) detail::open_recording<Base> = &detail::idle<Base>;
    this->number = detail::none_open;
  }

  /// Uses the rest of the chunk: there is one, because most operations keep less than they may. If it is full, takes a new chunk.
  void make_room() {
    if (!operations_.last() || this->room() == 0) next_chunk();
    this->limit = this->index + this->room();
  }

  void next_chunk() {
    require_number();
    note_size();
    chunk& room = operations_.add(this->index);
    this->origin = reinterpret_cast<std::uintptr_t>(room.operations()) -
                   std::uintptr_t{this->index} * sizeof(detail::operation);
    this->numbers = room.end();
  }

  void require_number() const {
    if (this->index > detail::index_mask - largest_chunk) detail::throw_too_long();
  }

  void note_size() noexcept {
    if (chunk* const last = operations_.last()) {
      last->size = this->index - last->first;
      last->numbers = this->numbers;
    }
  }

  void require_open() const {
    if (detail::open_recording<Base> != this) detail::throw_ended();
  }

  std::uint32_t index_of(const real<Base>& x) const {
    const detail::place of_x = detail::operators<Base>::place_of(x);
    if (of_x.recording != this->recording()) detail::throw_not_open(of_x.recording, this->recording());
    return of_x.index;
  }

  static constexpr std::uint32_t largest_chunk = static_cast<std::uint32_t>(
      2 * detail::operation_list<Base, Alloc>::largest_bytes / sizeof(detail::operation));

  detail::operation_list<Base, Alloc> operations_;
  capacity_vector<std::uint32_t, Alloc> inputs_;
  capacity_vector<Base, Alloc> adjoints_;
  bool has_reversed_ = false;  ///< since the recording began
};

}  // namespace corescale
