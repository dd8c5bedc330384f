// SPDX-License-Identifier: Apache-2.0
// Info objects: set, get, order, replace, delete, dup, long values, MPI_INFO_ENV.
#include <sys/utsname.h>
#include <unistd.h>

#include "../check.h"

// MPI_INFO_ENV says how the program was started (MPI-5.0 §11.2.1), also after main changed argv.
static void env_is(const char* key, const char* want) {
  char value[MPI_MAX_INFO_VAL];
  int flag = 0, length = sizeof value;
  OK(MPI_Info_get_string(MPI_INFO_ENV, key, &length, value, &flag));
  CHECK(flag && strcmp(value, want) == 0, "%s is '%s', expected '%s'", key,
        flag ? value : "(missing)", want);
}

static void started_as(int argc, char** argv) {
  char text[MPI_MAX_INFO_VAL] = "", host[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  struct utsname node;
  env_is("command", argv[0]);
  for (int i = 1; i < argc; ++i) sprintf(text + strlen(text), "%s%s", i > 1 ? " " : "", argv[i]);
  if (argc > 1) env_is("argv", text);
  sprintf(text, "%d", size);
  env_is("maxprocs", text);
  env_is("soft", text);
  OK(MPI_Get_processor_name(host, &length));
  env_is("host", host);
  uname(&node);
  env_is("arch", node.machine);
  env_is("wdir", getcwd(text, sizeof text));
  env_is("thread_level", "MPI_THREAD_SINGLE");
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Info info, copy;
  started_as(argc, argv);
  char value[100], key[MPI_MAX_INFO_KEY + 1], *large = alloc(MPI_MAX_INFO_VAL + 1);
  int flag = 0, count = -1, length = 0;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_get_nkeys(info, &count));
  EQ(count, 0);
  OK(MPI_Info_set(info, "colour", "blue"));
  OK(MPI_Info_set(info, "weave", "twill"));
  OK(MPI_Info_set(info, "colour", "dark red"));  // replaces
  OK(MPI_Info_get_nkeys(info, &count));
  EQ(count, 2);
  OK(MPI_Info_get_nthkey(info, 0, key));
  CHECK(strcmp(key, "colour") == 0, "the first key is '%s'", key);
  OK(MPI_Info_get_nthkey(info, 1, key));
  CHECK(strcmp(key, "weave") == 0, "the second key is '%s'", key);
  OK(MPI_Info_get(info, "colour", 99, value, &flag));
  CHECK(flag && strcmp(value, "dark red") == 0, "colour is '%s'", flag ? value : "(missing)");
  OK(MPI_Info_get(info, "colour", 4, value, &flag));
  CHECK(flag && strcmp(value, "dark") == 0, "colour cut at 4 is '%s'", flag ? value : "(missing)");
  length = 5;
  OK(MPI_Info_get_string(info, "colour", &length, value, &flag));
  EQ(length, 9);  // what the value needs, with its end
  CHECK(flag && strcmp(value, "dark") == 0, "colour in 5 bytes is '%s'",
        flag ? value : "(missing)");
  OK(MPI_Info_get_valuelen(info, "weave", &length, &flag));
  EQ(flag, 1);
  EQ(length, 5);
  OK(MPI_Info_get(info, "nothing", 99, value, &flag));
  EQ(flag, 0);
  OK(MPI_Info_dup(info, &copy));
  OK(MPI_Info_delete(info, "colour"));
  OK(MPI_Info_get_nkeys(info, &count));
  EQ(count, 1);
  OK(MPI_Info_get_nkeys(copy, &count));
  EQ(count, 2);
  memset(large, 'v', MPI_MAX_INFO_VAL);
  large[MPI_MAX_INFO_VAL - 1] = 0;
  OK(MPI_Info_set(info, "large", large));
  OK(MPI_Info_get_valuelen(info, "large", &length, &flag));
  EQ(length, MPI_MAX_INFO_VAL - 1);
  OK(MPI_Info_free(&info));
  CHECK(info == MPI_INFO_NULL, "Info_free left the handle as it was");
  OK(MPI_Info_free(&copy));
  OK(MPI_Info_create_env(argc, argv, &info));
  OK(MPI_Info_free(&info));
  void* memory = NULL;
  OK(MPI_Alloc_mem(10000, MPI_INFO_NULL, &memory));
  memset(memory, 1, 10000);
  OK(MPI_Free_mem(memory));
  free(large);
  return finish();
}
