// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace corescale::inline v0 {

template <class Signature>
class function_ref;

/// A reference to a callable: two pointers, no allocation. The callable must outlive every call.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  // The conversion is implicit, and from anything callable, as in the standard's function_ref.
  // NOLINTBEGIN(google-explicit-constructor,bugprone-forwarding-reference-overload)
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref> &&
           !std::is_function_v<std::remove_reference_t<F>> && std::is_invocable_r_v<Result, F&, Arguments...>)
      function_ref(F&& callable)
  noexcept
      : object_{.data = const_cast<void*>(static_cast<const void*>(std::addressof(callable)))},
        call_([](target object, Arguments... arguments) -> Result {
          return std::invoke(*static_cast<std::remove_reference_t<F>*>(object.data),
                             std::forward<Arguments>(arguments)...);
        }) {}

  template <class R, class... A>
  requires std::is_invocable_r_v<Result, R (*)(A...), Arguments...> function_ref(R (*function)(A...))
  noexcept
      : object_{.code = reinterpret_cast<void (*)()>(function)},
        call_([](target object, Arguments... arguments) -> Result {
          return reinterpret_cast<R (*)(A...)>(object.code)(std::forward<Arguments>(arguments)...);
        }) {}
  // NOLINTEND(google-explicit-constructor,bugprone-forwarding-reference-overload)

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  union target {
    void* data;
    void (*code)();
  };
  target object_;
  Result (*call_)(target, Arguments...);
};

}  // namespace corescale
