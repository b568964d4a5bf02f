// SPDX-License-Identifier: Apache-2.0
// The parts of the tape that are compiled only once.
#include "corescale/tape/function.hpp"

#include <atomic>

#include "corescale/tape/detail/recorder.hpp"
#include "corescale/tape/gradient_tape.hpp"
#include "corescale/tape/tape_misuse.hpp"

namespace corescale::inline v0 {

template class function<double, thread_alloc>;

namespace detail {
namespace {

// Threads draw numbers in blocks, so that threads that record short functions do not contend for the counter.
constexpr std::uint32_t at_once = 4096;
std::atomic<std::uint32_t> next_free{0};

struct numbers {
  std::uint32_t next = 0;
  std::uint32_t end = 0;
};
constinit thread_local numbers mine;

}  // namespace

std::uint32_t next_recording() {
  if (mine.next == mine.end) {
    const std::uint32_t first = next_free.fetch_add(at_once, std::memory_order_relaxed);
    mine = {first == 0 ? none_open + 1 : first, first + at_once};
  }
  return mine.next++;
}

void throw_not_open(std::uint32_t of, std::uint32_t open) {
  const std::string variable = "a variable of recording " + std::to_string(of) + " was used ";
  if (open == none_open)
    throw tape_misuse(variable +
                      "while this thread records nothing: its recording has ended, or is another "
                      "thread's; take its value(), or make the tape before");
  throw tape_misuse(variable + "in recording " + std::to_string(open) +
                    ": it belongs to a recording that has ended, or to another thread; take its value()");
}

void throw_nested() {
  throw tape_misuse(
      "a recording was begun while this thread has one open for the same type: end that one "
      "first, or nest with real<real<...>>");
}

void throw_ended() {
  throw tape_misuse(
      "the recording of this tape has ended, or is another thread's: only the thread that began "
      "it may go on with it");
}

void throw_too_long() {
  throw std::length_error("a recording holds at most " + std::to_string(last_index) +
                          " statements: divide the function, or keep constants out of variables");
}

void throw_wrong_size(const char* function, const char* what, std::size_t is, std::size_t should_be) {
  throw tape_misuse(std::string(function) + ": " + what + " has " + std::to_string(is) +
                    " elements and should have " + std::to_string(should_be));
}

void throw_branch_change(const char* comparison, bool recorded, std::size_t statement) {
  throw branch_change(
      "the comparison '" + std::string(comparison) + "', statement " + std::to_string(statement) +
      " of the recording, was " + (recorded ? "true" : "false") +
      " there and is not here, so the program would take another branch: record it at this point");
}

void throw_reverse_before_forward(const char* function, const char* forward) {
  throw tape_misuse(std::string(function) +
                    ": there is no sweep forward to go back over, or the last one threw; call " + forward +
                    "() first");
}

void throw_adjoint_before_reverse() {
  throw tape_misuse("adjoint: no sweep went back over this recording yet: call reverse(y) first");
}

}  // namespace detail
}  // namespace corescale
