// SPDX-License-Identifier: Apache-2.0
// Time in MPI: every call that may wait for another rank, from C and from Fortran. Like other MPI tools, the profiler comes before the
// library. It needs none of its headers, because all arguments are words, and passing additional ones does no harm. A call with two
// partners counts for the one from which it receives.
#include <string.h>

#include <bit>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

using Call = long(long, long, long, long, long, long, long, long, long, long, long, long);

// The position of the argument that names the other rank.
constexpr int everyone = -1;
constexpr std::int64_t no_partner = -1000;  // the partner of a call that has no such argument

void book(const char* name, std::int64_t partner, std::int64_t length) {
  const auto key =
      (reinterpret_cast<std::uint64_t>(name) << 16) ^ static_cast<std::uint64_t>(partner - no_partner + 1);
  for (std::size_t tried = 0; tried < 64; ++tried) {
    Messages& found = file->messages[((key * 0x9e3779b97f4a7c15U >> 40) + tried) % most_messages];
    if (!room(&found, sizeof found)) return;
    std::uint64_t seen = 0;
    if (__atomic_compare_exchange_n(&found.key, &seen, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      found.partner = partner;
      stpncpy(found.call, name, sizeof found.call - 1);
    } else if (seen != key) {
      continue;
    }
    add(found.calls, 1);
    add(found.spent, length);
    return;
  }
}

long call(Call* real, const char* name, int at, const long (&word)[12]) {
  if (!real) return 1;  // a program that only tests whether MPI is there
  if (!live())
    return real(word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7], word[8], word[9],
                word[10], word[11]);
  file->header.is_rank = 1;
  const bool in_fortran = name[0] == 'm';  // all arguments are addresses there
  std::int64_t partner = no_partner;
  if (at != everyone)
    partner = in_fortran ? *std::bit_cast<const int*>(word[at]) : static_cast<int>(word[at]);
  const std::int64_t began = now();
  long result;
  {
    const Wait wait(message);
    result = real(word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7], word[8], word[9],
                  word[10], word[11]);
  }
  if (live()) book(name, partner, now() - began);
  return result;
}

}  // namespace
}  // namespace corescale::profiler

#define MPI_CALL(name, at)                                                                                   \
  CORESCALE_EXPORT long name(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, \
                             long k, long l) {                                                               \
    REAL(name, corescale::profiler::Call);                                                                   \
    return corescale::profiler::call(real_##name, #name, at, {a, b, c, d, e, f, g, h, i, j, k, l});          \
  }
#define IN_C_AND_FORTRAN(name, fortran, at) MPI_CALL(name, at) MPI_CALL(fortran, at)

using corescale::profiler::everyone;

IN_C_AND_FORTRAN(MPI_Init, mpi_init_, everyone)
IN_C_AND_FORTRAN(MPI_Init_thread, mpi_init_thread_, everyone)
IN_C_AND_FORTRAN(MPI_Finalize, mpi_finalize_, everyone)
IN_C_AND_FORTRAN(MPI_Send, mpi_send_, 3)
IN_C_AND_FORTRAN(MPI_Bsend, mpi_bsend_, 3)
IN_C_AND_FORTRAN(MPI_Ssend, mpi_ssend_, 3)
IN_C_AND_FORTRAN(MPI_Rsend, mpi_rsend_, 3)
IN_C_AND_FORTRAN(MPI_Isend, mpi_isend_, 3)
IN_C_AND_FORTRAN(MPI_Issend, mpi_issend_, 3)
IN_C_AND_FORTRAN(MPI_Recv, mpi_recv_, 3)
IN_C_AND_FORTRAN(MPI_Irecv, mpi_irecv_, 3)
IN_C_AND_FORTRAN(MPI_Mrecv, mpi_mrecv_, everyone)
IN_C_AND_FORTRAN(MPI_Sendrecv, mpi_sendrecv_, 8)
IN_C_AND_FORTRAN(MPI_Sendrecv_replace, mpi_sendrecv_replace_, 5)
IN_C_AND_FORTRAN(MPI_Probe, mpi_probe_, 0)
IN_C_AND_FORTRAN(MPI_Iprobe, mpi_iprobe_, 0)
IN_C_AND_FORTRAN(MPI_Mprobe, mpi_mprobe_, 0)
IN_C_AND_FORTRAN(MPI_Wait, mpi_wait_, everyone)
IN_C_AND_FORTRAN(MPI_Waitall, mpi_waitall_, everyone)
IN_C_AND_FORTRAN(MPI_Waitany, mpi_waitany_, everyone)
IN_C_AND_FORTRAN(MPI_Waitsome, mpi_waitsome_, everyone)
IN_C_AND_FORTRAN(MPI_Test, mpi_test_, everyone)
IN_C_AND_FORTRAN(MPI_Testall, mpi_testall_, everyone)
IN_C_AND_FORTRAN(MPI_Testany, mpi_testany_, everyone)
IN_C_AND_FORTRAN(MPI_Testsome, mpi_testsome_, everyone)
IN_C_AND_FORTRAN(MPI_Barrier, mpi_barrier_, everyone)
IN_C_AND_FORTRAN(MPI_Bcast, mpi_bcast_, 3)
IN_C_AND_FORTRAN(MPI_Reduce, mpi_reduce_, 5)
IN_C_AND_FORTRAN(MPI_Allreduce, mpi_allreduce_, everyone)
IN_C_AND_FORTRAN(MPI_Reduce_scatter, mpi_reduce_scatter_, everyone)
IN_C_AND_FORTRAN(MPI_Reduce_scatter_block, mpi_reduce_scatter_block_, everyone)
IN_C_AND_FORTRAN(MPI_Scan, mpi_scan_, everyone)
IN_C_AND_FORTRAN(MPI_Exscan, mpi_exscan_, everyone)
IN_C_AND_FORTRAN(MPI_Gather, mpi_gather_, 6)
IN_C_AND_FORTRAN(MPI_Gatherv, mpi_gatherv_, 7)
IN_C_AND_FORTRAN(MPI_Scatter, mpi_scatter_, 6)
IN_C_AND_FORTRAN(MPI_Scatterv, mpi_scatterv_, 7)
IN_C_AND_FORTRAN(MPI_Allgather, mpi_allgather_, everyone)
IN_C_AND_FORTRAN(MPI_Allgatherv, mpi_allgatherv_, everyone)
IN_C_AND_FORTRAN(MPI_Alltoall, mpi_alltoall_, everyone)
IN_C_AND_FORTRAN(MPI_Alltoallv, mpi_alltoallv_, everyone)
IN_C_AND_FORTRAN(MPI_Alltoallw, mpi_alltoallw_, everyone)
IN_C_AND_FORTRAN(MPI_Comm_dup, mpi_comm_dup_, everyone)
IN_C_AND_FORTRAN(MPI_Comm_split, mpi_comm_split_, everyone)
IN_C_AND_FORTRAN(MPI_Comm_split_type, mpi_comm_split_type_, everyone)
IN_C_AND_FORTRAN(MPI_Comm_create, mpi_comm_create_, everyone)
IN_C_AND_FORTRAN(MPI_Win_create, mpi_win_create_, everyone)
IN_C_AND_FORTRAN(MPI_Win_allocate, mpi_win_allocate_, everyone)
IN_C_AND_FORTRAN(MPI_Win_free, mpi_win_free_, everyone)
IN_C_AND_FORTRAN(MPI_Win_fence, mpi_win_fence_, everyone)
IN_C_AND_FORTRAN(MPI_Win_lock, mpi_win_lock_, everyone)
IN_C_AND_FORTRAN(MPI_Win_unlock, mpi_win_unlock_, everyone)
IN_C_AND_FORTRAN(MPI_Win_flush, mpi_win_flush_, everyone)
IN_C_AND_FORTRAN(MPI_Win_wait, mpi_win_wait_, everyone)
IN_C_AND_FORTRAN(MPI_File_open, mpi_file_open_, everyone)
IN_C_AND_FORTRAN(MPI_File_close, mpi_file_close_, everyone)
IN_C_AND_FORTRAN(MPI_File_read_all, mpi_file_read_all_, everyone)
IN_C_AND_FORTRAN(MPI_File_write_all, mpi_file_write_all_, everyone)
IN_C_AND_FORTRAN(MPI_File_read_at_all, mpi_file_read_at_all_, everyone)
IN_C_AND_FORTRAN(MPI_File_write_at_all, mpi_file_write_at_all_, everyone)
