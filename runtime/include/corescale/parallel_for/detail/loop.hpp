// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "corescale/parallel_for/loop_options.hpp"
#include "corescale/team/team.hpp"

// The basis of the templates of parallel_for. They turn any loop into a range from 0, a body and a place in the source, so that run_loop
// is compiled only once.
namespace corescale::inline v0::detail {

/// The place of a call in the source. clang 14 has no std::source_location.
struct source_place {
  const char* file;
  unsigned line;

  /// As a parameter's default, it is the place of the call that leaves the parameter out.
  static constexpr source_place current(const char* file = __builtin_FILE(),
                                        unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

/// The type in which a loop from a First to a Last counts.
template <class First, class Last>
using index = std::common_type_t<First, Last>;

/// last - first of any two integers; throws std::invalid_argument if that is negative.
template <std::integral First, std::integral Last>
std::uint64_t distance(First first, Last last) {
  if (std::cmp_greater(first, last)) [[unlikely]]
    throw std::invalid_argument("parallel_for: the range is reversed, from " + std::to_string(first) +
                                " to " + std::to_string(last) + "; first must not be greater than last");
  return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
}

/// The difference of two iterators. Its type need not be a std::integral; that of iota(std::size_t{}) is wider than any of them.
template <class Difference>
std::uint64_t steps(Difference n) {
  return n < 0 ? distance(0, static_cast<std::int64_t>(n)) : static_cast<std::uint64_t>(n);
}

/// The index that comes i after `first`; in unsigned arithmetic, so that nothing overflows on the way.
template <class Index, class First>
Index after(First first, std::uint64_t i) noexcept {
  return static_cast<Index>(static_cast<std::uint64_t>(first) + i);
}

/// A team of any type that a loop can be run on.
template <class Team>
concept loop_team = !std::integral<Team> && requires(Team & team, worker_ref worker) {
  { team.num_threads() } -> std::convertible_to<std::size_t>;
  team.work(std::size_t{1}, worker);
};

/// A callable of any type that runs iterations begin .. end - 1, counted from 0. It must outlive every call.
/// A callable of up to two words is copied into this object, so that a thread needs no other cache line for it. Of a larger one, only the
/// address is stored.
class loop_body {
 public:
  template <class Callable>
  requires(!std::same_as<Callable, loop_body> &&
           std::invocable<const Callable&, std::uint64_t, std::uint64_t>)
      // NOLINTNEXTLINE(google-explicit-constructor): as a function_ref, from anything callable
      loop_body(const Callable& callable)
  noexcept {
    if constexpr (is_kept<Callable>) {
      keep(callable);
    } else {
      keep([&callable](std::uint64_t begin, std::uint64_t end) { callable(begin, end); });
    }
  }

  void operator()(std::uint64_t begin, std::uint64_t end) const { call_(room_.data(), begin, end); }

 private:
  static constexpr std::size_t most_bytes = 2 * sizeof(void*);

  template <class Callable>
  static constexpr bool has_room = sizeof(Callable) <= most_bytes;
  template <class Callable>
  static constexpr bool is_kept =
      has_room<Callable> && alignof(Callable) <= alignof(void*) && std::is_trivially_copyable_v<Callable>;

  template <class Callable>
  void keep(const Callable& callable) noexcept {
    static_assert(is_kept<Callable>);
    std::memcpy(room_.data(), &callable, sizeof callable);
    call_ = [](const std::byte* room, std::uint64_t begin, std::uint64_t end) {
      (*reinterpret_cast<const Callable*>(room))(begin, end);
    };
  }

  alignas(void*) std::array<std::byte, most_bytes> room_{};
  void (*call_)(const std::byte* room, std::uint64_t begin, std::uint64_t end) = nullptr;
};

template <class Team>
bool work_of(void* team, std::size_t k, worker_ref worker) {
  Team& crew = *static_cast<Team*>(team);
  if constexpr (requires { crew.work_anywhere(k, worker); }) {
    return crew.work_anywhere(k, worker) == outcome::done;
  } else {
    return crew.work(k, worker) == outcome::done;
  }
}

/// A reference to a team of any type.
struct team_ref {
  void* team;
  std::size_t num_threads;
  bool (*run)(void* team, std::size_t k, worker_ref worker);

  template <class Team>
  static team_ref to(Team& crew) noexcept {
    return {&crew, crew.num_threads(), work_of<Team>};
  }

  /// False if the team refused; then nothing was run.
  bool work(std::size_t k, worker_ref worker) const { return run(team, k, worker); }
};

/// An address that differs between types.
template <class T>
inline constexpr char type_mark = 0;

/// Runs the loop. An exception that leaves a body leaves this call after all threads have ended; no block is claimed after it.
/// What is learned is stored under the place and the body's type (`type_mark`).
void run_loop(const team_ref& team, std::uint64_t n, const loop_body& body, const loop_options& options,
              const source_place& here, const void* body_type);

}  // namespace corescale::detail
