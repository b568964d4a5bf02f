// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "digital_evolution/cell.hpp"

namespace digital_evolution {

/// The memory of the cells. `padded`: each thread makes its cells, each on separate cache lines. `owner`: each thread makes its cells, and
/// neighbours may share a line. `master`: one thread makes all cells.
enum class Layout { padded, owner, master };

struct Options {
  int width = 32, height = 32;
  int generations = 200;  ///< updates of each cell
  std::uint64_t seed = 1;
  int instructions_per_message = 1200;  ///< little of the time is in malloc; with 110, it is 15%
  int badges = 2;                       ///< last ancestors whose names a message carries
  bool selection = true;
  Layout layout = Layout::padded;

  std::size_t cells() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(height); }

  /// Updates over which the mean fitness of the start and of the end is taken.
  int window() const { return std::max(1, generations / 20); }
};

/// A torus of cells, each with a genome that handles its neighbours' messages and a task of the environment.
///
/// An update is `act` for every cell and, if `is_round`, `choose` for every cell and then `commit` for every cell, with barriers between
/// them. Within each of these, any threads may take the cells in any order. A cell writes its own data, and empties the boxes that its
/// neighbours filled for it in the update before; no other cell uses these meanwhile. Its random numbers are a function of (seed, cell,
/// update). So the state depends only on Options. Amounts of resource are whole numbers.
template <class Heap>
class World {
 public:
  static constexpr int round = 8;                   ///< updates from one round of births to the next
  static constexpr std::int64_t endowment = 16;     ///< resource of each first cell
  static constexpr std::int64_t lowest_price = 16;  ///< lowest price of a birth
  static constexpr int best_reward = 16;            ///< the highest fitness

  explicit World(const Options& options) : options_(options), cells_(options.cells()) {}

  std::size_t cells() const { return cells_.size(); }
  const Options& options() const { return options_; }
  Cell<Heap>& cell(std::size_t i) { return *cells_[i]; }
  const Cell<Heap>& cell(std::size_t i) const { return *cells_[i]; }

  static bool is_round(int update) { return update % round == round - 1; }

  /// Makes the cell. Call it before everything else.
  void settle(std::size_t i) {
    cells_[i].reset(new (options_.layout == Layout::padded) Cell<Heap>());
    Cell<Heap>& self = cell(i);
    Random random = draw(i, -1);
    self.genome = random_genome<Heap>(random);
    self.tally.given = self.stock = endowment;
    for (std::uint64_t& ancestor : self.ancestors) ancestor = random.bits();
    take_names(self);
  }

  /// Takes what the neighbours sent in the last update, handles messages, does the environment's task, sends.
  void act(std::size_t i, int update) {
    Cell<Heap>& self = cell(i);
    receive(i, update);
    Outbox<Heap>& outbox = self.outboxes[parity(update)];
    Body<Heap> body{self.stock, self.tally.spent, self.badges, outbox};
    Processor<Heap> processor(self.genome, options_.instructions_per_message, body);
    for (std::size_t direction = 0; direction < 4; ++direction) converse(self, processor, outbox, direction);
    forage(i, update, processor);
    for (const auto& messages : outbox.messages)
      self.tally.sent += static_cast<std::int64_t>(messages.size());
    if (is_round(update)) offer(i, update);
  }

  /// Takes the strongest of the neighbours' bids if it beats the cell's own, and breeds.
  void choose(std::size_t i, int update) {
    Cell<Heap>& self = cell(i);
    self.settler = -1;
    std::uint64_t strongest = self.bid.strength;
    for (int direction = 0; direction < 4; ++direction) {
      const Bid& bid = cell(neighbour(i, direction)).bid;
      if (bid.direction != opposite(direction) || bid.strength <= strongest) continue;
      strongest = bid.strength;
      self.settler = direction;
    }
    if (self.settler < 0) return;
    const Cell<Heap>& parent = cell(neighbour(i, self.settler));
    self.newborn = {parent.genome, parent.ancestors};
    Random random = draw(i, 2 * update + 1);
    mutate<Heap>(self.newborn.genome, random);
    std::shift_left(self.newborn.ancestors.begin(), self.newborn.ancestors.end(), 1);
    self.newborn.ancestors.back() = random.bits();
  }

  /// Settles the bids: half of a bid that won goes to the newborn cell; a bid that lost returns.
  void commit(std::size_t i) {
    Cell<Heap>& self = cell(i);
    const bool won = self.bid.direction >= 0 &&
                     cell(neighbour(i, self.bid.direction)).settler == opposite(self.bid.direction);
    if (!won) self.stock += self.bid.amount;
    if (self.settler >= 0) be_born(i);
  }

  /// The tally of the place with its state now, `updates` after the start.
  Tally tally(std::size_t i, int updates) const {
    const Cell<Heap>& self = cell(i);
    Tally tally = self.tally;
    tally.stock = self.stock;
    for (const auto& inbox : self.inboxes) tally.in_flight += static_cast<std::int64_t>(inbox.size());
    const Outbox<Heap>& last = self.outboxes[parity(updates - 1)];
    for (const auto& messages : last.messages) tally.in_flight += static_cast<std::int64_t>(messages.size());
    for (const std::int64_t gift : last.gifts) tally.stock += gift;
    return tally;
  }

  /// The hash of the state of one place. The sum over the cells is the hash of the world.
  std::uint64_t hash(std::size_t i, int updates) const {
    const Cell<Heap>& self = cell(i);
    Digest digest;
    digest.add(std::uint64_t{i});
    for (const std::uint64_t ancestor : self.ancestors) digest.add(ancestor);
    digest.add<Heap>(self.genome);
    digest.add(self.stock);
    for (const auto& inbox : self.inboxes)
      for (const Message<Heap>& message : inbox) digest.add(message);
    const Outbox<Heap>& last = self.outboxes[parity(updates - 1)];
    for (const auto& messages : last.messages)
      for (const Message<Heap>& message : messages) digest.add(message);
    for (const std::int64_t gift : last.gifts) digest.add(gift);
    for (const std::int64_t count : {self.tally.sent, self.tally.received, self.tally.dropped,
                                     self.tally.harvested, self.tally.spent, self.tally.births})
      digest.add(count);
    return digest.value();
  }

  /// Returns the cell's memory.
  void clear(std::size_t i) { cells_[i].reset(); }

  /// North, east, south, west.
  std::size_t neighbour(std::size_t i, int direction) const {
    const auto width = static_cast<std::size_t>(options_.width),
               height = static_cast<std::size_t>(options_.height);
    const std::size_t x = i % width, y = i / width;
    switch (direction) {
      case 0:
        return (y + height - 1) % height * width + x;
      case 1:
        return y * width + (x + 1) % width;
      case 2:
        return (y + 1) % height * width + x;
      default:
        return y * width + (x + width - 1) % width;
    }
  }

  static int opposite(int direction) { return direction ^ 2; }

 private:
  static constexpr int messages_per_update = 2;  ///< messages that a cell handles from each neighbour
  static constexpr int kinship_register = 2, direction_register = 3;

  static std::size_t parity(int update) { return static_cast<std::size_t>(update & 1); }

  Random draw(std::size_t i, int step) const { return {options_.seed, i, static_cast<std::uint64_t>(step)}; }

  void receive(std::size_t i, int update) {
    Cell<Heap>& self = cell(i);
    for (int direction = 0; direction < 4; ++direction) {
      Outbox<Heap>& theirs = cell(neighbour(i, direction)).outboxes[parity(update + 1)];
      const auto towards_us = static_cast<std::size_t>(opposite(direction));
      self.stock += std::exchange(theirs.gifts[towards_us], 0);
      auto& inbox = self.inboxes[static_cast<std::size_t>(direction)];
      for (Message<Heap>& message : theirs.messages[towards_us]) {
        if (inbox.size() == Cell<Heap>::inbox_capacity) {
          inbox.pop_front();
          ++self.tally.dropped;
        }
        inbox.push_back(std::move(message));
      }
      theirs.messages[towards_us].clear();
    }
  }

  /// Handles the oldest messages of a neighbour and answers.
  void converse(Cell<Heap>& self, Processor<Heap>& processor, Outbox<Heap>& outbox, std::size_t direction) {
    auto& inbox = self.inboxes[direction];
    Registers<Heap> answer;
    for (int handled = 0; handled < messages_per_update && !inbox.empty(); ++handled) {
      Message<Heap> message = std::move(inbox.front());
      inbox.pop_front();
      ++self.tally.received;
      message.payload[kinship_register] = message.badges.contains(self.eldest) ? 1 : 0;
      message.payload[direction_register] = static_cast<double>(direction);
      answer = processor.run(message.tag, std::move(message.payload));
    }
    const auto tag = static_cast<std::uint32_t>(Random::mix(direction + 1));
    outbox.messages[direction].push_back({tag, std::move(answer), self.badges});
  }

  /// One of four tasks on two numbers from 1 to 9: the first, their sum, product or difference. The nearer
  /// the answer, the more is harvested.
  void forage(std::size_t i, int update, Processor<Heap>& processor) {
    Random random = draw(i, 2 * update);
    const int task = random.below(4), a = 1 + random.below(9), b = 1 + random.below(9);
    const std::array<int, 4> wanted{a, a + b, a * b, a - b};
    Registers<Heap> given;
    given[0] = a;
    given[1] = b;
    const Registers<Heap> out = processor.run(
        static_cast<std::uint32_t>(Random::mix(static_cast<std::uint64_t>(task) + 100)), std::move(given));
    const auto answer = out.find(0);
    if (answer == out.end()) return;
    const std::int64_t reward = rewarded(answer->second - wanted[static_cast<std::size_t>(task)]);
    Cell<Heap>& self = cell(i);
    self.stock += reward;
    self.tally.harvested += reward;
    if (update < options_.window()) self.tally.harvested_first += reward;
    if (update >= options_.generations - options_.window()) self.tally.harvested_last += reward;
  }

  /// 16 for the answer itself, 8, 4, 2, 1 for one that is at most 1, 2, 3, 4 off, otherwise 0.
  static std::int64_t rewarded(double error) {
    const double distance = error < 0 ? -error : error;
    int off = 0;
    while (off < 5 && distance > off) ++off;
    return best_reward >> off;
  }

  /// Bids all that the cell has for the place of one neighbour.
  void offer(std::size_t i, int update) {
    Cell<Heap>& self = cell(i);
    Random random = draw(i, 2 * update + 1);
    self.bid = {random.below(4), self.stock, static_cast<std::uint64_t>(self.stock)};
    if (!options_.selection) self.bid.strength = random.bits();
    if (options_.selection && self.stock < lowest_price) self.bid.direction = -1;
    self.stock = 0;
  }

  void be_born(std::size_t i) {
    Cell<Heap>& self = cell(i);
    const std::int64_t paid = cell(neighbour(i, self.settler)).bid.amount, brought = paid / 2;
    for (auto& inbox : self.inboxes) {
      self.tally.dropped += static_cast<std::int64_t>(inbox.size());
      inbox.clear();
    }
    self.tally.spent += self.stock + paid - brought;
    self.stock = brought;
    self.genome = std::move(self.newborn.genome);
    ++self.tally.births;
    self.ancestors = self.newborn.ancestors;
    take_names(self);
  }

  void take_names(Cell<Heap>& self) const {
    self.badges.clear();
    const auto first = self.ancestors.end() - options_.badges;
    for (auto ancestor = first; ancestor != self.ancestors.end(); ++ancestor)
      self.badges.insert(name<Heap>(*ancestor));
    if (options_.badges > 0) self.eldest = name<Heap>(*first);
  }

  Options options_;
  std::vector<std::unique_ptr<Cell<Heap>>> cells_;
};

}  // namespace digital_evolution
