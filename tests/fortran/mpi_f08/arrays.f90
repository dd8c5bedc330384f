! SPDX-License-Identifier: Apache-2.0
! Arrays of handles and of counts, in calls that return early too; persistent and matched messages, packing.
program arrays
  use mpi_f08
  use check
  implicit none
  integer, parameter :: many = 50
  integer :: i, n, left, right, x, done, position, index, indices(many), combiner
  integer, asynchronous :: got(many), values(many)
  integer, allocatable :: counts(:), places(:), sent(:), received(:), table(:, :)
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Datatype) :: pair, parts(2)
  type(MPI_Request) :: requests(many), request
  type(MPI_Status) :: statuses(many), status
  type(MPI_Message) :: message
  type(MPI_Group) :: group, some
  type(MPI_Comm) :: ring
  integer(kind=MPI_ADDRESS_KIND) :: offsets(2)
  character(len=40) :: packed
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)

  ! A type for each rank, blocking and not.
  allocate (counts(ranks), places(ranks), types(ranks), sent(ranks), received(ranks))
  counts = 1
  places = [(kind(n) * (i - 1), i = 1, ranks)]
  types = MPI_INTEGER
  sent = [(100 * me + i, i = 0, ranks - 1)]
  received = -1
  call MPI_Alltoallw(sent, counts, places, types, received, counts, places, types, MPI_COMM_WORLD)
  call yes(all(received == [(100 * i + me, i = 0, ranks - 1)]), 'alltoallw')
  do n = 1, 3
    received = -1
    call MPI_Ialltoallw(sent, counts, places, types, received, counts, places, types, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call yes(all(received == [(100 * i + me, i = 0, ranks - 1)]), 'ialltoallw')
  end do
  received = 1000 * me
  call MPI_Alltoallw(MPI_IN_PLACE, counts, places, types, received, counts, places, types, MPI_COMM_WORLD)
  call yes(all(received == [(1000 * i, i = 0, ranks - 1)]), 'alltoallw in place')
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
  call MPI_Neighbor_alltoallw(sent(1), [1, 1], [0_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND], [MPI_INTEGER, MPI_INTEGER], got, [1, 1], &
    [0_MPI_ADDRESS_KIND, int(kind(n), MPI_ADDRESS_KIND)], [MPI_INTEGER, MPI_INTEGER], ring)
  call eq(got(1), 100 * left, 'from the left neighbor')
  call eq(got(2), 100 * right, 'from the right neighbor')
  call MPI_Comm_free(ring)

  ! Counts and places for each rank; the received lie in every other row.
  allocate (table(2, ranks))
  table = -1
  values(1) = me + 1
  call MPI_Gatherv(values, 1, MPI_INTEGER, table(2, :), counts, [(i, i = 0, ranks - 1)], MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (me == 0) call yes(all(table(2, :) == [(i, i = 1, ranks)]) .and. all(table(1, :) == -1), 'gatherv to every other')
  x = 0
  call MPI_Scatterv(table(2, :), counts, [(i, i = 0, ranks - 1)], MPI_INTEGER, x, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call eq(x, me + 1, 'scatterv from every other')

  ! More requests than are converted in place; indices begin at 1.
  do i = 1, many
    call MPI_Irecv(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i))
  end do
  values = [(i * 10 + me, i = 1, many)]
  do i = 1, many
    call MPI_Send(values(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD)
  end do
  call MPI_Testany(many, requests, index, flag, status)
  do while (.not. flag)
    call MPI_Testany(many, requests, index, flag, status)
  end do
  call eq(status%MPI_TAG, index, 'tag of any')
  done = 1
  do while (done < many)
    call MPI_Waitsome(many, requests, n, indices, statuses)
    do i = 1, n
      call eq(statuses(i)%MPI_TAG, indices(i), 'tag of some')
    end do
    done = done + n
  end do
  call yes(all(got == [(i * 10 + left, i = 1, many)]), 'data of all')
  call yes(all([(requests(i) == MPI_REQUEST_NULL, i = 1, many)]), 'requests of all')

  ! Persistent requests, one for a section.
  call MPI_Send_init(values(1:9:4), 3, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Recv_init(got(2:6:2), 3, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(2))
  do n = 1, 2
    got = 0
    values = n * 1000 + me
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call yes(all(got(2:6:2) == n * 1000 + left) .and. all(got(1:7:2) == 0), 'a persistent section')
  end do
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))
  call yes(requests(1) == MPI_REQUEST_NULL, 'a freed request')

  ! A matched message into a section, and what was packed from one.
  call MPI_Isend([1, 2, 3], 3, MPI_INTEGER, me, 5, MPI_COMM_WORLD, request)
  call MPI_Mprobe(me, 5, MPI_COMM_WORLD, message, status)
  got = 0
  call MPI_Mrecv(got(1:5:2), 3, MPI_INTEGER, message, MPI_STATUS_IGNORE)
  call yes(all(got(1:5) == [1, 0, 2, 0, 3]) .and. message == MPI_MESSAGE_NULL, 'a matched message')
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  position = 0
  call MPI_Pack(got(1:5:2), 3, MPI_INTEGER, packed, len(packed), position, MPI_COMM_WORLD)
  call MPI_Pack_size(3, MPI_INTEGER, MPI_COMM_WORLD, n)
  call yes(position > 0 .and. position <= n, 'place after packing')
  position = 0
  got = 0
  call MPI_Unpack(packed, len(packed), position, got(6:2:-2), 3, MPI_INTEGER, MPI_COMM_WORLD)
  call yes(all(got(1:6) == [0, 3, 0, 2, 0, 1]), 'unpacked backwards')
  offsets(1) = 0
  call MPI_Pack_external('external32', got(2:6:2), 3, MPI_INTEGER, packed, 40_MPI_ADDRESS_KIND, offsets(1))
  call eq(int(offsets(1)), 3 * kind(n), 'bytes in external32')

  ! Types made of types, and read back.
  offsets = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND]
  call MPI_Type_create_struct(2, [1, 2], offsets, [MPI_INTEGER, MPI_REAL], pair)
  call MPI_Type_get_envelope(pair, n, x, index, combiner)
  call eq(combiner, MPI_COMBINER_STRUCT, 'combiner')
  offsets = -1
  call MPI_Type_get_contents(pair, 3, 2, 2, indices, offsets, parts)
  call yes(all(indices(1:3) == [2, 1, 2]) .and. all(offsets == [0, 8]), 'contents')
  call yes(parts(1) == MPI_INTEGER .and. parts(2) == MPI_REAL, 'types in the contents')
  call MPI_Type_free(pair)
  call MPI_Comm_group(MPI_COMM_WORLD, group)
  call MPI_Group_range_incl(group, 1, reshape([ranks - 1, 0, -1], [3, 1]), some)
  call MPI_Group_rank(some, n)
  call eq(n, ranks - 1 - me, 'rank in the group backwards')
  call MPI_Group_free(group)
  call MPI_Group_free(some)
  call MPI_Finalize()
  call verdict()
end program
