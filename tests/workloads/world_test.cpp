// SPDX-License-Identifier: Apache-2.0
#include "digital_evolution/world.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <iostream>
#include <thread>

#include "build_kind.hpp"
#include "digital_evolution/digital_evolution.hpp"

namespace {

using digital_evolution::Options;
using digital_evolution::PlainHeap;
using digital_evolution::Random;
using digital_evolution::Tally;
using World = digital_evolution::World<PlainHeap>;

Options options_of(int width, int height, int generations, std::uint64_t seed = 1) {
  Options options;
  options.width = width;
  options.height = height;
  options.generations = generations;
  options.seed = seed;
  options.instructions_per_message = 20;
  return options;
}

struct Ended {
  Tally tally;
  std::uint64_t hash = 0;
};

/// What Evolution does, with threads that the sanitizers understand; thread t of n takes cells t, t + n, ...
Ended run(World& world, std::size_t threads, int generations) {
  std::barrier all(static_cast<std::ptrdiff_t>(threads));
  const auto share = [&](std::size_t thread) {
    const auto each = [&](const auto& work) {
      for (std::size_t i = thread; i < world.cells(); i += threads) work(i);
      all.arrive_and_wait();
    };
    each([&](std::size_t i) { world.settle(i); });
    for (int update = 0; update < generations; ++update) {
      each([&](std::size_t i) { world.act(i, update); });
      if (!World::is_round(update)) continue;
      each([&](std::size_t i) { world.choose(i, update); });
      each([&](std::size_t i) { world.commit(i); });
    }
  };
  std::vector<std::thread> team;
  for (std::size_t thread = 0; thread < threads; ++thread) team.emplace_back(share, thread);
  for (std::thread& thread : team) thread.join();
  Ended ended;
  for (std::size_t i = 0; i < world.cells(); ++i) {
    ended.tally += world.tally(i, generations);
    ended.hash += world.hash(i, generations);
  }
  return ended;
}

Ended run(const Options& options, std::size_t threads) {
  World world(options);
  return run(world, threads, options.generations);
}

/// Mean of what a cell harvests in an update, in the first and in the last 100 of 2,000 generations.
std::pair<double, double> fitness(std::uint64_t seed, bool selection) {
  Options options = options_of(10, 10, 2000, seed);
  options.instructions_per_message = 30;
  options.selection = selection;
  const Tally tally = run(options, 1).tally;
  const double updates = static_cast<double>(options.cells()) * options.window();
  return {static_cast<double>(tally.harvested_first) / updates,
          static_cast<double>(tally.harvested_last) / updates};
}

class Seed : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Two, Seed, testing::Values(1, 2));

/// The runs are the same everywhere, so this cannot fail by chance.
TEST_P(Seed, FitnessRisesBySelectionAlone) {
  if (!fast) GTEST_SKIP() << "4,000 generations take too long in this build";
  std::pair<double, double> with, without;
  std::thread other([&] { without = fitness(GetParam(), false); });
  with = fitness(GetParam(), true);
  other.join();
  std::cout << "fitness with selection " << with.first << " -> " << with.second << ", without "
            << without.first << " -> " << without.second << "\n";
  EXPECT_GT(with.second, with.first + 3);
  EXPECT_GT(with.second, 5 * with.first);
  EXPECT_LT(without.second, without.first + 0.25);
}

TEST(World, StateDoesNotDependOnThreads) {
  const Options options = options_of(6, 5, fast ? 100 : 25);
  const Ended alone = run(options, 1);
  EXPECT_TRUE(alone.tally.messages_balance());
  EXPECT_TRUE(alone.tally.resources_balance());
  EXPECT_GT(alone.tally.births, 0);
  EXPECT_GT(alone.tally.dropped, 0);
  for (const std::size_t threads : {2U, 3U, 4U}) EXPECT_EQ(run(options, threads).hash, alone.hash) << threads;
}

TEST(World, StateIsThatOfEvolution) {
#ifdef _OPENMP
  if (tsan) omp_set_num_threads(1);
#endif
  const Options options = options_of(6, 5, 25);
  const auto outcome = digital_evolution::evolve(options);
  EXPECT_EQ(outcome.state_hash, run(options, 1).hash);
  EXPECT_GT(outcome.seconds, 0);
}

TEST(World, StateDoesNotDependOnTheLayout) {
#ifdef _OPENMP
  if (tsan) omp_set_num_threads(1);
#endif
  Options options = options_of(6, 5, 25);
  const auto expected = digital_evolution::evolve(options).state_hash;
  for (const auto layout : {digital_evolution::Layout::owner, digital_evolution::Layout::master}) {
    options.layout = layout;
    EXPECT_EQ(digital_evolution::evolve(options).state_hash, expected);
  }
}

TEST(World, CellsLieOnLinesOfTheirOwnWherePadded) {
  World world(options_of(4, 4, 1));
  for (std::size_t i = 0; i < world.cells(); ++i) {
    world.settle(i);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&world.cell(i)) % corescale::cache_line, 0);
  }
}

TEST(World, AMessageCarriesAsManyNamesAsAskedFor) {
  for (const int badges : {0, 1, 16}) {
    Options options = options_of(2, 2, 1);
    options.badges = badges;
    World world(options);
    world.settle(0);
    EXPECT_EQ(world.cell(0).badges.size(), static_cast<std::size_t>(badges));
    EXPECT_EQ(world.cell(0).eldest.empty(), badges == 0);
  }
}

/// One thread frees what it asked for itself; of several some receive what others sent.
TEST(World, WhatIsFreedByAnotherThreadIsCounted) {
#ifdef _OPENMP
  if (tsan) GTEST_SKIP() << "OpenMP's barriers are unknown to this sanitizer";
  const int threads = omp_get_max_threads();
  for (const int wanted : {1, 4}) {
    omp_set_num_threads(wanted);
    const auto account =
        digital_evolution::evolve(options_of(8, 8, 25), digital_evolution::Count::owners).account;
    EXPECT_GT(account.freed, 0U);
    EXPECT_EQ(account.freed_elsewhere > 0, wanted > 1);
    EXPECT_LT(account.freed_elsewhere, account.freed / 2);
  }
  omp_set_num_threads(threads);
#endif
}

class Size : public testing::TestWithParam<std::pair<int, int>> {};

INSTANTIATE_TEST_SUITE_P(Tiny, Size,
                         testing::Values(std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 2}, std::pair{2, 1},
                                         std::pair{1, 7}, std::pair{3, 2}));

TEST_P(Size, InvariantsHoldAtEveryUpdate) {
  for (int generations = 1; generations <= 40; ++generations) {
    const Tally tally = run(options_of(GetParam().first, GetParam().second, generations), 1).tally;
    EXPECT_TRUE(tally.messages_balance()) << generations;
    EXPECT_TRUE(tally.resources_balance()) << generations;
  }
}

TEST(World, LedgersSeeWhatIsTakenAway) {
  const Options options = options_of(4, 4, 20);
  for (const bool message : {false, true}) {
    World world(options);
    EXPECT_TRUE(run(world, 1, options.generations).tally.resources_balance());
    auto& sender = world.cell(5).outboxes[1];
    if (message)
      sender.messages[0].pop_back();
    else
      --world.cell(5).stock;
    Tally tally;
    for (std::size_t i = 0; i < world.cells(); ++i) tally += world.tally(i, options.generations);
    EXPECT_EQ(tally.messages_balance(), !message);
    EXPECT_EQ(tally.resources_balance(), message);
  }
}

TEST(World, HashSeesEveryPartOfTheState) {
  const Options options = options_of(4, 4, 20);
  const std::uint64_t expected = run(options, 1).hash;
  const std::vector<std::function<void(digital_evolution::Cell<PlainHeap>&)>> changes{
      [](auto& cell) { ++cell.stock; },
      [](auto& cell) { ++cell.ancestors[3]; },
      [](auto& cell) { cell.genome[1].tag ^= 1; },
      [](auto& cell) { cell.genome[0].instructions[2].b ^= 1; },
      [](auto& cell) { cell.outboxes[1].messages[2].at(0).payload[0] += 1; },
      [](auto& cell) { cell.outboxes[1].messages[2].at(0).badges.insert("x"); },
      [](auto& cell) { ++cell.outboxes[1].gifts[3]; },
      [](auto& cell) { cell.inboxes[0].emplace_back(); },
      [](auto& cell) { ++cell.tally.births; }};
  for (std::size_t change = 0; change < changes.size(); ++change) {
    World world(options);
    EXPECT_EQ(run(world, 1, options.generations).hash, expected);
    changes[change](world.cell(7));
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < world.cells(); ++i) hash += world.hash(i, options.generations);
    EXPECT_NE(hash, expected) << change;
  }
}

TEST(World, NeighboursAreMutual) {
  for (const auto& [width, height] : {std::pair{5, 4}, {1, 1}, {1, 3}, {2, 2}}) {
    const World world(options_of(width, height, 1));
    for (std::size_t i = 0; i < world.cells(); ++i)
      for (int direction = 0; direction < 4; ++direction)
        EXPECT_EQ(world.neighbour(world.neighbour(i, direction), World::opposite(direction)), i);
  }
}

TEST(Genome, StaysWithinItsBounds) {
  Random random(1, 2, 3);
  auto genome = digital_evolution::random_genome<PlainHeap>(random);
  std::size_t fewest = genome.size(), largest = genome.size();
  for (int generation = 0; generation < 5000; ++generation) {
    digital_evolution::mutate<PlainHeap>(genome, random);
    fewest = std::min(fewest, genome.size());
    largest = std::max(largest, genome.size());
    for (const auto& function : genome) {
      ASSERT_GE(function.instructions.size(), std::size_t{digital_evolution::least});
      ASSERT_LE(function.instructions.size(), std::size_t{digital_evolution::most});
    }
  }
  EXPECT_EQ(fewest, std::size_t{digital_evolution::least});
  EXPECT_EQ(largest, std::size_t{digital_evolution::most});
}

/// A genome of one function, run on in = {3, 5}; what out[0] is then.
double computed(const std::vector<digital_evolution::Instruction>& instructions) {
  using enum digital_evolution::Operation;
  digital_evolution::Genome<PlainHeap> genome(1);
  genome[0].instructions.assign(instructions.begin(), instructions.end());
  std::int64_t stock = 80, spent = 0;
  const digital_evolution::Strings<PlainHeap> badges;
  digital_evolution::Outbox<PlainHeap> outbox;
  digital_evolution::Body<PlainHeap> body{stock, spent, badges, outbox};
  digital_evolution::Processor<PlainHeap> processor(genome, static_cast<int>(instructions.size()), body);
  digital_evolution::Registers<PlainHeap> in{{0, 3.0}, {1, 5.0}};
  auto out = processor.run(0, std::move(in));
  return out[0];
}

TEST(Processor, Computes) {
  using enum digital_evolution::Operation;
  const digital_evolution::Instruction load_0{load, 0, 0, 0, 0}, load_1{load, 1, 1, 0, 0},
      emit_2{emit, 0, 2, 0, 0};
  const auto binary = [&](digital_evolution::Operation operation) {
    return computed({load_0, load_1, {operation, 2, 0, 1, 0}, emit_2});
  };
  EXPECT_EQ(binary(add), 8);
  EXPECT_EQ(binary(subtract), -2);
  EXPECT_EQ(binary(multiply), 15);
  EXPECT_EQ(binary(smaller), 3);
  EXPECT_EQ(binary(larger), 5);
  EXPECT_EQ(binary(nothing), 0);
  EXPECT_EQ(computed({{constant, 2, 0, 0, 0}, emit_2}), -8);
  EXPECT_EQ(computed({{increment, 2, 0, 0, 0}, {increment, 2, 0, 0, 0}, emit_2}), 2);
  EXPECT_EQ(computed({{sense, 2, 0, 0, 0}, emit_2}), 80);
  EXPECT_EQ(computed({{share, 0, 0, 0, 0}, {send, 0, 0, 0, 0}, {sense, 2, 0, 0, 0}, emit_2}), 69);
  EXPECT_EQ(
      computed({load_0, load_1, {skip, 0, 1, 1, 0}, {increment, 2, 0, 0, 0}, emit_2, {nothing, 0, 0, 0, 0}}),
      0);
  EXPECT_EQ(computed({load_0, load_1, {skip, 1, 0, 1, 0}, {increment, 2, 0, 0, 0}, emit_2}), 1);
}

}  // namespace
