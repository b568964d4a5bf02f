// SPDX-License-Identifier: Apache-2.0
#include "helpers.hpp"
#include "message_ports.hpp"
#include "systems.hpp"

namespace corescale {
namespace {

using namespace std::chrono_literals;

struct round {
  round(worker_ref what, std::size_t n) : worker(what), all_started(n), others_ended(n - 1) {}
  worker_ref worker;
  detail::countdown_latch all_started;
  detail::countdown_latch others_ended;
};

struct crew {
  explicit crew(std::size_t n) : num_threads(n), spin_for(detail::spin_time(n, 50us)), queue(n - 1) {
    message_ports::arbiter::activate(
        queue, message_ports::receive<std::size_t>(true, ids, [this](std::size_t id) { serve(id); }));
  }

  void serve(std::size_t id) noexcept {
    round& at_work = *now;
    at_work.all_started.arrive_and_wait(spin_for);
    errors.run(at_work.worker, id);
    at_work.others_ended.arrive();
  }

  const std::size_t num_threads;
  const std::chrono::nanoseconds spin_for;  // covers a round already under way; the dispatcher itself sleeps
  detail::master_gate gate;
  detail::first_exception errors;
  round* now = nullptr;
  message_ports::port<std::size_t> ids;
  message_ports::dispatcher queue;
};

/// Each round posts the ids 1 .. n - 1 to a port; a persistent receiver on a dispatcher of n - 1 threads runs
/// the worker, and a countdown latch tells the master, who is the n-th thread. A handler waits until all n
/// have started, so that no thread of the dispatcher takes two messages. A round for which no memory is left
/// ends the process.
class ports_team {
 public:
  static std::unique_ptr<ports_team> create(std::size_t num_threads) {
    try {
      return num_threads == 0 ? nullptr : std::make_unique<ports_team>(num_threads);
    } catch (const std::exception&) {  // std::system_error at the thread limit, std::bad_alloc
      return nullptr;
    }
  }

  explicit ports_team(std::size_t num_threads) : crew_(std::make_unique<crew>(num_threads)) {}
  ~ports_team() {
    if (crew_->gate.in_forked_child())
      static_cast<void>(crew_.release());  // its dispatcher has no threads here
  }
  ports_team(const ports_team&) = delete;
  ports_team& operator=(const ports_team&) = delete;

  bool work(worker_ref worker) {
    if (!crew_->gate.enter()) return false;
    run_round(worker);
    crew_->gate.leave();
    crew_->errors.rethrow();
    return true;
  }

  std::size_t num_threads() const noexcept { return crew_->num_threads; }

 private:
  void run_round(worker_ref worker) noexcept {
    round at_work(worker, crew_->num_threads);
    crew_->now = &at_work;
    for (std::size_t id = 1; id < crew_->num_threads; ++id) crew_->ids.post(id);
    at_work.all_started.arrive_and_wait(crew_->spin_for);
    crew_->errors.run(worker, 0);
    if (crew_->num_threads > 1) at_work.others_ended.wait(crew_->spin_for);
  }

  std::unique_ptr<crew> crew_;
};

static_assert(team<ports_team>);

}  // namespace

any_team systems::make_ports(std::size_t num_threads) { return any_team(ports_team::create(num_threads)); }

}  // namespace corescale
