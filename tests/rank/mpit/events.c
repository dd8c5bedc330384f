// SPDX-License-Identifier: Apache-2.0
// MPI_T events: there may be none, and then every index and handle is refused with its error.
// Performance variables: write and readreset where the variable allows them.
#include "../check.h"

static void called(MPI_T_event_instance event, MPI_T_event_registration registration,
                   MPI_T_cb_safety safety, void* user) {
  (void)event, (void)registration, (void)safety, (void)user;
}
static void dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                    MPI_T_cb_safety safety, void* user) {
  (void)count, (void)registration, (void)source, (void)safety, (void)user;
}
static void freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* user) {
  (void)registration, (void)safety, (void)user;
}

static void no_events(int events, int sources) {
  char name[20], words[20];
  int name_room = sizeof name, words_room = sizeof words, verbosity, elements = 0, bind, source;
  MPI_Datatype types[1];
  MPI_Aint places[1], bytes = 0;
  MPI_T_enum values;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Count ticks, most, stamp;
  MPI_T_source_order order;
  MPI_T_event_registration none = (MPI_T_event_registration)0;
  MPI_T_event_instance event = (MPI_T_event_instance)0;
  const MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_NONE;
  EQ(MPI_T_event_get_info(events, name, &name_room, &verbosity, types, places, &elements, &values,
                          &info, words, &words_room, &bind),
     MPI_T_ERR_INVALID_INDEX);
  EQ(MPI_T_event_handle_alloc(events, NULL, MPI_INFO_NULL, &none), MPI_T_ERR_INVALID_INDEX);
  EQ(MPI_T_source_get_info(sources, name, &name_room, words, &words_room, &order, &ticks, &most,
                           &info),
     MPI_T_ERR_INVALID_INDEX);
  EQ(MPI_T_event_register_callback(none, safety, MPI_INFO_NULL, NULL, called),
     MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_callback_get_info(none, safety, &info), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_callback_set_info(none, safety, info), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_handle_get_info(none, &info), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_handle_set_info(none, info), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_set_dropped_handler(none, dropped), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_handle_free(none, NULL, freed), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_read(event, 0, name), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_copy(event, &bytes), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_get_source(event, &source), MPI_T_ERR_INVALID_HANDLE);
  EQ(MPI_T_event_get_timestamp(event, &stamp), MPI_T_ERR_INVALID_HANDLE);
}

static void performance_variables(void) {
  int count = 0;
  MPI_T_pvar_session session;
  OK(MPI_T_pvar_get_num(&count));
  OK(MPI_T_pvar_session_create(&session));
  for (int i = 0; i < count; ++i) {
    char name[256], words[1024];
    int name_room = sizeof name, words_room = sizeof words, verbosity, class, bind, readonly,
        continuous, atomic, elements = 0;
    uint64_t value[64] = {0};
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_T_pvar_handle handle;
    OK(MPI_T_pvar_get_info(i, name, &name_room, &verbosity, &class, &type, &values, words,
                           &words_room, &bind, &readonly, &continuous, &atomic));
    if (bind != MPI_T_BIND_NO_OBJECT) continue;
    OK(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements));
    if (!continuous) OK(MPI_T_pvar_start(session, handle));
    CHECK(elements <= 64, "%s has %d elements", name, elements);
    if (readonly) {
      EQ(MPI_T_pvar_write(session, handle, value), MPI_T_ERR_PVAR_NO_WRITE);
      EQ(MPI_T_pvar_readreset(session, handle, value), MPI_T_ERR_PVAR_NO_ATOMIC);
    } else {
      OK(MPI_T_pvar_write(session, handle, value));
      const int code = MPI_T_pvar_readreset(session, handle, value);
      EQ(code, atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC);
    }
    OK(MPI_T_pvar_handle_free(session, &handle));
  }
  OK(MPI_T_pvar_session_free(&session));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int provided, events = -1, sources = -1;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_event_get_num(&events));
  OK(MPI_T_source_get_num(&sources));
  no_events(events, sources);
  performance_variables();
  OK(MPI_T_finalize());
  return finish();
}
