// SPDX-License-Identifier: Apache-2.0
#include "kernel/accounts.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "kernel/cpu_mask.hpp"
#include "kernel/file.hpp"
#include "kernel/process_tree.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

struct memory {
  std::uint64_t resident = 0;
  /// Private memory without a file.
  std::uint64_t anonymous = 0;
};

memory memory_of(pid_t process) {
  const std::string text = read_file("/proc/" + std::to_string(process) + "/statm");
  std::string_view rest = text;
  take_word(rest);
  const auto total = parse_number<std::uint64_t>(take_word(rest)).value_or(0);
  const auto others = parse_number<std::uint64_t>(take_word(rest)).value_or(0);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return {total * page, (total - std::min(total, others)) * page};
}

/// Whether the process ignores SIGCHLD. Even a zombie still shows this.
bool ignores_children(pid_t process) {
  bool ignores = false;
  for_each_line(read_file("/proc/" + std::to_string(process) + "/status"), [&](std::string_view line) {
    if (take_word(line) != "SigIgn:") return;
    const auto mask = parse_number<std::uint64_t>(take_word(line), 16).value_or(0);
    ignores = (mask >> (SIGCHLD - 1) & 1) != 0;
  });
  return ignores;
}

std::optional<schedule_times> parse_schedstat(std::string_view text) {
  const auto on_cpu = parse_number<std::uint64_t>(take_word(text));
  const auto waiting = parse_number<std::uint64_t>(take_word(text));
  if (!on_cpu || !waiting) return {};
  return schedule_times{1e-9 * static_cast<double>(*on_cpu), 1e-9 * static_cast<double>(*waiting)};
}

template <class Field>
auto sum(const std::vector<ended_process>& processes, Field field) {
  using Value = decltype(field(rusage{}));
  return std::accumulate(
      processes.begin(), processes.end(), Value{},
      [&](Value so_far, const ended_process& process) { return so_far + field(process.usage); });
}

timeval operator+(const timeval& a, const timeval& b) {
  const auto micros = a.tv_usec + b.tv_usec;
  return {a.tv_sec + b.tv_sec + micros / 1000000, micros % 1000000};
}

rusage together(const rusage& a, const rusage& b) {
  rusage both{};
  both.ru_utime = a.ru_utime + b.ru_utime;
  both.ru_stime = a.ru_stime + b.ru_stime;
  both.ru_maxrss = std::max(a.ru_maxrss, b.ru_maxrss);
  both.ru_nvcsw = a.ru_nvcsw + b.ru_nvcsw;
  both.ru_nivcsw = a.ru_nivcsw + b.ru_nivcsw;
  return both;
}

}  // namespace

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// The kernel refuses a mask that is shorter than its own.
std::vector<int> affinity_of(pid_t thread) {
  for (std::size_t limit = 1024; limit <= cpu_limit; limit *= 2) {
    cpu_mask mask(limit);
    if (sched_getaffinity(thread, mask.bytes(), mask.data()) == 0) return mask.cpus();
    if (errno != EINVAL) break;
  }
  return {};
}

void accounts::introduce(pid_t process, const std::string& executable, std::string_view schedstat) {
  sightings_[process].executable = executable;
  before_ = parse_schedstat(schedstat).value_or(schedule_times{});
}

void accounts::sample() {
  std::uint64_t anonymous = 0;
  for (const pid_t process : descendants()) {
    for (const pid_t thread : threads_of(process)) {
      if (child_ended()) return;
      read_thread(process, thread);
    }
    const memory now = memory_of(process);
    anonymous += now.anonymous;
    resident_peak_ = std::max(resident_peak_, now.resident);
    sight(process);
  }
  anonymous_peak_ = std::max(anonymous_peak_, anonymous);
}

std::vector<pid_t> accounts::seen_running(const std::string& executable) const {
  std::vector<pid_t> found;
  for (const auto& [process, seen] : sightings_)
    if (seen.executable == executable) found.push_back(process);
  return found;
}

void accounts::sight(pid_t process) {
  sighting& seen = sightings_[process];
  if (auto executable = read_link("/proc/" + std::to_string(process) + "/exe"); !executable.empty())
    seen.executable = std::move(executable);
  if (auto affinity = affinity_of(process); !affinity.empty()) seen.affinity = std::move(affinity);
  find_group(process);
}

/// A zombie still shows its group.
void accounts::find_group(pid_t process) {
  if (group_.empty() || left_group_) return;
  for_each_line(read_file("/proc/" + std::to_string(process) + "/cgroup"), [&](std::string_view line) {
    if (line.starts_with("0::") && line.find(group_) == line.npos) left_group_ = true;
  });
}

void accounts::read_thread(pid_t process, pid_t thread) {
  const auto path = "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/schedstat";
  const auto now = parse_schedstat(read_file(path));
  if (!now) return;
  scheduled_ = true;
  schedule_times& last = threads_[thread];
  if (now->on_cpu < last.on_cpu) ended_threads_ += last;  // another thread got the same id
  last = *now;
}

/// The first thread's times are final now.
void accounts::last_look(pid_t zombie) {
  read_thread(zombie, zombie);
  if (const auto last = threads_.find(zombie); last != threads_.end()) {
    ended_threads_ += last->second;
    threads_.erase(last);
  }
  sight(zombie);
  sighting& seen = sightings_[zombie];
  seen.name = short_name(zombie);
  if (seen.executable.empty()) seen.executable = seen.name;
  children_undetected_ = children_undetected_ || ignores_children(zombie);
}

void accounts::book(pid_t zombie, const rusage& usage) {
  const sighting seen = std::move(sightings_[zombie]);
  sightings_.erase(zombie);
  if (ended_process* const others = shared_entry(seen))
    others->usage = together(others->usage, usage);
  else
    ended_.push_back({zombie, seen.executable, seen.name, usage, seen.affinity});
}

/// The entry that a process shares with others, or null if it gets a new one. After the first `listed_processes`, processes share the
/// entry of their executable; after twice as many entries, all share the last one.
ended_process* accounts::shared_entry(const sighting& seen) {
  if (ended_.size() < listed_processes) return nullptr;
  const auto same = std::find_if(ended_.begin() + listed_processes, ended_.end(),
                                 [&](const auto& other) { return other.executable == seen.executable; });
  if (same != ended_.end()) return &*same;
  return ended_.size() < 2 * listed_processes ? nullptr : &ended_.back();
}

std::optional<schedule_times> accounts::schedule() const {
  if (!scheduled_) return {};
  schedule_times total{ended_threads_.on_cpu - before_.on_cpu, ended_threads_.waiting - before_.waiting};
  for (const auto& [thread, times] : threads_) total += times;
  return schedule_times{std::max(0.0, total.on_cpu), std::max(0.0, total.waiting)};
}

bool accounts::schedule_incomplete() const {
  constexpr double rounding = 0.001;  // rusage is rounded and counts from the fork; schedstat is neither
  return !threads_.empty() || schedule().value_or(schedule_times{}).on_cpu + rounding < user() + system();
}

std::uint64_t accounts::largest_peak() const {
  std::uint64_t most = 0;
  for (const auto& process : ended_)
    most = std::max(most, 1024 * static_cast<std::uint64_t>(process.usage.ru_maxrss));
  return most;
}

double accounts::user() const {
  return sum(ended_, [](const rusage& usage) { return seconds_of(usage.ru_utime); });
}
double accounts::system() const {
  return sum(ended_, [](const rusage& usage) { return seconds_of(usage.ru_stime); });
}
std::int64_t accounts::involuntary() const {
  return sum(ended_, [](const rusage& usage) { return std::int64_t{usage.ru_nivcsw}; });
}

}  // namespace corescale::probe
