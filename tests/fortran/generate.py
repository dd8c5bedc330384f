# SPDX-License-Identifier: Apache-2.0
"""Writes a program that calls every procedure of one Fortran interface of MPI, from the tables in spec/.

    generate.py mpif_h|mpi|mpi_f08 OUTPUT [i8]      i8: for default integers of 8 bytes

Every handle is a null handle and every count is 0. So each call goes through the whole of libmpifort_abi; most come back
with an error, which is demanded where the standard has no other choice. Each is called as MPI_ and as PMPI_, by
its generic name and (where there is an interface) with keywords, so that the compiler resolves and checks it.

With ONLY_RIGHT_CALLS in the environment handles are good ones, calls that need more than that are left out, and each has
to succeed: for libraries that do not survive null handles. ONLY_RIGHT_CALLS=trace also names each before it is called."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "bindgen"))
from fortran import HANDLES, forms_of, procedures, same_if_eight  # noqa: E402
from fortran_text import broken  # noqa: E402
from spec import Spec  # noqa: E402

# They end what the others need, or what they do cannot be undone.
LEFT_OUT = {"Init", "Init_thread", "Finalize", "Abort"}
MUST_FAIL = {"COMMUNICATOR", "DATATYPE", "GROUP", "WINDOW", "FILE", "OPERATION", "SESSION"}

# What is passed for good, and what needs more than that: objects that must be made first, strings with a meaning,
# or arguments other than 0; or it would free what others use.
GOOD = {"Comm": "line", "Datatype": "MPI_INTEGER", "Errhandler": "MPI_ERRORS_RETURN", "Group": "MPI_GROUP_EMPTY", "Op": "MPI_SUM"}
NEED_MORE = {"WINDOW", "FILE", "SESSION", "MESSAGE", "KEYVAL", "PARTITION", "STRING", "STRING_ARRAY", "NUM_DIMS", "SPLIT_TYPE",
             "TYPECLASS", "TYPECLASS_SIZE", "UPDATE_MODE", "THREAD_LEVEL", "ERROR_CLASS", "ALLOC_MEM_NUM_BYTES"}
NEED_MORE_NAMES = re.compile(
    r"(Cancel|Request_free|Start|Startall|Free_mem|Info_free|Comm_join|Pcontrol|Comm_call_errhandler|Cart_(coords|get|sub)"
    r"|Grequest.*|Buffer_.*|Comm_.*buffer.*|Type_create_(darray|subarray|f90).*|Type_get_contents.*|Intercomm.*|Comm_remote.*"
    r"|Dist_graph.*|Graph.*|Remove_.*|.*Group_translate.*|Type_get_value_index|Status_set_elements.*)(_c)?")


def needs_more(p):
    kinds = {a.kind for a in p.args if a.direction != "out" or a.kind in ("WINDOW", "FILE", "SESSION")}
    needs_info = any(a.kind == "INFO" and a.direction == "in" for a in p.args)
    frees = any(a.what == "handle" and a.direction == "inout" and not a.dims and a.kind != "REQUEST" for a in p.args)
    return bool(kinds & NEED_MORE) or needs_info or frees or NEED_MORE_NAMES.fullmatch(p.name) is not None


F08_CALLBACKS = """\
MODULE callbacks
  USE mpi_f08
  USE, INTRINSIC :: ISO_C_BINDING
  IMPLICIT NONE
CONTAINS
  SUBROUTINE f_user(invec, inoutvec, len, datatype)
    TYPE(C_PTR), VALUE :: invec, inoutvec
    INTEGER :: len
    TYPE(MPI_Datatype) :: datatype
  END SUBROUTINE
  SUBROUTINE f_user_c(invec, inoutvec, len, datatype)
    TYPE(C_PTR), VALUE :: invec, inoutvec
    INTEGER(KIND=MPI_COUNT_KIND) :: len
    TYPE(MPI_Datatype) :: datatype
  END SUBROUTINE
  SUBROUTINE f_extent(datatype, extent, extra_state, ierror)
    TYPE(MPI_Datatype) :: datatype
    INTEGER(KIND=MPI_ADDRESS_KIND) :: extent, extra_state
    INTEGER :: ierror
  END SUBROUTINE
  SUBROUTINE f_query(extra_state, status, ierror)
    INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state
    TYPE(MPI_Status) :: status
    INTEGER :: ierror
  END SUBROUTINE
  SUBROUTINE f_free(extra_state, ierror)
    INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state
    INTEGER :: ierror
  END SUBROUTINE
  SUBROUTINE f_cancel(extra_state, complete, ierror)
    INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state
    LOGICAL :: complete
    INTEGER :: ierror
  END SUBROUTINE
""" + "".join(f"""\
  SUBROUTINE f_{t.lower()}_handler(h, error_code)
    TYPE(MPI_{t}) :: h
    INTEGER :: error_code
  END SUBROUTINE
""" for t in ("Comm", "File", "Session", "Win")) + "END MODULE\n"

F08_PROCEDURES = {"MPI_User_function": "f_user", "MPI_User_function_c": "f_user_c",
                  "MPI_Datarep_extent_function": "f_extent", "MPI_Datarep_conversion_function": "MPI_CONVERSION_FN_NULL",
                  "MPI_Datarep_conversion_function_c": "MPI_CONVERSION_FN_NULL_C",
                  "MPI_Grequest_query_function": "f_query", "MPI_Grequest_free_function": "f_free",
                  "MPI_Grequest_cancel_function": "f_cancel"}
for word in ("Comm", "Type", "Win"):
    for which in ("copy", "delete"):
        F08_PROCEDURES[f"MPI_{word}_{which}_attr_function"] = f"MPI_{word.upper()}_NULL_{which.upper()}_FN"
for word in ("Comm", "File", "Session", "Win"):
    F08_PROCEDURES[f"MPI_{word}_errhandler_function"] = f"f_{word.lower()}_handler"


def actual(a, f08):
    """The argument that the program passes."""
    if a.what == "handle":
        return f"h_{a.base.lower()}{'s' if a.dims else ''}"
    if a.what == "status":
        return "statuses" if a.dims else "status"
    if a.what == "buffer" or (a.what == "address" and a.base == "C_BUFFER2" and not f08):
        return "buf" if a.direction == "in" else "buf2"  # not the same: MPI forbids it
    if a.what == "address":
        return "pointer" if f08 else "i8"
    if a.what == "logical":
        return "flags" if a.dims else "flag"
    if a.what == "string":
        return {"": "text", "*": "texts"}.get(a.dims, "texts2")
    if a.what == "function":
        return F08_PROCEDURES[a.base] if f08 else "nothing"
    if a.kind in ("DEST", "SOURCE"):
        return "peer"
    name = "i4" if a.base == "INTEGER" else "i8"
    return f"{name}s3" if a.dims.startswith("3") else f"{name}s" if a.dims else name


def call(p, prefix, f08, keywords):
    pairs = [(a.name, actual(a, f08)) for a in p.args]
    args = ", ".join(f"{n}={v}" if keywords else v for n, v in pairs)
    name = prefix + (p.generic if f08 else p.name)
    good = ".FALSE." if needs_more(p) else ".TRUE."
    lines = [f"IF (wanted('{name}', {good})) THEN", "i4 = 0", "i8 = 0", "CALL forget()"]
    if p.result:
        lines.append(f"{'seconds' if p.result.startswith('DOUBLE') else 'i8'} = {name}({args})")
    else:
        args = ", ".join(filter(None, [args, ("ierror=ierror" if keywords else "ierror") if p.has_ierror else ""]))
        lines += ["ierror = -77", f"CALL {name}({args})"]
        if p.has_ierror:
            fails = not p.name.endswith("_get_name") and any(a.kind in MUST_FAIL and a.direction == "in" and not a.dims for a in p.args)  # null handles have names
            lines.append(f"CALL called('{name}', ierror, {'.TRUE.' if fails else '.FALSE.'})")
    lines.append("END IF")
    return "".join(broken(line, "  ") for line in lines)


def program(interface, eight):
    f08, keywords = interface == "mpi_f08", interface != "mpif_h"
    out = "! Generated by tests/fortran/generate.py.\n" + (F08_CALLBACKS if f08 else "")
    out += "PROGRAM every_procedure\n"
    out += {"mpif_h": "  IMPLICIT NONE\n  INCLUDE 'mpif.h'\n", "mpi": "  USE mpi\n  IMPLICIT NONE\n",
            "mpi_f08": "  USE mpi_f08\n  USE callbacks\n  USE, INTRINSIC :: ISO_C_BINDING\n  IMPLICIT NONE\n"}[interface]
    for t in HANDLES.values():
        base = f"TYPE(MPI_{t})" if f08 else "INTEGER"
        out += f"  {base} :: h_{t.lower()}, h_{t.lower()}s(8)\n"
    out += ("  TYPE(MPI_Status) :: status, statuses(8)\n  TYPE(C_PTR) :: pointer\n" if f08 else
            "  INTEGER :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE,8)\n  EXTERNAL nothing\n")
    out += ("  INTEGER :: i4, i4s(64), i4s3(3,8), ierror, buf(4), buf2(4), rank, size\n"
            "  INTEGER(KIND=MPI_ADDRESS_KIND) :: i8, i8s(64)\n  LOGICAL :: flag, flags(8)\n"
            "  CHARACTER(LEN=64) :: text, texts(4), texts2(2,2)\n  DOUBLE PRECISION :: seconds\n"
            f"  {'TYPE(MPI_Comm)' if f08 else 'INTEGER'} :: line\n  INTEGER :: peer\n  LOGICAL :: good\n  CHARACTER(LEN=8) :: mode\n"
            "  INTEGER :: checks, failures\n  checks = 0\n  failures = 0\n  i4s = 0\n  i8s = 0\n  i4s3 = 0\n  buf = 0\n"
            "  flags = .FALSE.\n  texts = ' '\n  texts2 = ' '\n  CALL MPI_Init(ierror)\n"
            "  CALL MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)\n  CALL MPI_Comm_size(MPI_COMM_WORLD, size, ierror)\n"
            "  CALL MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)\n"
            "  CALL MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)\n"
            "  CALL GET_ENVIRONMENT_VARIABLE('ONLY_RIGHT_CALLS', mode)\n  good = mode /= ' '\n"
            "  peer = MERGE(MPI_PROC_NULL, 0, good)\n"
            "  IF (good) CALL MPI_Cart_create(MPI_COMM_SELF, 1, [1], [.FALSE.], .FALSE., line, ierror)\n")
    todo = [p for p in procedures(Spec(ROOT / "spec")) if p.function.name not in LEFT_OUT and (p.f08 if f08 else p.f77)
            and not (eight and same_if_eight(p, forms_of(p.function, p.special)))]
    parts = [(p, prefix) for p in todo for prefix in ("MPI_", "PMPI_")]
    # Several subroutines, so that no compiler takes long over one.
    chunks = [parts[i:i + 60] for i in range(0, len(parts), 60)]
    out += "".join(f"  CALL part_{i}()\n" for i in range(len(chunks)))
    out += ("  CALL MPI_Finalize(ierror)\n  IF (failures > 0) STOP 1\n"
            "  IF (rank == 0) PRINT '(A,I0,A,I0,A)', 'ok: ', checks, ' checks, ', size, ' ranks'\nCONTAINS\n"
            "  SUBROUTINE forget()\n"
            + "".join(f"    h_{t.lower()} = MPI_{t.upper()}_NULL\n    h_{t.lower()}s = MPI_{t.upper()}_NULL\n"
                      for t in HANDLES.values())
            + "    IF (good) THEN\n" + "".join(f"      h_{t.lower()} = {v}\n      h_{t.lower()}s = {v}\n" for t, v in GOOD.items())
            + "    END IF\n"
            + "    flag = .FALSE.\n    text = 'x'\n  END SUBROUTINE\n"
            "  SUBROUTINE called(name, ierror, fails)\n    CHARACTER(LEN=*) :: name\n    INTEGER :: ierror\n    LOGICAL :: fails\n"
            "    checks = checks + 1\n    IF (good) THEN\n      IF (ierror == MPI_SUCCESS) CALL finish()\n"
            "      IF (ierror == MPI_SUCCESS) RETURN\n"
            "    ELSE IF (ierror /= -77 .AND. .NOT. (fails .AND. ierror == MPI_SUCCESS)) THEN\n      RETURN\n    END IF\n"
            "    failures = failures + 1\n"
            "    IF (good) PRINT *, name, ' says ', ierror, ', with arguments that are right'\n"
            "    IF (.NOT. good) PRINT *, name, ' says ', ierror, '; with null handles it has to say that something is wrong'\n"
            "  END SUBROUTINE\n"
            "  SUBROUTINE finish()\n    INTEGER :: ierr\n    IF (h_request == MPI_REQUEST_NULL) RETURN\n"
            "    CALL MPI_Wait(h_request, MPI_STATUS_IGNORE, ierr)\n"
            "    IF (h_request /= MPI_REQUEST_NULL) CALL MPI_Request_free(h_request, ierr)\n  END SUBROUTINE\n"
            "  LOGICAL FUNCTION wanted(name, with_good)\n    CHARACTER(LEN=*) :: name\n    LOGICAL :: with_good\n    wanted = with_good .OR. .NOT. good\n"
            "    IF (mode == 'trace' .AND. wanted) WRITE (0, '(A)') name\n  END FUNCTION\n")
    for i, chunk in enumerate(chunks):
        out += f"  SUBROUTINE part_{i}()\n" + "".join(call(p, prefix, f08, keywords) for p, prefix in chunk) + "  END SUBROUTINE\n"
    out += "END PROGRAM\n"
    if not f08:
        out += "SUBROUTINE nothing()\nEND SUBROUTINE\n"
    return out


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(program(sys.argv[1], sys.argv[3:] == ["i8"]))
