! SPDX-License-Identifier: Apache-2.0
! mpif.h in fixed form: messages, the constants that are addresses, strings, logicals, indices from 1.
      program basics
      use check
      implicit none
      include 'mpif.h'
      integer ierr, i, n, x, left, right, other, idx
      integer st(MPI_STATUS_SIZE), req(4), sts(MPI_STATUS_SIZE,4)
      integer got(4), indices(4), dt, lengths(2), types(2)
      integer(kind=MPI_ADDRESS_KIND) places(2), lb, extent
      integer cart, graph, dims(2), coords(2), info, codes(1)
      logical periods(2), flag
      character*40 text
      character*3 short
      character*(MPI_MAX_ERROR_STRING) why
      double precision t
      call mpi_init(ierr)
      call eq(ierr, MPI_SUCCESS, 'ierror of mpi_init')
      call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      right = mod(me + 1, ranks)
      left = mod(me + ranks - 1, ranks)
      t = mpi_wtime()
      call yes(t + mpi_wtick() .gt. 0d0, 'time passes')

! In place, and the sum itself.
      x = me
      call mpi_allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM,
     &  MPI_COMM_WORLD, ierr)
      call eq(x, ranks * (ranks - 1) / 2, 'sum in place')

! A ring with status, then without.
      call mpi_sendrecv(me, 1, MPI_INTEGER, right, 7, x, 1, MPI_INTEGER,
     &  left, 7, MPI_COMM_WORLD, st, ierr)
      call eq(x, left, 'received')
      call eq(st(MPI_SOURCE), left, 'source')
      call eq(st(MPI_TAG), 7, 'tag')
      call mpi_get_count(st, MPI_INTEGER, n, ierr)
      call eq(n, 1, 'count')
      call mpi_sendrecv(me, 1, MPI_INTEGER, left, 8, x, 1, MPI_INTEGER,
     &  right, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call eq(x, right, 'received without status')

! Requests in arrays; indices begin at 1.
      do i = 1, 4
        got(i) = -1
        call mpi_irecv(got(i), 1, MPI_INTEGER, left, 10 + i,
     &    MPI_COMM_WORLD, req(i), ierr)
      end do
      do i = 1, 4
        call mpi_send(100 * i + me, 1, MPI_INTEGER, right, 10 + i,
     &    MPI_COMM_WORLD, ierr)
      end do
      call mpi_waitany(4, req, idx, st, ierr)
      call yes(idx .ge. 1 .and. idx .le. 4, 'an index from 1 to 4')
      call eq(st(MPI_TAG), 10 + idx, 'tag of that index')
      call eq(got(idx), 100 * idx + left, 'data of that index')
      call eq(req(idx), MPI_REQUEST_NULL, 'its request')
      call mpi_waitsome(4, req, n, indices, sts, ierr)
      do i = 1, n
        call eq(sts(MPI_TAG, i), 10 + indices(i), 'tag of some')
      end do
      call mpi_waitall(4, req, MPI_STATUSES_IGNORE, ierr)
      do i = 1, 4
        call eq(got(i), 100 * i + left, 'data of all')
        call eq(req(i), MPI_REQUEST_NULL, 'request of all')
      end do
      call mpi_waitany(4, req, idx, MPI_STATUS_IGNORE, ierr)
      call eq(idx, MPI_UNDEFINED, 'index where none is active')

! A type of two variables by their addresses, sent from MPI_BOTTOM.
      x = 5 + me
      other = 50 + me
      call mpi_get_address(x, places(1), ierr)
      call mpi_get_address(other, places(2), ierr)
      lengths = 1
      types = MPI_INTEGER
      call mpi_type_create_struct(2, lengths, places, types, dt, ierr)
      call mpi_type_commit(dt, ierr)
      call mpi_sendrecv(MPI_BOTTOM, 1, dt, right, 1, got, 2,
     &  MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call eq(got(1), 5 + left, 'first of MPI_BOTTOM')
      call eq(got(2), 50 + left, 'second of MPI_BOTTOM')
      call mpi_type_free(dt, ierr)
      call eq(dt, MPI_DATATYPE_NULL, 'a freed type')
      call mpi_type_get_extent(MPI_DOUBLE_PRECISION, lb, extent, ierr)
      call eq(int(extent), 8, 'extent')
      call eq(int(mpi_aint_diff(mpi_aint_add(lb, extent), lb)), 8,
     &  'difference of addresses')

! Logicals, and the neighbors of a grid.
      dims = 0
      call mpi_dims_create(ranks, 2, dims, ierr)
      call eq(dims(1) * dims(2), ranks, 'dims')
      periods(1) = .true.
      periods(2) = .false.
      call mpi_cart_create(MPI_COMM_WORLD, 2, dims, periods, .false.,
     &  cart, ierr)
      periods(1) = .false.
      periods(2) = .true.
      call mpi_cart_get(cart, 2, dims, periods, coords, ierr)
      call yes(periods(1), 'first dimension is periodic')
      call yes(.not. periods(2), 'second dimension is not')
      call mpi_comm_free(cart, ierr)
      call eq(cart, MPI_COMM_NULL, 'a freed communicator')
      call mpi_initialized(flag, ierr)
      call yes(flag, 'is initialized')
      call mpi_dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left],
     &  MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, MPI_INFO_NULL,
     &  .false., graph, ierr)
      call mpi_dist_graph_neighbors_count(graph, n, x, flag, ierr)
      call eq(n, 1, 'neighbors')
      call yes(.not. flag, 'without weights')
      call mpi_comm_free(graph, ierr)

! Strings come padded with blanks, and go without them.
      call mpi_info_create(info, ierr)
      call mpi_info_set(info, ' key ', '  value ', ierr)
      text = 'not touched'
      call mpi_info_get(info, 'key', 40, text, flag, ierr)
      call yes(flag .and. text .eq. 'value', 'value of an info')
      text = 'not touched'
      call mpi_info_get(info, 'other', 40, text, flag, ierr)
      call yes(.not. flag .and. text .eq. 'not touched', 'no value')
      n = 0
      call mpi_info_get_string(info, 'key', n, short, flag, ierr)
      call eq(n, 5, 'length of the value')
      n = 3
      call mpi_info_get_string(info, 'key', n, short, flag, ierr)
      call yes(short .eq. 'val', 'a value cut short')
      call eq(n, 5, 'its length is told nevertheless')
      call mpi_info_free(info, ierr)
      call mpi_comm_set_name(MPI_COMM_WORLD, 'all of us   ', ierr)
      call mpi_comm_get_name(MPI_COMM_WORLD, text, n, ierr)
      call yes(text .eq. 'all of us' .and. n .eq. 9, 'a name')

! Errors: the code comes back, and has a text.
      if (tries_wrong_calls()) then
      call mpi_comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN,
     &  ierr)
      call mpi_send(x, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, ierr)
      call yes(ierr .ne. MPI_SUCCESS, 'a rank that is not there')
      call mpi_error_class(ierr, n, ierr)
      call eq(n, MPI_ERR_RANK, 'error class')
      codes = 0
      call mpi_comm_spawn('nothing', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0,
     &  MPI_COMM_NULL, x, MPI_ERRCODES_IGNORE, ierr)
      call yes(ierr .ne. MPI_SUCCESS, 'nobody to spawn')
      call mpi_comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN,
     &  ierr)
      call mpi_comm_spawn('  nothing ', MPI_ARGV_NULL, 1,
     &  MPI_INFO_NULL, 0, MPI_COMM_SELF, x, codes, n)
      call mpi_error_string(n, why, i, ierr)
      call yes(index(why, 'program nothing was') .gt. 0,
     &  'no blanks around a program')
      end if
      call pmpi_barrier(MPI_COMM_WORLD, ierr)
      call eq(ierr, MPI_SUCCESS, 'ierror of pmpi_barrier')
      call mpi_finalize(ierr)
      call verdict()
      end
