! SPDX-License-Identifier: Apache-2.0
!> region.h for Fortran: the same calls, the same guarantees and limits, thread-safe under OpenMP.
!> Compile it together with region_fortran.c in the same folder. Trailing blanks of a name do not count.
module corescale_region
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_null_char
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: corescale_region_begin, corescale_region_end, corescale_metric, corescale_check, corescale_work
  public :: corescale_write

  interface
    subroutine c_begin(name) bind(c, name='corescale_fortran_begin')
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine c_end(name) bind(c, name='corescale_fortran_end')
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine c_metric(name, value) bind(c, name='corescale_fortran_metric')
      import :: c_char, c_double
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
    end subroutine
    subroutine c_check(name, ok) bind(c, name='corescale_fortran_check')
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ok
    end subroutine
    subroutine c_work(units) bind(c, name='corescale_fortran_work')
      import :: c_double
      real(c_double), value :: units
    end subroutine
    function c_write() bind(c, name='corescale_fortran_write') result(status)
      import :: c_int
      integer(c_int) :: status
    end function
  end interface

contains

  subroutine corescale_region_begin(name)
    character(len=*), intent(in) :: name
    call c_begin(trim(name) // c_null_char)
  end subroutine

  subroutine corescale_region_end(name)
    character(len=*), intent(in) :: name
    call c_end(trim(name) // c_null_char)
  end subroutine

  subroutine corescale_metric(name, value)
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: value
    call c_metric(trim(name) // c_null_char, real(value, c_double))
  end subroutine

  subroutine corescale_check(name, ok)
    character(len=*), intent(in) :: name
    logical, intent(in) :: ok
    call c_check(trim(name) // c_null_char, merge(1_c_int, 0_c_int, ok))
  end subroutine

  subroutine corescale_work(units)
    real(real64), intent(in) :: units
    call c_work(real(units, c_double))
  end subroutine

  !> Writes the file now, for a program that ends without exit handlers. 0, or -1 with a line on stderr.
  function corescale_write() result(status)
    integer :: status
    status = int(c_write())
  end function

end module corescale_region
