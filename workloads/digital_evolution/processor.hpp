// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "digital_evolution/genome.hpp"

namespace digital_evolution {

/// A message from one cell to another, and the arguments of a function.
template <class Heap>
struct Message {
  std::uint32_t tag = 0;
  Registers<Heap> payload;
  Strings<Heap> badges;  ///< the sender's badges
};

/// Messages to the four neighbours.
template <class Heap>
struct Outbox {
  std::array<Vector<Message<Heap>, Heap>, 4> messages;
  std::array<std::int64_t, 4> gifts{};
};

/// The state on which the instructions of a cell act in one update.
template <class Heap>
struct Body {
  std::int64_t& stock;  ///< resource of the cell
  std::int64_t& spent;
  const Strings<Heap>& badges;
  Outbox<Heap>& outbox;
  bool shared = false;  ///< once an update
};

/// Runs a genome: each event starts a call stack at the function of the nearest tag. That function runs again
/// and again until exactly `instructions` were executed, so that an event costs the same in every cell.
template <class Heap>
class Processor {
 public:
  static constexpr int calls_per_event = 2;      ///< after these, `call` does nothing
  static constexpr int messages_per_update = 2;  ///< by `send` in each direction; then it does nothing
  static constexpr std::size_t deepest = 4;

  Processor(const Genome<Heap>& genome, int instructions, Body<Heap>& body)
      : genome_(genome), instructions_(instructions), body_(body) {}

  /// The content of the function's `out` at the end.
  Registers<Heap> run(std::uint32_t tag, Registers<Heap> in) {
    stack_.clear();
    calls_ = 0;
    push(tag, std::move(in));
    for (int step = 0; step < instructions_; ++step) execute();
    return std::move(stack_.front().out);
  }

 private:
  struct Frame {
    const Function<Heap>* function;
    std::size_t next = 0;
    Registers<Heap> in, work, out;

    double read(int number) const { return value(work, number); }
    void write(int number, double value) {
      work[number] = std::clamp(value, -1e6, 1e6);  // finite, whatever is multiplied
    }
  };

  static double value(const Registers<Heap>& registers, int number) {
    const auto found = registers.find(number);
    return found == registers.end() ? 0.0 : found->second;
  }

  void push(std::uint32_t tag, Registers<Heap> in) {
    stack_.push_back({&nearest(genome_, tag), 0, std::move(in), {}, {}});
  }

  /// The outermost function starts again.
  void leave() {
    if (stack_.size() == 1) {
      stack_.front().next = 0;
      return;
    }
    const Registers<Heap> out = std::move(stack_.back().out);
    stack_.pop_back();
    for (const auto& [number, value] : out) stack_.back().write(number, stack_.back().read(number) + value);
  }

  void execute() {
    Frame& frame = stack_.back();
    if (frame.next >= frame.function->instructions.size()) return leave();
    const auto [operation, a, b, c, tag] = frame.function->instructions[frame.next++];
    switch (operation) {
      case Operation::constant:
        return frame.write(a, static_cast<int>(tag % 17) - 8);
      case Operation::load:
        return frame.write(a, value(frame.in, b));
      case Operation::emit:
        frame.out[a] = frame.read(b);
        return;
      case Operation::add:
        return frame.write(a, frame.read(b) + frame.read(c));
      case Operation::subtract:
        return frame.write(a, frame.read(b) - frame.read(c));
      case Operation::multiply:
        return frame.write(a, frame.read(b) * frame.read(c));
      case Operation::smaller:
        return frame.write(a, std::min(frame.read(b), frame.read(c)));
      case Operation::larger:
        return frame.write(a, std::max(frame.read(b), frame.read(c)));
      case Operation::skip:
        if (frame.read(a) < frame.read(b)) frame.next += c;
        return;
      case Operation::call:
        return call(tag);
      case Operation::leave:
        return leave();
      case Operation::send:
        return send(tag, a & 3);
      case Operation::share:
        return share(a & 3);
      case Operation::sense:
        return frame.write(a, static_cast<double>(body_.stock));
      case Operation::increment:
        return frame.write(a, frame.read(a) + 1);
      default:
        return;
    }
  }

  void call(std::uint32_t tag) {
    if (calls_ == calls_per_event || stack_.size() == deepest) return;
    ++calls_;
    push(tag, Registers<Heap>(stack_.back().work));
  }

  void send(std::uint32_t tag, std::size_t direction) {
    auto& queue = body_.outbox.messages[direction];
    if (body_.stock < 1 || queue.size() == messages_per_update) return;
    --body_.stock;
    ++body_.spent;
    queue.push_back({tag, stack_.back().out, body_.badges});
  }

  void share(std::size_t direction) {
    if (std::exchange(body_.shared, true)) return;
    const std::int64_t gift = body_.stock / 8;
    body_.stock -= gift;
    body_.outbox.gifts[direction] += gift;
  }

  const Genome<Heap>& genome_;
  int instructions_;
  Body<Heap>& body_;
  Vector<Frame, Heap> stack_;
  int calls_ = 0;
};

}  // namespace digital_evolution
