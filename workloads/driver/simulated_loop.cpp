// SPDX-License-Identifier: Apache-2.0
// The loops of a simulated build (smpicxx), which take the place of block_loop.cpp's. A rank runs its blocks one after the other. The
// simulated clock is charged with their CPU time on t cores, and with a fork and join.
#include <smpi/smpi.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime

#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <string>

#include "driver/block_loop.hpp"
#include "driver/error.hpp"

/// Tells the lab that the program charges its threads itself, so that its ranks are not made t times as fast.
extern "C" __attribute__((used, visibility("default"))) const char corescale_simulates_threads[] =
    "corescale_simulates_threads";

namespace driver {
namespace {

/// CPU seconds of this thread, on which no other rank runs before the next call of MPI. Not the simulated clock.
double cpu_seconds() {
  timespec now{};
  (clock_gettime)(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds that a loop takes beside its blocks, as the platform has them for this system or for any.
double fork_join(const std::string& system) {
  const char* said = std::getenv(("CORESCALE_FORK_JOIN_" + system).c_str());
  if (said == nullptr) said = std::getenv("CORESCALE_FORK_JOIN");
  return said == nullptr ? 0 : std::strtod(said, nullptr);
}

class SimulatedLoop final : public BlockLoop {
 public:
  SimulatedLoop(const std::string& system, std::size_t threads)
      : threads_(threads), fork_join_(fork_join(system)) {}

  std::size_t num_threads() const override { return threads_; }

  void run(std::size_t blocks, Block block) override {
    smpi_bench_end();  // what came before ran on one core
    const double begun = cpu_seconds();
    for (std::size_t b = 0; b < blocks; ++b) block(b);
    const double each = (cpu_seconds() - begun) / static_cast<double>(threads_) + fork_join_;
    simgrid::s4u::this_actor::exec_init(each * core_flops)
        ->set_thread_count(static_cast<int>(threads_))
        ->wait();
    smpi_bench_begin();
  }

 private:
  static constexpr double core_flops = 1e9;  // a second of this machine's core, as the lab writes platforms
  std::size_t threads_;
  double fork_join_;
};

}  // namespace

std::vector<std::string> loop_systems() { return {"spin", "tbb", "ports"}; }

std::unique_ptr<BlockLoop> make_loop(std::string_view system, std::size_t threads) {
  const std::string named(system);
  if (threads == 0) throw Error("threading", named + " cannot hold 0 threads", "ask for one");
  return std::make_unique<SimulatedLoop>(named, threads);
}

}  // namespace driver
