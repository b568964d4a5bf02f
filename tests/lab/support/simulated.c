/* SPDX-License-Identifier: Apache-2.0 */
/* What a person's program does: `simulated pass` sends a byte to the next rank and back; `simulated work` computes for some CPU time;
   `simulated charge` says that it computes for a second; `simulated fail` fails in its last rank, `simulated alone` if there is another;
   `simulated abort` calls MPI_Abort, `simulated leave` ends without MPI_Finalize, `simulated leave-others` in one rank only, `simulated quit`
   calls _exit(0); in `simulated stuck` the last two ranks wait for messages that nobody sends. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef NOTHING_MEASURED
/* Times are then those of messages and of what is charged alone, and equal in every launch. */
const char charges_itself[] = "corescale_simulates_threads";
#endif

#ifdef STARTS_THREADS
int pthread_create(void*, const void*, void* (*)(void*), void*);
int (*const starts)(void*, const void*, void* (*)(void*), void*) = pthread_create;
#endif

int main(int argc, char** argv) {
  int rank, size;
  char byte = 0;
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double begun = MPI_Wtime();
  if (strcmp(what, "work") == 0) {
    volatile double x = 1;
    for (long k = 0; k < 30000000; ++k) x = x * 1.0000001;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(what, "charge") == 0) smpi_execute(1);
  if (strcmp(what, "pass") == 0 && rank < 2 && size > 1) {
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&byte, 1, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  if (strcmp(what, "stuck") == 0 && rank >= size - 2)
    MPI_Recv(&byte, 1, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0)
    printf("{\"seconds\": %.9g, \"size\": %d, \"partners\": %d, \"words\": %d, \"threads\": %s}\n",
           MPI_Wtime() - begun, size, size - 1, argc,
           getenv("OMP_NUM_THREADS") ? getenv("OMP_NUM_THREADS") : "0");
  fflush(stdout);
  if ((strcmp(what, "fail") == 0 || (strcmp(what, "alone") == 0 && size > 1)) && rank == size - 1) {
    fprintf(stderr, "rank %d has had enough\n", rank);
    return 3;
  }
  if (strcmp(what, "abort") == 0 && rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(what, "leave") == 0 || (strcmp(what, "leave-others") == 0 && rank == 0)) return 0;
  if (strcmp(what, "leave-others") == 0) {
    smpi_execute(1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(what, "quit") == 0 && rank == size - 1) _exit(0);
  MPI_Finalize();
  return 0;
}
