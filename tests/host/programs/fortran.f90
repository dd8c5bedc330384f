! SPDX-License-Identifier: Apache-2.0
! Fortran: COMMON, SAVE, module data, threadprivate, unit 10 and the standard units, arguments, STOP.
module data_of_module
  integer :: number = 4
  integer, save :: kept = 6
  !$omp threadprivate(kept)
end module

subroutine count(n)
  integer :: n
  integer, save :: calls = 0
  calls = calls + 1
  n = calls
end subroutine

program fortran
  use data_of_module
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function t_rank() bind(c)
      import c_int
    end function
    subroutine t_barrier() bind(c)
    end subroutine
  end interface
  integer :: r, i, n, x, large(100000), first, second
  common /block/ first, second
  character(64) :: name, argument
  real :: z(3)
  logical :: good
  r = t_rank()
  first = r
  second = 2 * r
  number = number + r
  kept = kept + r
  large = r
  do i = 1, r + 1
    call count(n)
  end do
  call t_barrier()
  good = first == r .and. second == 2 * r .and. number == 4 + r .and. n == r + 1 .and. &
         kept == 6 + r .and. all(large == r)
  write (name, '(a,i0)') './fortran_unit', r
  open (unit=10, file=name, status='replace')
  call t_barrier()
  write (10, *) r * 7
  call t_barrier()
  close (10)
  open (unit=10, file=name, status='old')
  call t_barrier()
  read (10, *) x
  close (10, status='delete')
  good = good .and. x == r * 7
  call get_command_argument(1, argument)
  good = good .and. argument == 'one'
  call random_number(z)
  write (*, '(a,i0)', advance='no') 'rank ', r
  call t_barrier()
  write (*, '(a,l1)') ' fortran good=', good
  if (r == 2) stop 7
end program
