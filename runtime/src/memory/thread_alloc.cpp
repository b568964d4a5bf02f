// SPDX-License-Identifier: Apache-2.0
// The functions that take a thread number, and those about all threads.
#include "corescale/memory/thread_alloc.hpp"

#include <mutex>

#include "registry.hpp"
#include "report.hpp"

namespace corescale::inline v0 {
namespace {

thread_rules rules;

}  // namespace

void set_thread_rules(thread_rules replacement) noexcept { rules = replacement; }

namespace detail {
namespace {

template <class Variant>
std::size_t bytes_on_their_way(registry<Variant>& all, const pool<Variant>& home) {
  std::size_t bytes = home.inbox_bytes;
  all.for_each([&](pool<Variant>& p) {
    for (const batch<Variant>& out : p.outgoing)
      if (out.owner.load(std::memory_order_relaxed) == &home)
        bytes += out.bytes.load(std::memory_order_relaxed);
  });
  return bytes;
}

template <class Variant>
std::size_t bytes_in_use(registry<Variant>& all, pool<Variant>& p) {
  return p.inuse() - p.gone_bytes - bytes_on_their_way(all, p);
}

/// Whether this thread may touch `touched` and all others' memory: told by its number in checked builds.
template <class Variant>
void require_right(std::size_t touched, bool checked) {
  if (!checked || !rules.in_parallel || !rules.in_parallel()) return;
  const std::size_t caller = pool<Variant>::attached().number;
  if (touched != caller) report_misuse({misuse::wrong_thread, nullptr, 0, touched, caller});
}

bool known_to_be_sequential() { return rules.in_parallel && !rules.in_parallel(); }

}  // namespace

thread_rules current_thread_rules() noexcept { return rules; }

template <class Variant>
void threads<Variant>::hold_memory(bool hold) noexcept {
  pools<Variant>().set_hold(hold);
}

template <class Variant>
bool threads<Variant>::bind(std::size_t number) {
  pool<Variant>*& mine = current_pool<Variant>();
  const bool had_one = mine != unattached<Variant>();
  if (had_one && mine->number == number) return true;
  pool<Variant>* const bound = pools<Variant>().attach(number);
  if (!bound) return false;
  if (had_one) pools<Variant>().detach(*mine);
  mine = bound;
  return true;
}

template <class Variant>
std::size_t threads<Variant>::inuse(std::size_t thread, bool checked) {
  require_right<Variant>(thread, checked);
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  pool<Variant>* const found = all.find(thread);
  return found ? bytes_in_use(all, *found) : 0;
}

template <class Variant>
std::size_t threads<Variant>::available(std::size_t thread, bool checked) {
  require_right<Variant>(thread, checked);
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  pool<Variant>* const found = all.find(thread);
  return found ? found->available() + bytes_on_their_way(all, *found) : 0;
}

template <class Variant>
void threads<Variant>::free_available(std::size_t thread, bool checked) {
  require_right<Variant>(thread, checked);
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  pool<Variant>* const found = all.find(thread);
  if (!found) return;
  if (found != current_pool<Variant>() || known_to_be_sequential())
    all.for_each([](pool<Variant>& p) { p.flush_all(); });
  found->drain();
  found->release_available();
}

template <class Variant>
bool threads<Variant>::free_all(bool checked) {
  require_right<Variant>(misuse_report::no_thread, checked);
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  all.for_each([](pool<Variant>& p) { p.flush_all(); });
  bool nothing_in_use = true;
  all.for_each([&](pool<Variant>& p) {
    p.drain();
    p.release_available();
    nothing_in_use &= bytes_in_use(all, p) == 0;
  });
  all.erase_if_dead_and([&](pool<Variant>& p) { return bytes_in_use(all, p) == 0; });
  return nothing_in_use;
}

template <class Variant>
std::vector<const void*> threads<Variant>::checked_in_use(std::size_t thread) {
  registry<Variant>& all = pools<Variant>();
  const std::lock_guard lock(all.mutex);
  std::vector<const void*> memory;
  pool<Variant>* const found = all.find(thread);
  if (!found) return memory;
  const std::lock_guard account(found->account.mutex);
  for (block* root : found->account.roots)
    for (; root; root = root->next) memory.push_back(root->memory());
  return memory;
}

template struct threads<alloc_variant::per_thread>;
template struct threads<alloc_variant::contiguous>;
template struct threads<alloc_variant::system>;

}  // namespace detail
}  // namespace corescale
