// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <functional>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/error.hpp"

namespace driver {

/// `--name value` (or `--name=value`) and `--flag`, each bound to a variable that holds the default. `--help`
/// lists them.
///
///     driver::Arguments arguments("ant_colony", "what it does");
///     arguments.text("instance", instance, "FILE", "TSPLIB file");
///     arguments.integer("ants", ants, 1, 1000, "ants in a colony");
///     if (!arguments.parse(argc, argv)) return 0;   // help was asked for and given
class Arguments {
 public:
  Arguments(std::string program, std::string purpose)
      : program_(std::move(program)), purpose_(std::move(purpose)) {}

  void text(std::string name, std::string& value, std::string unit, std::string help) {
    add(std::move(name), std::move(unit), std::move(help), value,
        [&value](auto, auto given) { value = given; });
  }

  /// A whole number within [least, most].
  template <class Integer>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): moved wherever it is instantiated
  void integer(std::string name, Integer& value, Integer least, Integer most, std::string help) {
    add(std::move(name), "N", std::move(help), std::to_string(value),
        [this, &value, least, most](auto option, auto given) {
          Integer number{};
          const auto [end, fault] = std::from_chars(given.data(), given.data() + given.size(), number);
          if (fault != std::errc{} || end != given.data() + given.size() || number < least || number > most)
            refuse(option, given,
                   "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
          value = number;
        });
  }

  /// A number within [least, most].
  void number(std::string name, double& value, double least, double most, std::string help) {
    add(std::move(name), "X", std::move(help), shortest(value),
        [this, &value, least, most](auto option, auto given) {
          double number = 0;
          const auto [end, fault] = std::from_chars(given.data(), given.data() + given.size(), number);
          if (fault != std::errc{} || end != given.data() + given.size() ||
              !(number >= least && number <= most))
            refuse(option, given, "a number from " + shortest(least) + " to " + shortest(most));
          value = number;
        });
  }

  /// One of `levels`.
  void choice(std::string name, std::string& value, std::vector<std::string> levels, std::string help) {
    std::string unit = join(levels, "|");
    add(std::move(name), unit, std::move(help), value,
        [this, &value, levels = std::move(levels)](auto option, auto given) {
          if (std::find(levels.begin(), levels.end(), given) == levels.end())
            refuse(option, given, "one of " + join(levels, ", "));
          value = given;
        });
  }

  /// `--name`, which takes no value.
  void flag(std::string name, bool& value, std::string help) {
    add(std::move(name), "", std::move(help), "", [&value](auto, auto) { value = true; });
  }

  /// Sets the bound variables. False after printing the help. Throws Error for what it does not know.
  bool parse(int argc, const char* const* argv) {
    for (int i = 1; i < argc; ++i) {
      std::string_view argument = argv[i];
      if (argument == "--help" || argument == "-h") return help(std::cout), false;
      const auto equals = argument.find('=');
      const Option& option = find(argument.substr(0, equals));
      given_.push_back(&option);
      if (option.unit.empty() && equals != std::string_view::npos)
        throw Error(program_, "--" + option.name + " takes no value", "give --" + option.name + " alone");
      if (option.unit.empty())
        option.set(option.name, {});
      else if (equals != std::string_view::npos)
        option.set(option.name, argument.substr(equals + 1));
      else if (++i < argc)
        option.set(option.name, argv[i]);
      else
        throw Error(program_, "--" + option.name + " lacks its value",
                    "give --" + option.name + " " + option.unit);
    }
    return true;
  }

  /// Throws Error if an option was given whose help begins with `mark`, as in "tsp: nearest cities"; `remedy` says what to give instead.
  void refuse_marked(std::string_view mark, const std::string& where, const std::string& remedy) const {
    for (const Option* option : given_)
      if (option->help.starts_with(mark))
        throw Error(program_, "--" + option->name + " means nothing " + where, remedy);
  }

  void help(std::ostream& out) const {
    out << program_ << ": " << purpose_ << "\n\n";
    for (const Option& option : options_) {
      const std::string left = "  --" + option.name + (option.unit.empty() ? "" : " ") + option.unit;
      out << left << std::string(left.size() < 34 ? 34 - left.size() : 1, ' ') << option.help;
      if (!option.standard.empty()) out << " [" << option.standard << "]";
      out << "\n";
    }
  }

 private:
  using Setter = std::function<void(const std::string& option, std::string_view given)>;
  struct Option {
    std::string name, unit, help, standard;
    Setter set;
  };

  void add(std::string name, std::string unit, std::string help, std::string standard, Setter set) {
    options_.push_back(
        {std::move(name), std::move(unit), std::move(help), std::move(standard), std::move(set)});
  }

  [[noreturn]] void refuse(const std::string& option, std::string_view given,
                           const std::string& wanted) const {
    throw Error(program_, "--" + option + " '" + std::string(given) + "' cannot be used", "give " + wanted);
  }

  const Option& find(std::string_view argument) const {
    for (const Option& option : options_)
      if (argument == "--" + option.name) return option;
    const auto nearer = [argument](const Option& a, const Option& b) {
      return distance(argument, "--" + a.name) < distance(argument, "--" + b.name);
    };
    const auto nearest = std::min_element(options_.begin(), options_.end(), nearer);
    const bool near = nearest != options_.end() && distance(argument, "--" + nearest->name) <= 3;
    throw Error(program_, "unknown option '" + std::string(argument) + "'",
                near ? "did you mean --" + nearest->name + "?" : "--help lists the options");
  }

  /// Levenshtein's: insertions, deletions and replacements of a character.
  static std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i + 1);
      for (std::size_t j = 0; j < b.size(); ++j)
        diagonal =
            std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, diagonal + (a[i] != b[j])}));
    }
    return row.back();
  }

  static std::string shortest(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
  }

  static std::string join(std::span<const std::string> words, std::string_view separator) {
    std::string all;
    for (const std::string& word : words) (all.empty() ? all : all += separator) += word;
    return all;
  }

  std::string program_, purpose_;
  std::vector<Option> options_;
  std::vector<const Option*> given_;
};

}  // namespace driver
