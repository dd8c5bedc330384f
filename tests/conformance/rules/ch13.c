// SPDX-License-Identifier: Apache-2.0
// Chapters 13, 15, 16 and 20: generalized requests, MPI_T, deprecated calls, the ABI.
#include "rules.h"

// --- 13: external interfaces
// -----------------------------------------------------------------------
static int queried, freed, cancel_complete = -1;
static int query(void* extra, MPI_Status* status) {
  ++queried;
  MPI_Status_set_elements(status, MPI_INT, *(int*)extra);
  MPI_Status_set_cancelled(status, 0);
  MPI_Status_set_source(status, 3);
  MPI_Status_set_tag(status, 4);
  return MPI_SUCCESS;
}
static int release(void* extra) {
  (void)extra;
  ++freed;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra;
  cancel_complete = complete;
  return MPI_SUCCESS;
}

static void generalized(void) {
  MPI_Request request;
  MPI_Status status;
  int elements = 5, flag = 7, n = -1;
  queried = freed = 0;
  OK(MPI_Grequest_start(query, release, cancel, &elements, &request));
  OK(MPI_Test(&request, &flag, &status));
  EQ(flag, 0), EQ(queried, 0);
  OK(MPI_Cancel(&request));
  EQ(cancel_complete, 0);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Request_get_status(request, &flag, &status));
  EQ(flag, 1), EQ(freed, 0);
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, MPI_INT, &n));
  EQ(n, 5), EQ(status.MPI_SOURCE, 3), EQ(status.MPI_TAG, 4), EQ(freed, 1);
  CHECK(request == MPI_REQUEST_NULL, "a completed generalized request is not null");
}

static void set_elements(void) {
  MPI_Status status;
  int n = -1, flag = -1;
  MPI_Count large = (MPI_Count)5 << 31, got = -1;
  OK(MPI_Status_set_elements_x(&status, MPI_BYTE, large));
  OK(MPI_Get_elements_x(&status, MPI_BYTE, &got));
  EQ(got, large);
  OK(MPI_Get_elements(&status, MPI_BYTE, &n));
  EQ(n, MPI_UNDEFINED);
  OK(MPI_Status_set_cancelled(&status, 1));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(flag, 1);
}

// --- 15: tools
// -------------------------------------------------------------------------------------
static void tool_counts(void) {
  int provided, n = -1, again = -1;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));  // may be nested
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_cvar_get_num(&n));
  OK(MPI_T_finalize());
  OK(MPI_T_cvar_get_num(&again));
  CHECK(again >= n, "the number of control variables fell from %d to %d", n, again);
  OK(MPI_T_finalize());
  EQ(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
}

static void tool_names(void) {
  int provided, n = -1, at = -1, verbosity, bind, scope, length, help;
  char name[200], text[2000];
  MPI_Datatype type;
  MPI_T_enum set;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_cvar_get_num(&n));
  for (int i = 0; i < n; ++i) {
    length = sizeof name, help = sizeof text;
    OK(MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &set, text, &help, &bind, &scope));
    EQ(length, strlen(name) + 1);
    OK(MPI_T_cvar_get_index(name, &at));
    EQ(at, i);
    if (set == MPI_T_ENUM_NULL) continue;
    int items = -1, value;
    length = sizeof name;
    OK(MPI_T_enum_get_info(set, &items, name, &length));
    for (int k = 0; k < items; ++k) {
      length = sizeof name;
      OK(MPI_T_enum_get_item(set, k, &value, name, &length));
      EQ(length, strlen(name) + 1);
    }
  }
  length = sizeof name, help = sizeof text;
  EQ(MPI_T_cvar_get_info(n, name, &length, &verbosity, &type, &set, text, &help, &bind, &scope),
     MPI_T_ERR_INVALID_INDEX);
  EQ(MPI_T_cvar_get_index("no such variable", &at), MPI_T_ERR_INVALID_NAME);
  EQ(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &at),
     MPI_T_ERR_INVALID_NAME);
  OK(MPI_T_finalize());
}

static void tool_categories(void) {
  int provided, n = -1, cvars, pvars, subs, events = -1, stamp = -1, length, help, at = -1;
  char name[200], text[2000];
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_category_changed(&stamp));
  OK(MPI_T_category_get_num(&n));
  for (int i = 0; i < n; ++i) {
    length = sizeof name, help = sizeof text;
    OK(MPI_T_category_get_info(i, name, &length, text, &help, &cvars, &pvars, &subs));
    OK(MPI_T_category_get_index(name, &at));
    EQ(at, i);
    OK(MPI_T_category_get_num_events(i, &events));
    int* list = alloc(sizeof(int) * (size_t)(cvars + pvars + subs + events + 1));
    OK(MPI_T_category_get_cvars(i, cvars, list));
    int last = -1;
    OK(MPI_T_cvar_get_num(&last));
    for (int k = 0; k < cvars; ++k)
      CHECK(list[k] >= 0 && list[k] < last, "category %s has variable %d of %d", name, list[k],
            last);
    OK(MPI_T_category_get_pvars(i, pvars, list));
    OK(MPI_T_pvar_get_num(&last));
    for (int k = 0; k < pvars; ++k)
      CHECK(list[k] >= 0 && list[k] < last, "category %s has performance variable %d of %d", name,
            list[k], last);
    OK(MPI_T_category_get_categories(i, subs, list));
    for (int k = 0; k < subs; ++k)
      CHECK(list[k] >= 0 && list[k] < n, "category %s has category %d of %d", name, list[k], n);
    OK(MPI_T_category_get_events(i, events, list));
    free(list);
  }
  int now = -2;
  OK(MPI_T_category_changed(&now));
  EQ(now, stamp);
  OK(MPI_T_finalize());
}

static void pcontrol(void) {
  for (int level = 0; level < 4; ++level) OK(MPI_Pcontrol(level, NULL));
}

static void tool_events(void) {
  int provided, events = -1, sources = -1, at = -1;
  MPI_Count stamp;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_event_get_num(&events));
  OK(MPI_T_source_get_num(&sources));
  CHECK(events >= 0 && sources >= 0, "%d events, %d sources", events, sources);
  EQ(MPI_T_event_get_index("no such event", &at), MPI_T_ERR_INVALID_NAME);
  EQ(MPI_T_source_get_timestamp(sources, &stamp), MPI_T_ERR_INVALID_INDEX);
  OK(MPI_T_finalize());
}

// --- 16: deprecated calls still work
// ---------------------------------------------------------------
static void old_attributes(void) {
  int key = -1, number = 9, flag = -1, *value = NULL;
  OK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Attr_put(comm, key, &number));
  OK(MPI_Attr_get(comm, key, &value, &flag));
  CHECK(flag == 1 && value == &number, "the attribute is another");
  OK(MPI_Comm_get_attr(comm, key, &value, &flag));  // one and the same
  EQ(flag, 1);
  OK(MPI_Attr_delete(comm, key));
  OK(MPI_Attr_get(comm, key, &value, &flag));
  EQ(flag, 0);
  OK(MPI_Keyval_free(&key));
  EQ(key, MPI_KEYVAL_INVALID);
}

static void x_forms(void) {
  MPI_Datatype type;
  MPI_Count low = -1, extent = -1, bytes = -1;
  OK(MPI_Type_create_resized(MPI_INT, -4, 24, &type));
  OK(MPI_Type_get_extent_x(type, &low, &extent));
  EQ(low, -4), EQ(extent, 24);
  OK(MPI_Type_get_true_extent_x(type, &low, &extent));
  EQ(low, 0), EQ(extent, 4);
  OK(MPI_Type_size_x(type, &bytes));
  EQ(bytes, 4);
  OK(MPI_Type_free(&type));
}

// --- 20: the ABI
// -----------------------------------------------------------------------------------
static void abi_version(void) {
  int major = -1, minor = -1, n = -1;
  MPI_Info info;
  OK(MPI_Abi_get_version(&major, &minor));
  EQ(major, MPI_ABI_VERSION), EQ(minor, MPI_ABI_SUBVERSION);
  OK(MPI_Abi_get_info(&info));
  OK(MPI_Info_get_nkeys(info, &n));
  CHECK(n > 0, "the ABI info is empty");
  char value[20] = "?";
  int length = sizeof value, flag = -1;
  OK(MPI_Info_get_string(info, "mpi_aint_size", &length, value, &flag));
  EQ(flag, 1);
  EQ(atoi(value), (int)sizeof(MPI_Aint));
  OK(MPI_Info_free(&info));
}

static void handle_integers(void) {
  MPI_Message none = MPI_MESSAGE_NO_PROC;
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm, "a communicator does not come back");
  CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT, "MPI_INT does not come back");
  EQ(MPI_Type_toint(MPI_INT), (int)(intptr_t)MPI_INT);  // predefined: the value itself
  EQ(MPI_Comm_toint(MPI_COMM_WORLD), (int)(intptr_t)MPI_COMM_WORLD);
  CHECK(MPI_Message_fromint(MPI_Message_toint(none)) == none,
        "MPI_MESSAGE_NO_PROC does not come back");
  MPI_Message message;
  MPI_Request request;
  int in = -1;
  OK(MPI_Isend(&rank, 1, MPI_INT, right, 0, comm, &request));
  OK(MPI_Mprobe(left, 0, comm, &message, MPI_STATUS_IGNORE));
  CHECK(MPI_Message_fromint(MPI_Message_toint(message)) == message, "a message does not come back");
  CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request, "a request does not come back");
  OK(MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ(in, left);
}

static void abi_sizes(void) {
  EQ(sizeof(MPI_Status), 32);
  EQ(sizeof(MPI_Count), 8), EQ(sizeof(MPI_Aint), sizeof(void*)), EQ(sizeof(MPI_Offset), 8);
  EQ((intptr_t)MPI_COMM_NULL & ~0x3ff, 0);  // predefined handles are below 1024, null ones not 0
  CHECK(MPI_COMM_NULL != 0 && MPI_REQUEST_NULL != 0 && MPI_DATATYPE_NULL != 0,
        "a null handle is 0");
}

static const Rule table[] = {
    {"13.2-generalized", generalized,
     "query runs before a status is returned, free at its end; cancel is told if complete"},
    {"13.3-set-elements", set_elements,
     "what was set in a status is what Get_elements and Test_cancelled return"},
    {"15.2.4-pcontrol", pcontrol, "without a tool MPI_Pcontrol takes every level and does nothing"},
    {"15.3.4-nested", tool_counts,
     "MPI_T may be initialized several times, and ends with the last finalize"},
    {"15.3.6-names", tool_names,
     "variables have names, found by index and by name; wrong ones have their error"},
    {"15.3.9-categories", tool_categories,
     "categories name variables that exist; the stamp changes with them only"},
    {"15.3.8-events", tool_events,
     "events and sources can be counted; wrong ones have their error"},
    {"16.1-attributes", old_attributes, "the deprecated attribute calls are the new ones"},
    {"16.1-x-forms", x_forms, "the deprecated _x calls return what the _c calls do"},
    {"20-version", abi_version, "Abi_get_version is that of mpi.h; Abi_get_info tells the sizes"},
    {"20-handle-integers", handle_integers,
     "toint and fromint are inverse; predefined handles are their own integers"},
    {"20-sizes", abi_sizes, "the types have the sizes of the ABI, and no null handle is 0"},
};
RULES(table)
