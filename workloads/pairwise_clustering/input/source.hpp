// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pairwise_clustering/crew.hpp"
#include "pairwise_clustering/input/families.hpp"
#include "pairwise_clustering/input/matrix_file.hpp"
#include "pairwise_clustering/input/mixture.hpp"
#include "pairwise_clustering/input/sequences.hpp"

namespace pairwise_clustering {

/// Where distances come from. No member lets ranks wait for each other.
struct Source {
  std::size_t points;
  std::vector<std::size_t> planted;    ///< the families that a generator made; empty if unknown
  std::vector<std::string> sequences;  ///< empty if distances are of other things
  std::function<double(std::size_t first, std::size_t last)> largest;  ///< distance in these rows, or more
  std::function<void(Distances&, std::size_t first, const Crew&)> fill;
  std::function<void(const Distances&, std::size_t first)> check = [](const Distances&, std::size_t) {};
};

inline Source from_mixture(std::size_t points, const Mixture::Shape& shape, std::uint64_t seed) {
  const auto mixture = std::make_shared<Mixture>(points, shape, seed);
  std::vector<std::size_t> planted;
  for (std::size_t i = 0; i < points; ++i) planted.push_back(mixture->label(i));
  return {points,
          planted,
          {},
          [mixture](std::size_t, std::size_t) { return mixture->largest(); },
          [mixture](Distances& distances, std::size_t first, const Crew& crew) {
            crew.for_rows(distances, [&](std::size_t begin, std::size_t end) {
              for (std::size_t panel = begin; panel < end; panel += panel_rows)  // a panel is contiguous
                for (std::size_t j = 0; j < mixture->size(); ++j)
                  for (std::size_t i = panel; i < std::min(panel + panel_rows, end); ++i)
                    distances.set(i, j, mixture->distance(first + i, j));
            });
          }};
}

inline Source from_sequences(std::vector<std::string> sequences, std::vector<std::size_t> planted) {
  const auto kept = std::make_shared<std::vector<std::string>>(std::move(sequences));
  return {kept->size(), std::move(planted), *kept, [](std::size_t, std::size_t) { return 1.0; },
          [kept](Distances& distances, std::size_t first, const Crew& crew) {
            fill(distances, *kept, first, crew.loop);
          }};
}

inline Source from_matrix(const std::string& path) {
  const std::shared_ptr<MatrixFile> file = open_matrix(path);
  return {file->size(),
          {},
          {},
          [file](std::size_t first, std::size_t last) { return largest_in(*file, first, last); },
          [file](Distances& distances, std::size_t first, const Crew&) { fill(distances, *file, first); },
          [file, path](const Distances& distances, std::size_t first) {
            check_symmetric(distances, *file, path, first);
          }};
}

}  // namespace pairwise_clustering
