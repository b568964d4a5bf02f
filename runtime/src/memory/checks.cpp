// SPDX-License-Identifier: Apache-2.0
// What checked builds do more: each in O(1), and nothing is changed before all is known to be right.
#include <new>

#include "registry.hpp"
#include "report.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {
namespace {

void report(misuse kind, const void* memory, const block* b) {
  report_misuse({kind, memory, b->capacity(), owner_of(b)->number, number_of_this_thread()});
}

/// The block before `memory`, if one is there; null otherwise.
block* find_block(void* memory) noexcept {
  if (!memory || reinterpret_cast<std::uintptr_t>(memory) % small_alignment) return nullptr;
  block* const b = block_of(memory);
  const block seen = peek(b);
  if (seen.seal != seal_at(b)) return nullptr;
  return seen.state() == shifted ? unshifted(&seen) : b;
}

bool may_return(const block* b) noexcept {
  const thread_rules rules = current_thread_rules();
  return rules.returns_cross_threads || !rules.in_parallel || !rules.in_parallel() || owner_of(b) == own_pool;
}

}  // namespace

block* pool::take_checked(std::size_t size_class) {
  block* const b = take(size_class);
  pool& mine = attached();
  if (!mine.account.insert(b)) {
    give(b);
    throw std::bad_alloc();
  }
  write_guard(b);
  b->stamp = mine.stamp(in_use_checked);
  return b;
}

block* pool::verify(void* memory) {
  block* const b = find_block(memory);
  if (!b) {
    report_misuse({misuse::foreign, memory, 0, misuse_report::no_thread, number_of_this_thread()});
    return nullptr;
  }
  const block_state state = b->state();
  if (state == in_use || (state == in_use_checked && guard_is_whole(b))) return b;
  report(state == in_use_checked ? misuse::overrun : misuse::double_return, memory, b);
  return nullptr;
}

/// The state is exchanged, so that of two threads that return the same block one is told. By the compilers' function, as
/// libc++ 14 has no std::atomic_ref.
void pool::give_checked(void* memory) noexcept {
  block* const b = verify(memory);
  if (!b) return;
  if (!may_return(b)) return report(misuse::wrong_thread, memory, b);
  pool* const owner = owner_of(b);
  const std::uintptr_t stamp = __atomic_exchange_n(&b->stamp, owner->stamp(in_transit), __ATOMIC_ACQ_REL);
  if ((stamp & state_bits) > in_use_checked) return report(misuse::double_return, memory, b);
  if ((stamp & state_bits) == in_use_checked && !owner->lost) owner->account.erase(b);
  if (block_of(memory) != b)
    block_of(memory)->seal = 0;  // over-aligned: so that an old pointer is known as foreign
  give_home(b, owner);
}

}  // namespace corescale::detail
