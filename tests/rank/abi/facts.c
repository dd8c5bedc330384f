// SPDX-License-Identifier: Apache-2.0
// What may be asked before MPI_Init and after MPI_Finalize, versions and facts of the ABI, handles
// as integers, the clock, memory, address arithmetic, PMPI names.
#include "../check.h"

static void before_and_after(int initialized, int finalized) {
  int flag = -1, version = 0, subversion = -1, length = 0;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Info info;
  OK(MPI_Initialized(&flag));
  EQ(flag, initialized);
  OK(MPI_Finalized(&flag));
  EQ(flag, finalized);
  OK(MPI_Get_version(&version, &subversion));
  EQ(version, 5);
  EQ(subversion, 0);
  OK(MPI_Get_library_version(text, &length));
  EQ((int)strlen(text), length);
  CHECK(strstr(text, "weft"), "the library calls itself '%s'", text);
  OK(MPI_Abi_get_version(&version, &subversion));
  EQ(version, MPI_ABI_VERSION);
  EQ(subversion, MPI_ABI_SUBVERSION);
  OK(MPI_Abi_get_info(&info));
  OK(MPI_Info_get_string(info, "mpi_aint_size", (length = sizeof text, &length), text, &flag));
  EQ(flag, 1);
  EQ(atoi(text), (int)sizeof(MPI_Aint));
  OK(MPI_Info_free(&info));
  CHECK(info == MPI_INFO_NULL, "MPI_Info_free leaves the handle");
}

static void handles_as_integers(void) {
  MPI_Comm dup;
  MPI_Datatype type;
  MPI_Group group;
  EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
  EQ(MPI_Type_toint(MPI_INT), 0x209);
  CHECK(MPI_Comm_fromint(0x100) == MPI_COMM_NULL, "0x100 is not MPI_COMM_NULL");
  CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM, "MPI_SUM changes on its way");
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  OK(MPI_Comm_group(dup, &group));
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(dup)) == dup, "a communicator changes on its way");
  CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type, "a datatype changes on its way");
  CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group, "a group changes on its way");
  CHECK(MPI_Comm_toint(dup) != MPI_Type_toint(type), "two objects have one number");
  OK(MPI_Group_free(&group));
  OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&dup));
}

static void small_things(void) {
  char name[MPI_MAX_PROCESSOR_NAME], yes[8], no[8];
  int length = 0, flag = 0, provided = -1;
  void* memory = NULL;
  MPI_Aint a, b;
  int array[4];
  OK(MPI_Get_processor_name(name, &length));
  EQ((int)strlen(name), length);
  const double t = MPI_Wtime();
  CHECK(MPI_Wtime() >= t && MPI_Wtick() > 0 && MPI_Wtick() < 1e-3,
        "the clock goes back or is coarse");
  OK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory));
  memset(memory, 1, 1000);
  OK(MPI_Free_mem(memory));
  OK(MPI_Get_address(&array[0], &a));
  OK(MPI_Get_address(&array[3], &b));
  EQ(MPI_Aint_diff(b, a), 3 * sizeof(int));
  EQ(MPI_Aint_add(a, 3 * sizeof(int)), b);
  OK(MPI_Is_thread_main(&flag));
  EQ(flag, 1);
  OK(MPI_Query_thread(&provided));
  EQ(provided, MPI_THREAD_SINGLE);
  OK(MPI_Abi_get_fortran_booleans(4, yes, no, &flag));
  EQ(flag, 1);
  CHECK(memcmp(yes, no, 4) != 0, "true is false");
  OK(MPI_Abi_set_fortran_booleans(4, yes, no));
  EQ(MPI_Abi_set_fortran_booleans(4, no, yes), MPI_ERR_ABI);
  OK(PMPI_Comm_rank(MPI_COMM_WORLD, &length));
  EQ(length, rank);
}

int main(int argc, char** argv) {
  before_and_after(0, 0);
  start(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  before_and_after(1, 0);
  handles_as_integers();
  small_things();
  OK(MPI_Finalize());
  before_and_after(1, 1);
  return verdict();
}
