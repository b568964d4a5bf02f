// SPDX-License-Identifier: Apache-2.0
#include "spawner/arguments.hpp"

#include <functional>
#include <map>

#include "kernel/file.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

struct option {
  bool takes_value;
  std::function<void(arguments&, const std::string&)> apply;
};

[[noreturn]] void refuse(const std::string& text, const char* expected) {
  throw usage_error("'" + text + "' is not " + expected);
}

template <class Number>
Number number(const std::string& text) {
  if (const auto value = parse_number<Number>(text)) return *value;
  refuse(text, "a number that is 0 or more");
}

void set_variable(arguments& asked, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == text.npos || equals == 0) refuse(text, "NAME=VALUE");
  asked.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
}

void inherit(arguments& asked, const std::string& process) {
  asked.inherited = read_file("/proc/" + process + "/environ");
}

void set_affinity(arguments& asked, const std::string& text) {
  const auto cpus = parse_cpu_list(text);
  if (!cpus) refuse(text, "a CPU list such as 0,1,4-7");
  asked.affinity = *cpus;
}

void set_group(arguments& asked, const std::string& text) {
  if (text != "auto" && text != "off") refuse(text, "auto or off");
  asked.groups = text == "auto";
}

option text_option(std::string arguments::*field) {
  return {true, [field](arguments& asked, const std::string& text) { asked.*field = text; }};
}

template <class Number>
option number_option(Number arguments::*field) {
  return {true, [field](arguments& asked, const std::string& text) { asked.*field = number<Number>(text); }};
}

option flag(bool arguments::*field) {
  return {false, [field](arguments& asked, const std::string&) { asked.*field = true; }};
}

void unset_variable(arguments& asked, const std::string& name) {
  asked.environment.emplace_back(name, std::nullopt);
}

const std::map<std::string, option>& options() {
  static const std::map<std::string, option> table = {
      {"--report", text_option(&arguments::report)},
      {"--inherit", {true, inherit}},
      {"--env", {true, set_variable}},
      {"--unset", {true, unset_variable}},
      {"--affinity", {true, set_affinity}},
      {"--timeout", number_option(&arguments::timeout)},
      {"--grace", number_option(&arguments::grace)},
      {"--stdin", text_option(&arguments::input)},
      {"--stdout", text_option(&arguments::output)},
      {"--stderr", text_option(&arguments::errors)},
      {"--tail", number_option(&arguments::tail)},
      {"--scratch", text_option(&arguments::scratch)},
      {"--sample-ms", number_option(&arguments::sample_ms)},
      {"--prove", flag(&arguments::prove)},
      {"--cgroup", {true, set_group}},
      {"--parent", number_option(&arguments::parent)},
      {"--beside", number_option(&arguments::beside)},
  };
  return table;
}

void check(const arguments& asked) {
  if (asked.report.empty()) throw usage_error("--report is required");
  if (asked.command.empty()) throw usage_error("no command after --");
}

}  // namespace

arguments parse_arguments(const std::vector<std::string>& words) {
  arguments asked;
  auto word = words.begin();
  for (; word != words.end() && *word != "--"; ++word) {
    const auto found = options().find(*word);
    if (found == options().end()) throw usage_error("unknown option '" + *word + "'");
    const auto& [takes_value, apply] = found->second;
    if (takes_value && word + 1 == words.end()) throw usage_error("'" + *word + "' needs a value");
    apply(asked, takes_value ? *++word : std::string());
  }
  if (word != words.end()) asked.command.assign(word + 1, words.end());
  check(asked);
  return asked;
}

const char* usage() {
  return "usage: corescale-spawn --report FD|FILE [options] -- COMMAND [ARGUMENT]...\n"
         "  --env NAME=VALUE, --unset NAME   environment of the program, beside what is inherited\n"
         "  --inherit PID                    from that process, as it was started: a shell passes not all "
         "on\n"
         "  --affinity LIST                  CPUs it may use, such as 0,1,4-7\n"
         "  --timeout S, --grace S           kill it after S seconds; let it handle SIGTERM for S seconds "
         "first\n"
         "  --stdin FILE --stdout FILE --stderr FILE\n"
         "  --tail BYTES, --scratch DIR      report the end of stderr; where it is kept meanwhile\n"
         "  --sample-ms N                    look at the tree every N ms (100); 0 never\n"
         "  --cgroup auto|off                accounts by control groups where possible\n"
         "  --prove                          trace it and report what every process had mapped at its end\n"
         "  --parent PID                     cancel once this process is gone\n"
         "  --beside PID                     the same of one that is not the parent, seen within a second\n";
}

}  // namespace corescale::probe
