// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "claim_simulator/simulator.hpp"
#include "driver/error.hpp"

namespace claim_simulator {

/// The input of a simulation: a loop on a machine under a policy.
struct Case {
  std::string policy = "auto";
  std::string counters = "policy";
  double block = 0;
  double n = 4096;
  double iteration_ns = 700;
  double variation = 0;  ///< coefficient of variation of the iterations
  double read = 1024;    ///< bytes; only published_cost_model uses read, write and operations
  double write = 1024;
  double operations = 1024;
  double seed = 1;
  double threads = 2;
  double l3_domains = 1;
  std::string placement = "compact";
  std::string threads_are = "spinning";
  double unevenness = 0.02;
  double told = 1;  ///< the constants that a policy knows, relative to those of the machine
  corescale::calibration costs{};
};

/// A number of a case.
struct Quantity {
  std::string_view name;
  double& (*of)(Case& one);
  double least;
  bool whole;
  std::string_view help;
};

inline constexpr std::array quantities{
    Quantity{"block", [](Case& c) -> double& { return c.block; }, 0, true,
             "iterations at once; makes auto fixed"},
    Quantity{"n", [](Case& c) -> double& { return c.n; }, 1, true, "iterations"},
    Quantity{"iteration-ns", [](Case& c) -> double& { return c.iteration_ns; }, 1e-3, false,
             "mean of an iteration"},
    Quantity{"variation", [](Case& c) -> double& { return c.variation; }, 0, false,
             "coefficient of variation of iterations"},
    Quantity{"read", [](Case& c) -> double& { return c.read; }, 0, false, "bytes, for published_cost_model"},
    Quantity{"write", [](Case& c) -> double& { return c.write; }, 0, false,
             "bytes, for published_cost_model"},
    Quantity{"operations", [](Case& c) -> double& { return c.operations; }, 0, false,
             "for published_cost_model"},
    Quantity{"seed", [](Case& c) -> double& { return c.seed; }, 0, true, "that iterations are drawn by"},
    Quantity{"threads", [](Case& c) -> double& { return c.threads; }, 1, true,
             "of the machine, one a core (2, or each core of --topology)"},
    Quantity{"l3-domains", [](Case& c) -> double& { return c.l3_domains; }, 1, true, "that they span"},
    Quantity{"unevenness", [](Case& c) -> double& { return c.unevenness; }, 0, false,
             "of the cores: slowest over mean, less 1"},
    Quantity{"told", [](Case& c) -> double& { return c.told; }, 1e-3, false,
             "the constants that a policy knows, over those of the machine"},
    Quantity{"claim-own", [](Case& c) -> double& { return c.costs.claim_own; }, 1e-3, false,
             "ns of a claim on one's own line"},
    Quantity{"line-near", [](Case& c) -> double& { return c.costs.line_near; }, 1e-3, false,
             "ns of a line within an L3 domain"},
    Quantity{"line-far", [](Case& c) -> double& { return c.costs.line_far; }, 1e-3, false,
             "ns of a line between L3 domains"},
    Quantity{"fork-hot", [](Case& c) -> double& { return c.costs.fork_hot; }, 1e-3, false,
             "ns of fork and join of two threads that spin"},
    Quantity{"fork-thread", [](Case& c) -> double& { return c.costs.fork_thread; }, 1e-3, false,
             "ns that each further thread adds"},
    Quantity{"fork-cold", [](Case& c) -> double& { return c.costs.fork_cold; }, 1e-3, false,
             "ns of fork and join where they sleep"},
};

/// A word of a case.
struct Choice {
  std::string_view name;
  std::string& (*of)(Case& one);
  std::vector<std::string> (*levels)();
  std::string_view help;
};

/// Not a policy of the library: the fixed block that takes least, of 1, 2, 4 and so on.
inline constexpr std::string_view best_block = "best_block";

inline std::vector<std::string> policy_names() {
  std::vector<std::string> all{std::string(best_block)};
  for (const corescale::block_policy& one : corescale::block_policies()) all.emplace_back(one.name);
  return all;
}

inline constexpr std::array choices{
    Choice{"policy", [](Case& c) -> std::string& { return c.policy; }, policy_names, "who chooses the block"},
    Choice{"counters", [](Case& c) -> std::string& { return c.counters; },
           [] {
             return std::vector<std::string>{"policy", "thread", "group"};
           },
           "of policy fixed: one, or one for each"},
    Choice{"placement", [](Case& c) -> std::string& { return c.placement; },
           [] {
             return std::vector<std::string>{"compact", "scattered"};
           },
           "of threads on L3 domains"},
    Choice{"threads-are", [](Case& c) -> std::string& { return c.threads_are; },
           [] {
             return std::vector<std::string>{"spinning", "sleeping"};
           },
           "before the loop"},
};

/// The most that a quantity may be: 2^53, up to which each whole number is a double.
inline constexpr double most = 9007199254740992.0;

[[noreturn]] inline void refuse(const std::string& where, const std::string& what,
                                const std::string& remedy) {
  throw driver::Error(where, what, remedy);
}

/// Throws driver::Error, which names `where`, if the text is not such a number.
inline void set(Case& one, const Quantity& quantity, std::string_view text, const std::string& where) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = fault == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
  if (!is_number || value < quantity.least || value > most || (quantity.whole && value != std::floor(value)))
    refuse(where, std::string(quantity.name) + " '" + std::string(text) + "' cannot be used",
           "give a " + std::string(quantity.whole ? "whole " : "") + "number of at least " +
               std::to_string(quantity.whole ? static_cast<long long>(quantity.least) : 0) +
               (quantity.whole || quantity.least == 0 ? "" : ", and above 0"));
  quantity.of(one) = value;
}

/// Throws driver::Error for an impossible combination.
inline void check(const Case& one, const std::string& where) {
  constexpr double most_threads = 4096, most_drawn = 1 << 26, most_claims = 1 << 26;
  if (one.threads > most_threads) refuse(where, "more than 4096 threads", "give --threads of at most 4096");
  if (one.l3_domains > one.threads)
    refuse(where, "more L3 domains than threads",
           "each group that is spanned has a thread; give fewer --l3-domains");
  if (one.unevenness >= 1) refuse(where, "unevenness is 1 or more", "give a share below 1");
  if (one.variation > 0 && one.n > most_drawn)
    refuse(where, "more than 2^26 iterations that vary", "give fewer of --n, or --variation 0");
  const bool searches = one.policy == best_block;
  if ((searches && one.n > most_claims) || (one.block > 0 && one.n / one.block > most_claims))
    refuse(where, "more than 2^26 claims", "give a larger --block, or fewer of --n");
  if (searches && one.block > 0)
    refuse(where, "policy best_block has a block", "leave out --block, or name policy fixed");
  if (!searches && one.block == 0 && corescale::find_block_policy(one.policy)->needs_block)
    refuse(where, "policy " + one.policy + " lacks its block", "give --block of at least 1");
  if (one.counters != "policy" && one.block == 0)
    refuse(where, "counters are chosen for a fixed block alone", "give --block of at least 1");
}

}  // namespace claim_simulator
