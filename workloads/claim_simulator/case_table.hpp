// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "claim_simulator/case.hpp"

namespace claim_simulator {

/// Cases as comma-separated values: a line of names, then a line for each case. Values that are not named are those of `standard`. Calls
/// `take` for each case. Blanks are ignored. For a bad case, throws driver::Error, which names file and line, before it calls `take`.
class CaseTable {
 public:
  CaseTable(std::istream& in, std::string name, const Case& standard)
      : in_(in), name_(std::move(name)), standard_(standard) {}

  void each(const std::function<void(const Case&)>& take) {
    std::string line;
    if (!next(line)) refuse(name_, "has no line of names", "begin with a line such as threads,block");
    if (line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);  // a byte order mark
    for (std::string& name : fields(line)) names_.push_back(known(std::move(name)));
    while (next(line))
      if (!line.empty()) take(read(line));
  }

 private:
  bool next(std::string& line) {
    ++number_;
    if (!std::getline(in_, line)) return false;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
  }

  std::string where() const { return name_ + ":" + std::to_string(number_); }

  static std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> all(1);
    for (const char c : line)
      if (c == ',')
        all.emplace_back();
      else if (c != ' ' && c != '\t')
        all.back() += c;
    return all;
  }

  bool has(const std::string& name) const { return std::ranges::find(names_, name) != names_.end(); }

  std::string known(std::string name) const {
    const bool is_known = std::ranges::find(quantities, name, &Quantity::name) != quantities.end() ||
                          std::ranges::find(choices, name, &Choice::name) != choices.end();
    if (!is_known) refuse(where(), "no column is named '" + name + "'", "--help lists the names");
    if (has(name)) refuse(where(), "two columns are named '" + name + "'", "keep one of them");
    return name;
  }

  Case read(const std::string& line) const {
    const std::vector<std::string> values = fields(line);
    if (values.size() != names_.size())
      refuse(where(), std::to_string(values.size()) + " values", "give " + std::to_string(names_.size()));
    Case one = standard_;
    for (std::size_t i = 0; i < values.size(); ++i) put(one, names_[i], values[i]);
    check(one, where());
    if (has("block") && !has("policy") && one.block == 0)
      refuse(where(), "block '0' cannot be used",
             "give at least 1, or say in a column policy who chooses the block");
    return one;
  }

  void put(Case& one, const std::string& name, const std::string& value) const {
    if (const auto* const found = std::ranges::find(quantities, name, &Quantity::name);
        found != quantities.end())
      return set(one, *found, value, where());
    const Choice& choice = *std::ranges::find(choices, name, &Choice::name);
    const std::vector<std::string> levels = choice.levels();
    if (std::ranges::find(levels, value) == levels.end())
      refuse(where(), name + " '" + value + "' cannot be used", "--help lists the choices");
    choice.of(one) = value;
  }

  std::istream& in_;
  std::string name_;
  Case standard_;
  std::vector<std::string> names_;
  int number_ = 0;
};

}  // namespace claim_simulator
