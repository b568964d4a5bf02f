// SPDX-License-Identifier: Apache-2.0
// The timeline: what each thread did when. It is in its own file next to the profile, so that losing one does not lose the other.
// An event says that a thread was in a state for some time until a moment. Short events are combined. The fuller the file is, the longer
// the events that count as short, so the file suffices for any program.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "profiler/calls.hpp"
#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

Timeline* line = nullptr;
constinit thread_local std::int64_t gathered[states] __attribute__((tls_model("initial-exec"))) = {};
constexpr std::int64_t shortest = 1'000'000;

// The length grows fourfold whenever the remaining room has halved.
std::int64_t worth_an_event(std::uint64_t count) {
  std::int64_t least = shortest;
  for (std::uint64_t room = most_events / 2; count >= room && room + 1 < most_events; least *= 4)
    room += (most_events - room) / 2;
  return least;
}

constexpr std::size_t page_size = 4096;
std::atomic<bool> has_line_room[sizeof(Timeline) / page_size + 1];
// The disk space of the whole file is reserved, because the kernel cannot reserve a part.
bool whole_line = false;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

// Whether this place may be written to: if the disk is full, writing would kill the program.
bool room(const void* place) {
  const std::size_t number =
      (static_cast<const char*>(place) - reinterpret_cast<const char*>(line)) / page_size;
  if (whole_line || has_line_room[number].load(std::memory_order_relaxed)) return true;
  if (madvise(reinterpret_cast<char*>(line) + number * page_size, page_size, MADV_POPULATE_WRITE) != 0)
    return false;
  has_line_room[number].store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

void open_timeline(const char* folder) {
  line = nullptr;
  for (std::atomic<bool>& each : has_line_room) each.store(false, std::memory_order_relaxed);
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < sizeof(Timeline)) return;
  const int descriptor = calls::create(folder, "timeline");
  if (descriptor < 0) return;
  void* const place = ftruncate(descriptor, sizeof(Timeline)) == 0
                          ? mmap(nullptr, sizeof(Timeline), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                          : MAP_FAILED;
  if (place != MAP_FAILED) {
    madvise(place, sizeof(Timeline), MADV_RANDOM);  // no pages around those that are written
    line = static_cast<Timeline*>(place);
    whole_line = false;
    if (!room(line)) {
      // Linux before 5.14 does not know it.
      whole_line = errno == EINVAL && calls::allocate(descriptor, 0, sizeof(Timeline));
      if (!whole_line) line = nullptr;
    }
  }
  calls::close(descriptor);
  if (!line) return;
  line->process = getpid();
  line->version = timeline_format;
}

void begin_timeline() {
  if (line) line->started = file->header.started;
}

void log(State state, std::int64_t length, const Stack* place) {
  if (!line || !live() || !local.thread || length <= 0) return;
  std::int64_t& sum = gathered[state];
  sum += length;
  if (sum < shortest || sum < worth_an_event(__atomic_load_n(&line->count, __ATOMIC_RELAXED))) return;
  const std::uint64_t taken = __atomic_fetch_add(&line->count, 1, __ATOMIC_RELAXED);
  const int error = errno;
  const bool kept = taken < most_events && room(&line->event[taken]);
  errno = error;
  if (!kept) return;
  Event& event = line->event[taken];
  event.thread = local.thread->id;
  event.state = state;
  event.time = now();
  event.place = place ? place->key : 0;
  __atomic_store_n(&event.length, sum,
                   __ATOMIC_RELEASE);  // written last: an event without a length does not count
  sum = 0;
}

}  // namespace corescale::profiler
