! SPDX-License-Identifier: Apache-2.0
! Sections of arrays that are not contiguous, in all ways in which mpi_f08 takes them.
program sections
  use mpi_f08
  use check
  implicit none
  integer, parameter :: rows = 7, cols = 6, planes = 5
  integer, asynchronous :: got(rows, cols, planes)
  integer :: cube(rows, cols, planes), plain(rows * cols * planes), back(20), i, n
  real(kind=8) :: plate(6, 6)
  complex :: z(4, 3)
  real :: parts(12)
  integer, allocatable :: gathered(:, :)
  integer, target :: line(40)
  integer, pointer :: every_third(:)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type(MPI_Datatype) :: pair
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  cube = reshape([(i, i = 1, size(cube))], shape(cube))

  ! A part of a cube to a part of another, of another shape, nonblocking: nothing is copied on the way out.
  got = 0
  call MPI_Isend(cube(2:6:2, ::3, 5:1:-2), 18, MPI_INTEGER, me, 0, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(got(1:3, 2:6, 3), 15, MPI_INTEGER, me, 9, MPI_COMM_WORLD, requests(2))
  call MPI_Recv(plain, size(plain), MPI_INTEGER, me, 0, MPI_COMM_WORLD, status)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call eq(n, 18, 'elements of the section')
  call yes(all(plain(1:18) == [cube(2:6:2, ::3, 5:1:-2)]), 'a section is sent')
  plain(1:15) = [(1000 + i, i = 1, 15)]
  call MPI_Send(plain, 15, MPI_INTEGER, me, 9, MPI_COMM_WORLD)
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
  call yes(all([got(1:3, 2:6, 3)] == [(1000 + i, i = 1, 15)]), 'a section is received, after the call')
  call eq(count(got /= 0), 15, 'nothing else is written')

  ! Fewer elements than the section has: whole columns and a rest.
  got = 0
  call MPI_Sendrecv(cube(:, 1:5:2, 1:4:3), 2 * rows * 3 - 9, MPI_INTEGER, me, 1, got(1:6:2, :, ::2), 33, MPI_INTEGER, me, 1, &
    MPI_COMM_WORLD, status)
  plain(1:42) = [cube(:, 1:5:2, 1:4:3)]
  plain(101:154) = [got(1:6:2, :, ::2)]
  call yes(all(plain(101:133) == plain(1:33)) .and. all(plain(134:154) == 0), 'a part of a section')
  call eq(count(got /= 0), 33, 'nothing else is written by a part')

  ! Elements of several items, items of several elements.
  z = reshape([(cmplx(i, -i), i = 1, 12)], shape(z))
  call MPI_Sendrecv(z(2:4:2, :), 12, MPI_REAL, me, 2, parts, 12, MPI_REAL, me, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call yes(all(parts == [2., -2., 4., -4., 6., -6., 8., -8., 10., -10., 12., -12.]), 'complex numbers as reals')
  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  call MPI_Sendrecv(cube(3:6, 1:3, 2), 6, pair, me, 3, back, 12, MPI_INTEGER, me, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call yes(all(back(1:12) == [cube(3:6, 1:3, 2)]), 'pairs along the columns')
  call MPI_Type_free(pair)

  ! A pointer with a stride, an array that goes on through a procedure, a section without elements.
  line = [(i, i = 1, 40)]
  every_third => line(2::3)
  call MPI_Sendrecv(every_third, size(every_third), MPI_INTEGER, me, 4, back, 20, MPI_INTEGER, me, 4, MPI_COMM_WORLD, status)
  call yes(all(back(1:13) == line(2::3)), 'a pointer with a stride')
  call through(plate(2:5, 2:5))
  call MPI_Sendrecv(line(5:4), 0, MPI_INTEGER, me, 5, line(10:1:3), 0, MPI_INTEGER, me, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)

  ! Collectives: one buffer for all, then parts for each rank, in and out of sections.
  cube(4, :, 2) = merge(cube(4, :, 2), 0, me == 0)
  call MPI_Bcast(cube(4, :, 2), cols, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call yes(all(cube(4, :, 2) == [(4 + (i - 1) * rows + rows * cols, i = 1, cols)]), 'broadcast of a row')
  allocate(gathered(3, 4 * ranks))
  gathered = -1
  call MPI_Allgather(cube(1:7:3, 1, 1), 3, MPI_INTEGER, gathered(:, 1::4), 3, MPI_INTEGER, MPI_COMM_WORLD)
  call yes(all(gathered(:, 1::4) == spread([1, 4, 7], 2, ranks)), 'gathered into columns')
  call eq(count(gathered == -1), 3 * 3 * ranks, 'nothing between the columns is written')
  gathered = me
  call MPI_Allreduce(MPI_IN_PLACE, gathered(1:3:2, ::2), 4 * ranks, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call yes(all(gathered(1:3:2, ::2) == ranks * (ranks - 1) / 2), 'a sum of sections')
  call yes(all(gathered(2, :) == me) .and. all(gathered(:, 2::2) == me), 'and only of these')

  ! What cannot be done is refused, by name.
  if (tries_wrong_calls()) then
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Iallreduce(me, line(1:4:3), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, requests(1), n)
    call yes(n == MPI_ERR_BUFFER .and. requests(1) == MPI_REQUEST_NULL, 'a section that nobody can reduce into later')
    call MPI_Send(line(1:9:2), 6, MPI_INTEGER, 0, 0, MPI_COMM_SELF, n)
    call eq(n, MPI_ERR_COUNT, 'error of a count that is longer than the section')
    call MPI_Recv(line(3:6), 5, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_SELF, status, n)
    call eq(n, MPI_ERR_COUNT, 'error of a count that is longer than the array')
  end if
  call MPI_Finalize()
  call verdict()
contains
  subroutine through(block)
    real(kind=8) :: block(:, :)
    real(kind=8) :: copy(4, 4)
    block = reshape([(i * 0.5d0, i = 1, 16)], [4, 4])
    call MPI_Sendrecv(block, 16, MPI_DOUBLE_PRECISION, me, 6, copy, 16, MPI_DOUBLE_PRECISION, me, 6, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call yes(all(copy == block), 'an array that a procedure was given')
  end subroutine
end program
