// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/random.hpp"

namespace pairwise_clustering {

/// Sequences like those of Alu repeats. The consensus of each family is some mutations away from an ancestor. Its members have mutated
/// since: bases were replaced, lost and gained.
struct FamilyShape {
  std::vector<std::size_t> sizes;  ///< members of each family
  std::size_t subfamilies = 1;     ///< subfamilies of each family; members are divided among them in turn
  std::size_t length = 300;        ///< bases; an Alu has about 300
  double divergence =
      0.15;  ///< share of bases that a consensus has of its own; of a subfamily's, a third of that
  double mutation = 0.10;  ///< share of a member's bases that mutated
  double indels = 0.01;    ///< share of a member's bases that were lost, and as many gained
};

struct Families {
  std::vector<std::string> sequences;
  std::vector<std::size_t> labels;
};

namespace families {

inline constexpr std::string_view bases = "ACGT";

inline std::string random_sequence(std::size_t length, driver::Random& random) {
  std::string made(length, 'A');
  for (char& one : made) one = bases[static_cast<std::size_t>(random.below(4))];
  return made;
}

inline std::string mutated(const std::string& from, double replaced, double indels, driver::Random& random) {
  std::string made;
  for (const char base : from) {
    if (random.unit() < indels) continue;
    if (random.unit() < indels) made += bases[static_cast<std::size_t>(random.below(4))];
    const bool other = random.unit() < replaced;
    made += other ? bases[(bases.find(base) + 1 + static_cast<std::size_t>(random.below(3))) % 4] : base;
  }
  return made;
}

}  // namespace families

/// Families one after the other; labels count subfamilies.
inline Families make_families(const FamilyShape& shape, std::uint64_t seed) {
  driver::Random random(seed, 0, 0);
  const std::string ancestor = families::random_sequence(shape.length, random);
  Families made;
  for (std::size_t family = 0; family < shape.sizes.size(); ++family) {
    const std::string consensus = families::mutated(ancestor, shape.divergence, 0, random);
    std::vector<std::string> sources{consensus};
    for (std::size_t s = 0; shape.subfamilies > 1 && s < shape.subfamilies; ++s) {
      if (s == 0) sources.clear();
      sources.push_back(families::mutated(consensus, shape.divergence / 3, 0, random));
    }
    for (std::size_t i = 0; i < shape.sizes[family]; ++i) {
      const std::size_t source = i % sources.size();
      made.sequences.push_back(families::mutated(sources[source], shape.mutation, shape.indels, random));
      made.labels.push_back(family * shape.subfamilies + source);
    }
  }
  return made;
}

}  // namespace pairwise_clustering
