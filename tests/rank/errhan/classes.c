// SPDX-License-Identifier: Apache-2.0
// Error classes, codes and strings: every predefined class is its own class and has words;
// user-defined ones.
#include "../check.h"

static int refuse(MPI_Comm comm, int keyval, void* code, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)in, (void)out;
  *flag = 0;
  return *(int*)code;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  char text[MPI_MAX_ERROR_STRING], other[MPI_MAX_ERROR_STRING];
  int class = -1, length = -1, code = 0, flag = 0, *last = NULL, keyval;
  MPI_Comm comm, copy;
  for (int i = MPI_SUCCESS; i <= MPI_ERR_ABI; ++i) {
    OK(MPI_Error_class(i, &class));
    EQ(class, i);
    OK(MPI_Error_string(i, text, &length));
    CHECK(length > 5 && length < MPI_MAX_ERROR_STRING && (int)strlen(text) == length,
          "class %d has the string '%s' of length %d", i, text, length);
    if (i > 1)
      CHECK(strcmp(text, other) != 0, "classes %d and %d have the same string '%s'", i - 1, i,
            text);
    strcpy(other, text);
  }
  OK(MPI_Add_error_class(&class));
  CHECK(class > MPI_ERR_LASTCODE, "a new class is %d, expected more than MPI_ERR_LASTCODE %d",
        class, MPI_ERR_LASTCODE);
  OK(MPI_Add_error_code(class, &code));
  OK(MPI_Add_error_string(class, "a class of my own"));
  OK(MPI_Add_error_string(code, "a code of my own"));
  OK(MPI_Error_string(code, text, &length));
  CHECK(strcmp(text, "a code of my own") == 0, "the new code says '%s'", text);
  OK(MPI_Error_string(class, text, &length));
  CHECK(strcmp(text, "a class of my own") == 0, "the new class says '%s'", text);
  // Also when an error has just been raised with it (§9.5): the user's words, nothing else.
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &keyval, &code));
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_set_attr(comm, keyval, NULL));
  EQ(MPI_Comm_dup(comm, &copy), code);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strcmp(text, "a code of my own") == 0, "the code a callback returned says '%s'", text);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free_keyval(&keyval));
  int of_code = 0;
  OK(MPI_Error_class(code, &of_code));
  EQ(of_code, class);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  EQ(flag, 1);
  CHECK(flag && *last >= code, "MPI_LASTUSEDCODE is %d, expected at least %d", flag ? *last : 0,
        code);
  return finish();
}
