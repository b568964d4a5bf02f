// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "claim_simulator/case.hpp"

namespace claim_simulator {

struct Answer {
  Outcome outcome;
  corescale::loop_plan plan;
};

inline SimulatedMachine machine_of(const Case& one) {
  return {.threads = static_cast<std::uint32_t>(one.threads),
          .l3_domains = static_cast<std::uint32_t>(one.l3_domains),
          .placement = one.placement == "compact" ? Placement::compact : Placement::scattered,
          .sleeping = one.threads_are == "sleeping",
          .unevenness = one.unevenness,
          .costs = one.costs};
}

/// The machine's constants as a policy knows them.
inline corescale::calibration told(const Case& one) {
  corescale::calibration known = one.costs;
  for (const corescale::calibration_constant& constant : corescale::calibration_constants())
    known.*constant.value *= one.told;
  return known;
}

/// `known` must outlive it.
inline corescale::loop_description described(const Case& one, const corescale::calibration& known) {
  const auto threads = static_cast<std::uint32_t>(std::min(one.threads, one.n));
  return {.n = static_cast<std::uint64_t>(one.n),
          .threads = threads,
          .cores = static_cast<std::uint32_t>(one.threads),
          .l3_domains = static_cast<std::uint32_t>(one.l3_domains),
          .block = static_cast<std::uint64_t>(one.block),
          .cost = {one.read, one.write, one.operations},
          .iteration_ns = one.iteration_ns,
          .hot = one.threads_are == "spinning",
          .machine = known};
}

inline const corescale::block_policy& policy_of(const Case& one) {
  return one.policy == "auto" ? corescale::usual_block_policy(one.block)
                              : *corescale::find_block_policy(one.policy);
}

/// A fixed block from a counter of each thread, or of each L3 domain; steals if that is empty.
inline corescale::loop_plan own_counters(const Case& one, corescale::loop_plan plan) {
  if (one.counters == "policy") return plan;
  const bool by_group = one.counters == "group";
  plan.counters = by_group ? static_cast<std::uint32_t>(one.l3_domains) : plan.threads;
  plan.by_group = by_group;
  plan.steal = true;
  return plan;
}

/// Calls after which `auto` has learned the time of blocks, and its plan no longer changes.
inline constexpr int learning_calls = 3;

inline Answer run_case(const Case& one);

/// At the power of two up to n that takes least; at the smallest of equal ones.
inline Answer run_at_best_block(const Case& one) {
  Case fixed = one;
  fixed.policy = "fixed";
  fixed.block = 1;
  Answer best = run_case(fixed);
  for (fixed.block = 2; fixed.block <= one.n; fixed.block *= 2)
    if (const Answer answer = run_case(fixed); answer.outcome.ns < best.outcome.ns) best = answer;
  return best;
}

/// The last of the calls in which the policy learns as the library does: each call gets the times of the one before.
inline Answer run_case(const Case& one) {
  if (one.policy == best_block) return run_at_best_block(one);
  const SimulatedMachine machine = machine_of(one);
  const SimulatedLoop loop(static_cast<std::uint64_t>(one.n), one.iteration_ns, one.variation,
                           static_cast<std::uint64_t>(one.seed));
  const corescale::block_policy& policy = policy_of(one);
  const bool learns = policy.name == "auto";
  const corescale::calibration known = told(one);
  corescale::loop_description loop_seen = described(one, known);
  Answer answer;
  for (int call = 0; call < (learns ? learning_calls : 1); ++call) {
    answer.plan = own_counters(one, policy.plan(loop_seen));
    answer.outcome = Simulation(machine, loop, answer.plan).run();
    if (answer.outcome.times.mean() > 0) loop_seen.iteration_ns = answer.outcome.times.mean() / 1000;
    loop_seen.spread = answer.outcome.times.spread();
  }
  return answer;
}

}  // namespace claim_simulator
