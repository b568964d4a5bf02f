// SPDX-License-Identifier: Apache-2.0
#include "spawner/report.hpp"

#include <cstring>

#include "text/json.hpp"

namespace corescale::probe {
namespace {

void write_end(json_writer& json, const report& result) {
  json.member("status", result.status);
  json.member("exit_code", result.exit_code);
  json.member("signal", result.signal);
  json.member("step", result.failure ? std::optional(result.failure->step) : std::nullopt);
  json.member("errno", result.failure ? std::optional(result.failure->error) : std::nullopt);
  json.member("leftovers", result.leftovers);
  json.array("survivors", result.survivors);
}

void write_times(json_writer& json, const report& result) {
  json.member("started", result.started);
  json.member("wall", result.wall);
  json.member("stopped", result.stopped);
  json.member("halted", result.halted);
  json.member("user", result.user);
  json.member("system", result.system);
  json.member("cpu_kind", result.cpu_kind);
  json.member("involuntary", result.used.involuntary());
  json.member("steal", result.steal);
  json.member("throttled", result.throttled);
  json.member("foreign", result.foreign);
  const auto schedule = result.used.schedule();
  json.member("on_cpu", schedule ? std::optional(schedule->on_cpu) : std::nullopt);
  json.member("runqueue_wait", schedule ? std::optional(schedule->waiting) : std::nullopt);
  json.member("sampled", result.used.schedule_incomplete());
}

void write_process(json_writer& json, const ended_process& process) {
  json.open('{');
  json.member("pid", process.pid);
  json.member("executable", process.executable);
  json.member("name", process.name);
  json.member("user", seconds_of(process.usage.ru_utime));
  json.member("system", seconds_of(process.usage.ru_stime));
  json.member("peak_memory", 1024 * std::int64_t{process.usage.ru_maxrss});
  json.array("affinity", process.affinity);
  json.close('}');
}

void write_image(json_writer& json, const image& program) {
  json.open('{');
  json.member("executable", program.executable);
  json.member("name", program.name);
  json.member("static", program.is_static);
  json.member("setuid", program.is_privileged);
  json.member("replaced", program.replaced);
  json.member("readable", program.readable);
  json.member("cpu", program.cpu);
  json.array("maps", program.maps);
  json.close('}');
}

void write_proof(json_writer& json, const std::optional<std::vector<image>>& proof) {
  if (!proof) return json.member("proof", std::nullopt);
  json.key("proof").open('[');
  for (const auto& program : *proof) write_image(json, program);
  json.close(']');
}

}  // namespace

std::string to_json(const report& result) {
  json_writer json;
  json.open('{');
  write_end(json, result);
  write_times(json, result);
  json.member("peak_memory", result.peak_memory);
  json.member("peak_memory_kind", result.peak_memory_kind);
  json.member("peak_memory_floor", result.peak_memory_floor);
  json.member("peak_memory_error", result.peak_memory_error);
  json.member("tree_memory", result.tree_memory);
  json.member("tree_memory_kind", result.tree_memory_kind);
  json.array("affinity", result.affinity);
  json.member("tail", result.tail);
  json.key("processes").open('[');
  for (const auto& process : result.used.ended()) write_process(json, process);
  json.close(']');
  write_proof(json, result.proof);
  json.close('}');
  return json.text() + "\n";
}

}  // namespace corescale::probe
