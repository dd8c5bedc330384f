// SPDX-License-Identifier: Apache-2.0
// A plugin that counts how often it is called, and says when it begins and ends.
#include <stdlib.h>

static int calls;
static int* at_end;

int count(void) {
  return ++calls;
}
int version(void) {
  return VERSION;
}
static void by_exit_handler(void) {
  if (at_end) *at_end += 1;
}
void tell_end(int* place) {
  at_end = place;
  atexit(by_exit_handler);
}
__attribute__((destructor)) static void end(void) {
  if (at_end) *at_end += 10;
}
