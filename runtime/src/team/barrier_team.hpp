// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "corescale/team/team.hpp"

namespace corescale::detail {

/// A team whose threads wait at two barriers, `start` and `finish`, of every round. A Crew is made with the
/// number of threads; start_threads() is false, and leaves nothing behind, where they cannot all be had;
/// end() ends them.
template <class Crew>
class barrier_team {
 public:
  static std::unique_ptr<barrier_team> create(std::size_t num_threads) {
    if (num_threads == 0) return nullptr;
    auto made = std::make_unique<Crew>(num_threads);
    return made->start_threads() ? std::make_unique<barrier_team>(std::move(made)) : nullptr;
  }

  explicit barrier_team(std::unique_ptr<Crew> made) noexcept : crew_(std::move(made)) {}
  ~barrier_team() {
    if (crew_->gate.in_forked_child()) {
      static_cast<void>(crew_.release());  // its threads do not exist here, so it cannot be taken apart
    } else {
      crew_->end();
    }
  }
  barrier_team(const barrier_team&) = delete;
  barrier_team& operator=(const barrier_team&) = delete;

  bool work(worker_ref worker) {
    if (!crew_->gate.enter()) return false;
    crew_->worker = worker;
    crew_->start.wait();
    crew_->errors.run(worker, 0);
    crew_->finish.wait();
    crew_->gate.leave();
    crew_->errors.rethrow();
    return true;
  }

  std::size_t num_threads() const noexcept { return crew_->num_threads; }

 private:
  std::unique_ptr<Crew> crew_;
};

}  // namespace corescale::detail
