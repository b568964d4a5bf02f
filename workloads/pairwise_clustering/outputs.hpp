// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "driver/error.hpp"
#include "driver/ranks.hpp"
#include "pairwise_clustering/annealing.hpp"
#include "pairwise_clustering/scaling.hpp"

namespace pairwise_clustering {

/// The values of all rows, gathered from all ranks. Exact for whole numbers below 2^24.
inline std::vector<float> gathered(std::span<const float> mine, std::size_t n, std::size_t width,
                                   const driver::Ranks& ranks) {
  std::vector<float> all(n * width);
  std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(ranks.first_of(n, ranks.rank()) * width));
  ranks.gather_rows(all, n);
  return all;
}

inline std::vector<std::size_t> all_labels(const Outcome& outcome, std::size_t n,
                                           const driver::Ranks& ranks) {
  const std::vector<float> mine(outcome.labels.begin(), outcome.labels.end());
  const std::vector<float> all = gathered(mine, n, 1, ranks);
  return {all.begin(), all.end()};
}

/// A file that gets its name only when it is whole.
class CsvOutput {
 public:
  CsvOutput(std::filesystem::path path, const std::string& header)
      : path_(std::move(path)), part_(path_.string() + ".part"), file_(part_) {
    file_.precision(17);
    file_ << header << '\n';
  }

  template <class... Values>
  void row(const Values&... values) {
    const char* separator = "";
    ((file_ << std::exchange(separator, ",") << values), ...);
    file_ << '\n';
  }

  /// Throws Error if the file could not be written.
  void publish() {
    file_.close();
    if (!file_) throw driver::Error(path_.string(), "cannot be written", "give --out a place with room");
    std::filesystem::rename(part_, path_);
  }

 private:
  std::filesystem::path path_, part_;
  std::ofstream file_;
};

/// labels.csv, annealing.csv and tree.csv, and, if there are places, places.csv. Points are counted from 0.
inline void write_outputs(const std::filesystem::path& folder, const Outcome& outcome,
                          std::span<const std::size_t> labels, std::span<const float> places) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  CsvOutput points(folder / "labels.csv", "point,cluster,x,y,z");
  for (std::size_t i = 0; i < labels.size(); ++i)
    points.row(i, labels[i], places[3 * i], places[3 * i + 1], places[3 * i + 2]);
  CsvOutput annealing(folder / "annealing.csv", "temperature,clusters,energy,passes,power_steps");
  for (const AtTemperature& one : outcome.history)
    annealing.row(one.temperature, one.clusters, one.energy, one.passes, one.power_steps);
  CsvOutput tree(folder / "tree.csv", "temperature,parent,child");
  for (const Split& one : outcome.tree) tree.row(one.temperature, one.parent, one.child);
  annealing.publish();
  tree.publish();
  points.publish();
}

}  // namespace pairwise_clustering
