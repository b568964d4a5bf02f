// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

namespace corescale::inline v0::detail {

/// A count that one thread writes and any may read. Exact for the writer, and for others once they are
/// ordered behind it (a join, sequential mode).
class byte_count {
 public:
  std::size_t get() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  void add(std::size_t bytes) noexcept { bytes_.store(get() + bytes, std::memory_order_relaxed); }
  void subtract(std::size_t bytes) noexcept { add(0 - bytes); }

 private:
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace corescale::detail
