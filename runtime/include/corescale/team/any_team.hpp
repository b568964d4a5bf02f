// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "corescale/machine/topology.hpp"
#include "corescale/team/team.hpp"

namespace corescale::inline v0 {

/// Any team, chosen at run time; it keeps the contract of team.hpp at the price of one virtual call.
/// It is movable, and may be empty. Then every call returns outcome::empty.
class any_team {
 public:
  any_team() = default;
  template <team T>
  explicit any_team(std::unique_ptr<T> wrapped)
      : team_(wrapped ? std::make_unique<holder<T>>(std::move(wrapped)) : nullptr) {}

  explicit operator bool() const noexcept { return team_ != nullptr; }

  [[nodiscard]] outcome work(worker_ref worker) { return team_ ? team_->work(worker) : outcome::empty; }
  [[nodiscard]] outcome work(std::size_t k, worker_ref worker) {
    return team_ ? team_->work(k, worker) : outcome::empty;
  }
  /// The same as work(k, worker), for workers that never wait for each other (spin.hpp). Teams without this function call work(k, worker).
  [[nodiscard]] outcome work_anywhere(std::size_t k, worker_ref worker) {
    return team_ ? team_->work_anywhere(k, worker) : outcome::empty;
  }
  [[nodiscard]] outcome release() { return team_ ? team_->release() : outcome::empty; }
  [[nodiscard]] outcome adopt() { return team_ ? team_->adopt() : outcome::empty; }
  std::size_t num_threads() const noexcept { return team_ ? team_->num_threads() : 0; }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual outcome work(worker_ref worker) = 0;
    virtual outcome work(std::size_t k, worker_ref worker) = 0;
    virtual outcome work_anywhere(std::size_t k, worker_ref worker) = 0;
    virtual outcome release() = 0;
    virtual outcome adopt() = 0;
    virtual std::size_t num_threads() const noexcept = 0;
  };

  template <team T>
  struct holder final : interface {
    explicit holder(std::unique_ptr<T> wrapped) : held(std::move(wrapped)) {}
    outcome work(worker_ref worker) override { return held->work(worker); }
    outcome work(std::size_t k, worker_ref worker) override { return held->work(k, worker); }
    outcome work_anywhere(std::size_t k, worker_ref worker) override {
      if constexpr (requires { held->work_anywhere(k, worker); }) return held->work_anywhere(k, worker);
      return held->work(k, worker);
    }
    outcome release() override { return held->release(); }
    outcome adopt() override { return held->adopt(); }
    std::size_t num_threads() const noexcept override { return held->num_threads(); }
    std::unique_ptr<T> held;
  };

  std::unique_ptr<interface> team_;
};

/// One row per threading system.
struct threading_system {
  std::string_view name;
  std::string_view package;  ///< The Debian package that a build needs for it; empty if none.

  /// Whether this build has it.
  bool is_present() const noexcept { return maker != nullptr; }

  /// An empty team if the system is absent or its create() returns null.
  any_team create(std::size_t num_threads, const team_options& options = {}) const;

  any_team (*maker)(std::size_t num_threads, const team_options& options);  ///< Null if absent.
};

inline constexpr std::string_view default_threading_system = "spin";

/// The table, absent systems included.
std::span<const threading_system> threading_systems() noexcept;

/// The row of that name, or null.
const threading_system* find_threading_system(std::string_view name) noexcept;

/// An empty team if the name is unknown, if the system is absent from this build, or if its create() failed.
any_team make_team(std::size_t num_threads = usable_cores(),
                   std::string_view system = default_threading_system, const team_options& options = {});

}  // namespace corescale
