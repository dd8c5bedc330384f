! SPDX-License-Identifier: Apache-2.0
! What the Fortran tests share: compare, count, and say at the end what tests/rank/run.py wants to read.
module check
  implicit none
  integer :: me = -1, ranks = 0, checks = 0, failures = 0
contains
  subroutine eq(got, want, what)
    integer, intent(in) :: got, want
    character(len=*), intent(in) :: what
    checks = checks + 1
    if (got == want) return
    failures = failures + 1
    print '(A,I0,A,A,A,I0,A,I0)', 'rank ', me, ': ', what, ' is ', got, ', expected ', want
  end subroutine

  subroutine yes(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    checks = checks + 1
    if (holds) return
    failures = failures + 1
    print '(A,I0,A,A)', 'rank ', me, ': does not hold: ', what
  end subroutine

  ! May wrong calls be tried? Not with ONLY_RIGHT_CALLS in the environment: for libraries that do not survive them.
  logical function tries_wrong_calls()
    integer :: length
    call get_environment_variable('ONLY_RIGHT_CALLS', length=length)
    tries_wrong_calls = length == 0
  end function

  subroutine verdict()
    if (failures > 0) stop 1
    if (me == 0) print '(A,I0,A,I0,A)', 'ok: ', checks, ' checks, ', ranks, ' ranks'
  end subroutine
end module
