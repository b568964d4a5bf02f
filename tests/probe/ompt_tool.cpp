// SPDX-License-Identifier: Apache-2.0
// What LLVM's OpenMP says of itself to a tool (OMPT), for a test: in the file CORESCALE_OMPT the number of parallel regions, then for
// each thread its number and the seconds that it waited at barriers and at the ends of regions.
#include <omp-tools.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int most = 64;
std::atomic<int> threads, regions;
struct {
  std::atomic<int> id;
  std::atomic<double> began, seconds;  // began: 0 unless it waits
} seen[most];
thread_local int place = -1;

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void parallel_begin(ompt_data_t*, const ompt_frame_t*, ompt_data_t*, unsigned, int, const void*) {
  ++regions;
}

void wait(ompt_sync_region_t, ompt_scope_endpoint_t end, ompt_data_t*, ompt_data_t*, const void*) {
  if (place < 0) {
    place = threads++;
    if (place < most) seen[place].id = gettid();
  }
  if (place >= most) return;
  auto& mine = seen[place];
  if (end == ompt_scope_end && mine.began > 0) mine.seconds = mine.seconds + now() - mine.began;
  mine.began = end == ompt_scope_begin ? now() : 0;
}

int initialize(ompt_function_lookup_t look_up, int, ompt_data_t*) {
  const auto set = reinterpret_cast<ompt_set_callback_t>(look_up("ompt_set_callback"));
  set(ompt_callback_parallel_begin, reinterpret_cast<ompt_callback_t>(parallel_begin));
  set(ompt_callback_sync_region_wait, reinterpret_cast<ompt_callback_t>(wait));
  return 1;
}

void finalize(ompt_data_t*) {
  const char* const path = std::getenv("CORESCALE_OMPT");
  std::FILE* const file = path ? std::fopen(path, "w") : nullptr;
  if (!file) return;
  std::fprintf(file, "%d\n", regions.load());
  for (int k = 0; k < threads && k < most; ++k)
    std::fprintf(file, "%d %.6f\n", seen[k].id.load(), seen[k].seconds.load());
  std::fclose(file);
}

ompt_start_tool_result_t tool = {initialize, finalize, {}};

}  // namespace

extern "C" ompt_start_tool_result_t* ompt_start_tool(unsigned, const char*) { return &tool; }
