// SPDX-License-Identifier: Apache-2.0
// What the processes of the tree used: exact if the kernel reports it at their end, else sampled.
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
  /// The last executable that was sampled, so that a wrapper's target is named; else the file that was launched, or the kernel's short
  /// name. It was read before the end, so the process may have executed another program since.
  std::string executable;
  /// The kernel's short name at the end: the start of the file's name, unless the program chose another.
  std::string name;
  rusage usage{};
  std::vector<int> affinity;
};

/// Beyond this number, processes of the same executable share an entry, with the sum of their times and their
/// largest peak.
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
  /// Names the main process before it can be sampled. `schedstat`: the time that it had used before it executed the program, which is not
  /// counted.
  void introduce(pid_t process, const std::string& executable, std::string_view schedstat);
  /// From now on, every process should be in the version 2 group of this name or below it.
  void expect_in(const std::string& group) { group_ = "/" + group; }
  /// Reads every thread and process of the tree. Costs some microseconds a thread. Stops once a child has
  /// ended, so that sampling does not delay its reaping.
  void sample();
  /// Reads what the kernel still shows of a zombie. Call it between the process's end and wait4.
  void last_look(pid_t zombie);
  void book(pid_t zombie, const rusage& usage);

  const std::vector<ended_process>& ended() const { return ended_; }
  /// Nothing if the kernel keeps no schedstat.
  std::optional<schedule_times> schedule() const;
  /// Whether some thread ended after its last reading, so that schedule() is a lower bound. Both of its times
  /// lack the same threads, so their ratio is an estimate.
  bool schedule_incomplete() const;
  /// The largest sampled sum of the anonymous resident bytes of all processes. The peak may fall between two
  /// samples, so this is a lower bound. But pages that a fork shares copy-on-write count in each process. 0
  /// when never sampled.
  std::uint64_t anonymous_peak() const { return anonymous_peak_; }
  /// The peak of the largest process, in bytes and including mapped files. The kernel measures it, so no peak
  /// is missed.
  std::uint64_t largest_peak() const;
  /// The largest sampled resident memory of a process, in bytes: a lower bound of its peak.
  std::uint64_t resident_peak() const { return resident_peak_; }
  /// The processes that were seen to run this file and that were not reaped here.
  std::vector<pid_t> seen_running(const std::string& executable) const;
  /// Whether a process was seen outside the group that was expected.
  bool left_group() const { return left_group_; }
  /// Whether a process that was seen at its end ignored SIGCHLD. The kernel then reaps its children, and
  /// their times are lost.
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
  ended_process* shared_entry(const sighting& seen);

  std::map<pid_t, schedule_times> threads_;
  std::map<pid_t, sighting> sightings_;
  schedule_times before_;  // the main process's times until its program was executed
  schedule_times ended_threads_;
  bool scheduled_ = false, children_undetected_ = false, left_group_ = false;
  std::vector<ended_process> ended_;
  std::uint64_t anonymous_peak_ = 0, resident_peak_ = 0;
  std::string group_;
};

/// CPUs that the thread may run on; empty if it cannot be asked.
std::vector<int> affinity_of(pid_t thread);

double seconds_of(const timeval& time);

}  // namespace corescale::probe
