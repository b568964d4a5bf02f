// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/spin.hpp"

#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "corescale/machine/cache_line.hpp"
#include "helpers.hpp"

namespace corescale {
namespace {

void no_worker(std::size_t) noexcept {}

}  // namespace

// Laid out by who writes: a fork-join should move two cache lines between master and worker, and no third.
struct spin_team::state {
  struct alignas(cache_line) master_only {
    detail::master_gate gate;
    std::uint32_t number = 1;  // round 1 is over when every thread waits for its first worker
    std::vector<std::thread> threads;
  };
  struct alignas(cache_line) from_master {
    detail::parking_word number;
    bool over = false;
    worker_ref worker{no_worker};
    detail::first_exception errors;  // written only when something is thrown
  };
  struct alignas(cache_line) to_master {
    detail::parking_word number;
  };

  state(std::size_t num_threads, spin_options options)
      : spin_for(detail::spin_time(num_threads, options.spin_for)), done(num_threads - 1) {}

  static void serve(std::size_t id, from_master& next, to_master& done,
                    std::chrono::nanoseconds spin_for) noexcept {
    for (std::uint32_t number = 1;; ++number) {
      done.number.publish(number);
      next.number.await(number + 1, spin_for);
      if (next.over) [[unlikely]]
        return;
      next.errors.run(next.worker, id);
    }
  }

  void start_thread(std::size_t id) {
    master.threads.emplace_back(serve, id, std::ref(next), std::ref(done[id - 1]), spin_for);
  }

  void start(worker_ref worker) noexcept {
    next.worker = worker;
    next.number.publish(++master.number);
  }

  void join() noexcept {
    for (to_master& one : done) one.number.await(master.number, spin_for);
  }

  void end() noexcept {
    next.over = true;
    start(no_worker);
    for (std::thread& one : master.threads) one.join();
  }

  master_only master;
  const std::chrono::nanoseconds spin_for;
  std::vector<to_master> done;
  from_master next;
};

std::unique_ptr<spin_team> spin_team::create(std::size_t num_threads, spin_options options) {
  if (num_threads == 0) return nullptr;
  auto crew = std::make_unique<state>(num_threads, options);
  try {
    crew->master.threads.reserve(num_threads - 1);
    for (std::size_t id = 1; id < num_threads; ++id) crew->start_thread(id);
  } catch (const std::exception&) {  // std::system_error at the thread limit, std::bad_alloc
    crew->end();
    return nullptr;
  }
  crew->join();
  return std::unique_ptr<spin_team>(new spin_team(std::move(crew)));
}

spin_team::spin_team(std::unique_ptr<state> threads) noexcept : state_(std::move(threads)) {}

spin_team::~spin_team() {
  if (state_->master.gate.in_forked_child()) {
    static_cast<void>(state_.release());  // its threads do not exist here, so it cannot be taken apart
  } else {
    state_->end();
  }
}

bool spin_team::work(worker_ref worker) {
  if (!state_->master.gate.enter()) [[unlikely]]
    return false;
  state_->start(worker);
  state_->next.errors.run(worker, 0);
  state_->join();
  state_->master.gate.leave();
  state_->next.errors.rethrow();
  return true;
}

std::size_t spin_team::num_threads() const noexcept { return state_->done.size() + 1; }

}  // namespace corescale
