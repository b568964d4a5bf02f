// SPDX-License-Identifier: Apache-2.0
// Ranks of which the first has twice the work of the others: known_ranks SECONDS [send | fork]. They meet 20
// times, or each waits as often for a message of the first. Last, with `fork`, a child of each computes for as long.
#include <mpi.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

double cpu() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

__attribute__((noinline)) void grind(double seconds) {
  const double until = cpu() + seconds;
  volatile double sum = 1;
  do
    for (int i = 0; i < 2000; ++i) sum = sum * 1.0000001 + 1e-9;
  while (cpu() < until);
}

}  // namespace

int main(int count, char** word) {
  constexpr int meetings = 20;
  MPI_Init(&count, &word);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string how = count > 2 ? word[2] : "";
  const bool sends = how == "send";
  const double seconds = count > 1 ? std::atof(word[1]) : 1;
  for (int i = 0; i < meetings; ++i) {
    grind(seconds / meetings / (rank == 0 ? 1 : 2));
    if (!sends) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (rank == 0) {
      for (int other = 1; other < ranks; ++other) MPI_Send(&i, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    } else {
      int got = 0;
      MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      grind(seconds);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  MPI_Finalize();
}
