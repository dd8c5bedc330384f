! SPDX-License-Identifier: Apache-2.0
! Module mpi: interfaces that the compiler checks, choice buffers of any type and rank, addresses as C_PTR,
! callbacks with extra state.
module user
  use mpi
  implicit none
  integer :: copied = 0, deleted = 0, handled = 0
contains
  subroutine largest_odd(invec, inoutvec, len, datatype)
    integer :: len, datatype
    integer :: invec(len), inoutvec(len)
    integer :: i
    if (datatype /= MPI_INTEGER) call MPI_Abort(MPI_COMM_WORLD, 3, i)
    do i = 1, len
      inoutvec(i) = max(invec(i) * mod(invec(i), 2), inoutvec(i) * mod(inoutvec(i), 2))
    end do
  end subroutine
  subroutine copy(oldcomm, keyval, extra_state, value_in, value_out, flag, ierror)
    integer :: oldcomm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    copied = copied + 1
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete(comm, keyval, value, extra_state, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra_state
    deleted = deleted + 1
    ierror = MPI_SUCCESS
    if (extra_state /= 1000) ierror = MPI_ERR_OTHER
  end subroutine
  subroutine handler(comm, code)
    integer :: comm, code
    integer :: class, ierror
    call MPI_Error_class(code, class, ierror)
    if (class == MPI_ERR_TAG .and. comm == MPI_COMM_WORLD) handled = handled + 1
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: status(MPI_STATUS_SIZE), ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state), ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
  end subroutine
  subroutine freed(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    extra_state = 0
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

program basics
  use mpi
  use user
  use check
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: ierr, i, n, x, odd, keyval, dup, op, request, errhandler, status(MPI_STATUS_SIZE)
  integer(kind=MPI_ADDRESS_KIND) :: value
  real(kind=8) :: matrix(3, 2), scalar
  complex :: z(2)
  character(len=5) :: word
  type(c_ptr) :: memory
  integer, pointer :: numbers(:)
  type(MPI_Status) :: new_status
  logical :: flag
  call MPI_Init_thread(MPI_THREAD_FUNNELED, n, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call yes(n >= MPI_THREAD_FUNNELED, 'thread level')
  call yes(.not. MPI_SUBARRAYS_SUPPORTED, 'sections are copied by the compiler')

  ! Buffers of any type and rank, sections among them.
  matrix = me
  scalar = me
  z = cmplx(1, me)
  word = merge('first', 'other', me == 0)
  call MPI_Bcast(matrix, 6, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, ierr)
  call yes(all(matrix == ranks - 1), 'a matrix')
  call MPI_Bcast(scalar, 1, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  call yes(scalar == 0, 'a scalar')
  call MPI_Bcast(z, 2, MPI_COMPLEX, 0, MPI_COMM_WORLD, ierr)
  call yes(all(z == (1.0, 0.0)), 'complex numbers')
  call MPI_Bcast(word, len(word), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
  call yes(word == 'first', 'characters')
  matrix(:, 1) = me
  matrix(2, :) = [10, 20]
  call MPI_Bcast(matrix(2, :), 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  call yes(all(matrix(2, :) == [10, 20]), 'a section')

  call MPI_Sizeof(matrix, n, ierr)
  call eq(n, 8, 'size of a double')
  call MPI_Sizeof(z(1), n, ierr)
  call eq(n, 8, 'size of a complex')
  call MPI_Sizeof(me, n, ierr)
  call eq(n, kind(me), 'size of an integer')

  ! Memory, by a C_PTR and by an integer.
  call MPI_Alloc_mem(int(10 * kind(n), MPI_ADDRESS_KIND), MPI_INFO_NULL, memory, ierr)
  call c_f_pointer(memory, numbers, [10])
  numbers = me
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call yes(all(numbers == ranks * (ranks - 1) / 2), 'memory of MPI')
  call MPI_Free_mem(numbers, ierr)
  call eq(ierr, MPI_SUCCESS, 'memory is freed')
  call MPI_Alloc_mem(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, value, ierr)
  call yes(value /= 0, 'an address')

  ! A user's operation; the same again gets the same C function.
  do i = 1, 3
    call MPI_Op_create(largest_odd, .true., op, ierr)
    x = me
    odd = -1
    call MPI_Allreduce(x, odd, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
    n = ranks - 1
    if (mod(n, 2) == 0) n = max(n - 1, 0)
    call eq(odd, n, 'result of the user''s operation')
    call MPI_Op_free(op, ierr)
    call eq(op, MPI_OP_NULL, 'a freed operation')
  end do

  ! Attributes: of MPI itself by value, and with callbacks of the program.
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  call yes(flag .and. value >= 32767, 'MPI_TAG_UB')
  call MPI_Comm_create_keyval(copy, delete, keyval, 1000_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 7_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
  call MPI_Comm_get_attr(dup, keyval, value, flag, ierr)
  call yes(flag .and. value == 1007, 'a copied attribute')
  call MPI_Comm_free(dup, ierr)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierr)
  call eq(copied, 1, 'copies')
  call eq(deleted, 2, 'deletions')
  call MPI_Comm_free_keyval(keyval, ierr)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, -3_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_dup(MPI_COMM_SELF, dup, ierr)
  call MPI_Comm_get_attr(dup, keyval, value, flag, ierr)
  call yes(flag .and. value == -3, 'an attribute copied by MPI_COMM_DUP_FN')
  call MPI_Comm_free(dup, ierr)

  ! An error handler of the program.
  call MPI_Comm_create_errhandler(handler, errhandler, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler, ierr)
  call MPI_Send(x, 1, MPI_INTEGER, me, -5, MPI_COMM_WORLD, ierr)
  call eq(handled, 1, 'calls of the error handler')
  call MPI_Errhandler_free(errhandler, ierr)

  ! A generalized request.
  call MPI_Grequest_start(query, freed, cancel, 4_MPI_ADDRESS_KIND, request, ierr)
  call MPI_Grequest_complete(request, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Get_elements(status, MPI_INTEGER, n, ierr)
  call eq(n, 4, 'elements of a generalized request')

  ! Statuses of both modules.
  status(MPI_TAG) = 77
  call MPI_Status_f2f08(status, new_status, ierr)
  call eq(new_status%MPI_TAG, 77, 'tag of a converted status')
  new_status%MPI_SOURCE = 5
  call MPI_Status_f082f(new_status, status, ierr)
  call eq(status(MPI_SOURCE), 5, 'source of a status converted back')
  call MPI_Finalize(ierr)
  call verdict()
end program
