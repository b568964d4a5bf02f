// SPDX-License-Identifier: Apache-2.0
// Time in MPI: every call that may wait for another rank, from C and from Fortran. The profiler stands where tools of MPI
// stand, before the library, and needs none of its headers: all arguments are words, and more of them do no harm.
#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

using Call = long(long, long, long, long, long, long, long, long, long, long, long, long);

long call(Call* real, long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,
          long l) {
  if (!real) return 1;  // a program that only asks whether there is MPI
  if (live()) file->header.is_rank = 1;
  const Wait wait(message);
  return real(a, b, c, d, e, f, g, h, i, j, k, l);
}

}  // namespace
}  // namespace corescale::profiler

#define MPI_CALL(name)                                                                                       \
  CORESCALE_EXPORT long name(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, \
                             long k, long l) {                                                               \
    REAL(name, corescale::profiler::Call);                                                                   \
    return corescale::profiler::call(real_##name, a, b, c, d, e, f, g, h, i, j, k, l);                       \
  }
#define IN_C_AND_FORTRAN(name, fortran) MPI_CALL(name) MPI_CALL(fortran)

IN_C_AND_FORTRAN(MPI_Init, mpi_init_)
IN_C_AND_FORTRAN(MPI_Init_thread, mpi_init_thread_)
IN_C_AND_FORTRAN(MPI_Finalize, mpi_finalize_)
IN_C_AND_FORTRAN(MPI_Send, mpi_send_)
IN_C_AND_FORTRAN(MPI_Bsend, mpi_bsend_)
IN_C_AND_FORTRAN(MPI_Ssend, mpi_ssend_)
IN_C_AND_FORTRAN(MPI_Rsend, mpi_rsend_)
IN_C_AND_FORTRAN(MPI_Isend, mpi_isend_)
IN_C_AND_FORTRAN(MPI_Issend, mpi_issend_)
IN_C_AND_FORTRAN(MPI_Recv, mpi_recv_)
IN_C_AND_FORTRAN(MPI_Irecv, mpi_irecv_)
IN_C_AND_FORTRAN(MPI_Mrecv, mpi_mrecv_)
IN_C_AND_FORTRAN(MPI_Sendrecv, mpi_sendrecv_)
IN_C_AND_FORTRAN(MPI_Sendrecv_replace, mpi_sendrecv_replace_)
IN_C_AND_FORTRAN(MPI_Probe, mpi_probe_)
IN_C_AND_FORTRAN(MPI_Iprobe, mpi_iprobe_)
IN_C_AND_FORTRAN(MPI_Mprobe, mpi_mprobe_)
IN_C_AND_FORTRAN(MPI_Wait, mpi_wait_)
IN_C_AND_FORTRAN(MPI_Waitall, mpi_waitall_)
IN_C_AND_FORTRAN(MPI_Waitany, mpi_waitany_)
IN_C_AND_FORTRAN(MPI_Waitsome, mpi_waitsome_)
IN_C_AND_FORTRAN(MPI_Test, mpi_test_)
IN_C_AND_FORTRAN(MPI_Testall, mpi_testall_)
IN_C_AND_FORTRAN(MPI_Testany, mpi_testany_)
IN_C_AND_FORTRAN(MPI_Testsome, mpi_testsome_)
IN_C_AND_FORTRAN(MPI_Barrier, mpi_barrier_)
IN_C_AND_FORTRAN(MPI_Bcast, mpi_bcast_)
IN_C_AND_FORTRAN(MPI_Reduce, mpi_reduce_)
IN_C_AND_FORTRAN(MPI_Allreduce, mpi_allreduce_)
IN_C_AND_FORTRAN(MPI_Reduce_scatter, mpi_reduce_scatter_)
IN_C_AND_FORTRAN(MPI_Reduce_scatter_block, mpi_reduce_scatter_block_)
IN_C_AND_FORTRAN(MPI_Scan, mpi_scan_)
IN_C_AND_FORTRAN(MPI_Exscan, mpi_exscan_)
IN_C_AND_FORTRAN(MPI_Gather, mpi_gather_)
IN_C_AND_FORTRAN(MPI_Gatherv, mpi_gatherv_)
IN_C_AND_FORTRAN(MPI_Scatter, mpi_scatter_)
IN_C_AND_FORTRAN(MPI_Scatterv, mpi_scatterv_)
IN_C_AND_FORTRAN(MPI_Allgather, mpi_allgather_)
IN_C_AND_FORTRAN(MPI_Allgatherv, mpi_allgatherv_)
IN_C_AND_FORTRAN(MPI_Alltoall, mpi_alltoall_)
IN_C_AND_FORTRAN(MPI_Alltoallv, mpi_alltoallv_)
IN_C_AND_FORTRAN(MPI_Alltoallw, mpi_alltoallw_)
IN_C_AND_FORTRAN(MPI_Comm_dup, mpi_comm_dup_)
IN_C_AND_FORTRAN(MPI_Comm_split, mpi_comm_split_)
IN_C_AND_FORTRAN(MPI_Comm_split_type, mpi_comm_split_type_)
IN_C_AND_FORTRAN(MPI_Comm_create, mpi_comm_create_)
IN_C_AND_FORTRAN(MPI_Win_create, mpi_win_create_)
IN_C_AND_FORTRAN(MPI_Win_allocate, mpi_win_allocate_)
IN_C_AND_FORTRAN(MPI_Win_free, mpi_win_free_)
IN_C_AND_FORTRAN(MPI_Win_fence, mpi_win_fence_)
IN_C_AND_FORTRAN(MPI_Win_lock, mpi_win_lock_)
IN_C_AND_FORTRAN(MPI_Win_unlock, mpi_win_unlock_)
IN_C_AND_FORTRAN(MPI_Win_flush, mpi_win_flush_)
IN_C_AND_FORTRAN(MPI_Win_wait, mpi_win_wait_)
IN_C_AND_FORTRAN(MPI_File_open, mpi_file_open_)
IN_C_AND_FORTRAN(MPI_File_close, mpi_file_close_)
IN_C_AND_FORTRAN(MPI_File_read_all, mpi_file_read_all_)
IN_C_AND_FORTRAN(MPI_File_write_all, mpi_file_write_all_)
IN_C_AND_FORTRAN(MPI_File_read_at_all, mpi_file_read_at_all_)
IN_C_AND_FORTRAN(MPI_File_write_at_all, mpi_file_write_at_all_)
