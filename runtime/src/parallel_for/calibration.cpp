// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/calibration.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

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
};

constexpr int known_format = 1;

class reader {
 public:
  explicit reader(const std::string& path) : path_(path), file_(path) {}

  calibration read() {
    if (!file_)
      fail("cannot be read; name a file that corescale calibrate wrote, or unset CORESCALE_CALIBRATION");
    for (std::string text; std::getline(file_, text);) {
      ++line_;
      if (const auto comment = text.find('#'); comment != std::string::npos) text.erase(comment);
      take(text);
    }
    if (!has_format_) fail("has no line `format = 1`");
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
    if (!(words >> name)) return;
    if (!(words >> equals >> value) || equals != "=" || words >> more) fail("write `name = number`");
    if (name == "format") return take_format(value);
    const auto* const row =
        std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.name == name; });
    if (row == table.end()) fail("no constant is named '" + name + "'");
    if (!(value > 0 && value < 1e12)) fail("'" + name + "' is a time in nanoseconds above 0");
    found_.*(row->value) = value;
  }

  void take_format(double value) {
    if (value != known_format) fail("this corescale reads format 1; calibrate again");
    has_format_ = true;
  }

  const std::string& path_;
  std::ifstream file_;
  int line_ = 0;
  bool has_format_ = false;
  calibration found_;
};

}  // namespace

calibration read_calibration(const std::string& path) { return reader(path).read(); }

const calibration& machine_calibration() {
  constinit static detail::made_once<calibration> chosen;
  return chosen.get([] {
    const char* const path = std::getenv("CORESCALE_CALIBRATION");
    return path && *path ? read_calibration(path) : calibration{};
  });
}

std::span<const calibration_constant> calibration_constants() noexcept { return table; }

}  // namespace corescale
