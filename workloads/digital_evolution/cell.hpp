// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <new>

#include "corescale/machine/cache_line.hpp"
#include "digital_evolution/processor.hpp"

namespace digital_evolution {

/// What has happened at a cell's place to all cells that lived there. The sum over the places does not depend on the threads.
struct Tally {
  std::int64_t sent = 0, received = 0, dropped = 0, in_flight = 0;  ///< messages
  std::int64_t given = 0, harvested = 0, spent = 0, stock = 0;      ///< resource
  std::int64_t births = 0;
  std::int64_t harvested_first = 0, harvested_last = 0;  ///< in the first and last `window` updates

  Tally& operator+=(const Tally& other) {
    sent += other.sent, received += other.received, dropped += other.dropped, in_flight += other.in_flight;
    given += other.given, harvested += other.harvested, spent += other.spent, stock += other.stock;
    births += other.births;
    harvested_first += other.harvested_first, harvested_last += other.harvested_last;
    return *this;
  }

  /// Whether each message that was sent has been received or dropped, or is on its way.
  bool messages_balance() const { return sent == received + dropped + in_flight; }

  /// Whether all resource comes from the start and from harvests, and goes only by being spent.
  bool resources_balance() const { return given + harvested == spent + stock; }
};

/// The numbers of the last cells in the line of descent; the cell itself comes last.
using Ancestors = std::array<std::uint64_t, 16>;

/// A bid to settle at the neighbour's place in `direction`.
struct Bid {
  int direction = -1;  ///< -1: none
  std::int64_t amount = 0;
  std::uint64_t strength = 0;  ///< the amount; a lottery ticket if there is no selection
};

template <class Heap>
struct Cell {
  static constexpr std::size_t inbox_capacity = 8;

  // NOLINTBEGIN(cppcoreguidelines-no-malloc)
  /// If `padded`, a cell has cache lines of its own, because neighbours may belong to different threads. They come from aligned_alloc,
  /// which is correct in every allocator: Hoard of 2025 swaps the arguments of aligned operator new.
  static void* operator new(std::size_t bytes, bool padded) {
    constexpr std::size_t line = corescale::cache_line;
    const std::size_t lines = (bytes + line - 1) / line;
    void* const place = padded ? std::aligned_alloc(line, lines * line) : std::malloc(bytes);
    if (!place) throw std::bad_alloc{};
    return place;
  }
  static void operator delete(void* place) { std::free(place); }
  static void operator delete(void* place, bool /*padded*/) { std::free(place); }
  // NOLINTEND(cppcoreguidelines-no-malloc)

  using Inbox = std::deque<Message<Heap>, Allocator<Message<Heap>, Heap>>;

  Genome<Heap> genome;
  Strings<Heap> badges;          ///< the last ancestors' names
  String<Heap> eldest;           ///< the name of the first of them; empty for none
  std::array<Inbox, 4> inboxes;  ///< by the direction in which the sender lives
  std::array<Outbox<Heap>, 2> outboxes;
  std::int64_t stock = 0;
  Ancestors ancestors{};
  Bid bid;
  int settler = -1;  ///< the direction that the newborn comes from; -1: none is born here
  struct {
    Genome<Heap> genome;
    Ancestors ancestors{};
  } newborn;
  Tally tally;
};

template <class Heap>
String<Heap> name(std::uint64_t cell) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "cell %016llx", static_cast<unsigned long long>(cell));
  return text.data();
}

/// A number that depends on all that was added and on its order.
class Digest {
 public:
  void add(std::uint64_t value) { state_ = Random::mix(state_ + value + 0x9E3779B97F4A7C15); }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }

  template <class Heap>
  void add(const Genome<Heap>& genome) {
    add(std::uint64_t{genome.size()});
    for (const Function<Heap>& function : genome) {
      add(std::uint64_t{function.tag} << 32 | function.instructions.size());
      for (const auto& [operation, a, b, c, tag] : function.instructions)
        add(std::uint64_t{tag} << 32 | static_cast<std::uint64_t>(operation) << 24 | std::uint64_t{a} << 16 |
            std::uint64_t{b} << 8 | c);
    }
  }

  /// Does not depend on the order of the hash tables.
  template <class Heap>
  void add(const Message<Heap>& message) {
    add(std::uint64_t{message.tag});
    std::uint64_t sum = 0;
    for (const auto& [number, value] : message.payload)
      sum += Random::mix(std::bit_cast<std::uint64_t>(value) +
                         Random::mix(static_cast<std::uint64_t>(number) + 1));
    for (const auto& text : message.badges) sum += fnv(text);
    add(sum);
  }

  std::uint64_t value() const { return state_; }

 private:
  static std::uint64_t fnv(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
  }

  std::uint64_t state_ = 0;
};

}  // namespace digital_evolution
