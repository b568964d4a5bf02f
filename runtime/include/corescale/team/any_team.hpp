// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "corescale/team/team.hpp"

namespace corescale {

/// Any team, chosen at run time; it keeps the contract of team.hpp at the price of one virtual call. Movable;
/// may be empty.
class any_team {
 public:
  any_team() = default;
  template <team T>
  explicit any_team(std::unique_ptr<T> wrapped)
      : team_(wrapped ? std::make_unique<holder<T>>(std::move(wrapped)) : nullptr) {}

  explicit operator bool() const noexcept { return team_ != nullptr; }

  /// False also when empty.
  bool work(worker_ref worker) { return team_ && team_->work(worker); }
  std::size_t num_threads() const noexcept { return team_ ? team_->num_threads() : 0; }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual bool work(worker_ref worker) = 0;
    virtual std::size_t num_threads() const noexcept = 0;
  };

  template <team T>
  struct holder final : interface {
    explicit holder(std::unique_ptr<T> wrapped) : held(std::move(wrapped)) {}
    bool work(worker_ref worker) override { return held->work(worker); }
    std::size_t num_threads() const noexcept override { return held->num_threads(); }
    std::unique_ptr<T> held;
  };

  std::unique_ptr<interface> team_;
};

/// One row per threading system.
struct threading_system {
  std::string_view name;
  std::string_view package;           ///< the Debian package a build needs for it; empty if none
  any_team (*create)(std::size_t n);  ///< null where this build lacks the system
};

inline constexpr std::string_view default_threading_system = "spin";

/// The table, absent systems included.
std::span<const threading_system> threading_systems() noexcept;

/// The row of that name, or null.
const threading_system* find_threading_system(std::string_view name) noexcept;

/// An empty team when the name is unknown, the system absent from this build, or its create() failed.
any_team make_team(std::size_t num_threads, std::string_view system = default_threading_system);

}  // namespace corescale
