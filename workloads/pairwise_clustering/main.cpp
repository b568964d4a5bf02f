// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cmath>
#include <iostream>
#include <optional>
#include <set>

#include "driver/arguments.hpp"
#include "driver/result.hpp"
#include "pairwise_clustering/annealing.hpp"
#include "pairwise_clustering/input/cache.hpp"
#include "pairwise_clustering/input/memory.hpp"
#include "pairwise_clustering/input/source.hpp"
#include "pairwise_clustering/outputs.hpp"
#include "pairwise_clustering/rand_index.hpp"

namespace {

using namespace pairwise_clustering;

struct Request {
  std::string input = "mixture", precision = "float32", threading = "spin", exchange = "allgather";
  std::string kernel = "widest";
  std::string cache, out;
  std::size_t points = 1000, planted = 5, dimensions = 3, threads = 1, blocks = 1;
  double separation = 10, divergence = 0.15, mutation = 0.1, indels = 0.01;
  std::size_t clusters = 0, at_most = 10;
  std::size_t temperatures = 0, passes = 3, power_steps = 10;
  std::uint64_t seed = 1;
};

bool parse(int argc, char** argv, Request& r) {
  driver::Arguments arguments("pairwise_clustering",
                              "Clusters points by their distances alone: pairwise deterministic annealing "
                              "(Hofmann and Buhmann 1997)\n"
                              "on threads of any system and on MPI's ranks, as Qiu et al. (2010) measured "
                              "it. Timed is the annealing.");
  arguments.text("input", r.input, "mixture|families|FILE",
                 "generated points, or sequences; or a FASTA file, or all distances as .npy or .csv");
  arguments.integer<std::size_t>("points", r.points, 1, 1'000'000, "generated points or sequences");
  arguments.integer<std::size_t>("planted", r.planted, 1, most_clusters, "components or families generated");
  arguments.integer<std::size_t>("dimensions", r.dimensions, 1, 1000, "of the mixture");
  arguments.number("separation", r.separation, 0, 1e6,
                   "spread of components' centres over that of a component");
  arguments.number("divergence", r.divergence, 0, 1,
                   "share of bases in which a family differs from the ancestor");
  arguments.number("mutation", r.mutation, 0, 1,
                   "share of bases in which a sequence differs from its family");
  arguments.number("indels", r.indels, 0, 1, "share of bases that a sequence lost, and as many gained");
  arguments.integer<std::size_t>("clusters", r.clusters, 0, most_clusters,
                                 "to be found; 0: as many as the widest gap of temperatures names");
  arguments.integer<std::size_t>("at-most", r.at_most, 2, most_clusters, "clusters where --clusters is 0");
  arguments.choice("precision", r.precision, {"float32", "uint16"}, "of a distance");
  arguments.choice("kernel", r.kernel, {"widest", "plain"},
                   "of the product: what this processor has, or short vectors without fused multiply-adds");
  arguments.integer<std::size_t>("threads", r.threads, 1, 4096, "of each rank");
  arguments.integer<std::size_t>("blocks", r.blocks, 1, 100'000, "blocks of rows for each thread");
  arguments.choice("threading", r.threading, driver::loop_systems(), "whose loop runs the blocks");
  arguments.choice("exchange", r.exchange, {"allgather", "ring"}, "how ranks get each other's memberships");
  arguments.integer<std::size_t>("temperatures", r.temperatures, 0, 100'000,
                                 "temperatures of fixed work, to be timed; 0: until clusters are firm");
  arguments.integer<std::size_t>("passes", r.passes, 1, 10'000, "at each temperature of fixed work");
  arguments.integer<std::size_t>("power-steps", r.power_steps, 1, 10'000,
                                 "at each temperature of fixed work");
  arguments.integer<std::uint64_t>("seed", r.seed, 0, ~std::uint64_t{0},
                                   "of what is generated, and of the start");
  arguments.text("cache", r.cache, "FILE", "keeps the distances of sequences (.npy)");
  arguments.text("out", r.out, "FOLDER", "writes labels with places in space, energies and the tree as CSV");
  return arguments.parse(argc, argv);
}

std::vector<std::size_t> sizes_of(std::size_t points, std::size_t parts) {
  std::vector<std::size_t> sizes;
  for (std::size_t k = 0; k < parts; ++k) sizes.push_back(points * (k + 1) / parts - points * k / parts);
  return sizes;
}

Source open(const Request& r) {
  if (r.input == "mixture") return from_mixture(r.points, {r.planted, r.dimensions, r.separation}, r.seed);
  if (r.input.ends_with(".npy") || r.input.ends_with(".csv")) return from_matrix(r.input);
  if (r.input != "families") return from_sequences(read_fasta(r.input), {});
  Families made =
      make_families({sizes_of(r.points, r.planted), 1, 300, r.divergence, r.mutation, r.indels}, r.seed);
  return from_sequences(std::move(made.sequences), std::move(made.labels));
}

/// Distances from the source, or from its cache, which is written if it is missing.
class Loader {
 public:
  Loader(const Request& request, const driver::Ranks& ranks) : request_(request), ranks_(ranks) {}

  /// False if something cannot be used, which has been reported then.
  bool load(const Crew& crew) {
    double largest = 0;
    if (!ranks_.agreed([&] { largest = examine(); })) return false;
    largest = ranks_.largest(largest);
    const auto cached = [&] { return cache_ && is_cached_; };
    if (!ranks_.agreed([&] {
          if (largest == 0) throw driver::Error(request_.input, "has no two points apart", "give others");
          distances_.emplace(source_->points, rows(), precision(), largest, kernel());
          if (cached()) return cache_->read(*distances_, first());
          source_->fill(*distances_, first(), crew);
          source_->check(*distances_, first());
        }))
      return false;
    return !cache_ || cached() || keep();
  }

  const Distances& distances() const { return *distances_; }
  const Source& source() const { return *source_; }
  std::size_t first() const { return ranks_.first_of(source_->points, ranks_.rank()); }

 private:
  std::size_t rows() const { return ranks_.first_of(source_->points, ranks_.rank() + 1) - first(); }
  Precision precision() const {
    return request_.precision == "float32" ? Precision::float32 : Precision::uint16;
  }
  const Kernel& kernel() const { return request_.kernel == "widest" ? widest_kernel() : kernels().back(); }

  /// The largest distance of this rank's rows.
  double examine() {
    if (request_.input == "mixture" || request_.input == "families")
      check_memory(request_.points, precision(), ranks_);
    source_.emplace(open(request_));
    const std::size_t n = source_->points;
    check_memory(n, precision(), ranks_);
    if (request_.clusters > n || n < 2)
      throw driver::Error("clusters",
                          std::to_string(request_.clusters) + " of " + std::to_string(n) + " points",
                          "give more points, at least 2, or fewer clusters");
    if (!request_.cache.empty() && source_->sequences.empty())
      throw driver::Error("cache", "is for distances of sequences", "leave --cache out");
    if (!request_.cache.empty()) cache_.emplace(request_.cache, key_of(source_->sequences), n);
    is_cached_ = cache_ && cache_->is_there();
    return source_->largest(first(), first() + rows());
  }

  bool keep() {
    const bool leads = ranks_.rank() == 0;
    return ranks_.agreed([&] { leads ? cache_->begin() : void(); }) &&
           ranks_.agreed([&] { cache_->write(*distances_, first()); }) &&
           ranks_.agreed([&] { leads ? cache_->publish() : void(); });
  }

  const Request& request_;
  const driver::Ranks& ranks_;
  std::optional<Source> source_;
  std::optional<DistanceCache> cache_;
  std::optional<Distances> distances_;
  bool is_cached_ = false;
};

Outcome anneal(const Request& r, const Distances& distances, const Crew& crew) {
  if (r.temperatures > 0) {
    const std::size_t clusters = r.clusters > 0 ? r.clusters : r.at_most;
    return anneal_fixed(distances, crew, {clusters, r.temperatures, r.passes, r.power_steps, r.seed});
  }
  Options options;
  options.clusters = r.clusters;
  options.at_most = std::min(r.at_most, distances.size());
  options.seed = r.seed;
  return Annealing(distances, crew, options).run();
}

double peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) * 1024;
}

bool write(const Request& r, const Loader& loader, const Crew& crew, const Outcome& outcome,
           std::span<const std::size_t> labels) {
  std::vector<float> mine;
  ClassicalScaling scaling(loader.distances(), crew, r.seed);
  for (const Place& place : scaling.places()) mine.insert(mine.end(), place.begin(), place.end());
  const std::vector<float> places = gathered(mine, labels.size(), 3, crew.ranks);
  return crew.ranks.agreed([&] {
    if (crew.ranks.rank() == 0) write_outputs(r.out, outcome, labels, places);
  });
}

int report(const Request& r, const Loader& loader, const Outcome& outcome,
           std::span<const std::size_t> labels, double seconds, const driver::Ranks& ranks,
           bool within_bound) {
  driver::Result result;
  result.text("threading", r.threading);
  result.text("exchange", r.exchange);
  result.text("precision", r.precision);
  result.text("kernel", r.kernel);
  result.metric("points", static_cast<double>(labels.size()));
  result.metric("threads", static_cast<double>(r.threads));
  result.metric("ranks", ranks.size());
  result.metric("clusters", static_cast<double>(outcome.clusters));
  result.metric("energy", outcome.energy);
  result.metric("seconds", seconds);
  result.metric("temperatures", static_cast<double>(outcome.history.size()));
  double passes = 0, steps = 0;
  for (const AtTemperature& one : outcome.history) {
    passes += static_cast<double>(one.passes);
    steps += static_cast<double>(one.power_steps);
  }
  result.metric("passes", passes);
  result.metric("power_steps", steps);
  if (outcome.gap > 0) result.metric("gap", outcome.gap);
  if (!loader.source().planted.empty() && r.temperatures == 0)
    result.metric("rand_index", adjusted_rand_index(labels, loader.source().planted));
  std::uint64_t sum = hash("");
  for (const std::size_t one : labels) sum = hash({reinterpret_cast<const char*>(&one), sizeof one}, sum);
  result.text("labels", driver::hexadecimal(sum));
  const std::size_t found = std::set(labels.begin(), labels.end()).size();
  const bool has_all = r.temperatures > 0 || found >= r.clusters;
  if (!has_all)
    std::cerr << "clusters: points fell into " << found << " of " << r.clusters
              << "; ask for fewer, or for as many as there are (without --clusters)\n";
  result.check("has_all_clusters", has_all);
  result.check("is_finite", std::isfinite(outcome.energy) && outcome.energy >= 0);
  result.check("memory_within_bound", within_bound);
  return result.print();
}

int cluster(int argc, char** argv) {
  const driver::Ranks ranks;
  Request request;
  bool wanted = true;
  std::unique_ptr<driver::BlockLoop> loop;
  if (!ranks.agreed([&] {
        wanted = parse(argc, argv, request);
        loop = driver::make_loop(request.threading, request.threads);
      }))
    return 2;
  if (!wanted) return 0;
  const double before = peak_bytes();
  const Crew crew{ranks, *loop, request.threads * request.blocks,
                  request.exchange == "ring" ? Exchange::ring : Exchange::allgather};
  Loader loader(request, ranks);
  if (!loader.load(crew)) return 2;
  ranks.barrier();
  const double start = driver::Ranks::seconds();
  std::optional<Region> region("anneal");
  const Outcome outcome = anneal(request, loader.distances(), crew);
  ranks.barrier();
  region.reset();
  const double seconds = driver::Ranks::seconds() - start;
  const std::vector<std::size_t> labels = all_labels(outcome, loader.distances().size(), ranks);
  if (!request.out.empty() && !write(request, loader, crew, outcome, labels)) return 2;
  const double used = peak_bytes() - before;
  const bool within = driver::is_simulated ||  // then all ranks are in one process
                      used <= memory_bound(static_cast<double>(loader.distances().bytes()));
  const bool all_within = ranks.largest(within ? 0 : 1) == 0;
  if (ranks.rank() == 0) return report(request, loader, outcome, labels, seconds, ranks, all_within);
  return all_within ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return driver::run("pairwise_clustering", [&] { return cluster(argc, argv); });
}
