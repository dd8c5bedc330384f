// SPDX-License-Identifier: Apache-2.0
// Exports thread-local variables to libraries (as GKlib's error handling does), which address them
// in every way there is. Linked as a shared object that can be run, it asks for its own so, too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "standin.h"

#ifdef INTERPRETER
const char interpreter[] __attribute__((section(".interp"))) = INTERPRETER;
#endif

__thread int counter = 5;
__thread struct block {
  _Alignas(64) char text[100];
  struct block* self;
} block = {"initial"};
static __thread int hidden = 7;

#define MODEL(name)          \
  int name##_count(int);     \
  int* name##_address(void); \
  struct block* name##_block(void);
MODEL(general)
MODEL(initial)
MODEL(descriptor)

static int same_everywhere(void) {
  return general_address() == &counter && initial_address() == &counter &&
         descriptor_address() == &counter && general_block() == &block &&
         initial_block() == &block && descriptor_block() == &block;
}

int main(void);
static int found_by_name(void);

static void* on_thread(void* rank) {
  const int r = *(int*)rank;
  int good = same_everywhere() && counter == 5 && strcmp(block.text, "initial") == 0 && hidden == 7;
  good = good && found_by_name();
  hidden += r;
  general_count(r);
  initial_count(10);
  descriptor_count(20);
  return (void*)(long)(good && counter == 35 + r && hidden == 7 + r);
}

static int found_by_name(void) {
  void* program = dlopen(0, RTLD_NOW);
  return dlsym(RTLD_DEFAULT, "counter") == &counter && dlsym(program, "block") == &block &&
         dlsym(program, "main") == (void*)main && !dlsym(RTLD_DEFAULT, "hidden") &&
         dlsym(RTLD_NEXT, "t_rank") == (void*)t_rank;
}

int main(void) {
  int r = t_rank();
  int good = same_everywhere() && counter == 5 && ((unsigned long)&block & 63) == 0;
  strcpy(block.text, "changed");
  general_block()->self = &block;
  initial_count(100 * r);
  hidden = r;
  t_barrier();
  pthread_t t;
  void* of_thread;
  pthread_create(&t, 0, on_thread, &r);
  pthread_join(t, &of_thread);
  t_barrier();
  good = good && of_thread && general_count(1) == 6 + 100 * r && hidden == r;
  good =
      good && strcmp(descriptor_block()->text, "changed") == 0 && initial_block()->self == &block;
  good = good && found_by_name();
  return t_report("tls_shared", good);
}
