// SPDX-License-Identifier: Apache-2.0
// Handles that are freed, null, of another kind of object, or (with ranks as threads) of another
// rank: every kind of object says which of these it is. Other libraries may crash on them. A type
// or a request of another rank is not told from an own one.
#include <sys/syscall.h>  // the process's number; getpid is the rank's
#include <unistd.h>

#include "bad.h"

static const MPI_Comm world = MPI_COMM_WORLD;
static int value, flag;

static void ignore(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
}

static void groups(void) {
  MPI_Group group, kept;
  OK(MPI_Comm_group(world, &group));
  kept = group;
  OK(MPI_Group_free(&group));
  BAD(MPI_Group_size(kept, &value), MPI_ERR_GROUP, "freed");
  BAD(MPI_Group_free(&kept), MPI_ERR_GROUP, "freed");
  BAD(MPI_Group_size((MPI_Group)MPI_COMM_WORLD, &value), MPI_ERR_GROUP, "is MPI_COMM_WORLD");
  BAD(MPI_Group_size((MPI_Group)0, &value), MPI_ERR_GROUP, "no handle");
  BAD(MPI_Group_size((MPI_Group)&value, &value), MPI_ERR_GROUP, "no handle of this process");
}

static void operations(void) {
  MPI_Op op, kept;
  int in = 1, out;
  OK(MPI_Op_create(ignore, 1, &op));
  kept = op;
  OK(MPI_Op_free(&op));
  BAD(MPI_Allreduce(&in, &out, 1, MPI_INT, kept, world), MPI_ERR_OP, "freed");
  BAD(MPI_Op_free(&kept), MPI_ERR_OP, "freed");
  BAD(MPI_Allreduce(&in, &out, 1, MPI_INT, (MPI_Op)MPI_INT, world), MPI_ERR_OP, "is MPI_INT");
  BAD(MPI_Op_commutative(MPI_OP_NULL, &flag), MPI_ERR_OP, "MPI_OP_NULL");
}

static void infos(void) {
  MPI_Info info, kept, env = MPI_INFO_ENV, null = MPI_INFO_NULL;
  MPI_Comm copy;
  OK(MPI_Info_create(&info));
  kept = info;
  OK(MPI_Info_free(&info));
  BAD(MPI_Info_set(kept, "a", "b"), MPI_ERR_INFO, "freed");
  BAD(MPI_Info_free(&kept), MPI_ERR_INFO, "freed");
  BAD(MPI_Comm_set_info(world, kept), MPI_ERR_INFO, "freed");
  BAD(MPI_Comm_dup_with_info(world, kept, &copy), MPI_ERR_INFO, "freed");
  BAD(MPI_Info_set((MPI_Info)MPI_SUM, "a", "b"), MPI_ERR_INFO, "is MPI_SUM");
  BAD(MPI_Info_free(&env), MPI_ERR_INFO, "predefined");
  BAD(MPI_Info_free(&null), MPI_ERR_INFO, "MPI_INFO_NULL");
}

static void handlers(void) {
  MPI_Errhandler made, kept, null = MPI_ERRHANDLER_NULL;
  OK(MPI_Comm_create_errhandler(handler, &made));
  kept = made;
  OK(MPI_Errhandler_free(&made));
  BAD(MPI_Comm_set_errhandler(world, kept), MPI_ERR_ERRHANDLER, "freed");
  BAD(MPI_Errhandler_free(&kept), MPI_ERR_ERRHANDLER, "freed");
  BAD(MPI_Comm_set_errhandler(world, null), MPI_ERR_ERRHANDLER, "MPI_ERRHANDLER_NULL");
  BAD(MPI_Comm_set_errhandler(world, (MPI_Errhandler)MPI_INT), MPI_ERR_ERRHANDLER, "is MPI_INT");
  BAD(MPI_Errhandler_free(&null), MPI_ERR_ERRHANDLER, "MPI_ERRHANDLER_NULL");
}

static void types(void) {
  MPI_Datatype type, kept, null = MPI_DATATYPE_NULL, other = (MPI_Datatype)MPI_COMM_WORLD;
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  kept = type;
  OK(MPI_Type_free(&type));
  BAD(MPI_Type_commit(&kept), MPI_ERR_TYPE, "freed");
  BAD(MPI_Type_free(&kept), MPI_ERR_TYPE, "freed");
  BAD(MPI_Type_size(kept, &value), MPI_ERR_TYPE, "freed");
  BAD(MPI_Type_contiguous(2, kept, &type), MPI_ERR_TYPE, "freed");
  BAD(MPI_Type_dup(kept, &type), MPI_ERR_TYPE, "freed");
  BAD(MPI_Type_commit(&other), MPI_ERR_TYPE, "is MPI_COMM_WORLD");
  BAD(MPI_Type_commit(&null), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
  BAD(MPI_Type_free(&null), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
}

static void communicators(void) {
  MPI_Comm comm, kept, null = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  kept = comm;
  OK(MPI_Comm_free(&comm));
  BAD(MPI_Comm_size(kept, &value), MPI_ERR_COMM, "freed");
  BAD(MPI_Comm_free(&kept), MPI_ERR_COMM, "freed");
  BAD(MPI_Comm_dup(kept, &comm), MPI_ERR_COMM, "freed");
  BAD(MPI_Comm_set_name(kept, "x"), MPI_ERR_COMM, "freed");
  BAD(MPI_Comm_free(&null), MPI_ERR_COMM, "MPI_COMM_NULL");
  BAD(MPI_Comm_size((MPI_Comm)MPI_SUM, &value), MPI_ERR_COMM, "is MPI_SUM");
}

static void messages(void) {
  MPI_Message message = MPI_MESSAGE_NULL, kept;
  MPI_Request request;
  BAD(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_REQUEST,
      "MPI_MESSAGE_NULL");
  message = (MPI_Message)MPI_COMM_WORLD;
  BAD(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_REQUEST,
      "is MPI_COMM_WORLD");
  OK(MPI_Isend(&value, 1, MPI_INT, rank, 9, world, &request));
  OK(MPI_Mprobe(rank, 9, world, &message, MPI_STATUS_IGNORE));
  kept = message;
  OK(MPI_Mrecv(&flag, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  BAD(MPI_Mrecv(&value, 1, MPI_INT, &kept, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "freed");
}

static int deleted;
static int count_delete(MPI_Comm comm, int key, void* attribute, void* extra) {
  (void)comm, (void)key, (void)attribute, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

static void keyvals(void) {
  int key, kept, again, predefined = MPI_TAG_UB;
  void* got;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_delete, &key, NULL));
  kept = key;
  OK(MPI_Comm_set_attr(world, key, &value));
  OK(MPI_Comm_free_keyval(&key));
  again = kept;
  OK(MPI_Comm_free_keyval(&again));  // attributes keep it: as if it were another reference
  EQ(again, MPI_KEYVAL_INVALID);
  BAD(MPI_Comm_set_attr(MPI_COMM_SELF, kept, &value), MPI_ERR_KEYVAL, "freed");
  OK(MPI_Comm_get_attr(world, kept, &got, &flag));
  EQ(flag, 1);
  OK(MPI_Comm_delete_attr(world, kept));  // the last that used it
  EQ(deleted, 1);
  BAD(MPI_Comm_delete_attr(world, kept), MPI_ERR_KEYVAL, "freed");
  BAD(MPI_Comm_get_attr(world, kept, &got, &flag), MPI_ERR_KEYVAL, "freed");
  BAD(MPI_Comm_free_keyval(&kept), MPI_ERR_KEYVAL, "freed");
  BAD(MPI_Comm_free_keyval(&predefined), MPI_ERR_KEYVAL, "predefined");
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_delete, &key, NULL));
  BAD(MPI_Type_set_attr(MPI_INT, key, &value), MPI_ERR_KEYVAL, "communicators");
  OK(MPI_Comm_set_attr(world, key, &value));
  OK(MPI_Comm_delete_attr(world, key));
  OK(MPI_Comm_delete_attr(world, key));  // nothing there: nothing happens
  EQ(deleted, 2);
  OK(MPI_Comm_free_keyval(&key));
}

// The handles of the left neighbor, where its objects are in this process.
static void foreign(void) {
  struct {
    MPI_Comm comm;
    MPI_Group group;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    int process;
  } mine, theirs;
  int data = 0, out;
  mine.process = (int)syscall(SYS_getpid);
  OK(MPI_Comm_dup(MPI_COMM_SELF, &mine.comm));
  OK(MPI_Comm_group(world, &mine.group));
  OK(MPI_Op_create(ignore, 1, &mine.op));
  OK(MPI_Info_create(&mine.info));
  OK(MPI_Comm_create_errhandler(handler, &mine.handler));
  OK(MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, right_of(rank), 0, &theirs, sizeof theirs, MPI_BYTE,
                  left_of(rank), 0, world, MPI_STATUS_IGNORE));
  if (size > 1 && theirs.process == mine.process) {
    BAD(MPI_Comm_size(theirs.comm, &value), MPI_ERR_COMM, "another rank");
    BAD(MPI_Group_size(theirs.group, &value), MPI_ERR_GROUP, "another rank");
    BAD(MPI_Allreduce(&data, &out, 1, MPI_INT, theirs.op, MPI_COMM_SELF), MPI_ERR_OP,
        "another rank");
    BAD(MPI_Info_set(theirs.info, "a", "b"), MPI_ERR_INFO, "another rank");
    BAD(MPI_Comm_set_errhandler(MPI_COMM_SELF, theirs.handler), MPI_ERR_ERRHANDLER, "another rank");
  }
  OK(MPI_Barrier(world));
  OK(MPI_Comm_free(&mine.comm));
  OK(MPI_Group_free(&mine.group));
  OK(MPI_Op_free(&mine.op));
  OK(MPI_Info_free(&mine.info));
  OK(MPI_Errhandler_free(&mine.handler));
}

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  if (is_weft) {
    groups();
    operations();
    infos();
    handlers();
    types();
    communicators();
    messages();
    foreign();
  }
  keyvals();
  return finish();
}
