// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>

namespace corescale::inline v0 {

/// What a program can do wrong with memory.
enum class misuse {
  double_return,  ///< memory that is not in use was returned
  foreign,        ///< memory that thread_alloc did not give out was returned
  overrun,        ///< memory after the capacity was written
  wrong_thread,   ///< in parallel mode, a thread touched what belongs to another one (see thread_rules)
};

/// The name of a misuse, in words.
const char* name(misuse kind) noexcept;

struct misuse_report {
  misuse kind{};
  const void* memory = nullptr;   ///< null if the misuse is not about a block
  std::size_t capacity = 0;       ///< bytes; 0 if unknown
  std::size_t owner = no_thread;  ///< number of the thread whose memory it is
  std::size_t caller = no_thread;

  static constexpr std::size_t no_thread = static_cast<std::size_t>(-1);
};

/// What the default handler throws; what() names the misuse, the memory and both threads.
class memory_misuse : public std::logic_error {
 public:
  explicit memory_misuse(const misuse_report& report);
  const misuse_report report;
};

/// Called on the thread that misused memory, before anything is changed.
/// It may throw, log, or end the program. If it returns, the offending call does nothing.
using misuse_handler = void (*)(const misuse_report&);

/// Replaces the handler of the process and returns the previous one; null restores the default, which throws memory_misuse. The exception
/// reaches the caller of a function that takes a thread number. A function that returns memory never throws: there the exception ends the
/// program through std::terminate, which prints what(). This library itself never prints and never exits. Thread-safe.
misuse_handler set_misuse_handler(misuse_handler handler) noexcept;

namespace detail {

/// Calls the handler of the process; returns when the handler does.
void report_misuse(const misuse_report& report);

}  // namespace detail

}  // namespace corescale
