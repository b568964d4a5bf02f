// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/error.hpp"
#include "pairwise_clustering/distances.hpp"

namespace pairwise_clustering {

/// FNV-1a over bytes.
inline std::uint64_t hash(std::string_view bytes, std::uint64_t start = 0xcbf29ce484222325) {
  for (const char one : bytes) start = (start ^ static_cast<unsigned char>(one)) * 0x100000001b3;
  return start;
}

/// The name under which distances of these sequences are kept: what is compared, and how.
inline std::uint64_t key_of(const std::vector<std::string>& sequences) {
  std::uint64_t key = hash("edit distance over the longer length, 1");
  for (const std::string& one : sequences) key = hash("\n", hash(one, key));
  return key;
}

/// Distances of sequences in a .npy file (float32, which NumPy reads), followed by a hash of each row and the key of the sequences.
class DistanceCache {
 public:
  DistanceCache(std::string path, std::uint64_t key, std::size_t n)
      : path_(std::move(path)), key_(key), n_(n) {}

  /// Throws Error if it can never be.
  bool is_there() const {
    if (std::filesystem::is_directory(path_))
      throw driver::Error(path_, "is a folder", "give --cache a file");
    return std::filesystem::exists(path_);
  }

  /// Rows from `first` on. Throws Error if the file has distances of other sequences, or is damaged.
  void read(Distances& distances, std::size_t first) const {
    std::ifstream file(path_, std::ios::binary);
    std::uint64_t key = 0;
    std::string begin(head().size(), ' ');
    file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    if (!file) refuse("was cut short");
    if (begin != head()) refuse("holds distances of other sequences");
    file.seekg(static_cast<std::streamoff>(head().size() + n_ * row_bytes() + n_ * sizeof key));
    file.read(reinterpret_cast<char*>(&key), sizeof key);
    if (!file) refuse("was cut short");
    if (key != key_) refuse("holds distances of other sequences");
    std::vector<float> row(n_);
    for (std::size_t i = 0; i < distances.rows(); ++i) {
      read_row(file, first + i, row);
      for (std::size_t j = 0; j < n_; ++j) distances.set(i, j, row[j]);
    }
  }

  /// This rank's rows. Every rank writes its own; the file has its name after publish().
  void write(const Distances& distances, std::size_t first) const {
    std::fstream file(begun(), std::ios::binary | std::ios::in | std::ios::out);
    std::vector<float> row(n_);
    for (std::size_t i = 0; i < distances.rows(); ++i) {
      for (std::size_t j = 0; j < n_; ++j) row[j] = static_cast<float>(distances.at(i, j));
      const std::string_view bytes(reinterpret_cast<const char*>(row.data()), row_bytes());
      const std::uint64_t check = hash(bytes);
      put(file, head().size() + (first + i) * row_bytes(), bytes);
      put(file, head().size() + n_ * row_bytes() + (first + i) * sizeof check, as_bytes(check));
    }
    if (!file.flush()) throw driver::Error(begun(), "cannot be written", "give --cache a place with room");
  }

  /// Makes the file, without rows. One rank calls it, before any write.
  void begin() const {
    std::ofstream file(begun(), std::ios::binary | std::ios::trunc);
    file << head();
    put(file, head().size() + n_ * (row_bytes() + sizeof key_), as_bytes(key_));
    if (!file.flush()) throw driver::Error(begun(), "cannot be written", "give --cache a place with room");
  }

  /// One rank calls it, after all writes.
  void publish() const { std::filesystem::rename(begun(), path_); }

 private:
  std::size_t row_bytes() const { return n_ * sizeof(float); }
  std::string begun() const { return path_ + ".part"; }

  static std::string_view as_bytes(const std::uint64_t& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }

  template <class File>
  static void put(File& file, std::size_t at, std::string_view bytes) {
    file.seekp(static_cast<std::streamoff>(at));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw driver::Error(path_, what, "remove it, or give another --cache");
  }

  void read_row(std::ifstream& file, std::size_t i, std::vector<float>& row) const {
    std::uint64_t check = 0;
    file.seekg(static_cast<std::streamoff>(head().size() + n_ * row_bytes() + i * sizeof check));
    file.read(reinterpret_cast<char*>(&check), sizeof check);
    file.seekg(static_cast<std::streamoff>(head().size() + i * row_bytes()));
    file.read(reinterpret_cast<char*>(row.data()), static_cast<std::streamsize>(row_bytes()));
    if (!file || hash({reinterpret_cast<const char*>(row.data()), row_bytes()}) != check)
      refuse("is damaged in row " + std::to_string(i + 1));
  }

  /// NumPy's header, version 1, of 128 bytes.
  std::string head() const {
    const std::string shape = std::to_string(n_) + ", " + std::to_string(n_);
    std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
    text.resize(117, ' ');
    return std::string("\x93NUMPY\x01", 7) + '\0' + '\x76' + '\0' + text + '\n';
  }

  std::string path_;
  std::uint64_t key_;
  std::size_t n_;
};

}  // namespace pairwise_clustering
