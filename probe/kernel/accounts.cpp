// SPDX-License-Identifier: Apache-2.0
#include "kernel/accounts.hpp"

#include <sched.h>

#include <algorithm>
#include <numeric>

#include "kernel/file.hpp"
#include "kernel/process_tree.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

struct resident {
  std::uint64_t own = 0;
  std::uint64_t shared = 0;
};

resident resident_bytes(pid_t process) {
  const std::string text = read_file("/proc/" + std::to_string(process) + "/statm");
  std::string_view rest = text;
  take_word(rest);
  const auto total = parse_number<std::uint64_t>(take_word(rest)).value_or(0);
  const auto shared = parse_number<std::uint64_t>(take_word(rest)).value_or(0);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return {(total - std::min(total, shared)) * page, shared * page};
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

}  // namespace

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::vector<int> affinity_of(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(thread, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < cpu_limit; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

void accounts::introduce(pid_t process, const std::string& executable, std::string_view schedstat) {
  sightings_[process].executable = executable;
  before_ = parse_schedstat(schedstat).value_or(schedule_times{});
}

void accounts::sample() {
  std::uint64_t own = 0, shared = 0;
  for (const pid_t process : descendants()) {
    for (const pid_t thread : threads_of(process)) read_thread(process, thread);
    const resident now = resident_bytes(process);
    own += now.own;
    shared = std::max(shared, now.shared);
    sight(process);
  }
  sampled_peak_ = std::max(sampled_peak_, own + shared);
}

void accounts::sight(pid_t process) {
  sighting& seen = sightings_[process];
  if (auto executable = read_link("/proc/" + std::to_string(process) + "/exe"); !executable.empty())
    seen.executable = std::move(executable);
  if (auto affinity = affinity_of(process); !affinity.empty()) seen.affinity = std::move(affinity);
}

void accounts::read_thread(pid_t process, pid_t thread) {
  const auto path = "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/schedstat";
  const auto now = parse_schedstat(read_file(path));
  if (!now) return;
  schedule_times& last = threads_[thread];
  if (now->on_cpu < last.on_cpu) earlier_ = {earlier_.on_cpu + last.on_cpu, earlier_.waiting + last.waiting};
  last = *now;
}

void accounts::last_look(pid_t zombie) {
  read_thread(zombie, zombie);
  sight(zombie);
  if (auto& name = sightings_[zombie].executable; name.empty()) name = short_name(zombie);
}

void accounts::book(pid_t zombie, const rusage& usage) {
  const sighting& seen = sightings_[zombie];
  ended_.push_back({zombie, seen.executable, usage, seen.affinity});
}

std::optional<schedule_times> accounts::schedule() const {
  if (threads_.empty()) return {};
  schedule_times total{earlier_.on_cpu - before_.on_cpu, earlier_.waiting - before_.waiting};
  for (const auto& [thread, times] : threads_)
    total = {total.on_cpu + times.on_cpu, total.waiting + times.waiting};
  return schedule_times{std::max(0.0, total.on_cpu), std::max(0.0, total.waiting)};
}

bool accounts::schedule_incomplete() const {
  const bool others = std::any_of(threads_.begin(), threads_.end(), [&](const auto& thread) {
    return std::none_of(ended_.begin(), ended_.end(),
                        [&](const auto& process) { return process.pid == thread.first; });
  });
  constexpr double rounding = 0.001;  // rusage rounds and starts at the fork, schedstat does neither
  return others || schedule().value_or(schedule_times{}).on_cpu + rounding < user() + system();
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
std::int64_t accounts::voluntary() const {
  return sum(ended_, [](const rusage& usage) { return std::int64_t{usage.ru_nvcsw}; });
}

}  // namespace corescale::probe
