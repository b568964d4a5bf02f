// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "driver/error.hpp"
#include "pairwise_clustering/distances.hpp"

namespace pairwise_clustering {

/// A square matrix of distances in a file, read a row at a time. Its messages count rows and columns from 1.
class MatrixFile {
 public:
  explicit MatrixFile(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_ || std::filesystem::is_directory(path))
      refuse("cannot be read", "give the path of a .npy or .csv file");
  }
  virtual ~MatrixFile() = default;

  std::size_t size() const { return n_; }

  /// A whole row; cheapest in ascending order. Throws Error for a value that is no distance.
  virtual std::span<const double> row(std::size_t i) = 0;

  /// Call it after the last row. Throws Error if there are more rows; a .npy file may go on, because a cache of distances stores its hashes
  /// there.
  virtual void must_end() {}

 protected:
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const {
    throw driver::Error(path_, what, remedy);
  }

  void check(std::size_t i, std::span<const double> values) const {
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (!std::isfinite(values[j])) refuse(place(i, j) + " is not a finite number", "give every distance");
      if (values[j] < 0) refuse(place(i, j) + " is negative", "give distances of at least 0");
      if (values[j] > std::numeric_limits<float>::max())
        refuse(place(i, j) + " is more than float32 holds", "scale the distances");
      if (i == j && values[j] != 0)
        refuse(place(i, j) + " is not 0", "give the distance of a point to itself as 0");
    }
  }

  static std::string place(std::size_t i, std::size_t j) {
    return "row " + std::to_string(i + 1) + ", column " + std::to_string(j + 1);
  }

  std::string path_;
  std::ifstream file_;
  std::size_t n_ = 0;
};

/// NumPy's format, version 1 to 3, of little-endian float32, float64, uint16 or uint8. Which index runs fastest is the same for a
/// symmetric matrix.
class NpyFile final : public MatrixFile {
 public:
  explicit NpyFile(const std::string& path) : MatrixFile(path) {
    char head[8] = {};
    file_.read(head, 8);
    if (!file_ || std::memcmp(head, "\x93NUMPY", 6) != 0)
      refuse("is no .npy file", "write it with numpy.save");
    std::uint32_t length = 0;
    file_.read(reinterpret_cast<char*>(&length), head[6] == 1 ? 2 : 4);
    std::string header(std::min<std::uint32_t>(length, 1 << 16), ' ');
    file_.read(header.data(), static_cast<std::streamsize>(header.size()));
    start_ = file_.tellg();
    read_header(header);
  }

  std::span<const double> row(std::size_t i) override {
    raw_.resize(n_ * width());
    file_.seekg(start_ + static_cast<std::streamoff>(i * raw_.size()));
    file_.read(raw_.data(), static_cast<std::streamsize>(raw_.size()));
    if (!file_)
      refuse("ends in row " + std::to_string(i + 1) + " of " + std::to_string(n_), "write it again");
    values_.resize(n_);
    for (std::size_t j = 0; j < n_; ++j) values_[j] = value(j);
    check(i, values_);
    return values_;
  }

 private:
  void read_header(const std::string& header) {
    for (const std::string type : {"<f4", "<f8", "<u2", "|u1"})
      if (header.find("'descr': '" + type + "'") != std::string::npos) type_ = type;
    if (type_.empty()) refuse("holds another type", "save it as float32, float64 or uint16");
    std::size_t columns = 0;
    int end = 0;  // set after the bracket behind the second number; with a third dimension there is none
    const std::size_t at = header.find("'shape':");
    if (at == std::string::npos ||
        std::sscanf(header.c_str() + at, "'shape': (%zu, %zu)%n", &n_, &columns, &end) != 2 || end == 0 ||
        n_ != columns)
      refuse("is not a square matrix", "save the matrix of all distances, N x N");
    if (n_ == 0) refuse("has no rows", "give at least one point");
  }

  std::size_t width() const { return static_cast<std::size_t>(type_[2] - '0'); }

  double value(std::size_t j) const {
    const auto as = [&]<class T>(T one) {
      std::memcpy(&one, raw_.data() + j * sizeof one, sizeof one);
      return static_cast<double>(one);
    };
    if (type_ == "<f4") return as(float{});
    if (type_ == "<f8") return as(double{});
    return type_ == "<u2" ? as(std::uint16_t{}) : as(std::uint8_t{});
  }

  std::string type_;
  std::streamoff start_ = 0;
  std::vector<char> raw_;
  std::vector<double> values_;
};

/// A line for each row, values separated by commas.
class CsvFile final : public MatrixFile {
 public:
  explicit CsvFile(const std::string& path) : MatrixFile(path) {
    next_line();
    if (values_.empty()) refuse("has no rows", "give at least one point");
    n_ = values_.size();
    rewind();
  }

  std::span<const double> row(std::size_t i) override {
    if (i < next_) rewind();
    while (next_ <= i) next_line();
    check(i, values_);
    return values_;
  }

  void must_end() override {
    for (std::string line; std::getline(file_, line);)
      if (line.find_first_not_of(" \t\r") != std::string::npos)
        refuse("has more than " + std::to_string(n_) + " rows of " + std::to_string(n_) + " values",
               "give a square matrix");
  }

 private:
  void rewind() {
    file_.clear();
    file_.seekg(0);
    next_ = 0;
  }

  void next_line() {
    std::string line;
    if (!std::getline(file_, line)) {
      values_.clear();
      if (n_ > 0)
        refuse("has " + std::to_string(next_) + " rows of " + std::to_string(n_), "give a square matrix");
      return;
    }
    if (next_ == 0 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);  // a byte order mark
    values_.clear();
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ',');) values_.push_back(number(word));
    if (n_ > 0 && values_.size() != n_)
      refuse("row " + std::to_string(next_ + 1) + " has " + std::to_string(values_.size()) + " values, not " +
                 std::to_string(n_),
             "give a square matrix");
    ++next_;
  }

  double number(const std::string& word) const {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (end == word.c_str() || word.find_first_of("xX") != std::string::npos ||
        std::string_view(end).find_first_not_of(" \t\r") != std::string_view::npos)
      refuse(place(next_, values_.size()) + " '" + word + "' is not a number",
             "give numbers separated by commas");
    return value;
  }

  std::size_t next_ = 0;
  std::vector<double> values_;
};

inline std::unique_ptr<MatrixFile> open_matrix(const std::string& path) {
  if (path.ends_with(".npy")) return std::make_unique<NpyFile>(path);
  return std::make_unique<CsvFile>(path);
}

/// The largest distance in rows first .. last - 1.
inline double largest_in(MatrixFile& file, std::size_t first, std::size_t last) {
  double largest = 0;
  for (std::size_t i = first; i < last; ++i)
    for (const double one : file.row(i)) largest = std::max(largest, one);
  return largest;
}

/// Rows from `first` on, as many as `distances` has.
inline void fill(Distances& distances, MatrixFile& file, std::size_t first) {
  for (std::size_t i = 0; i < distances.rows(); ++i)
    for (std::size_t j = 0; const double one : file.row(first + i)) distances.set(i, j++, one);
}

/// Throws Error if the distances of i to j and of j to i differ by more than rounding.
inline void check_symmetric(const Distances& distances, MatrixFile& file, const std::string& path,
                            std::size_t first) {
  const double allowed = 2 * distances.resolution() + 1e-6 * distances.largest();
  for (std::size_t j = 0; j < file.size(); ++j) {
    const std::span<const double> row = file.row(j);
    for (std::size_t i = 0; i < distances.rows(); ++i)
      if (std::abs(row[first + i] - distances.at(i, j)) > allowed)
        throw driver::Error(path,
                            "row " + std::to_string(first + i + 1) + ", column " + std::to_string(j + 1) +
                                " differs from row " + std::to_string(j + 1) + ", column " +
                                std::to_string(first + i + 1),
                            "give a symmetric matrix");
  }
  file.must_end();
}

}  // namespace pairwise_clustering
