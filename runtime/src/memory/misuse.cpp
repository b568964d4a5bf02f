// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/misuse.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "registry.hpp"
#include "system_memory.hpp"

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
  const misuse_handler chosen = handler.load(std::memory_order_acquire);
  if (!chosen) throw memory_misuse(report);
  chosen(report);
}

// --- what checked code adds: each check is O(1), and nothing changes before all have passed ---

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

/// Of two threads that return the same block, the atomic exchange of the state reports one. It uses the
/// compilers' builtin, because libc++ 14 has no std::atomic_ref.
void pool::give_checked(void* memory) noexcept {
  block* const b = verify(memory);
  if (!b) return;
  if (!may_return(b)) return report(misuse::wrong_thread, memory, b);
  pool* const owner = owner_of(b);
  const std::uintptr_t stamp = __atomic_exchange_n(&b->stamp, owner->stamp(in_transit), __ATOMIC_ACQ_REL);
  if ((stamp & state_bits) > in_use_checked) return report(misuse::double_return, memory, b);
  if ((stamp & state_bits) == in_use_checked && !owner->lost) owner->account.erase(b);
  if (block_of(memory) != b)
    block_of(memory)->seal = 0;  // over-aligned: its pointer counts as foreign from now on
  give_home(b, owner);
}

// --- the memory of a thread that checked code has in use ---

in_use_account::~in_use_account() { std::free(places_); }

/// The index of b, or of the free place where it belongs.
std::size_t in_use_account::place_of(const block* b) const noexcept {
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(b) * 0x9e3779b97f4a7c15;
  std::size_t place = (mixed >> 32) & (room_ - 1);
  while (places_[place] && places_[place] != b) place = (place + 1) & (room_ - 1);
  return place;
}

bool in_use_account::grow() noexcept {
  const std::size_t old_room = room_;
  block** const old = places_;
  const std::size_t room = old_room ? 2 * old_room : 64;
  void* const made = std::calloc(room, sizeof(block*));
  if (!made) return false;
  places_ = static_cast<block**>(made);
  room_ = room;
  for (std::size_t k = 0; k < old_room; ++k)
    if (old[k]) places_[place_of(old[k])] = old[k];
  std::free(old);
  return true;
}

bool in_use_account::insert(block* b) noexcept {
  const std::lock_guard lock(mutex);
  if (2 * (size_ + 1) > room_ && !grow()) return false;
  places_[place_of(b)] = b;
  ++size_;
  return true;
}

/// Later entries move up, so that a search for them meets no gap.
void in_use_account::erase(const block* b) noexcept {
  const std::lock_guard lock(mutex);
  if (size_ == 0) return;
  std::size_t gap = place_of(b);
  if (!places_[gap]) return;
  --size_;
  places_[gap] = nullptr;
  for (std::size_t k = (gap + 1) & (room_ - 1); places_[k]; k = (k + 1) & (room_ - 1)) {
    block* const moved = places_[k];
    places_[k] = nullptr;
    places_[place_of(moved)] = moved;
  }
}

std::size_t in_use_account::list(std::vector<const void*>& memory) noexcept {
  const std::lock_guard lock(mutex);
  if (size_ > memory.capacity()) return size_;
  for (std::size_t k = 0; k < room_; ++k)
    if (places_[k]) memory.push_back(places_[k]->memory());
  return size_;
}

}  // namespace detail
}  // namespace corescale
