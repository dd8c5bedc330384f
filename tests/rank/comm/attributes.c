// SPDX-License-Identifier: Apache-2.0
// Attributes of communicators: predefined ones, copy and delete callbacks, replacing, deleting,
// freeing; info of communicators.
#include "../check.h"

static int copied, deleted;

static int copy_plus(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key;
  ++copied;
  *(void**)out = (char*)in + *(int*)extra;
  *flag = 1;
  return MPI_SUCCESS;
}
static int count_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}
static int refuse(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  return MPI_ERR_OTHER;
}

static char* get(MPI_Comm comm, int key) {
  void* value = NULL;
  int flag = 0;
  OK(MPI_Comm_get_attr(comm, key, &value, &flag));
  return flag ? value : (char*)-1;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int key, dup_key, none_key, plus = 5, *value = NULL, flag = 0, index = 0;
  MPI_Comm comm, other;
  char base[16];
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_create_keyval(copy_plus, count_delete, &key, &plus));
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none_key, NULL));
  CHECK(get(comm, key) == (char*)-1, "an attribute is there before it was set");
  OK(MPI_Comm_set_attr(comm, key, base));
  OK(MPI_Comm_set_attr(comm, dup_key, base + 1));
  OK(MPI_Comm_set_attr(comm, none_key, base + 2));
  CHECK(get(comm, key) == base, "the attribute is not what was set");
  OK(MPI_Comm_dup(comm, &other));
  EQ(copied, 1);
  CHECK(get(other, key) == base + 5, "the copy callback's value is not there");
  CHECK(get(other, dup_key) == base + 1, "MPI_COMM_DUP_FN did not copy");
  CHECK(get(other, none_key) == (char*)-1, "MPI_COMM_NULL_COPY_FN copied");
  OK(MPI_Comm_set_attr(other, key, base + 9));  // replacing deletes the old one
  EQ(deleted, 1);
  OK(MPI_Comm_delete_attr(other, key));
  EQ(deleted, 2);
  CHECK(get(other, key) == (char*)-1, "a deleted attribute is still there");
  OK(MPI_Comm_free(&other));
  EQ(deleted, 2);
  OK(MPI_Comm_free_keyval(&key));
  EQ(key, MPI_KEYVAL_INVALID);
  OK(MPI_Comm_free(&comm));
  EQ(deleted, 3);
  OK(MPI_Comm_free_keyval(&dup_key));
  OK(MPI_Comm_free_keyval(&none_key));
  // A delete callback that refuses makes the call fail.
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL));
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_attr(comm, key, NULL));
  CHECK(MPI_Comm_delete_attr(comm, key) != MPI_SUCCESS,
        "a delete callback that refuses was ignored");
  OK(MPI_Comm_free_keyval(&key));
  // Predefined attributes.
  const int keys[] = {MPI_TAG_UB, MPI_IO, MPI_WTIME_IS_GLOBAL};
  for (index = 0; index < 3; ++index) {
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, keys[index], &value, &flag));
    EQ(flag, 1);
  }
  MPI_Info info;
  OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
  CHECK(info != MPI_INFO_NULL, "Comm_get_info gave no info");
  OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
  OK(MPI_Info_free(&info));
  return finish();
}
