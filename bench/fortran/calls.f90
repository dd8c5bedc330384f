! SPDX-License-Identifier: Apache-2.0
! The loops of main.c in Fortran: with mpi_f08, and with mpif.h.
subroutine null_f08(times, x, n) bind(C)
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_long), intent(in) :: times
  integer(c_int), intent(in) :: n
  real(c_double) :: x(n)
  integer(c_long) :: i
  do i = 1, times
    call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
    call MPI_Recv(x, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end do
end subroutine

subroutine pingpong_f08(times, x, n) bind(C)
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_long), intent(in) :: times
  integer(c_int), intent(in) :: n
  real(c_double) :: x(n)
  integer(c_long) :: i
  integer :: rank
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  do i = 1, times
    if (rank == 0) call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD)
    call MPI_Recv(x, 1, MPI_DOUBLE_PRECISION, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (rank == 1) call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD)
  end do
end subroutine

subroutine allreduce_f08(times, x, n) bind(C)
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_long), intent(in) :: times
  integer(c_int), intent(in) :: n
  real(c_double) :: x(n), total(1)
  integer(c_long) :: i
  do i = 1, times
    call MPI_Allreduce(x, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end do
end subroutine

subroutine section_f08(times, x, n) bind(C)
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_long), intent(in) :: times
  integer(c_int), intent(in) :: n
  real(c_double) :: x(2, n / 2)
  integer(c_long) :: i
  integer :: rank
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  do i = 1, times
    if (rank == 0) call MPI_Send(x(1, :), n / 2, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD)
    call MPI_Recv(x(1, :), n / 2, MPI_DOUBLE_PRECISION, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (rank == 1) call MPI_Send(x(1, :), n / 2, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD)
  end do
end subroutine

subroutine null_mpif(times, x, n) bind(C)
  use, intrinsic :: iso_c_binding
  implicit none
  include 'mpif.h'
  integer(c_long), intent(in) :: times
  integer(c_int), intent(in) :: n
  real(c_double) :: x(n)
  integer(c_long) :: i
  integer :: ierr
  do i = 1, times
    call MPI_SEND(x, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierr)
    call MPI_RECV(x, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end do
end subroutine

subroutine pingpong_mpif(times, x, n) bind(C)
  use, intrinsic :: iso_c_binding
  implicit none
  include 'mpif.h'
  integer(c_long), intent(in) :: times
  integer(c_int), intent(in) :: n
  real(c_double) :: x(n)
  integer(c_long) :: i
  integer :: rank, ierr
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  do i = 1, times
    if (rank == 0) call MPI_SEND(x, 1, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, ierr)
    call MPI_RECV(x, 1, MPI_DOUBLE_PRECISION, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    if (rank == 1) call MPI_SEND(x, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, ierr)
  end do
end subroutine

subroutine allreduce_mpif(times, x, n) bind(C)
  use, intrinsic :: iso_c_binding
  implicit none
  include 'mpif.h'
  integer(c_long), intent(in) :: times
  integer(c_int), intent(in) :: n
  real(c_double) :: x(n), total(1)
  integer(c_long) :: i
  integer :: ierr
  do i = 1, times
    call MPI_ALLREDUCE(x, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end do
end subroutine
