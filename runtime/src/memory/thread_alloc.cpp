// SPDX-License-Identifier: Apache-2.0
// The functions that take a thread number, and those about all threads.
#include "corescale/memory/thread_alloc.hpp"

#include <mutex>

#include "registry.hpp"
#include "report.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0 {
namespace {

thread_rules rules;

}  // namespace

void set_thread_rules(thread_rules replacement) noexcept { rules = replacement; }

namespace detail {
namespace {

/// The owner's counts first: a batch leaves the other thread's count before it enters one of these, so none
/// is counted twice.
template <class Variant>
std::size_t bytes_on_their_way(registry<Variant>& all, const pool<Variant>& home) {
  std::size_t bytes = home.inbox_bytes.load(std::memory_order_acquire);
  all.for_each([&](const pool<Variant>& p) { bytes += p.bytes_on_their_way_to(&home); });
  return bytes;
}

template <class Variant>
std::size_t bytes_in_use(registry<Variant>& all, const pool<Variant>& p) {
  const std::size_t gone = p.gone_bytes.load(std::memory_order_acquire);
  return p.inuse() - gone - bytes_on_their_way(all, p);
}

/// Whether this thread may touch `touched`: told by its number, by the named types with checks. False after
/// the handler of misuse was told.
template <class Variant>
bool has_right_to(std::size_t touched, bool checked) {
  if (!checked || !rules.in_parallel || !rules.in_parallel()) return true;
  const std::size_t caller = pool<Variant>::attached().number;
  if (touched == caller) return true;
  report_misuse({misuse::wrong_thread, nullptr, 0, touched, caller});
  return false;
}

}  // namespace

thread_rules current_thread_rules() noexcept { return rules; }

template <class Variant>
void threads<Variant>::hold_memory(bool hold) noexcept {
  pools<Variant>().set_hold(hold);
}

template <class Variant>
bool threads<Variant>::bind(std::size_t number) {
  pool<Variant>*& mine = own_pool<Variant>();
  if (mine && mine->number == number) return true;
  pool<Variant>* const bound = pools<Variant>().attach(number);
  if (!bound) return false;
  if (mine) pools<Variant>().detach(*mine);
  mine = bound;
  if (!address_sanitizer_watches()) current_pool<Variant>() = mine;
  return true;
}

template <class Variant>
std::size_t threads<Variant>::inuse(std::size_t thread, bool checked) {
  if (!has_right_to<Variant>(thread, checked)) return 0;
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  pool<Variant>* const found = all.find(thread);
  return found ? bytes_in_use(all, *found) : 0;
}

template <class Variant>
std::size_t threads<Variant>::available(std::size_t thread, bool checked) {
  if (!has_right_to<Variant>(thread, checked)) return 0;
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  pool<Variant>* const found = all.find(thread);
  return found ? found->available() + bytes_on_their_way(all, *found) : 0;
}

template <class Variant>
void threads<Variant>::free_available(std::size_t thread, bool checked) {
  if (!has_right_to<Variant>(thread, checked)) return;
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  pool<Variant>* const found = all.find(thread);
  if (!found) return;
  if (found != own_pool<Variant>())  // then it is sequential mode, and no thread fills a batch
    all.for_each([](pool<Variant>& p) { p.flush_all(); });
  found->drain();
  found->release_available();
}

template <class Variant>
bool threads<Variant>::free_all(bool checked) {
  if (!has_right_to<Variant>(misuse_report::no_thread, checked)) return false;
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  all.for_each([](pool<Variant>& p) { p.flush_all(); });
  bool nothing_in_use = true;
  all.for_each([&](pool<Variant>& p) {
    p.drain();
    p.release_available();
    nothing_in_use &= bytes_in_use(all, p) == 0;
  });
  all.extract_if([&](const pool<Variant>& p) { return !p.live && bytes_in_use(all, p) == 0; },
                 [&](pool<Variant>& p) { all.destroy(p); });
  return nothing_in_use;
}

template <class Variant>
std::vector<const void*> threads<Variant>::checked_in_use(std::size_t thread) {
  registry<Variant>& all = pools<Variant>();
  std::vector<const void*> memory;
  for (std::size_t blocks = 0;; memory.reserve(blocks)) {
    const std::lock_guard lock(all.mutex);
    pool<Variant>* const found = all.find(thread);
    blocks = found ? found->account.list(memory) : 0;
    if (blocks == memory.size()) return memory;
  }
}

#define CORESCALE_INSTANTIATE(variant) template struct threads<alloc_variant::variant>;
CORESCALE_FOR_EACH_ALLOC_VARIANT(CORESCALE_INSTANTIATE)
#undef CORESCALE_INSTANTIATE

}  // namespace detail
}  // namespace corescale
