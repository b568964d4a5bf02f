// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/detail/crewed_team.hpp"
#include "corescale/team/message_ports.hpp"
#include "systems.hpp"
#include "waiting.hpp"

namespace corescale::inline v0 {
namespace {

using namespace std::chrono_literals;

// Long enough for a round that is already under way. The dispatcher itself sleeps.
constexpr auto spin_for = 50us;

struct round {
  round(worker_ref what, std::size_t k) : worker(what), threads(k), all_started(k), others_ended(k) {}
  worker_ref worker;
  std::size_t threads;
  detail::countdown_latch all_started;
  detail::countdown_latch others_ended;
  bool cancelled = false;  // no memory was left for a message: nobody runs the worker
};

/// Each round posts the ids 1 .. k - 1 to a port.
/// A persistent receiver on a dispatcher of n - 1 threads runs the worker. A countdown latch informs the master, which is the n-th thread.
/// A handler waits until all k have started, so that no thread of the dispatcher takes two messages.
/// If there is no memory for the messages of a round, it is not run, and the outcome is too_few_threads.
struct crew {
  crew(std::size_t n, const team_options& options) : num_threads(n), queue(n - 1, options.stack_bytes) {}

  bool start() {
    message_ports::arbiter::activate(
        queue, message_ports::receive<std::size_t>(true, ids, [this](std::size_t id) { serve(id); }));
    return true;
  }

  bool run(std::size_t k, worker_ref worker) noexcept {
    if (k == 0) return true;
    round at_work(worker, k);
    now = &at_work;
    post_ids(at_work);
    at_work.all_started.arrive_and_wait(spin_for);
    if (!at_work.cancelled) core.run(worker, 0, k);
    at_work.others_ended.arrive();
    at_work.others_ended.wait(spin_for);
    return !at_work.cancelled;
  }

  void post_ids(round& at_work) noexcept {
    std::size_t id = 1;
    try {
      for (; id < at_work.threads; ++id) ids.post(id);
    } catch (const std::exception&) {  // std::bad_alloc; what was not posted counts as arrived
      at_work.cancelled = true;
      at_work.others_ended.arrive(at_work.threads - id);
      at_work.all_started.arrive(at_work.threads - id);
    }
  }

  void serve(std::size_t id) noexcept {
    round& at_work = *now;
    at_work.all_started.arrive_and_wait(spin_for);
    if (!at_work.cancelled) core.run(at_work.worker, id, at_work.threads);
    at_work.others_ended.arrive();
  }

  static constexpr const char* name = "ports";
  static constexpr bool ids_stay = false;
  detail::team_core core;
  const std::size_t num_threads;
  round* now = nullptr;
  message_ports::port<std::size_t> ids;
  message_ports::dispatcher queue;
};

using ports_team = detail::crewed_team<crew>;
static_assert(team<ports_team>);

}  // namespace

any_team systems::make_ports(std::size_t num_threads, const team_options& options) {
  return any_team(ports_team::create(num_threads, options));
}

}  // namespace corescale
