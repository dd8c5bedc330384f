// SPDX-License-Identifier: Apache-2.0
// MPI_T: every control variable can be read, every performance variable counts what this rank did,
// wrong indices and handles are refused without an error handler.
#include "../check.h"

static void control_variables(void) {
  int n = 0, index = -1;
  OK(MPI_T_cvar_get_num(&n));
  CHECK(n > 5, "only %d control variables", n);
  for (int i = 0; i < n; ++i) {
    char name[128], help[512], text[4096];
    int name_len = sizeof name, help_len = sizeof help, verbosity, bind, scope, count = 0,
        same = -1;
    long long value = 0;
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_T_cvar_handle handle;
    OK(MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &values, help, &help_len, &bind,
                           &scope));
    EQ(name_len, (int)strlen(name) + 1);
    CHECK(help[0] != 0, "%s has no help", name);
    EQ(bind, MPI_T_BIND_NO_OBJECT);
    OK(MPI_T_cvar_get_index(name, &same));
    EQ(same, i);
    OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
    if (type == MPI_CHAR) {
      CHECK(count < (int)sizeof text, "%s has %d characters", name, count);
      OK(MPI_T_cvar_read(handle, text));
      EQ((int)strlen(text) + 1, count);
    } else {
      EQ(count, 1);
      OK(MPI_T_cvar_read(handle, type == MPI_INT ? (void*)&same : (void*)&value));
    }
    EQ(MPI_T_cvar_write(handle, &value), MPI_T_ERR_CVAR_SET_NEVER);
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL, "the freed handle is not null");
  }
  // A short buffer gets the beginning, and the length tells what is needed. Null pointers are fine.
  char little[4];
  int little_len = sizeof little;
  OK(MPI_T_cvar_get_info(0, little, &little_len, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  EQ((int)strlen(little), 3);
  CHECK(little_len > 4, "the needed length is %d", little_len);
  EQ(MPI_T_cvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
     MPI_T_ERR_INVALID_INDEX);
  EQ(MPI_T_cvar_get_index("no.such", &index), MPI_T_ERR_INVALID_NAME);
}

static unsigned long long sent(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

static void performance_variables(void) {
  int n = 0, index = -1, count = 0;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_num(&n));
  CHECK(n > 5, "only %d performance variables", n);
  for (int i = 0; i < n; ++i) {
    char name[128];
    int name_len = sizeof name, class, same = -1;
    MPI_Datatype type;
    OK(MPI_T_pvar_get_info(i, name, &name_len, NULL, &class, &type, NULL, NULL, NULL, NULL, NULL,
                           NULL, NULL));
    CHECK(type == MPI_UNSIGNED_LONG_LONG, "%s has another type", name);
    OK(MPI_T_pvar_get_index(name, class, &same));
    EQ(same, i);
  }
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_get_index("messages_sent", MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  EQ(count, 1);
  OK(MPI_T_pvar_start(session, handle));
  const unsigned long long before = sent(session, handle);
  for (int i = 0; i < 10; ++i) {
    int out = i, in = -1;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, right_of(rank), 0, &in, 1, MPI_INT, left_of(rank), 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(in, i);
  }
  EQ(sent(session, handle) - before, 10);
  EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  OK(MPI_T_pvar_reset(session, handle));
  OK(MPI_T_pvar_handle_free(session, &handle));
  EQ(MPI_T_pvar_read(session, handle, &count), MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_pvar_session_free(&session));
  CHECK(session == MPI_T_PVAR_SESSION_NULL, "the freed session is not null");
}

static void categories(void) {
  int n = 0, cvars = 0, pvars = 0, all_cvars = 0, all_pvars = 0, total = 0, index = -1;
  OK(MPI_T_category_get_num(&n));
  for (int i = 0; i < n; ++i) {
    char name[64];
    int name_len = sizeof name, indices[256], same = -1;
    OK(MPI_T_category_get_info(i, name, &name_len, NULL, NULL, &cvars, &pvars, NULL));
    OK(MPI_T_category_get_index(name, &same));
    EQ(same, i);
    OK(MPI_T_category_get_cvars(i, 256, indices));
    all_cvars += cvars;
    all_pvars += pvars;
  }
  OK(MPI_T_cvar_get_num(&total));
  EQ(all_cvars, total);
  OK(MPI_T_pvar_get_num(&total));
  EQ(all_pvars, total);
  EQ(MPI_T_category_get_index("nothing", &index), MPI_T_ERR_INVALID_NAME);
  OK(MPI_T_event_get_num(&n));
  EQ(n, 0);
}

int main(int argc, char** argv) {
  int provided = 0, n = 0;
  EQ(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_cvar_get_num(&n));  // also before MPI_Init
  start(&argc, &argv);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  control_variables();
  performance_variables();
  categories();
  OK(MPI_T_finalize());
  OK(MPI_T_finalize());
  EQ(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
  return finish();
}
