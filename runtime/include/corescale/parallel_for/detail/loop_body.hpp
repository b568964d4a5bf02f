// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace corescale::inline v0::detail {

/// What runs iterations begin .. end - 1, counted from 0: a callable of any type, which must outlive every call.
/// One of up to two words is kept in here, so that a thread needs no cache line more for it; of a larger one the address.
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

}  // namespace corescale::detail
