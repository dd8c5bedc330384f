// SPDX-License-Identifier: Apache-2.0
// Thread-local data of a program, SIZE bytes aligned to ALIGN, on the main thread and on threads
// that it makes.
#include "standin.h"

#include <pthread.h>
#include <stdint.h>

#ifndef ALIGN
#define ALIGN 16
#endif
#ifndef SIZE
#define SIZE 40000
#endif

static __thread char big[SIZE];
__thread int number __attribute__((aligned(ALIGN))) = 11;
static __thread char letter = 'x';

static int is_fresh(void) {
  return number == 11 && letter == 'x' && big[0] == 0 && big[SIZE - 1] == 0 &&
         (uintptr_t)&number % ALIGN == 0;
}

static void* thread(void* rank) {
  const int good = is_fresh() && t_rank() == (int)(intptr_t)rank;
  big[0] = 1;
  number = 2;
  return (void*)(intptr_t)good;
}

int main(void) {
  const int r = t_rank();
  int good = is_fresh();
  big[0] = big[SIZE - 1] = (char)(r + 1);
  number += r;
  letter = (char)('a' + r % 20);
  t_barrier();
  good = good && number == 11 + r && letter == 'a' + r % 20 && big[SIZE - 1] == r + 1;
  for (int i = 0; i < 5; i++) {
    pthread_t t;
    void* result = 0;
    if (pthread_create(&t, 0, thread, (void*)(intptr_t)r) != 0) return 2;
    pthread_join(t, &result);
    good = good && result;
  }
  return t_report("tls", good && number == 11 + r);
}
