// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ant_colony/problem.hpp"
#include "ant_colony/transition.hpp"

namespace ant_colony {

/// The pheromone of one colony in dense arrays. Its products with the visibility are kept for each city's candidates, adjacent in memory,
/// because at every step an ant reads all of them and changes one. Takes 9 n^2 + 16 n k bytes.
///
/// A trail is what a colony reads and marks. It has
///   attraction(i, r)            tau * visibility of the way from city i to its r-th candidate
///   attraction_to(i, j)         the same to any city
///   mark(i, j, rate, amount)    tau = (1 - rate) tau + rate amount, both ways
///   Route                       where an ant notes its cities: start(city), go_to(city), copy_to(tour)
class IndexedTrail {
 public:
  class Route {
   public:
    explicit Route(const Problem& problem) { cities_.reserve(static_cast<std::size_t>(problem.cities())); }
    void start(int city) { cities_.assign(1, city); }
    void go_to(int city) { cities_.push_back(city); }
    int here() const { return cities_.back(); }
    void copy_to(std::vector<int>& tour) const { tour = cities_; }

   private:
    std::vector<int> cities_;
  };

  IndexedTrail(const Problem& problem, double initial)
      : problem_(problem),
        n_(static_cast<std::size_t>(problem.cities())),
        k_(static_cast<std::size_t>(problem.candidates())),
        tau_(n_ * n_, initial),
        rank_(n_ * n_, none) {
    for (int i = 0; i < problem.cities(); ++i) {
      std::uint8_t rank = 0;
      for (const int j : problem.candidates(i)) {
        rank_[at(i, j)] = rank++;
        visibility_.push_back(visibility(problem.distance(i, j)));
        attraction_.push_back(initial * visibility_.back());
      }
    }
  }

  double attraction(int i, int r) const {
    return attraction_[static_cast<std::size_t>(i) * k_ + static_cast<std::size_t>(r)];
  }

  double attraction_to(int i, int j) const { return tau_[at(i, j)] * visibility(problem_.distance(i, j)); }

  void mark(int i, int j, double rate, double amount) {
    const double tau = marked(tau_[at(i, j)], rate, amount);
    set(i, j, tau);
    set(j, i, tau);
  }

  static constexpr int max_candidates = std::numeric_limits<std::uint8_t>::max() - 1;

 private:
  static constexpr std::uint8_t none = std::numeric_limits<std::uint8_t>::max();

  std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(i) * n_ + static_cast<std::size_t>(j);
  }

  void set(int i, int j, double tau) {
    tau_[at(i, j)] = tau;
    const std::uint8_t rank = rank_[at(i, j)];
    if (rank == none) return;
    const std::size_t slot = static_cast<std::size_t>(i) * k_ + rank;
    attraction_[slot] = tau * visibility_[slot];
  }

  const Problem& problem_;
  std::size_t n_, k_;
  std::vector<double> tau_, visibility_, attraction_;
  std::vector<std::uint8_t> rank_;  ///< rank of j among the candidates of i
};

}  // namespace ant_colony
