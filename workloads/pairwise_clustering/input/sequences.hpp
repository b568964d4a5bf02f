// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "driver/block_loop.hpp"
#include "driver/error.hpp"
#include "pairwise_clustering/distances.hpp"

#ifdef CORESCALE_HAS_EDLIB
#include <edlib.h>
#endif

namespace pairwise_clustering {

/// The sequences of a FASTA file, in upper case. Letters are those of nucleotides (IUPAC). Throws Error with the line.
inline std::vector<std::string> read_fasta(const std::string& path) {
  constexpr std::string_view letters = "ACGTUNRYSWKMBDHV";
  const auto refuse = [&](std::size_t line, const std::string& what, const std::string& remedy) {
    throw driver::Error(path + ", line " + std::to_string(line), what, remedy);
  };
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    throw driver::Error(path, "cannot be read", "give the path of a FASTA file");
  std::vector<std::string> found;
  std::size_t number = 0, named = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);  // a byte order mark
    if (number == 1 && line.starts_with("\x1f\x8b"))
      throw driver::Error(path, "is compressed", "unpack it first: gunzip");
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    if (line.front() == '>') {
      if (!found.empty() && found.back().empty()) refuse(named, "this sequence is empty", "give its bases");
      found.emplace_back();
      named = number;
      continue;
    }
    if (found.empty()) refuse(number, "a sequence has no '>' line before it", "give FASTA");
    for (const char one : line) {
      const char upper = one >= 'a' && one <= 'z' ? static_cast<char>(one - 'a' + 'A') : one;
      if (letters.find(upper) == std::string_view::npos)
        refuse(number, std::string("the letter '") + one + "' is not a nucleotide",
               "give " + std::string(letters));
      found.back() += upper;
    }
  }
  if (found.empty()) throw driver::Error(path, "has no sequences", "give at least one");
  if (found.back().empty()) refuse(named, "this sequence is empty", "give its bases");
  return found;
}

/// The fewest replaced, lost and gained bases from one sequence to the other (edlib, global), over the longer one's length.
inline double edit_fraction([[maybe_unused]] const std::string& a, [[maybe_unused]] const std::string& b) {
#ifdef CORESCALE_HAS_EDLIB
  const EdlibAlignResult result = edlibAlign(a.data(), static_cast<int>(a.size()), b.data(),
                                             static_cast<int>(b.size()), edlibDefaultAlignConfig());
  const int distance = result.editDistance;
  edlibFreeAlignResult(result);
  return static_cast<double>(distance) / static_cast<double>(std::max(a.size(), b.size()));
#else
  throw driver::Error("sequences", "this build has no edlib", "install libedlib-dev and build again");
#endif
}

/// Rows from `first` on. A pair of two own rows is compared once.
inline void fill(Distances& distances, const std::vector<std::string>& sequences, std::size_t first,
                 driver::BlockLoop& loop) {
  loop.run(distances.rows(), [&](std::size_t i) {
    for (std::size_t j = 0; j < sequences.size(); ++j) {
      const bool own = j >= first && j < first + distances.rows();
      if (own && j < first + i) continue;
      const double distance = edit_fraction(sequences[first + i], sequences[j]);
      distances.set(i, j, distance);
      if (own) distances.set(j - first, first + i, distance);
    }
  });
}

}  // namespace pairwise_clustering
