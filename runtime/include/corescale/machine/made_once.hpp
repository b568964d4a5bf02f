// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

namespace corescale::inline v0::detail {

/// A value of static storage that its first caller makes. If several make one at the same time, one of the values is kept for ever. No
/// caller waits for another. (At a function's static variable, a child of fork() could wait for a thread that exists only in its parent.)
template <class Value>
class made_once {
 public:
  /// Throws what make() throws; then nothing has changed.
  template <class Make>
  const Value& get(Make make) {
    if (const Value* const known = get_if()) return *known;
    std::unique_ptr<const Value> made(new const Value(make()));  // in place: it need not be movable
    const Value* first = nullptr;
    const bool stays = value_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel);
    return stays ? *made.release() : *first;
  }

  /// Null while nobody has made it.
  const Value* get_if() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<const Value*> value_{nullptr};
};

}  // namespace corescale::detail
