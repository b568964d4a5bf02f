// SPDX-License-Identifier: Apache-2.0
// One contender of the race, compiled with -DCONTENDER="peers/NAME.hpp": runs every loop, and prints a line of JSON for each
// way of looping that the contender has: nanoseconds per call beside the serial loop's, which are timed in turn.
//   contender THREADS [SECONDS per loop and way [WAY]...]
#include CONTENDER

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "loops.hpp"

namespace {

double now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double quantile(std::vector<double> values, double share) {
  const auto rank = static_cast<std::size_t>(static_cast<double>(values.size()) * share);
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(rank));
  return values[rank];
}

template <class Run>
double per_call(Run run, int calls) {
  const double start = now();
  for (int call = 0; call < calls; ++call) run();
  return (now() - start) / calls;
}

/// What the loops take while nobody else wants the cores: this quantile of the slices, beside the median.
constexpr double quiet = 0.02;

constexpr double slice_ns = 2e5;

/// By the least of a few tries, one of which may be disturbed.
template <class Run>
int calls_in_a_slice(Run run, int calls) {
  const double least = std::min({per_call(run, calls), per_call(run, calls), per_call(run, calls)});
  return std::max(1, static_cast<int>(slice_ns / std::max(1.0, least)));
}

/// Both in turn, in slices of 200 us by its own time each, so that what disturbs one disturbs the other.
template <class Loop, class Way>
void measure(contender& one, const char* way, Way loop, double seconds) {
  if constexpr (requires { Loop::can_run(); }) {
    if (!Loop::can_run()) return;
  }
  const char* state = "";
  const auto before = [] {
    if constexpr (requires { Loop::before(); }) Loop::before();
  };
  if constexpr (requires { Loop::state; }) state = Loop::state;
  const auto looped = [&] { loop.template operator()<Loop>(one); };
  const double first = per_call(looped, 1);
  const int serial_calls = calls_in_a_slice(loops::serial<Loop>, 2);
  per_call(looped, std::clamp(serial_calls / 4, 3, 250));
  const int calls = calls_in_a_slice(looped, std::clamp(serial_calls / 16, 1, 50));
  std::vector<double> alone, together;
  for (const double end = now() + seconds * 1e9; now() < end || alone.size() < 5;) {
    before();
    alone.push_back(per_call(loops::serial<Loop>, serial_calls));
    before();
    together.push_back(per_call(looped, calls));
  }
  std::printf("{\"contender\": \"%s\", \"way\": \"%s\", \"loop\": \"%s%s\", \"first_ns\": %.1f, ",
              contender::name, way, Loop::name, state, first);
  std::printf("\"serial_ns\": %.1f, \"ns\": %.1f, \"quiet_serial_ns\": %.1f, \"quiet_ns\": %.1f}\n",
              quantile(alone, 0.5), quantile(together, 0.5), quantile(alone, quiet),
              quantile(together, quiet));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2;
  const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 0.03;
  contender one(threads);
  const std::span<char*> wanted = std::span(argv, static_cast<std::size_t>(argc)).subspan(std::min(argc, 3));
  contender::ways([&](const char* way, auto loop) {
    if (!wanted.empty() && std::ranges::find(wanted, std::string_view(way)) == wanted.end()) return;
    const auto each = [&]<class Loop>() { measure<Loop>(one, way, loop, seconds); };
    loops::all::for_each(each);
    loops::states::for_each(each);
    loops::contended::for_each(each);
    measure<loops::nothing>(one, way, loop, seconds);
  });
}
