! SPDX-License-Identifier: Apache-2.0
program region_fortran
  use, intrinsic :: iso_fortran_env, only: real64
  use corescale_region
  implicit none
  integer, parameter :: steps = 5000000
  real(real64), parameter :: pi = acos(-1.0_real64)
  real(real64) :: sum, x
  integer :: i

  sum = 0
  !$omp parallel private(x)
  call corescale_region_begin('integrate')
  !$omp do reduction(+:sum)
  do i = 1, steps
    x = (i - 0.5_real64) / steps
    sum = sum + 4 / (1 + x * x)
  end do
  !$omp end do
  call corescale_region_end('integrate')
  !$omp end parallel
  sum = sum / steps

  call corescale_metric('error', abs(sum - pi))
  call corescale_check('close', abs(sum - pi) < 1e-10_real64)
  call corescale_work(real(steps, real64))
  print '(a, f8.6)', 'pi is about ', sum
end program region_fortran
