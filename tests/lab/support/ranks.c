/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the MPI launcher start: ranks [fail|signal|abort|hang|quit]. Every rank adds its number to a sum;
 * rank 0 tells it. The last rank ends as it is told to.
 */
#include <corescale/region.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end_as(const char* how, int last) {
  if (strcmp(how, "hang") == 0)
    for (;;) MPI_Barrier(MPI_COMM_WORLD);
  if (!last) return;
  fprintf(stderr, "the last one says %s\n", how);
  if (strcmp(how, "fail") == 0) exit(7);
  if (strcmp(how, "signal") == 0) raise(SIGSEGV);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
}

int main(int count, char** words) {
  int rank, size;
  double sum = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char* memory = malloc((size_t)(8 * rank + 1) << 20); /* each rank needs another amount */
  memset(memory, 1, (size_t)(8 * rank + 1) << 20);
  corescale_region_begin("reduce");
  const double mine = rank + memory[1] - 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  corescale_region_end("reduce");
  corescale_work(1);
  if (count > 1) end_as(words[1], rank == size - 1);
  if (rank == 0) corescale_metric("sum", sum);
  if (rank == 0) corescale_metric("ranks", size);
  free(memory);
  return MPI_Finalize();
}
