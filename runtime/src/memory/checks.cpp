// SPDX-License-Identifier: Apache-2.0
// What checked builds do more: each in O(1), and nothing is changed before all is known to be right.
#include <atomic>

#include "registry.hpp"
#include "report.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {
namespace {

template <class Variant>
std::size_t number_of_this_thread() noexcept {
  const pool<Variant>* const mine = current_pool<Variant>();
  return mine == unattached<Variant>() ? misuse_report::no_thread : mine->number;
}

template <class Variant>
void report(misuse kind, const void* memory, const block* b) {
  const pool<Variant>* const owner = reinterpret_cast<const pool<Variant>*>(b->stamp & ~state_bits);
  report_misuse({kind, memory, b->capacity(), owner->number, number_of_this_thread<Variant>()});
}

/// The block before `memory`, if one is there; null otherwise.
template <class Variant>
block* find_block(void* memory) noexcept {
  if (!memory || reinterpret_cast<std::uintptr_t>(memory) % block_alignment) return nullptr;
  block* const b = block_of(memory);
  const block seen = peek(b);
  if (seen.seal != seal_at(b, variant_salt<Variant>())) return nullptr;
  return seen.state() == shifted ? unshifted(&seen) : b;
}

template <class Variant>
bool may_return(const block* b) noexcept {
  const thread_rules rules = current_thread_rules();
  return rules.returns_cross_threads || !rules.in_parallel || !rules.in_parallel() ||
         (b->stamp & ~state_bits) == current_pool<Variant>()->stamp(in_use);
}

}  // namespace

void in_use_account::insert(block* b) {
  const std::lock_guard lock(mutex);
  block*& root = roots[b->capacity_index];
  b->next = root;
  b->back = 0;
  if (root) root->back = reinterpret_cast<std::uintptr_t>(b);
  root = b;
}

void in_use_account::erase(block* b) {
  const std::lock_guard lock(mutex);
  if (b->next) b->next->back = b->back;
  block* const before = reinterpret_cast<block*>(b->back);
  (before ? before->next : roots[b->capacity_index]) = b->next;
}

template <class Variant>
block* pool<Variant>::take_checked(std::size_t i) {
  block* const b = take(i);
  pool& mine = attached();
  write_guard(b);
  mine.account.insert(b);
  b->stamp = mine.stamp(in_use_checked);
  return b;
}

template <class Variant>
block* pool<Variant>::verify(void* memory) {
  block* const b = find_block<Variant>(memory);
  if (!b) {
    report_misuse({misuse::foreign, memory, 0, misuse_report::no_thread, number_of_this_thread<Variant>()});
    return nullptr;
  }
  const block_state state = b->state();
  if (state == in_use || (state == in_use_checked && guard_is_whole(b))) return b;
  report<Variant>(state == in_use_checked ? misuse::overrun : misuse::double_return, memory, b);
  return nullptr;
}

template <class Variant>
void pool<Variant>::give_checked(void* memory) {
  block* const b = verify(memory);
  if (!b) return;
  if (!may_return<Variant>(b)) return report<Variant>(misuse::wrong_thread, memory, b);
  pool* const owner = reinterpret_cast<pool*>(b->stamp & ~state_bits);
  const std::uintptr_t stamp = std::atomic_ref(b->stamp).exchange(owner->stamp(in_transit));
  if ((stamp & state_bits) > in_use_checked) return report<Variant>(misuse::double_return, memory, b);
  if ((stamp & state_bits) == in_use_checked) owner->account.erase(b);
  give_home(b, owner);
}

#define CORESCALE_INSTANTIATE(variant)                                     \
  template block* pool<alloc_variant::variant>::take_checked(std::size_t); \
  template block* pool<alloc_variant::variant>::verify(void*);             \
  template void pool<alloc_variant::variant>::give_checked(void*);
CORESCALE_INSTANTIATE(per_thread)
CORESCALE_INSTANTIATE(contiguous)
CORESCALE_INSTANTIATE(system)
#undef CORESCALE_INSTANTIATE

}  // namespace corescale::detail
