// SPDX-License-Identifier: Apache-2.0
// Init, Finalize and what may be asked at any time: before, between and after; version, names,
// clocks.
#include "../check.h"

int main(int argc, char** argv) {
  int flag = -1, version = 0, subversion = 0, length = 0, provided = -1, main_thread = -1;
  char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
  // Before.
  OK(MPI_Initialized(&flag));
  EQ(flag, 0);
  OK(MPI_Finalized(&flag));
  EQ(flag, 0);
  OK(MPI_Get_version(&version, &subversion));
  EQ(version, MPI_VERSION);
  EQ(subversion, MPI_SUBVERSION);
  OK(MPI_Get_library_version(text, &length));
  CHECK(length > 3 && (int)strlen(text) == length, "library version '%s' of length %d", text,
        length);
  OK(MPI_Error_string(MPI_ERR_COUNT, text, &length));
  CHECK(length > 3, "the error string before Init is '%s'", text);
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "before", "init"));
  OK(MPI_Info_free(&info));
  if (argc > 1) {
    const char* const word = argv[1];
    const int wanted = !strcmp(word, "single")       ? MPI_THREAD_SINGLE
                       : !strcmp(word, "funneled")   ? MPI_THREAD_FUNNELED
                       : !strcmp(word, "serialized") ? MPI_THREAD_SERIALIZED
                                                     : MPI_THREAD_MULTIPLE;
    OK(MPI_Init_thread(&argc, &argv, wanted, &provided));
    CHECK(provided >= wanted && provided <= MPI_THREAD_MULTIPLE,
          "thread level %d was wanted, %d provided", wanted, provided);
  } else {
    OK(MPI_Init(NULL, NULL));
  }
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Initialized(&flag));
  EQ(flag, 1);
  OK(MPI_Finalized(&flag));
  EQ(flag, 0);
  int level = -1;
  OK(MPI_Query_thread(&level));
  if (provided >= 0) EQ(level, provided);
  OK(MPI_Is_thread_main(&main_thread));
  EQ(main_thread, 1);
  OK(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && (int)strlen(name) == length, "processor name '%s' of length %d", name,
        length);
  const double begin = MPI_Wtime(), tick = MPI_Wtick();
  CHECK(tick > 0 && tick <= 1e-3, "MPI_Wtick is %g s", tick);
  double end = begin;
  while (end - begin < 0.01) end = MPI_Wtime();
  CHECK(end > begin, "the clock stands still");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  // After.
  OK(MPI_Finalized(&flag));
  EQ(flag, 1);
  OK(MPI_Initialized(&flag));
  EQ(flag, 1);
  OK(MPI_Get_version(&version, &subversion));
  OK(MPI_Get_library_version(text, &length));
  return verdict();
}
