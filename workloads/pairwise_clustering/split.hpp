// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "driver/random.hpp"
#include "pairwise_clustering/mean_field.hpp"

namespace pairwise_clustering {

/// The power method's limits. Rayleigh quotients are good to about the square of the vectors' tolerance.
struct PowerOptions {
  std::size_t most_steps = 200;
  double tolerance = 1e-3;  ///< relative change of every cluster's quotient in a step
  std::size_t least_steps = 5;
  double least_size = 5;  ///< points in a cluster that may split
};

/// Where each cluster is about to split: below T = critical(k), along direction(k). That is the leading eigenpair of
///
///     G(k)_ij = sqrt(M_ik M_jk) / C_k (B_ik + B_jk + 2 A_k - D_ij),
///     (G v)_i = sqrt(M_ik) / C_k [ (B_ik + 2 A_k) s + t - (D u)_i ],  u = sqrt(M_k) v,  s = sum u,  t = sum B_k u,
///
/// found by the power method for all clusters at once: one product D U a step. A perturbation of the energies along it grows by
/// critical(k) / T in a pass. (Rose, Gurewitz and Fox 1990; G is I - T times the second derivative of the free energy.)
class Instability {
 public:
  Instability(MeanField& field, std::uint64_t seed, const PowerOptions& options = {})
      : least_size_(options.least_size),
        field_(field),
        v_(field.stride() * field.size()),
        u_(v_.size()),
        du_(v_.size()),
        state_(field.size()) {
    const Region region("power");
    start(seed);
    while (steps_ < options.most_steps)
      if (step() < options.tolerance && steps_ >= options.least_steps) break;
    weigh();  // normalises, and makes the sums those of the directions as they are now
  }

  double critical(std::size_t k) const { return state_[k].quotient; }
  const double* direction(std::size_t k) const { return v_.data() + k * field_.stride(); }
  double sum(std::size_t k) const { return state_[k].sum; }
  std::size_t steps() const { return steps_; }

 private:
  struct OfCluster {
    double quotient = 0, shift = 0, length = 1, sum = 0;
  };

  double reach() const { return field_.distances().largest(); }
  double root(std::size_t k, std::size_t i) const { return std::sqrt(field_.membership(k)[i]); }

  /// V_i = 1 + i / 2N plus noise, where i is the row's number among all rows, so that any number of ranks starts with the same V.
  void start(std::uint64_t seed) {
    const std::size_t first =
        field_.crew().ranks.first_of(field_.distances().size(), field_.crew().ranks.rank());
    field_.crew().for_rows(field_.distances(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = 0; k < field_.size(); ++k)
        for (std::size_t i = begin; i < end; ++i) {
          const double along = static_cast<double>(first + i) / (2 * field_.points());
          v_[k * field_.stride() + i] = 1 + along + driver::Random(seed, k, first + i).unit() - 0.5;
        }
    });
    for (OfCluster& one : state_) one.length = 2 * std::sqrt(field_.points());
  }

  /// V = G V / |V|. Returns the largest relative change of a quotient.
  double step() {
    ++steps_;
    const std::vector<double> t = weigh();
    field_.multiply(u_, du_);
    Sums sums(2 * field_.size(), 100 * reach() * reach());
    field_.crew().for_rows(field_.distances(), [&](std::size_t first, std::size_t last) {
      for (std::size_t k = 0; k < field_.size(); ++k) apply(k, first, last, t[k], sums);
    });
    field_.crew().reduce(sums);
    double worst = 0;
    for (std::size_t k = 0; k < field_.size(); ++k) worst = std::max(worst, learn(k, sums));
    return worst;
  }

  /// Normalises V, and makes U, s and t, which it returns.
  std::vector<double> weigh() {
    Sums sums(2 * field_.size(), 2 * std::sqrt(field_.points()) * std::max(reach(), 1.0));
    field_.crew().for_rows(field_.distances(), [&](std::size_t first, std::size_t last) {
      for (std::size_t k = 0; k < field_.size(); ++k) weigh_rows(k, first, last, sums);
    });
    field_.crew().reduce(sums);
    for (std::size_t k = 0; k < field_.size(); ++k) state_[k].sum = sums[2 * k];
    std::vector<double> t;
    for (std::size_t k = 0; k < field_.size(); ++k) t.push_back(sums[2 * k + 1]);
    return t;
  }

  void weigh_rows(std::size_t k, std::size_t first, std::size_t last, Sums& sums) {
    double s = 0, t = 0;
    for (std::size_t i = first; i < last; ++i) {
      double& v = v_[k * field_.stride() + i];
      v /= state_[k].length;
      const double u = root(k, i) * v;
      u_[k * field_.stride() + i] = u;
      s += sums.rounded(u);
      t += sums.rounded(field_.to_cluster(k)[i] * u);
    }
    sums.add(2 * k, s);
    sums.add(2 * k + 1, t);
  }

  void apply(std::size_t k, std::size_t first, std::size_t last, double t, Sums& sums) {
    const Cluster& cluster = field_.clusters()[k];
    double quotient = 0, square = 0;
    for (std::size_t i = first; i < last; ++i) {
      double& v = v_[k * field_.stride() + i];
      const double others = (field_.to_cluster(k)[i] + 2 * cluster.half_spread) * state_[k].sum + t;
      const double made =
          root(k, i) / field_.mass(k) * (others - du_[k * field_.stride() + i]) + state_[k].shift * v;
      quotient += sums.rounded(v * made);
      square += sums.rounded(made * made);
      v = made;
    }
    sums.add(2 * k, quotient);
    sums.add(2 * k + 1, square);
  }

  /// A negative quotient means that the eigenvalue largest in size is negative: a shift brings the others above it.
  double learn(std::size_t k, const Sums& sums) {
    OfCluster& one = state_[k];
    const double found = sums[2 * k] - one.shift;
    const double change = std::abs(found - one.quotient) / std::max(std::abs(found), 1e-12 * reach());
    one.quotient = found;
    one.length = std::max(std::sqrt(sums[2 * k + 1]), 1e-300);
    if (found >= 0) return field_.mass(k) > least_size_ ? change : 0;
    one.shift += 1.5 * std::abs(found);
    return 1;
  }

  double least_size_;
  MeanField& field_;
  std::vector<double> v_, u_, du_;
  std::vector<OfCluster> state_;
  std::size_t steps_ = 0;
};

/// Splits cluster k along its direction x = v / sqrt(M): energies +x and -x, with root mean square T / 10 over the cluster's members
/// and nowhere beyond T / 2. Returns the new cluster's number.
inline std::size_t split(MeanField& field, std::size_t k, const Instability& unstable, double temperature) {
  const double mean = unstable.sum(k) / field.mass(k);
  const double square = 1 / field.mass(k) - mean * mean;
  const double scale = 0.1 * temperature / std::sqrt(std::max(square, 1e-300));
  const std::size_t made = field.duplicate(k);
  field.crew().for_rows(field.distances(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const double root = std::sqrt(std::max(field.membership(k)[i], 1e-12));
      const double x =
          std::clamp((unstable.direction(k)[i] / root - mean) * scale, -0.5 * temperature, 0.5 * temperature);
      field.energy(k)[i] += x;
      field.energy(made)[i] -= x;
    }
  });
  return made;
}

}  // namespace pairwise_clustering
