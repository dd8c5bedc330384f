! SPDX-License-Identifier: Apache-2.0
! The program of heat.c in Fortran, with module mpi_f08; heat.c says what it computes. The borders of a block that go to
! the neighbours are array sections: a row of the plate is contiguous in memory, a column is not, and both are written
! alike. The field has the same bits as that of the C program.
!
!   heat_f08 [-n points] [-s steps] [-q]
program heat_f08
  use, intrinsic :: iso_fortran_env, only : int64, real64
  use mpi_f08
  implicit none
  integer, parameter :: north = 0, south = 1, west = 2, east = 3
  integer :: rank, ranks, n = 320, steps = 4000, s, rows, cols, row0, col0, neighbor(0:3)
  logical :: quiet = .false.
  ! A column index first, as rows are contiguous in the C program; a halo of one point around the block.
  real(real64), allocatable, asynchronous :: now(:, :), next(:, :), old(:, :)
  real(real64), allocatable :: plate(:, :)
  logical, allocatable :: is_held(:, :)
  real(real64) :: residual = 0, start, seconds

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call read_options()
  call make_block()
  call MPI_Barrier(MPI_COMM_WORLD)
  start = MPI_Wtime()
  do s = 1, steps
    residual = advance()
    if (mod(s, 10) == 0 .or. s == steps) &
      call MPI_Allreduce(MPI_IN_PLACE, residual, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  end do
  seconds = MPI_Wtime() - start
  call gather()
  if (rank == 0) then
    if (.not. quiet) print '(I0,A,I0,A,I0,A,I0,A)', n, ' x ', n, ' points, ', steps, ' steps, ', ranks, ' ranks'
    print '(A,A,A,ES24.17)', 'checksum ', checksum(), ' residual ', residual
    if (.not. quiet) print '(A,F0.3,A)', 'time ', seconds, ' s'
  end if
  call MPI_Finalize()

contains

  subroutine read_options()
    character(len=20) :: word
    integer :: i
    i = 1
    do while (i <= command_argument_count())
      call get_command_argument(i, word)
      select case (word)
      case ('-q')
        quiet = .true.
      case ('-n', '-s')
        i = i + 1
        call number_after(i, word)
      end select
      i = i + 1
    end do
    if (n >= ranks .and. n <= 65000 .and. steps >= 1) return
    if (rank == 0) print '(A,I0,A)', 'heat_f08: -n from ', ranks, ' (ranks) to 65000, -s from 1'
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end subroutine

  subroutine number_after(i, option)
    integer, intent(in) :: i
    character(len=*), intent(in) :: option
    character(len=20) :: word
    integer :: value, problem
    call get_command_argument(i, word)
    read (word, *, iostat=problem) value
    if (problem /= 0) value = 0
    if (option == '-n') n = value
    if (option == '-s') steps = value
  end subroutine

  ! The split of the ranks in rows x cols that is nearest to a square.
  subroutine split(r, c)
    integer, intent(out) :: r, c
    integer :: i
    r = 1
    i = 1
    do while (i * i <= ranks)
      if (mod(ranks, i) == 0) r = i
      i = i + 1
    end do
    c = ranks / r
  end subroutine

  ! First index (from 0) and length of part `part` (from 0) of `parts` of n points.
  subroutine part_of(parts, part, first, length)
    integer, intent(in) :: parts, part
    integer, intent(out) :: first, length
    first = int(int(n, int64) * part / parts)
    length = int(int(n, int64) * (part + 1) / parts) - first
  end subroutine

  ! The temperature at which a point of the plate is held, or -1: three discs and one edge.
  pure function held_at(row, col) result(held)
    integer, intent(in) :: row, col
    real(real64) :: held, y, x, dy, dx
    real(real64), parameter :: disc(4, 3) = reshape([0.30_real64, 0.30_real64, 0.08_real64, 1.0_real64, &
      0.62_real64, 0.70_real64, 0.11_real64, 0.85_real64, 0.75_real64, 0.25_real64, 0.05_real64, 0.0_real64], [4, 3])
    integer :: i
    y = (row + 0.5_real64) / n
    x = (col + 0.5_real64) / n
    held = -1
    if (row == n - 1) held = 0.6_real64
    do i = 3, 1, -1
      dy = y - disc(1, i)
      dx = x - disc(2, i)
      if (dy * dy + dx * dx < disc(3, i) * disc(3, i)) held = disc(4, i)
    end do
  end function

  subroutine make_block()
    integer :: r, c, row, col
    real(real64) :: held
    call split(rows, cols)
    r = rank / cols
    c = mod(rank, cols)
    neighbor = MPI_PROC_NULL
    if (r > 0) neighbor(north) = rank - cols
    if (r < rows - 1) neighbor(south) = rank + cols
    if (c > 0) neighbor(west) = rank - 1
    if (c < cols - 1) neighbor(east) = rank + 1
    row = rows
    col = cols
    call part_of(row, r, row0, rows)
    call part_of(col, c, col0, cols)
    allocate (now(0:cols + 1, 0:rows + 1), is_held(0:cols + 1, 0:rows + 1))
    now = 0
    is_held = .false.
    do row = 1, rows
      do col = 1, cols
        held = held_at(row0 + row - 1, col0 + col - 1)
        if (held < 0) cycle
        is_held(col, row) = .true.
        now(col, row) = held
      end do
    end do
    next = now
  end subroutine

  ! One step of the points (c0:c1, r0:r1); the largest change.
  function step(r0, r1, c0, c1) result(largest)
    integer, intent(in) :: r0, r1, c0, c1
    real(real64) :: largest
    integer :: row
    largest = 0
    do row = r0, r1
      call step_row(c1 - c0 + 1, now(c0 - 1:c1 + 1, row - 1), now(c0 - 1:c1 + 1, row), now(c0 - 1:c1 + 1, row + 1), &
        is_held(c0:c1, row), next(c0:c1, row), largest)
    end do
  end function

  pure subroutine step_row(points, up, mid, down, held, out, largest)
    integer, intent(in) :: points
    real(real64), intent(in) :: up(0:points + 1), mid(0:points + 1), down(0:points + 1)
    logical, intent(in) :: held(points)
    real(real64), intent(out) :: out(points)
    real(real64), intent(inout) :: largest
    real(real64) :: change
    integer :: i
    do i = 1, points
      change = 0.2_real64 * (((up(i) + down(i)) + (mid(i - 1) + mid(i + 1))) - 4 * mid(i))
      change = merge(0.0_real64, change, held(i))
      out(i) = mid(i) + change
      largest = merge(abs(change), largest, abs(change) > largest)
    end do
  end subroutine

  ! A whole step: exchange, the inside meanwhile, then the four borders.
  function advance() result(largest)
    real(real64) :: largest
    type(MPI_Request) :: requests(8)
    integer :: last
    call MPI_Irecv(now(1:cols, 0), cols, MPI_DOUBLE_PRECISION, neighbor(north), south, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(now(1:cols, rows + 1), cols, MPI_DOUBLE_PRECISION, neighbor(south), north, MPI_COMM_WORLD, requests(2))
    call MPI_Irecv(now(0, 1:rows), rows, MPI_DOUBLE_PRECISION, neighbor(west), east, MPI_COMM_WORLD, requests(3))
    call MPI_Irecv(now(cols + 1, 1:rows), rows, MPI_DOUBLE_PRECISION, neighbor(east), west, MPI_COMM_WORLD, requests(4))
    call MPI_Isend(now(1:cols, 1), cols, MPI_DOUBLE_PRECISION, neighbor(north), north, MPI_COMM_WORLD, requests(5))
    call MPI_Isend(now(1:cols, rows), cols, MPI_DOUBLE_PRECISION, neighbor(south), south, MPI_COMM_WORLD, requests(6))
    call MPI_Isend(now(1, 1:rows), rows, MPI_DOUBLE_PRECISION, neighbor(west), west, MPI_COMM_WORLD, requests(7))
    call MPI_Isend(now(cols, 1:rows), rows, MPI_DOUBLE_PRECISION, neighbor(east), east, MPI_COMM_WORLD, requests(8))
    largest = step(2, rows - 1, 2, cols - 1)
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
    last = max(rows, 2) ! a block of one row has one border row
    largest = max(largest, step(1, 1, 1, cols), step(last, rows, 1, cols), step(2, rows - 1, 1, 1))
    if (cols > 1) largest = max(largest, step(2, rows - 1, cols, cols))
    call move_alloc(now, old)
    call move_alloc(next, now)
    call move_alloc(old, next)
  end function

  ! Rank 0 gets the whole plate.
  subroutine gather()
    type(MPI_Request) :: request
    integer :: peer, r, c, r0, c0, nr, nc
    call MPI_Isend(now(1:cols, 1:rows), rows * cols, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, request)
    if (rank == 0) then
      allocate (plate(n, n))
      call split(r, c)
      do peer = 0, ranks - 1
        call part_of(r, peer / c, r0, nr)
        call part_of(c, mod(peer, c), c0, nc)
        call MPI_Recv(plate(c0 + 1:c0 + nc, r0 + 1:r0 + nr), nr * nc, MPI_DOUBLE_PRECISION, peer, 0, MPI_COMM_WORLD, &
          MPI_STATUS_IGNORE)
      end do
    end if
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine

  ! FNV-1a of the bits of all values, in hexadecimal digits. Products in halves, because Fortran's integers are signed.
  function checksum() result(text)
    character(len=16) :: text
    integer(int64), parameter :: low32 = int(z'ffffffff', int64)
    integer(int64) :: hash, low, high, product
    integer :: row, col, i
    hash = ior(ishft(int(z'cbf29ce4', int64), 32), int(z'84222325', int64))
    do row = 1, n
      do col = 1, n
        hash = ieor(hash, transfer(plate(col, row), hash))
        low = iand(hash, low32)
        high = ishft(hash, -32)
        product = low * int(z'1b3', int64)
        high = high * int(z'1b3', int64) + low * int(z'100', int64) + ishft(product, -32)
        hash = ior(ishft(iand(high, low32), 32), iand(product, low32))
      end do
    end do
    write (text, '(Z16.16)') hash
    do i = 1, 16
      if (text(i:i) >= 'A' .and. text(i:i) <= 'F') text(i:i) = achar(iachar(text(i:i)) + 32)
    end do
  end function
end program
