! SPDX-License-Identifier: Apache-2.0
! Module mpi_f08: handles as types, ierror left out, large counts by the same names, callbacks by their interfaces.
module user
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: handled = 0, copied = 0, deleted = 0
contains
  subroutine multiply(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) return
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a * b
  end subroutine
  subroutine multiply_c(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a * b
  end subroutine
  subroutine handler(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm == MPI_COMM_SELF .and. error_code /= MPI_SUCCESS) handled = handled + 1
  end subroutine
  subroutine copy(oldtype, type_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: oldtype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copied = copied + 1
    attribute_val_out = attribute_val_in * extra_state
    flag = oldtype == MPI_INTEGER
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete(datatype, type_keyval, attribute_val, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program basics
  use user
  use check
  implicit none
  type(MPI_Comm) :: dup, none
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: column, twice
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: errhandler
  type(MPI_Info) :: info
  type(MPI_Group) :: group
  type(c_ptr) :: memory
  integer, asynchronous :: x
  integer :: i, n, left, right, keyval, ierr, product, matrix(4, 3), f_status(MPI_STATUS_SIZE)
  integer(kind=MPI_COUNT_KIND) :: large
  integer(kind=MPI_ADDRESS_KIND) :: lb, extent, value
  integer, allocatable :: all_ranks(:)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=20) :: text
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = mod(me + 1, ranks)
  left = mod(me + ranks - 1, ranks)
  call yes(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'what the module promises')

  ! Messages, with counts of both kinds.
  call MPI_Isend(me, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(x, 1_MPI_COUNT_KIND, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call eq(x, left, 'received')
  call eq(statuses(2)%MPI_SOURCE, left, 'source')
  call eq(statuses(2)%MPI_TAG, 3, 'tag')
  call yes(all([requests(1) == MPI_REQUEST_NULL, requests(2) == MPI_REQUEST_NULL]), 'requests are done')
  call MPI_Get_count(statuses(2), MPI_INTEGER, n)
  call eq(n, 1, 'count')
  call MPI_Get_count(statuses(2), MPI_INTEGER, large)
  call eq(int(large), 1, 'large count')
  call MPI_Status_f082f(statuses(2), f_status)
  call eq(f_status(MPI_SOURCE), left, 'source in a status of integers')
  call MPI_Probe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, status)
  call eq(status%MPI_SOURCE, MPI_PROC_NULL, 'source of a probe')

  allocate(all_ranks(0:ranks - 1))
  call MPI_Allgather(me, 1, MPI_INTEGER, all_ranks, 1, MPI_INTEGER, MPI_COMM_WORLD)
  call yes(all(all_ranks == [(i, i = 0, ranks - 1)]), 'all ranks')
  all_ranks = -1
  all_ranks(me) = me
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all_ranks, 1, MPI_INTEGER, MPI_COMM_WORLD)
  call yes(all(all_ranks == [(i, i = 0, ranks - 1)]), 'all ranks in place')

  ! Types.
  call MPI_Type_vector(3, 1, 4, MPI_INTEGER, column)
  call MPI_Type_commit(column)
  matrix = 0
  matrix(2, :) = me
  call MPI_Sendrecv(matrix(2, 1), 1, column, right, 0, matrix(3, 1), 1, column, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call yes(all(matrix(3, :) == left), 'a row by a vector type')
  call MPI_Type_get_extent(MPI_DOUBLE_PRECISION, lb, extent)
  call eq(int(extent), 8, 'extent')
  call MPI_Type_free(column)
  call yes(column == MPI_DATATYPE_NULL .and. .not. column /= MPI_DATATYPE_NULL, 'a freed type')
  call eq(int(MPI_Aint_add(lb, extent)), 8, 'sum of addresses')

  ! Callbacks.
  call MPI_Op_create(multiply, .true., op)
  call MPI_Allreduce(me + 1, product, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call MPI_Op_free(op)
  n = 1
  do i = 1, ranks
    n = n * i
  end do
  call eq(product, n, 'product')
  call MPI_Op_create_c(multiply_c, .true., op)
  call MPI_Allreduce(me + 1, product, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call MPI_Op_free(op)
  call eq(product, n, 'product with a large operation')
  if (tries_wrong_calls()) then
    call MPI_Comm_create_errhandler(handler, errhandler)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler)
    call MPI_Send(me, -1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, ierr)
    call yes(ierr /= MPI_SUCCESS, 'a negative count')
    call eq(handled, 1, 'calls of the error handler')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  end if
  call MPI_Type_create_keyval(copy, delete, keyval, 3_MPI_ADDRESS_KIND)
  call MPI_Type_set_attr(MPI_INTEGER, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Type_dup(MPI_INTEGER, twice)
  call MPI_Type_get_attr(twice, keyval, value, flag)
  call yes(flag .and. value == 15, 'a copied attribute')
  call MPI_Type_free(twice)
  call MPI_Type_delete_attr(MPI_INTEGER, keyval)
  call eq(copied, 1, 'copies')
  call eq(deleted, 2, 'deletions')
  call MPI_Type_free_keyval(keyval)

  ! Objects, strings, memory.
  call MPI_Comm_dup(MPI_COMM_WORLD, dup)
  call MPI_Comm_set_name(dup, 'a copy')
  call MPI_Comm_get_name(dup, name, n)
  call yes(name == 'a copy' .and. n == 6, 'name')
  call MPI_Comm_compare(dup, MPI_COMM_WORLD, n)
  call eq(n, MPI_CONGRUENT, 'comparison')
  call MPI_Comm_group(dup, group)
  call MPI_Group_size(group, n)
  call eq(n, ranks, 'size of the group')
  call MPI_Group_free(group)
  call MPI_Comm_free(dup)
  call MPI_Comm_split(MPI_COMM_WORLD, merge(0, MPI_UNDEFINED, me == 0), 0, none)
  call yes((none == MPI_COMM_NULL) .eqv. me /= 0, 'only rank 0 is in')
  if (me == 0) call MPI_Comm_free(none)
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'a', 'b c')
  n = len(text)
  call MPI_Info_get_string(info, 'a', n, text, flag)
  call yes(flag .and. text == 'b c' .and. n == 3, 'an info')
  call MPI_Info_free(info)
  call MPI_Alloc_mem(16_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory)
  call yes(c_associated(memory), 'memory')
  call MPI_Sizeof(matrix, n)
  call eq(n, kind(matrix), 'size of an element')
  call MPI_F_sync_reg(matrix)
  call PMPI_Barrier(MPI_COMM_WORLD)
  call MPI_Finalize()
  call verdict()
end program
