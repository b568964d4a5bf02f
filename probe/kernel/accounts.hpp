// SPDX-License-Identifier: Apache-2.0
// What the processes of the tree used: exact where the kernel says it at their end, sampled where it does
// not.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corescale::probe {

/// A process that was reaped here: the main program, or one that its parent left behind. The figures include
/// the descendants that it had reaped itself.
struct ended_process {
  pid_t pid = 0;
  /// The last one sampled, so that a wrapper's target is named; else the file launched or the kernel's short
  /// name. Older than the end: another program may have taken over since.
  std::string executable;
  /// The kernel's short name at the end: the start of the file's name, unless the program chose another.
  std::string name;
  rusage usage{};
  std::vector<int> affinity;
};

/// Beyond these, those of one executable are listed as one: times added, peaks the largest.
inline constexpr std::size_t listed_processes = 100;

/// Time on a core and time waiting for one, in seconds, from schedstat.
struct schedule_times {
  double on_cpu = 0;
  double waiting = 0;
  schedule_times& operator+=(const schedule_times& more) {
    on_cpu += more.on_cpu, waiting += more.waiting;
    return *this;
  }
};

class accounts {
 public:
  /// Names the main process before it can be sampled; what its schedstat held before the program is not the
  /// program's.
  void introduce(pid_t process, const std::string& executable, std::string_view schedstat);
  /// Every process should be in the version 2 group of this name or below it.
  void expect_in(const std::string& group) { group_ = "/" + group; }
  /// Reads every thread and process of the tree. Costs some microseconds a thread. Stops where a child has
  /// ended meanwhile, so that a look delays nobody's end.
  void sample();
  /// Reads what a zombie still shows; call between its end and wait4.
  void last_look(pid_t zombie);
  void book(pid_t zombie, const rusage& usage);

  const std::vector<ended_process>& ended() const { return ended_; }
  /// Nothing where the kernel keeps no schedstat.
  std::optional<schedule_times> schedule() const;
  /// Whether some thread ended after its last reading, so that schedule() is a lower bound. Both of its times
  /// miss the same: their ratio is an estimate.
  bool schedule_incomplete() const;
  /// The largest sampled sum of the anonymous resident bytes of all processes. A lower bound in time; pages
  /// that a fork shares copy-on-write count in each process. 0 when never sampled.
  std::uint64_t anonymous_peak() const { return anonymous_peak_; }
  /// The largest process, in bytes: exact in time, mapped files included.
  std::uint64_t largest_peak() const;
  /// The largest sampled resident memory of a process, in bytes: a lower bound of its peak.
  std::uint64_t resident_peak() const { return resident_peak_; }
  /// The processes that were seen to run this file and that were not reaped here.
  std::vector<pid_t> seen_running(const std::string& executable) const;
  /// Whether a process was seen outside the group that was expected.
  bool left_group() const { return left_group_; }
  /// Whether a process seen at its end ignored its children's ends: the kernel then reaps them, and nobody is
  /// told their times.
  bool children_undetected() const { return children_undetected_; }

  double user() const;
  double system() const;
  std::int64_t involuntary() const;

 private:
  struct sighting {
    std::string executable, name;
    std::vector<int> affinity;
  };
  void read_thread(pid_t process, pid_t thread);
  void sight(pid_t process);
  void find_group(pid_t process);
  ended_process* told_with(const sighting& seen);

  std::map<pid_t, schedule_times> threads_;
  std::map<pid_t, sighting> sightings_;
  schedule_times before_;  // of the main process, until its program was executed
  schedule_times ended_threads_;
  bool scheduled_ = false, children_undetected_ = false, left_group_ = false;
  std::vector<ended_process> ended_;
  std::uint64_t anonymous_peak_ = 0, resident_peak_ = 0;
  std::string group_;
};

/// CPUs that the thread may run on; empty where it cannot be asked.
std::vector<int> affinity_of(pid_t thread);

double seconds_of(const timeval& time);

}  // namespace corescale::probe
