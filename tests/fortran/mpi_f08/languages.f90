! SPDX-License-Identifier: Apache-2.0
! Attributes between languages (19.3.7), and default integers as data, of whichever size they are.
module c
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int) function c_get(comm, keyval, value, flag) bind(C, name='MPI_Comm_get_attr')
      import
      integer(c_intptr_t), value :: comm
      integer(c_int), value :: keyval
      type(c_ptr) :: value
      integer(c_int) :: flag
    end function
    integer(c_int) function c_set(comm, keyval, value) bind(C, name='MPI_Comm_set_attr')
      import
      integer(c_intptr_t), value :: comm
      integer(c_int), value :: keyval
      type(c_ptr), value :: value
    end function
  end interface
contains
  integer(c_intptr_t) function in_c(comm)
    use mpi_f08
    type(MPI_Comm), intent(in) :: comm
    in_c = comm%MPI_VAL  ! those of the standard's constants are the same in C
  end function
end module

program languages
  use mpi_f08
  use check
  use c
  implicit none
  type(MPI_Comm) :: dup
  type(MPI_Datatype) :: pair, two, types(1)
  integer :: keyval, i, mine(2), largest(2), n, addresses, datatypes, combiner, all(1)
  integer(kind=MPI_ADDRESS_KIND) :: value, places(1)
  integer(kind=MPI_ADDRESS_KIND), pointer :: seen
  integer(c_int) :: flag_c
  integer(c_int), target :: thing
  type(c_ptr) :: at
  logical :: flag, all_true
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  ! What Fortran sets, C sees as the address of an integer; set again and again it takes no more room.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  do i = 1, 2000
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, -5_MPI_ADDRESS_KIND * i)
  end do
  call eq(int(c_get(in_c(MPI_COMM_SELF), int(keyval, c_int), at, flag_c)), MPI_SUCCESS, 'an attribute in C')
  call c_f_pointer(at, seen)
  call yes(flag_c == 1 .and. seen == -10000, 'its value in C')
  call MPI_Comm_dup(MPI_COMM_SELF, dup)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
  call MPI_Comm_get_attr(dup, keyval, value, flag)
  call yes(flag .and. value == -10000, 'a copy outlives it')
  call MPI_Comm_free(dup)

  ! What C sets is an address, from C and from Fortran.
  call eq(int(c_set(in_c(MPI_COMM_SELF), int(keyval, c_int), c_loc(thing))), MPI_SUCCESS, 'set in C')
  call MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag)
  call yes(flag .and. value == transfer(c_loc(thing), value), 'an address')
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
  call MPI_Comm_free_keyval(keyval)

  ! Pairs of default integers, and where the largest is. Other libraries have none of 8 bytes.
  call MPI_Type_get_value_index(MPI_INTEGER, MPI_INTEGER, pair)
  two = MPI_INTEGER
  if (pair /= MPI_DATATYPE_NULL .or. tries_wrong_calls()) then
    two = MPI_2INTEGER
    mine = [mod(me * 7, ranks + 1), me]
    call MPI_Allreduce(mine, largest, 1, two, MPI_MAXLOC, MPI_COMM_WORLD)
    call eq(largest(1), maxval([(mod(i * 7, ranks + 1), i = 0, ranks - 1)]), 'the largest')
    call eq(mod(largest(2) * 7, ranks + 1), largest(1), 'where it is')
    call MPI_Type_size(two, n)
    call eq(n, 2 * kind(n), 'size of two integers')
  end if
  call MPI_Type_size(MPI_INTEGER, n)
  call eq(n, kind(n), 'size of an integer')
  call MPI_Type_size(MPI_LOGICAL, n)
  call eq(n, kind(.true.), 'size of a logical')
  call eq(MPI_INTEGER_KIND, kind(n), 'MPI_INTEGER_KIND')
  flag = me == 0
  call MPI_Allreduce(flag, all_true, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
  call yes(all_true .eqv. ranks == 1, 'a reduction of logicals')

  ! What a type was made of comes back.
  call MPI_Type_contiguous(3, two, pair)
  call MPI_Type_get_envelope(pair, n, addresses, datatypes, combiner)
  call eq(combiner, MPI_COMBINER_CONTIGUOUS, 'combiner')
  call MPI_Type_get_contents(pair, n, addresses, datatypes, all, places, types)
  call eq(all(1), 3, 'its count')
  call yes(types(1) == two, 'its type')
  call MPI_Type_free(pair)
  call MPI_Finalize()
  call verdict()
end program
