// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/detail/team_core.hpp"

#include <pthread.h>

#include <utility>

#include "corescale/machine/thread_end.hpp"

namespace corescale::inline v0 {
namespace {

// The process-wide state of every team: one copy, in this file.
std::atomic<std::uint64_t> forks{0};

// The fork generation whose process team is at work. In a child that is forked meanwhile, no team is at work.
constexpr std::uint64_t none = ~std::uint64_t{0};
std::atomic<std::uint64_t> at_work_in{none};

// The thread that is left after a fork() is not the master of any earlier team.
void begin_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  detail::calling_thread.identity = nullptr;
}

[[maybe_unused]] const int counts_forks = pthread_atfork(nullptr, nullptr, begin_child);

}  // namespace

team_place current_team() noexcept {
  const detail::membership* const innermost = detail::calling_thread.innermost;
  return innermost ? innermost->place : team_place();
}

std::size_t thread_num() noexcept { return current_team().id; }

bool in_parallel() noexcept {
  return detail::inside_any_worker() ||
         at_work_in.load(std::memory_order_acquire) == detail::fork_generation();
}

const char* name(outcome what) noexcept {
  switch (what) {
    case outcome::done:
      return "done";
    case outcome::nested:
      return "nested: called from inside a worker of the same team";
    case outcome::not_master:
      return "not master: called by another thread than the team's master";
    case outcome::forked:
      return "forked: called in a fork() of the team's owner";
    case outcome::empty:
      return "empty: called on an any_team that holds no team";
    case outcome::too_few_threads:
      return "too few threads";
  }
  return "unknown";
}

namespace detail {

constinit thread_local thread_state calling_thread;

std::uint64_t fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

void set_process_team_at_work(bool at_work) noexcept {
  at_work_in.store(at_work ? fork_generation() : none, std::memory_order_release);
}

namespace {

/// The master of a team that was released.
/// Not null, because that is the identity of every thread that never made or adopted a team.
constinit const thread_identity nobody{true};

/// The identity of a thread that lives. It owns itself until the thread ends.
struct living_identity : thread_identity {
  std::shared_ptr<living_identity> self;
};

/// Informs the teams that remember this thread.
void end_calling_thread(void* identity) noexcept {
  calling_thread.identity = nullptr;
  const auto own = std::move(static_cast<living_identity*>(identity)->self);
  own->ended.store(true, std::memory_order_release);
}

std::shared_ptr<const thread_identity> identify_calling_thread() {
  constinit static thread_end end(end_calling_thread);
  if (!calling_thread.identity) {
    void* const before_fork = end.awaited();
    const auto made = std::make_shared<living_identity>();
    end.await(made.get());
    if (before_fork) end_calling_thread(before_fork);  // from here on nothing can throw
    made->self = made;
    calling_thread.identity = made.get();
  }
  return static_cast<const living_identity*>(calling_thread.identity)->self;
}

}  // namespace

master_gate::master_gate() : master_(nullptr), hands_(std::make_unique<change_of_hands>()) {
  hands_->last_master = identify_calling_thread();
  master_.store(hands_->last_master.get(), std::memory_order_relaxed);
}

bool master_gate::calling_thread_is_inside() const noexcept {
  for (const membership* at = calling_thread.innermost; at; at = at->outer)
    if (at->place.team == this) return true;
  return false;
}

outcome master_gate::why_refused() const noexcept {
  if (in_forked_child()) return outcome::forked;
  return calling_thread_is_inside() ? outcome::nested : outcome::not_master;
}

outcome master_gate::release() noexcept {
  if (const outcome entered = enter(); entered != outcome::done) return entered;
  busy_ = false;
  const std::scoped_lock lock(hands_->mutex);
  master_.store(&nobody, std::memory_order_relaxed);
  return outcome::done;
}

outcome master_gate::adopt() {
  if (in_forked_child()) return outcome::forked;
  if (calling_thread_is_inside()) return outcome::nested;
  const std::scoped_lock lock(hands_->mutex);
  const thread_identity* const master = master_.load(std::memory_order_relaxed);
  if (master == calling_thread.identity) return outcome::done;
  if (!master->ended.load(std::memory_order_acquire)) return outcome::not_master;
  hands_->last_master = identify_calling_thread();
  master_.store(calling_thread.identity, std::memory_order_relaxed);
  return outcome::done;
}

outcome master_gate::take_over() {
  if (in_forked_child()) return outcome::forked;
  const std::scoped_lock lock(hands_->mutex);
  hands_->last_master = identify_calling_thread();
  master_.store(calling_thread.identity, std::memory_order_relaxed);
  return outcome::done;
}

namespace {

/// The calling thread is a member while this lives.
class inside_worker {
 public:
  explicit inside_worker(team_place place) noexcept : here_{place, calling_thread.innermost} {
    calling_thread.innermost = &here_;
  }
  ~inside_worker() { calling_thread.innermost = here_.outer; }
  inside_worker(const inside_worker&) = delete;
  inside_worker& operator=(const inside_worker&) = delete;

 private:
  const membership here_;
};

}  // namespace

namespace {

/// Marks the upper halves of the vector registers as zero. In a thread that has waited they may be marked as in use, and then code that was
/// compiled for SSE runs 1.5 times slower on a Zen 5 processor.
void clean_vector_state() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx"))
    asm volatile("vzeroupper" ::
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}

}  // namespace

void team_core::run(function_ref<void(std::size_t)> worker, std::size_t id, std::size_t k) noexcept {
  const inside_worker member({static_cast<const master_gate*>(this), id, k});
  clean_vector_state();
  try {
    worker(id);
  } catch (...) {
    if (!thrown_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
  }
}

void team_core::rethrow_first() {
  thrown_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace detail
}  // namespace corescale
