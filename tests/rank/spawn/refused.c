// SPDX-License-Identifier: Apache-2.0
// What cannot be spawned: every caller gets an error class, a sentence, and codes; the job goes on.
#include "family.h"

static void refuse(const char* program, int n, const char* key, const char* value, int want,
                   const char* words) {
  MPI_Comm children = MPI_COMM_WORLD;
  MPI_Info info = MPI_INFO_NULL;
  int codes[8] = {0}, error = MPI_SUCCESS, cls = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  if (key != NULL) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
  }
  error = MPI_Comm_spawn(program, MPI_ARGV_NULL, n, info, size - 1, MPI_COMM_WORLD, &children,
                         n <= 8 ? codes : MPI_ERRCODES_IGNORE);
  OK(MPI_Error_class(error, &cls));
  EQ(cls, want);
  OK(MPI_Error_string(error, text, &length));
  CHECK(strstr(text, words) != NULL, "\"%s\" has no \"%s\"", text, words);
  CHECK(children == MPI_COMM_NULL, "there is a communicator");
  for (int i = 0; want != MPI_ERR_ARG && i < n && n <= 8; ++i) EQ(codes[i], MPI_ERR_SPAWN);
  if (info != MPI_INFO_NULL) OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  if (start_family(&argc, &argv)) return finish_child();
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  refuse("./there-is-no-such-program", 2, NULL, NULL, MPI_ERR_SPAWN, "cannot be found");
  refuse("there-is-no-such-program", 1, NULL, NULL, MPI_ERR_SPAWN, "not found in PATH");
  refuse("/", 1, NULL, NULL, MPI_ERR_SPAWN, "is a directory");
  refuse(argv[0], 1000, NULL, NULL, MPI_ERR_SPAWN, "WEFT_SPAWN_PLACES");
  refuse(argv[0], 0, NULL, NULL, MPI_ERR_ARG, "maxprocs is 0");
  refuse(argv[0], 2000000000, NULL, NULL, MPI_ERR_ARG, "maxprocs is 2000000000");
  refuse(argv[0], 2, "wdir", "/there/is/no/such/directory", MPI_ERR_SPAWN, "cannot start in");
  refuse(argv[0], 2, "host", "another.example", MPI_ERR_SPAWN, "another.example");
  refuse(argv[0], 2, "soft", "5:7", MPI_ERR_SPAWN, "soft");
  refuse(argv[0], 2, "soft", "many", MPI_ERR_INFO_VALUE, "soft");
  refuse(argv[0], 2, "weft_ranks", "fibre", MPI_ERR_INFO_VALUE, "fibre");
  // It still works.
  MPI_Comm children = spawn(argv[0], "child", 2, "");
  OK(MPI_Comm_free(&children));
  return finish();
}
