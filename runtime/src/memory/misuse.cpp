// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/misuse.hpp"

#include <atomic>
#include <cstdint>
#include <string>

#include "report.hpp"

namespace corescale::inline v0 {
namespace {

std::atomic<misuse_handler> handler{nullptr};

std::string thread_name(const char* role, std::size_t number) {
  return number == misuse_report::no_thread ? ""
                                            : std::string(", ") + role + " thread " + std::to_string(number);
}

std::string address(const void* memory) {
  std::string digits = "0x";
  for (int shift = 44; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[reinterpret_cast<std::uintptr_t>(memory) >> shift & 15];
  return digits;
}

std::string describe(const misuse_report& report) {
  std::string text = std::string("corescale::thread_alloc: ") + name(report.kind);
  if (report.memory) text += ": memory at " + address(report.memory);
  if (report.capacity) text += ", capacity " + std::to_string(report.capacity) + " bytes";
  return text + thread_name("of", report.owner) + thread_name("by", report.caller);
}

}  // namespace

const char* name(misuse kind) noexcept {
  switch (kind) {
    case misuse::double_return:
      return "returned though not in use (double return)";
    case misuse::foreign:
      return "returned but not given out by this allocator (foreign)";
    case misuse::overrun:
      return "written beyond its capacity (overrun)";
    case misuse::wrong_thread:
      return "another thread's memory touched in parallel mode (wrong thread)";
  }
  return "unknown";
}

memory_misuse::memory_misuse(const misuse_report& what_happened)
    : std::logic_error(describe(what_happened)), report(what_happened) {}

misuse_handler set_misuse_handler(misuse_handler replacement) noexcept {
  return handler.exchange(replacement, std::memory_order_acq_rel);
}

namespace detail {

void report_misuse(const misuse_report& report) {
  const misuse_handler told = handler.load(std::memory_order_acquire);
  if (!told) throw memory_misuse(report);
  told(report);
}

}  // namespace detail
}  // namespace corescale
