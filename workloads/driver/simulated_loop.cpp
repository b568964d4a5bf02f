// SPDX-License-Identifier: Apache-2.0
// Computing in a simulated build (smpicxx): the loops, which replace those of block_loop.cpp, and the code between loops and messages.
// A rank runs its blocks one after the other; the simulated clock is charged with their CPU time on t cores, and with a fork and join.
#include <dlfcn.h>
#include <smpi/smpi.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>

#include "driver/block_loop.hpp"
#include "driver/error.hpp"
#include "driver/simulated.hpp"

/// Tells the lab that the program charges all of its computing itself: SimGrid need not measure it, nor make ranks t times as fast.
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

/// The CPU seconds since `begun`, without those of reading the clock: these are more than a small piece of computing takes itself.
double seconds_since(double begun) {
  const double now = cpu_seconds();
  static const double reading = [] {
    double least = 1;
    for (int i = 0; i < 100; ++i) {
      const double before = cpu_seconds();
      least = std::min(least, cpu_seconds() - before);
    }
    return least;
  }();
  return std::max(0.0, now - begun - reading);
}

/// The recent times of each piece of computing, on any rank. Ranks do equal work, so a piece is charged with the mean of the last pieces at
/// its place, as many as there are ranks. Otherwise every rank would wait if this machine disturbed one of them.
class Costs {
 public:
  double mean(std::uintptr_t place, double seconds) {
    Recent& recent = recent_[place];
    recent.seconds.push_back(seconds);
    recent.sum += seconds;
    if (recent.seconds.size() > ranks_) {
      recent.sum -= recent.seconds.front();
      recent.seconds.pop_front();
    }
    return recent.sum / static_cast<double>(recent.seconds.size());
  }

 private:
  struct Recent {
    std::deque<double> seconds;
    double sum = 0;
  };

  static std::size_t ranks() {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return static_cast<std::size_t>(size);
  }

  std::size_t ranks_ = ranks();
  std::map<std::uintptr_t, Recent> recent_;
};

/// One for all ranks, which share the heap; a global would be each rank's own.
Costs& costs() {
  static Costs* const shared = [] {
    simgrid::s4u::Host* const host = simgrid::s4u::Engine::get_instance()->get_all_hosts().front();
    if (host->get_data<Costs>() == nullptr) host->set_data(new Costs);
    return host->get_data<Costs>();
  }();
  return *shared;
}

/// The position of an address in the program, because each rank may have a copy of the program.
std::uintptr_t place_of(const void* address) {
  Dl_info found{};
  dladdr(address, &found);
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(found.dli_fbase);
}

/// Charges the simulated clock with `seconds` on each of that many cores of this rank's node.
void charge(double seconds, std::size_t cores) {
  constexpr double core_flops = 1e9;  // a second of this machine's core, as the lab writes platforms
  simgrid::s4u::this_actor::exec_init(seconds * core_flops)
      ->set_thread_count(static_cast<int>(cores))
      ->wait();
}

/// The time at which the present piece of computing began; 0 before MPI was started.
double& piece() {
  static double began = 0;
  return began;
}

/// Seconds that a loop takes besides its blocks: the platform's value for this system, else its value for all systems.
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
    const void* const place = __builtin_return_address(0);
    charge_serial(place);
    const double begun = cpu_seconds();
    for (std::size_t b = 0; b < blocks; ++b) block(b);
    const double spent = costs().mean(~place_of(place), seconds_since(begun));
    charge(spent / static_cast<double>(threads_), threads_);
    if (fork_join_ > 0) simgrid::s4u::this_actor::sleep_for(fork_join_);  // seconds, whatever a core's rate
    resume_serial();
  }

 private:
  std::size_t threads_;
  double fork_join_;
};

}  // namespace

void charge_serial(const void* place) {
  if (piece() > 0) charge(costs().mean(place_of(place), seconds_since(piece())), 1);
}

void resume_serial() { piece() = cpu_seconds(); }

std::vector<std::string> loop_systems() { return {"spin", "tbb", "ports"}; }

std::unique_ptr<BlockLoop> make_loop(std::string_view system, std::size_t threads) {
  const std::string named(system);
  if (threads == 0) throw Error("threading", named + " cannot hold 0 threads", "ask for one");
  return std::make_unique<SimulatedLoop>(named, threads);
}

}  // namespace driver
