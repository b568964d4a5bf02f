// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/error.hpp"

namespace network {

/// A CSV file with a line of headings (RFC 4180). Lines end in CRLF or LF, and there may be a byte order mark. Lines without text are
/// skipped. Headings are compared only by their letters and digits, ignoring case. Every error is one line, FILE:LINE: what; remedy.
class Csv {
 public:
  explicit Csv(const std::filesystem::path& file) : file_(file.string()) {
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file))
      throw driver::Error(file_, in ? "is a directory" : std::strerror(errno), "give a readable CSV file");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (in.bad()) throw driver::Error(file_, "cannot be read to its end", "see the disk");
    if (text.find('\0') != text.npos)
      throw driver::Error(file_, "is not text in UTF-8", "export it as CSV in UTF-8");
    split(std::string_view(text).substr(text.starts_with("\xEF\xBB\xBF") ? 3 : 0));
    if (rows_.empty()) throw driver::Error(file_, "is empty", "the first line names the columns");
    for (std::size_t row = 0; row < rows(); ++row)
      for (std::size_t c = rows_[0].cells.size(); c < rows_[row + 1].cells.size(); ++c)
        if (!rows_[row + 1].cells[c].empty())
          fail(row, "more cells than the first line has", "quote a cell that has a comma in it");
  }

  std::size_t rows() const { return rows_.size() - 1; }
  int line(std::size_t row) const { return rows_[row + 1].line; }

  /// The column with one of these headings.
  std::size_t column(std::initializer_list<std::string_view> headings) const {
    const std::string where = file_ + ":" + std::to_string(rows_[0].line), first(*headings.begin());
    std::optional<std::size_t> found;
    for (std::size_t c = 0; c < rows_[0].cells.size(); ++c) {
      const std::string here = plain(rows_[0].cells[c]);
      if (std::ranges::none_of(headings, [&here](std::string_view one) { return plain(one) == here; }))
        continue;
      if (found) throw driver::Error(where, "two columns are '" + first + "'", "rename one");
      found = c;
    }
    if (!found)
      throw driver::Error(
          where, "no column '" + first + "'",
          rows_[0].cells.size() == 1 && rows_[0].cells[0].find_first_of(";\t") != std::string::npos
              ? "separate the cells by commas"
              : "name it in the first line");
    return *found;
  }

  std::string text(std::size_t row, std::size_t column) const {
    const auto& cells = rows_[row + 1].cells;
    std::string found = column < cells.size() ? cells[column] : "";
    if (found.empty()) fail(row, "no " + rows_[0].cells[column], "fill the cell, or remove the line");
    return found;
  }

  /// A number within [0, most]; commas stand between thousands.
  double number(std::size_t row, std::size_t column, double most) const {
    std::string digits = text(row, column);
    std::erase(digits, ' ');
    if (digits.starts_with('$')) digits.erase(0, 1);
    if (!are_thousands(digits))
      fail(row, rows_[0].cells[column] + " '" + shown(digits) + "' has a comma that is not between thousands",
           "write decimals behind a point");
    std::erase(digits, ',');
    double value = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (fault != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(value))
      fail(row, rows_[0].cells[column] + " '" + shown(text(row, column)) + "' is not a number", "correct it");
    if (digits.ends_with('.'))
      fail(row, rows_[0].cells[column] + " '" + shown(text(row, column)) + "' ends at its point",
           "see whether the file was cut; write the decimals, or no point");
    if (value < 0) fail(row, rows_[0].cells[column] + " " + digits + " is negative", "correct it");
    if (value > most) fail(row, rows_[0].cells[column] + " " + digits + " is too large", "correct it");
    return value;
  }

  [[noreturn]] void fail(std::size_t row, const std::string& what, const std::string& remedy) const {
    throw driver::Error(file_ + ":" + std::to_string(line(row)), what, remedy);
  }

 private:
  struct Row {
    std::vector<std::string> cells;
    int line;
  };

  void split(std::string_view text) {
    int line = 1;
    while (!text.empty()) {
      Row row{{}, line};
      for (bool more = true; more;) {
        row.cells.push_back(cell(text, line));
        more = text.starts_with(',');
        if (!text.empty()) text.remove_prefix(text.starts_with("\r\n") ? 2 : 1);
      }
      ++line;
      if (std::ranges::any_of(row.cells, [](const auto& one) { return !one.empty(); })) rows_.push_back(row);
    }
  }

  /// Removes a cell from the front of `text`, which then begins with the character that ended the cell.
  std::string cell(std::string_view& text, int& line) const {
    if (!text.starts_with('"')) {
      const std::size_t end = std::min(text.find_first_of(",\r\n"), text.size());
      const std::string_view found = text.substr(0, end);
      text.remove_prefix(end);
      return trimmed(found);
    }
    std::string found;
    const int first = line;
    for (text.remove_prefix(1); !text.starts_with('"') || text.starts_with("\"\""); text.remove_prefix(1)) {
      if (text.empty())
        throw driver::Error(file_ + ":" + std::to_string(first), "a quote is not closed", "close it");
      if (text.front() == '\n') ++line;
      if (text.front() == '"') text.remove_prefix(1);
      found += text.front();
    }
    text.remove_prefix(1);
    if (!text.empty() && text.find_first_of(",\r\n") != 0)
      throw driver::Error(file_ + ":" + std::to_string(line), "text after a closing quote",
                          "quote it as well");
    return trimmed(found);
  }

  static std::string trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == text.npos ? ""
                              : std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
  }

  /// Whether each comma groups thousands: three digits follow it, and it comes before the point and after one to three digits, the first of
  /// which is not 0.
  static bool are_thousands(std::string_view digits) {
    const std::string_view whole = digits.substr(0, digits.find('.'));
    if (digits.substr(whole.size()).find(',') != digits.npos) return false;
    const std::size_t first = whole.find(',');
    if (first != whole.npos && (first < 1 || first > 3 || whole[0] == '0')) return false;
    for (std::size_t at = whole.find(','); at != whole.npos; at = whole.find(',', at + 1)) {
      const std::size_t next = std::min(whole.find(',', at + 1), whole.size());
      if (next - at != 4) return false;
    }
    return true;
  }

  static std::string plain(std::string_view text) {
    std::string found;
    for (const char c : text)
      if (std::isalnum(static_cast<unsigned char>(c)))
        found += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return found;
  }

  /// For a message: in ASCII, and short.
  static std::string shown(std::string text) {
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
  }

  std::string file_;
  std::vector<Row> rows_;
};

}  // namespace network
