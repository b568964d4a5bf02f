// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "pairwise_clustering/crew.hpp"

namespace pairwise_clustering {

constexpr std::size_t most_clusters = 64;

/// A cluster of the mean field: `size` C, `half_spread` A = -1/2 sum_i M_i B_i / C, and `prior` P.
struct Cluster {
  double size = 0, half_spread = 0, prior = 0;
};

/// Pairwise deterministic annealing at one temperature (Hofmann and Buhmann 1997, as DAPWC has it: a point counts in its own cluster):
///
///     C_k = sum_i M_ik;   B = D M / C_k;   A_k = -1/2 sum_i M_ik B_ik / C_k
///     eps_ik = B_ik + A_k;   M_ik = P_k exp(-eps_ik / T) / sum_l P_l exp(-eps_il / T);   P_k = C_k / N
///
/// One object a rank, for its own rows; every member is called by all ranks together. Arrays are laid out cluster by cluster, padded to
/// whole panels of rows: value[k * stride() + row].
class MeanField {
 public:
  /// One cluster of all points. Throws std::bad_alloc.
  MeanField(const Distances& distances, const Crew& crew, std::size_t capacity)
      : distances_(distances),
        crew_(crew),
        product_(distances, crew),
        packed_(distances.rows() * capacity),
        membership_(stride() * capacity),
        factor_(stride() * capacity),
        to_cluster_(stride() * capacity),
        energy_(stride() * capacity),
        product_of_(stride() * capacity),
        clusters_{{points(), 0, 1}} {
    std::fill_n(membership_.begin(), distances.rows(), 1.0);
    update();
  }

  std::size_t size() const { return clusters_.size(); }
  std::size_t stride() const { return distances_.panels() * panel_rows; }
  double points() const { return static_cast<double>(distances_.size()); }
  const Crew& crew() const { return crew_; }
  const Distances& distances() const { return distances_; }
  std::span<Cluster> clusters() { return clusters_; }
  const double* membership(std::size_t k) const { return membership_.data() + k * stride(); }
  const double* to_cluster(std::size_t k) const { return to_cluster_.data() + k * stride(); }
  double* energy(std::size_t k) { return energy_.data() + k * stride(); }

  /// Adds a copy of cluster k, with the same energies. The two share k's prior equally. Returns the new cluster's number.
  std::size_t duplicate(std::size_t k) {
    const std::size_t made = size();
    std::copy_n(energy(k), stride(), energy(made));
    std::copy_n(membership(k), stride(), membership_.data() + made * stride());
    clusters_[k].prior /= 2;
    clusters_.push_back(clusters_[k]);
    return made;
  }

  /// Iterates M and P at fixed energies until sum |dM| < `tolerance` N. Returns the steps, at most `most`.
  std::size_t settle(double temperature, std::size_t most, double tolerance) {
    weigh(temperature);
    for (std::size_t step = 1; step <= most; ++step)
      if (share() < tolerance * points()) return step;
    return most;
  }

  /// Computes B, A and the energies from the current memberships. Returns max_k mean_i |d eps_ik|.
  double update() {
    multiply(membership_, product_of_);
    Sums spread(size(), points() * distances_.largest());
    crew_.for_rows(distances_, [&](std::size_t first, std::size_t last) { divide(first, last, spread); });
    crew_.reduce(spread);
    for (std::size_t k = 0; k < size(); ++k) clusters_[k].half_spread = -0.5 * spread[k] / mass(k);
    Sums change(size(), points() * 8 * distances_.largest());
    crew_.for_rows(distances_, [&](std::size_t first, std::size_t last) { add_up(first, last, change); });
    crew_.reduce(change);
    return *std::ranges::max_element(change.total()) / points();
  }

  /// H = -sum_k A_k C_k: half the mean distance within clusters, summed over points.
  double total_energy() const {
    return std::accumulate(clusters_.begin(), clusters_.end(), 0.0,
                           [](double sum, const Cluster& one) { return sum - one.half_spread * one.size; });
  }

  /// max_k sum_i M_ik (1 - M_ik) / C_k: 0 when every point belongs to one cluster.
  double fuzziness() {
    Sums fuzzy(size(), points());
    crew_.for_rows(distances_, [&](std::size_t first, std::size_t last) {
      for (std::size_t k = 0; k < size(); ++k) {
        double part = 0;
        for (std::size_t i = first; i < last; ++i)
          part += fuzzy.rounded(membership(k)[i] * (1 - membership(k)[i]));
        fuzzy.add(k, part);
      }
    });
    crew_.reduce(fuzzy);
    double worst = 0;
    for (std::size_t k = 0; k < size(); ++k) worst = std::max(worst, fuzzy[k] / mass(k));
    return worst;
  }

  /// y = D x over all ranks, with a column for each cluster.
  void multiply(std::span<const double> x, std::span<double> y) {
    crew_.for_rows(distances_, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        for (std::size_t k = 0; k < size(); ++k)
          packed_[i * size() + k] = static_cast<float>(x[k * stride() + i]);
    });
    product_.run({packed_.data(), distances_.rows() * size()}, size(), y, stride());
  }

  /// C_k as a divisor: never 0.
  double mass(std::size_t k) const { return std::max(clusters_[k].size, 1e-9); }

 private:
  /// exp(-(eps_ik - min_l eps_il) / T); 0 in the padding rows of a panel.
  void weigh(double temperature) {
    crew_.for_rows(distances_, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        double least = energy(0)[i];
        for (std::size_t k = 1; k < size(); ++k) least = std::min(least, energy(k)[i]);
        for (std::size_t k = 0; k < size(); ++k)
          factor_[k * stride() + i] = std::exp((least - energy(k)[i]) / temperature);
      }
    });
  }

  /// One step of M and P at fixed energies. Returns sum |dM|.
  double share() {
    Sums sums(size() + 1, 2 * points());
    crew_.for_rows(distances_, [&](std::size_t first, std::size_t last) {
      std::array<double, most_clusters + 1> part{};
      for (std::size_t row = first; row < last; row += panel_rows) share_panel(row, sums, part);
      for (std::size_t k = 0; k <= size(); ++k) sums.add(k, part[k]);
    });
    crew_.reduce(sums);
    for (std::size_t k = 0; k < size(); ++k) {
      clusters_[k].size = sums[k];
      clusters_[k].prior = std::max(sums[k], 1e-6) / points();
    }
    return sums[size()];
  }

  /// Each lane has its own sum. This changes no result, because rounded terms have the same sum in any order.
  void share_panel(std::size_t row, const Sums& sums, std::span<double> part) {
    using Lanes = std::array<double, panel_rows>;
    Lanes all{}, change{};
    for (std::size_t k = 0; k < size(); ++k)
      for (std::size_t r = 0; r < panel_rows; ++r)
        all[r] += clusters_[k].prior * factor_[k * stride() + row + r];
    for (std::size_t r = 0; r < panel_rows; ++r) all[r] = 1 / std::max(all[r], 1e-300);
    for (std::size_t k = 0; k < size(); ++k) {
      Lanes made;
      double* old = membership_.data() + k * stride() + row;
      for (std::size_t r = 0; r < panel_rows; ++r) {
        made[r] = clusters_[k].prior * factor_[k * stride() + row + r] * all[r];
        change[r] += sums.rounded(std::abs(made[r] - old[r]));
        old[r] = made[r];
        made[r] = sums.rounded(made[r]);
      }
      part[k] += std::accumulate(made.begin(), made.end(), 0.0);
    }
    part[size()] += std::accumulate(change.begin(), change.end(), 0.0);
  }

  void divide(std::size_t first, std::size_t last, Sums& spread) {
    for (std::size_t k = 0; k < size(); ++k) {
      double part = 0;
      double* b = to_cluster_.data() + k * stride();
      for (std::size_t i = first; i < last; ++i) {
        b[i] = product_of_[k * stride() + i] / mass(k);
        part += spread.rounded(membership(k)[i] * b[i]);
      }
      spread.add(k, part);
    }
  }

  void add_up(std::size_t first, std::size_t last, Sums& change) {
    for (std::size_t k = 0; k < size(); ++k) {
      double part = 0;
      for (std::size_t i = first; i < last; ++i) {
        const double made = to_cluster(k)[i] + clusters_[k].half_spread;
        part += change.rounded(std::abs(made - energy(k)[i]));
        energy(k)[i] = made;
      }
      change.add(k, part);
    }
  }

  const Distances& distances_;
  const Crew& crew_;
  SharedProduct product_;
  std::vector<float> packed_;
  std::vector<double> membership_, factor_, to_cluster_, energy_, product_of_;
  std::vector<Cluster> clusters_;
};

}  // namespace pairwise_clustering
