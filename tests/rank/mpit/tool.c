// SPDX-License-Identifier: Apache-2.0
// MPI_T: control and performance variables can be listed, found by name, read and, where allowed,
// written; on weft the counters of copies and messages move when messages do.
#include "../check.h"

static void control_variables(void) {
  int count = 0, readable = 0;
  OK(MPI_T_cvar_get_num(&count));
  CHECK(count > 0, "there are %d control variables", count);
  for (int i = 0; i < count; ++i) {
    char name[256], words[1024];
    int name_room = sizeof name, words_room = sizeof words, verbosity, bind, scope, elements = 0,
        found = -1;
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_T_cvar_handle handle;
    OK(MPI_T_cvar_get_info(i, name, &name_room, &verbosity, &type, &values, words, &words_room,
                           &bind, &scope));
    CHECK(strlen(name) > 0 && strlen(words) > 0, "control variable %d is named '%s' and says '%s'",
          i, name, words);
    OK(MPI_T_cvar_get_index(name, &found));
    EQ(found, i);
    if (bind != MPI_T_BIND_NO_OBJECT) continue;
    OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements));
    CHECK(elements >= 1, "%s has %d elements", name, elements);
    if (type == MPI_INT && elements == 1) {
      int value = 0;
      OK(MPI_T_cvar_read(handle, &value));
      if (scope != MPI_T_SCOPE_CONSTANT && scope != MPI_T_SCOPE_READONLY) {
        OK(MPI_T_cvar_write(handle, &value));
      }
      ++readable;
    } else if (type == MPI_CHAR) {
      char* text = alloc((size_t)elements + 1);
      OK(MPI_T_cvar_read(handle, text));
      free(text);
      ++readable;
    }
    OK(MPI_T_cvar_handle_free(&handle));
  }
  (void)readable;
}

static void performance_variables(void) {
  int count = 0, moved = 0;
  MPI_T_pvar_session session;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  OK(MPI_Get_library_version(version, &length));
  OK(MPI_T_pvar_get_num(&count));
  OK(MPI_T_pvar_session_create(&session));
  for (int i = 0; i < count; ++i) {
    char name[256], words[1024];
    int name_room = sizeof name, words_room = sizeof words, verbosity, class, bind, readonly,
        continuous, atomic, elements = 0;
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_T_pvar_handle handle;
    OK(MPI_T_pvar_get_info(i, name, &name_room, &verbosity, &class, &type, &values, words,
                           &words_room, &bind, &readonly, &continuous, &atomic));
    CHECK(strlen(name) > 0, "performance variable %d has no name", i);
    if (bind != MPI_T_BIND_NO_OBJECT || class != MPI_T_PVAR_CLASS_COUNTER) continue;
    if (type != MPI_UNSIGNED_LONG_LONG && type != MPI_UNSIGNED_LONG) continue;
    int found = -1;
    OK(MPI_T_pvar_get_index(name, class, &found));
    EQ(found, i);
    OK(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements));
    if (elements == 1) {
      uint64_t before = 0, after = 0;
      if (!continuous) OK(MPI_T_pvar_start(session, handle));
      OK(MPI_T_pvar_read(session, handle, &before));
      char *data = alloc(100000), *in = alloc(100000);
      memset(data, 1, 100000);
      for (int k = 0; k < 10; ++k) {
        OK(MPI_Sendrecv(data, 100000, MPI_CHAR, right_of(rank), 1, in, 100000, MPI_CHAR,
                        left_of(rank), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      }
      OK(MPI_T_pvar_read(session, handle, &after));
      CHECK(after >= before, "the counter %s went from %llu down to %llu", name,
            (unsigned long long)before, (unsigned long long)after);
      moved += after > before;
      if (!continuous) OK(MPI_T_pvar_stop(session, handle));
      free(data);
      free(in);
    }
    OK(MPI_T_pvar_handle_free(session, &handle));
  }
  OK(MPI_T_pvar_session_free(&session));
  if (strstr(version, "weft"))
    CHECK(count > 0 && moved > 0, "%d counters, %d of them moved with the messages", count, moved);
}

int main(int argc, char** argv) {
  int provided = -1;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));  // before MPI_Init
  int early = -1;
  OK(MPI_T_cvar_get_num(&early));
  start(&argc, &argv);
  control_variables();
  performance_variables();
  OK(MPI_T_finalize());
  return finish();
}
