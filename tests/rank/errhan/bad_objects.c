// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of calls about communicators, groups, types, operations, attributes and info.
#include "bad.h"

static void comms_and_groups(void) {
  MPI_Comm comm, world = MPI_COMM_WORLD;
  MPI_Group group, other, null = MPI_GROUP_NULL;
  int value, twice[2] = {0, 0}, far = size + 4, range[1][3] = {{0, 0, 0}};
  BAD(MPI_Comm_size(MPI_COMM_NULL, &value), MPI_ERR_COMM, "MPI_COMM_NULL");
  BAD(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "null");
  BAD(MPI_Comm_free(&world), MPI_ERR_COMM, "MPI_COMM_WORLD");
  BAD(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &comm), MPI_ERR_ARG, "-5");
  BAD(MPI_Comm_dup(MPI_COMM_NULL, &comm), MPI_ERR_COMM, "MPI_COMM_NULL");
  BAD(MPI_Comm_remote_size(MPI_COMM_WORLD, &value), MPI_ERR_COMM, "intercommunicator");
  BAD(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm), MPI_ERR_GROUP, "MPI_GROUP_NULL");
  BAD(MPI_Group_size(MPI_GROUP_NULL, &value), MPI_ERR_GROUP, "MPI_GROUP_NULL");
  BAD(MPI_Group_free(&null), MPI_ERR_GROUP, "MPI_GROUP_NULL");
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  BAD(MPI_Group_incl(group, 1, &far, &other), MPI_ERR_RANK);
  BAD(MPI_Group_incl(group, 2, twice, &other), MPI_ERR_RANK, "twice");
  BAD(MPI_Group_incl(group, -1, twice, &other), EITHER(MPI_ERR_ARG, MPI_ERR_COUNT), "-1");
  BAD(MPI_Group_range_incl(group, 1, range, &other), MPI_ERR_ARG, "stride");
  BAD(MPI_Group_translate_ranks(group, 1, &far, group, &value), MPI_ERR_RANK);
  OK(MPI_Group_free(&group));
}

static void types_and_ops(void) {
  MPI_Datatype type, predefined = MPI_INT;
  MPI_Op op = MPI_SUM;
  const int lengths[2] = {1, -2}, places[2] = {0, 4};
  const int whole[1] = {10}, part[1] = {8}, from[1] = {5};
  char room[8];
  int position = 0, value[4] = {0};
  MPI_Aint low, extent;
  BAD(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT, "-1");
  BAD(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
  BAD(MPI_Type_vector(2, -3, 1, MPI_INT, &type), EITHER(MPI_ERR_ARG, MPI_ERR_COUNT), "-3");
  BAD(MPI_Type_indexed(2, lengths, places, MPI_INT, &type), EITHER(MPI_ERR_ARG, MPI_ERR_COUNT),
      "-2");
  BAD(MPI_Type_create_subarray(1, whole, part, from, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
  BAD(MPI_Type_free(&predefined), MPI_ERR_TYPE, "MPI_INT");
  BAD(MPI_Type_get_extent(MPI_DATATYPE_NULL, &low, &extent), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
  BAD(MPI_Pack(value, 4, MPI_INT, room, sizeof room, &position, MPI_COMM_WORLD),
      EITHER(MPI_ERR_TRUNCATE, MPI_ERR_ARG), "8", "16");
  BAD(MPI_Op_free(&op), MPI_ERR_OP, "MPI_SUM");
  op = MPI_OP_NULL;
  BAD(MPI_Op_free(&op), MPI_ERR_OP, "MPI_OP_NULL");
}

static void attributes_and_info(void) {
  int key = MPI_KEYVAL_INVALID, flag;
  void* value;
  char text[300], long_key[MPI_MAX_INFO_KEY + 10];
  MPI_Info info;
  BAD(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL,
      "MPI_KEYVAL_INVALID");
  BAD(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
  OK(MPI_Info_create(&info));
  memset(long_key, 'k', sizeof long_key - 1);
  long_key[sizeof long_key - 1] = 0;
  BAD(MPI_Info_set(info, long_key, "x"), MPI_ERR_INFO_KEY);
  BAD(MPI_Info_set(info, "", "x"), MPI_ERR_INFO_KEY);
  BAD(MPI_Info_delete(info, "nothing"), MPI_ERR_INFO_NOKEY, "nothing");
  BAD(MPI_Info_get_nthkey(info, 3, text), MPI_ERR_ARG, "3");
  BAD(MPI_Info_dup(MPI_INFO_NULL, &info), MPI_ERR_INFO, "MPI_INFO_NULL");
  BAD(MPI_Info_set(MPI_INFO_NULL, "a", "b"), MPI_ERR_INFO, "MPI_INFO_NULL");
  OK(MPI_Info_free(&info));
  BAD(MPI_Error_class(-1, &flag), MPI_ERR_ARG, "-1");
}

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  comms_and_groups();
  types_and_ops();
  attributes_and_info();
  return finish();
}
