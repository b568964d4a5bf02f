// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "corescale/tape/detail/expressions.hpp"
#include "corescale/tape/series.hpp"

// Recording an expression as a statement, and the statement's part in sweeps.
namespace corescale::inline v0::detail {

/// The layout of the statements of one expression type, and the functions of its `kind`.
template <class E>
struct statement {
  using base = typename E::base_type;
  static constexpr unsigned numbers = E::template numbers<false>;
  static constexpr std::size_t alignment = std::max(alignof(base), alignof(std::uint32_t));
  static constexpr std::size_t bytes =
      (numbers * sizeof(base) + E::indices * sizeof(std::uint32_t) + alignment - 1) / alignment * alignment;
  static_assert(numbers < step::constant && E::nodes < step::constant,
                "a statement has at most 65,533 operations");

  static base* numbers_in(std::byte* block) { return reinterpret_cast<base*>(block); }
  static const base* numbers_in(const std::byte* block) { return reinterpret_cast<const base*>(block); }
  static const std::uint32_t* operands_in(const std::byte* block) {
    return reinterpret_cast<const std::uint32_t*>(block + numbers * sizeof(base));
  }

  static const std::byte* back(const std::byte* block, base* adjoints, std::size_t i, std::size_t count) {
    if constexpr (E::indices > 0 && std::is_floating_point_v<base>) {
      return back(block, adjoint_chain<base>(adjoints, i), i, count);
    } else if constexpr (E::indices > 0) {
      return back(block, adjoint_array<base>{adjoints}, i, count);
    } else {
      return block + bytes * count;
    }
  }
  [[gnu::always_inline]] static const std::byte* back(const std::byte* block, auto&& adjoints, std::size_t i,
                                                      std::size_t count) {
    for (; count > 0; --count, --i, block += bytes) {
      const base weight = adjoints.take(i);
      if (!is_zero(weight))
        E::template back<false, false>(numbers_in(block), operands_in(block), weight, adjoints);
    }
    return block;
  }

  static void forward(std::byte* block, base* values, std::size_t i, std::size_t count) {
    if constexpr (E::nodes > 0) {
      for (; count > 0; --count, ++i, block -= bytes) {
        const E e = E::template read<false>(numbers_in(block), operands_in(block), values);
        if constexpr (requires { requires E::decides; }) {
          e.require_outcome(i);
        } else {
          values[i] = e.z;
          e.template write<false, true>(numbers_in(block));
        }
      }
    }
  }

  static void tangent(const std::byte* block, base* tangents, std::size_t i, std::size_t count) {
    if constexpr (E::indices > 0) {
      for (; count > 0; --count, ++i, block -= bytes)
        tangents[i] = E::template tangent<false>(numbers_in(block), operands_in(block), tangents);
    }
  }

  /// The same expression for variables whose values are lines.
  using of_line = typename E::template over<line<base>>;

  static void forward_line(const std::byte* block, line<base>* values, std::size_t i, std::size_t count) {
    if constexpr (E::nodes > 0) {
      for (; count > 0; --count, ++i, block -= bytes) {
        const of_line e = of_line::template read<false>(numbers_in(block), operands_in(block), values);
        if constexpr (requires { requires E::decides; }) e.require_outcome(i);
        values[i] = e.z;
      }
    }
  }

  static const std::byte* back_line(const std::byte* block, const line<base>* values, line<base>* adjoints,
                                    std::size_t i, std::size_t count) {
    if constexpr (E::indices > 0) {
      adjoint_array<line<base>> to{adjoints};
      for (; count > 0; --count, --i, block += bytes) {
        const line<base> weight = to.take(i);
        if (is_zero(weight)) continue;
        const of_line e = of_line::template read<false>(numbers_in(block), operands_in(block), values);
        std::array<line<base>, numbers> kept;
        e.template write<false, false>(kept.data());
        of_line::template back<false, false>(kept.data(), operands_in(block), weight, to);
      }
    }
    return block + bytes * count;
  }

  static constexpr line_sweeps<base> lines = [] {
    if constexpr (has_lines<base>) {
      return line_sweeps<base>{&forward_line, &back_line};
    } else {
      return line_sweeps<base>{};
    }
  }();

  static constexpr auto steps = [] {
    std::array<step, std::max(1U, E::nodes)> all{};
    step_writer to{all.data()};
    E::template list<false>(to);
    return all;
  }();
};

template <class E>
inline constexpr kind<typename E::base_type> kind_of{&statement<E>::back,
                                                     &statement<E>::forward,
                                                     &statement<E>::tangent,
                                                     statement<E>::lines,
                                                     statement<E>::bytes,
                                                     statement<E>::numbers,
                                                     E::nodes,
                                                     statement<E>::steps.data()};

template <class E>
[[gnu::always_inline]] inline place append(recorder<typename E::base_type>& tape, const E& e);

/// These slow paths are tail calls, which pass everything in registers or on the stack. If they returned into the middle of append(), its
/// fast path would keep its numbers in memory.
template <class E>
[[gnu::noinline, gnu::cold]] place append_with_room(E e) {
  auto& tape = *open_recording<typename E::base_type>;
  tape.grow(tape, statement<E>::bytes);
  return append(tape, e);
}

/// The slow path if not all leaves are of this recording. Parameters are recorded first. A variable of another recording is an error.
template <class E>
[[gnu::noinline]] place append_mixed(E e) {
  using base = typename E::base_type;
  auto& tape = *open_recording<base>;
  E::each(e, [&](const leaf<base>& one) {
    if (one.at.recording != parameter && one.at.recording != tape.recording())
      throw_not_open(one.at.recording, tape.recording());
  });
  E::each(e, [&](leaf<base>& one) {
    if (one.at.recording == parameter) one.at = append(tape, constant<base>(one.z));
  });
  return append(tape, e);
}

/// Appends a statement and returns the place of its result. All its variables must be of the open recording.
template <class E>
[[gnu::always_inline]] inline place append(recorder<typename E::base_type>& tape, const E& e) {
  using base = typename E::base_type;
  constexpr std::size_t bytes = statement<E>::bytes;
  if (tape.block < reinterpret_cast<std::uintptr_t>(tape.latest) + 2 * sizeof(run<base>) + bytes) [[unlikely]]
    return append_with_room(e);
  const std::uintptr_t block = tape.block - bytes;
  if (tape.latest->of != &kind_of<E>)
    tape.latest = ::new (static_cast<void*>(tape.latest + 1)) run<base>{&kind_of<E>, tape.index};
  // NOLINTBEGIN(performance-no-int-to-ptr): an integer, since it is compared with the end of a room, and there may be none
  auto* const numbers = reinterpret_cast<base*>(block);
  auto* to = reinterpret_cast<std::uint32_t*>(block + statement<E>::numbers * sizeof(base));
  // NOLINTEND(performance-no-int-to-ptr)
  e.template write<false, false>(numbers);
  E::each(
      e, [&](const leaf<base>& one) __attribute__((always_inline)) {
        ::new (static_cast<void*>(to++)) std::uint32_t(one.at.index);
      });
  tape.block = block;
  return {tape.recording(), tape.index++};
}

/// Records an expression, unless it depends on parameters only.
template <class E>
[[gnu::always_inline]] inline place record(const E& e) {
  auto& tape = *open_recording<typename E::base_type>;
  if (e.all_open(tape.recording())) [[likely]]
    return append(tape, e);
  bool varies = false;
  E::each(e, [&](const auto& one) { varies = varies || one.at.recording != parameter; });
  return varies ? append_mixed(e) : place{};
}

}  // namespace corescale::detail
