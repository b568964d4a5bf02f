// SPDX-License-Identifier: Apache-2.0
#include "driver/block_loop.hpp"

#include <corescale/team/message_ports.hpp>
#include <exception>
#include <latch>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "driver/error.hpp"

#ifdef CORESCALE_HAS_TBB
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#endif

namespace driver {
namespace {

namespace ports = corescale::message_ports;

class TeamLoop final : public BlockLoop {
 public:
  TeamLoop(std::string_view system, std::size_t threads) : team_(corescale::make_team(threads, system)) {}

  std::size_t num_threads() const override { return team_.num_threads(); }

  void run(std::size_t blocks, Block block) override {
    const std::size_t threads = team_.num_threads();
    const corescale::outcome worked = team_.work([&](std::size_t id) {
      for (std::size_t b = blocks * id / threads; b < blocks * (id + 1) / threads; ++b) block(b);
    });
    if (worked != corescale::outcome::done) throw std::logic_error(corescale::name(worked));
  }

 private:
  corescale::any_team team_;
};

class PortsLoop final : public BlockLoop {
 public:
  explicit PortsLoop(std::size_t threads) : threads_(threads), dispatcher_(threads) {
    ports::arbiter::activate(dispatcher_, ports::receive<Message>(true, port_, [](Message message) {
                               message.loop->handle(message.block);
                             }));
  }

  std::size_t num_threads() const override { return threads_; }

  void run(std::size_t blocks, Block block) override {
    std::latch all(static_cast<std::ptrdiff_t>(blocks));
    Loop loop{block, all, {}, {}};
    for (std::size_t b = 0; b < blocks; ++b) port_.post({&loop, b});
    all.wait();
    if (loop.first) std::rethrow_exception(loop.first);
  }

 private:
  struct Loop {
    Block block;
    std::latch& left;
    std::mutex mutex;
    std::exception_ptr first;

    void handle(std::size_t b) {
      try {
        block(b);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!first) first = std::current_exception();
      }
      left.count_down();
    }
  };
  struct Message {
    Loop* loop;
    std::size_t block;
  };

  std::size_t threads_;
  ports::port<Message> port_;
  ports::dispatcher dispatcher_;
};

#ifdef CORESCALE_HAS_TBB
class TbbLoop final : public BlockLoop {
 public:
  explicit TbbLoop(std::size_t threads) : threads_(threads), arena_(static_cast<int>(threads)) {
    if (threads > 1) limit_.emplace(tbb::global_control::max_allowed_parallelism, threads);
  }

  std::size_t num_threads() const override { return threads_; }

  void run(std::size_t blocks, Block block) override {
    arena_.execute([&] {
      tbb::parallel_for(
          std::size_t{0}, blocks, [&](std::size_t b) { block(b); }, tbb::simple_partitioner());
    });
  }

 private:
  std::size_t threads_;
  std::optional<tbb::global_control> limit_;  // allows more threads than cores, if they are asked for
  tbb::task_arena arena_;
};
#endif

std::unique_ptr<BlockLoop> made(std::string_view system, std::size_t threads) {
  if (system == "ports") return std::make_unique<PortsLoop>(threads);
#ifdef CORESCALE_HAS_TBB
  if (system == "tbb") return std::make_unique<TbbLoop>(threads);
#endif
  auto loop = std::make_unique<TeamLoop>(system, threads);
  return loop->num_threads() == threads ? std::move(loop) : nullptr;
}

}  // namespace

std::vector<std::string> loop_systems() {
  std::vector<std::string> names;
  for (const corescale::threading_system& one : corescale::threading_systems())
    if (one.is_present()) names.emplace_back(one.name);
  return names;
}

std::unique_ptr<BlockLoop> make_loop(std::string_view system, std::size_t threads) {
  const std::string named(system);
  const corescale::threading_system* row = corescale::find_threading_system(system);
  if (!row) throw Error("threading", "there is no system '" + named + "'", "give one that --help lists");
  if (!row->is_present())
    throw Error("threading", named + " is not in this build",
                "install " + std::string(row->package) + " and build again");
  std::unique_ptr<BlockLoop> loop = threads > 0 ? made(system, threads) : nullptr;
  if (!loop)
    throw Error("threading", named + " cannot hold " + std::to_string(threads) + " threads", "ask for fewer");
  return loop;
}

}  // namespace driver
