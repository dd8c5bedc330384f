// SPDX-License-Identifier: Apache-2.0
// The standard ABI's own calls: version, info, integers for handles; constants of the header seen
// by the library.
#include "../check.h"

int main(int argc, char** argv) {
  int major = -1, minor = -1;
  OK(MPI_Abi_get_version(&major, &minor));  // allowed before Init
  EQ(major, MPI_ABI_VERSION);
  CHECK(minor >= 0, "the ABI's minor version is %d", minor);
  MPI_Info info;
  char value[50];
  int flag = 0;
  OK(MPI_Abi_get_info(&info));
  OK(MPI_Info_get(info, "mpi_aint_size", 49, value, &flag));
  EQ(flag, 1);
  if (flag) EQ(atoi(value), sizeof(MPI_Aint));
  OK(MPI_Info_get(info, "mpi_count_size", 49, value, &flag));
  EQ(flag, 1);
  if (flag) EQ(atoi(value), sizeof(MPI_Count));
  OK(MPI_Info_get(info, "mpi_offset_size", 49, value, &flag));
  EQ(flag, 1);
  OK(MPI_Info_free(&info));
  OK(MPI_Abi_get_fortran_info(&info));
  OK(MPI_Info_get(info, "mpi_integer_size", 49, value, &flag));
  CHECK(flag && strcmp(value, "4") == 0, "mpi_integer_size is '%s'", flag ? value : "not there");
  OK(MPI_Info_get(info, "mpi_real16_supported", 49, value, &flag));
  CHECK(flag && strcmp(value, "true") == 0, "MPI_REAL16 is supported: '%s'", flag ? value : "?");
  OK(MPI_Abi_set_fortran_info(info));
  OK(MPI_Info_free(&info));
  start(&argc, &argv);
  EQ(MPI_Comm_toint(MPI_COMM_WORLD), (intptr_t)MPI_COMM_WORLD);
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_SELF)) == MPI_COMM_SELF,
        "MPI_COMM_SELF does not survive its integer");
  CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE,
        "MPI_DOUBLE does not survive its integer");
  CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM, "MPI_SUM does not survive its integer");
  CHECK(MPI_Group_fromint(MPI_Group_toint(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY,
        "MPI_GROUP_EMPTY does not survive its integer");
  CHECK(MPI_Info_fromint(MPI_Info_toint(MPI_INFO_ENV)) == MPI_INFO_ENV,
        "MPI_INFO_ENV does not survive its integer");
  CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL,
        "MPI_REQUEST_NULL does not survive its integer");
  CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN,
        "MPI_ERRORS_RETURN does not survive its integer");
  MPI_Comm comm;
  MPI_Datatype type;
  int sum = 0, one = 1;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_Comm again = MPI_Comm_fromint(MPI_Comm_toint(comm));
  CHECK(again == comm, "a communicator does not survive its integer");
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, again));
  EQ(sum, size);
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type, "a type does not survive its integer");
  OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&comm));
  return finish();
}
