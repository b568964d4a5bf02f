// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "driver/error.hpp"
#include "driver/simulated.hpp"

#ifdef CORESCALE_HAS_MPI
#include <mpi.h>
#elif !defined(CORESCALE_WITHOUT_MPI)
#error "a workload that runs on ranks links workload_driver, which knows whether MPI is here"
#endif

namespace driver {

/// The processes of one launch. MPI is started only under one of its launchers. A program that is started without one is rank 0 of 1, at no
/// cost. There is one object per process; only the main thread makes, calls and destroys it.
class Ranks {
 public:
  /// Throws Error under a launcher of several ranks if this build has no MPI; otherwise each rank would run as if it were the only one.
  Ranks() {
    if (!launched()) return;
#ifdef CORESCALE_HAS_MPI
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    started_ = true;
    if (const char* said = std::getenv("PMI_SIZE"); said != nullptr && size_ == 1 && std::atoi(said) > 1) {
      MPI_Finalize();
      throw Error("ranks", "another MPI's launcher started " + std::string(said) + ", and each is alone",
                  "start them by Open MPI's mpirun");
    }
#else
    throw Error("ranks", "this build has no MPI",
                "install libopenmpi-dev and build again, or start it without mpirun");
#endif
  }

  ~Ranks() {
#ifdef CORESCALE_HAS_MPI
    if (!started_) return;
    if (std::uncaught_exceptions() > 0) MPI_Abort(MPI_COMM_WORLD, 1);  // the others would wait for ever
    MPI_Finalize();
#endif
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// The first index of this rank's part of [0, n). The part ends before the first index of rank + 1.
  std::size_t first_of(std::size_t n, int rank) const {
    return n * static_cast<std::size_t>(rank) / static_cast<std::size_t>(size_);
  }

  /// Seconds from some moment on, of the simulated machine in a simulated build.
  static double seconds() {
#ifdef CORESCALE_SIMULATED
    const Message message;
    return MPI_Wtime();
#else
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
  }

  /// Returns when every rank has come here.
  void barrier() const {
#ifdef CORESCALE_HAS_MPI
    const Message message;
    if (started_) MPI_Barrier(MPI_COMM_WORLD);
#endif
  }

  /// The largest over ranks.
  double largest(double value) const {
#ifdef CORESCALE_HAS_MPI
    const Message message;
    if (started_) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
#endif
    return value;
  }

  /// Whether `body` ended without an exception on every rank. If not, the first rank with an exception prints its line on standard error.
  /// The body must not let ranks wait for each other.
  template <class Body>
  bool agreed(Body&& body) const {
    std::optional<std::string> fault;
    try {
      body();
    } catch (const std::exception& error) {
      fault = error.what();
    }
    const double first = -largest(fault ? -rank_ : -size_);
    if (fault && first == rank_) std::cerr << *fault << std::endl;
    return first == size_;
  }

  /// Each element becomes its sum over ranks.
  void sum([[maybe_unused]] std::span<double> values) const {
#ifdef CORESCALE_HAS_MPI
    const Message message;
    if (started_)
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                    MPI_COMM_WORLD);
#endif
  }

  /// Sends each rank's part of a table of n rows, which begins at first_of(n, rank), to all ranks. At most 2^31 elements.
  void gather_rows([[maybe_unused]] std::span<float> table, [[maybe_unused]] std::size_t n) const {
#ifdef CORESCALE_HAS_MPI
    if (!started_) return;
    const std::size_t width = n == 0 ? 0 : table.size() / n;
    std::vector<int> counts, starts;
    for (int rank = 0; rank < size_; ++rank) {
      starts.push_back(static_cast<int>(first_of(n, rank) * width));
      counts.push_back(static_cast<int>(first_of(n, rank + 1) * width) - starts.back());
    }
    const Message message;
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, table.data(), counts.data(), starts.data(), MPI_FLOAT,
                   MPI_COMM_WORLD);
#endif
  }

  /// Sends to the next rank of the ring while it receives from the one before.
  void pass_on([[maybe_unused]] std::span<const float> sent,
               [[maybe_unused]] std::span<float> received) const {
#ifdef CORESCALE_HAS_MPI
    const Message message;
    if (!started_) return;
    MPI_Sendrecv(sent.data(), static_cast<int>(sent.size()), MPI_FLOAT, (rank_ + 1) % size_, 0,
                 received.data(), static_cast<int>(received.size()), MPI_FLOAT, (rank_ - 1 + size_) % size_,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
  }

  /// A value with the place where it was found, as MPI_DOUBLE_INT has them.
  struct Least {
    double value;
    int place;
  };

  /// Each element becomes the least over ranks, by value, then by place.
  void least([[maybe_unused]] std::span<Least> values) const {
#ifdef CORESCALE_HAS_MPI
    const Message message;
    if (started_)
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE_INT, MPI_MINLOC,
                    MPI_COMM_WORLD);
#endif
  }

  /// Sends `bytes` from rank `from` to rank `to`. Only these two ranks call it, and they differ.
  void send([[maybe_unused]] int from, [[maybe_unused]] int to, [[maybe_unused]] std::string& bytes) const {
#ifdef CORESCALE_HAS_MPI
    if (!started_) return;
    const Message message;
    constexpr int tag = 0;
    if (rank_ == from)
      MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD);
    if (rank_ != to) return;
    MPI_Status status;
    int count = 0;
    MPI_Probe(from, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    bytes.resize(static_cast<std::size_t>(count));
    MPI_Recv(bytes.data(), count, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
  }

 private:
  /// The launchers of Open MPI, MPICH and Slurm each tell a process that it is a rank.
  static bool launched() {
    if (is_simulated) return true;
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
      if (std::getenv(name) != nullptr) return true;
    return false;
  }

  int rank_ = 0, size_ = 1;
  [[maybe_unused]] bool started_ = false;
};

}  // namespace driver
