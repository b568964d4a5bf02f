// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/calibration.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "corescale/machine/made_once.hpp"

namespace corescale::inline v0 {
namespace {

constexpr std::array table{
    calibration_constant{"claim_own", &calibration::claim_own},
    calibration_constant{"line_near", &calibration::line_near},
    calibration_constant{"line_far", &calibration::line_far},
    calibration_constant{"fork_hot", &calibration::fork_hot},
    calibration_constant{"fork_thread", &calibration::fork_thread},
    calibration_constant{"fork_cold", &calibration::fork_cold},
    calibration_constant{"byte", &calibration::byte},
    calibration_constant{"operation", &calibration::operation},
    calibration_constant{"trained_near", &calibration::trained_near},
    calibration_constant{"trained_far", &calibration::trained_far},
    calibration_constant{"trained_spread", &calibration::trained_spread},
};

constexpr int known_format = 2;
constexpr std::string_view of_the_lab = "lab.";

constexpr const char* blank = " \t\r\"";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(blank);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blank) + 1 - first);
}

class reader {
 public:
  explicit reader(const std::string& path) : path_(path), file_(path) {}

  calibration_file read() {
    if (!file_)
      fail("cannot be read; name a file that corescale calibrate wrote, or unset CORESCALE_CALIBRATION");
    for (std::string text; std::getline(file_, text);) {
      ++line_;
      if (const auto comment = text.find('#'); comment != std::string::npos) text.erase(comment);
      take(text);
    }
    if (!has_format_) fail("has no line `format = 2`");
    return found_;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    const std::string place = line_ > 0 ? path_ + ":" + std::to_string(line_) : path_;
    throw std::runtime_error("calibration file " + place + ": " + why);
  }

  void take(const std::string& text) {
    std::istringstream words(text);
    std::string name, equals, more;
    double value = 0;
    if (!(words >> name) || name.starts_with(of_the_lab)) return;
    if (name == "cpus") return take_cpus(trimmed(text.substr(text.find(name) + name.size())));
    if (!(words >> equals >> value) || equals != "=" || words >> more) fail("write `name = number`");
    if (name == "format") return take_format(value);
    const auto* const row =
        std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.name == name; });
    if (row == table.end()) fail("no constant is named '" + name + "'");
    if (!(value > 0 && value < 1e12)) fail("'" + name + "' is a number above 0");
    found_.constants.*(row->value) = value;
  }

  void take_cpus(const std::string& rest) {
    if (!rest.starts_with('=')) fail("write `cpus = words`");
    found_.cpus = trimmed(rest.substr(1));
  }

  void take_format(double value) {
    if (value != known_format) fail("this corescale reads format 2; calibrate again");
    has_format_ = true;
  }

  const std::string& path_;
  std::ifstream file_;
  int line_ = 0;
  bool has_format_ = false;
  calibration_file found_;
};

/// The model of the first CPU in /proc/cpuinfo. Arm kernels give part numbers instead of a name.
std::string cpu_model() {
  std::map<std::string, std::string> fields;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto colon = line.find(':');
    if (colon != std::string::npos)
      fields.emplace(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  for (const char* name : {"model name", "cpu", "uarch"})
    if (const auto& model = fields[name]; !model.empty()) return model;
  const std::string& maker = fields["CPU implementer"];
  return maker.empty() ? "unknown" : "implementer " + maker + " part " + fields["CPU part"];
}

/// The constants that loops use, and why they are not those that were asked for.
struct choice {
  calibration constants{};
  std::string note{};
};

choice choose() {
  const char* const path = std::getenv("CORESCALE_CALIBRATION");
  if (!path || !*path) return {};
  const calibration_file file = read_calibration(path);
  const std::string here = cpus_in_words();
  if (file.cpus.empty() || file.cpus == here) return {file.constants};
  return {{},
          std::string("calibration file ") + path + ": is of " + file.cpus + " and not of " + here +
              ", so the shipped constants are used; calibrate here, or unset CORESCALE_CALIBRATION"};
}

const choice& chosen() {
  constinit static detail::made_once<choice> once;
  return once.get(choose);
}

}  // namespace

calibration_file read_calibration(const std::string& path) { return reader(path).read(); }

std::string cpus_in_words() { return std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " x " + cpu_model(); }

const calibration& machine_calibration() { return chosen().constants; }

const std::string& calibration_note() { return chosen().note; }

std::span<const calibration_constant> calibration_constants() noexcept { return table; }

}  // namespace corescale
