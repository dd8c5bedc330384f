// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: each rank gets the sequence that a process of its own would get.
#include <stdlib.h>

#include "next.h"
#include "rank.h"

using namespace weft::host;

extern "C" {
#pragma GCC visibility push(default)

long random() {
  static constinit Next<long()> real{"random"};
  Rank* rank = current();
  if (!rank) return real();
  std::int32_t value = 0;
  random_r(&rank->random, &value);
  return value;
}

int rand() {
  return static_cast<int>(random());
}

void srandom(unsigned seed) {
  static constinit Next<void(unsigned)> real{"srandom"};
  if (Rank* rank = current()) {
    srandom_r(seed, &rank->random);
    return;
  }
  real(seed);
}

void srand(unsigned seed) {
  srandom(seed);
}

char* initstate(unsigned seed, char* state, std::size_t size) {
  static constinit Next<char*(unsigned, char*, std::size_t)> real{"initstate"};
  Rank* rank = current();
  if (!rank) return real(seed, state, size);
  char* old = reinterpret_cast<char*>(rank->random.state) - sizeof(std::int32_t);
  return initstate_r(seed, state, size, &rank->random) == 0 ? old : nullptr;
}

char* setstate(char* state) {
  static constinit Next<char*(char*)> real{"setstate"};
  Rank* rank = current();
  if (!rank) return real(state);
  char* old = reinterpret_cast<char*>(rank->random.state) - sizeof(std::int32_t);
  return setstate_r(state, &rank->random) == 0 ? old : nullptr;
}

double drand48() {
  static constinit Next<double()> real{"drand48"};
  Rank* rank = current();
  if (!rank) return real();
  double value = 0;
  drand48_r(&rank->drand48, &value);
  return value;
}

long lrand48() {
  static constinit Next<long()> real{"lrand48"};
  Rank* rank = current();
  if (!rank) return real();
  long value = 0;
  lrand48_r(&rank->drand48, &value);
  return value;
}

long mrand48() {
  static constinit Next<long()> real{"mrand48"};
  Rank* rank = current();
  if (!rank) return real();
  long value = 0;
  mrand48_r(&rank->drand48, &value);
  return value;
}

void srand48(long seed) {
  static constinit Next<void(long)> real{"srand48"};
  if (Rank* rank = current()) {
    srand48_r(seed, &rank->drand48);
    return;
  }
  real(seed);
}

unsigned short* seed48(unsigned short seed[3]) {
  static constinit Next<unsigned short*(unsigned short*)> real{"seed48"};
  Rank* rank = current();
  if (!rank) return real(seed);
  seed48_r(seed, &rank->drand48);
  return rank->drand48.__old_x;
}

void lcong48(unsigned short parameters[7]) {
  static constinit Next<void(unsigned short*)> real{"lcong48"};
  if (Rank* rank = current()) {
    lcong48_r(parameters, &rank->drand48);
    return;
  }
  real(parameters);
}

double erand48(unsigned short state[3]) {
  static constinit Next<double(unsigned short*)> real{"erand48"};
  Rank* rank = current();
  if (!rank) return real(state);
  double value = 0;
  erand48_r(state, &rank->drand48, &value);
  return value;
}

long nrand48(unsigned short state[3]) {
  static constinit Next<long(unsigned short*)> real{"nrand48"};
  Rank* rank = current();
  if (!rank) return real(state);
  long value = 0;
  nrand48_r(state, &rank->drand48, &value);
  return value;
}

long jrand48(unsigned short state[3]) {
  static constinit Next<long(unsigned short*)> real{"jrand48"};
  Rank* rank = current();
  if (!rank) return real(state);
  long value = 0;
  jrand48_r(state, &rank->drand48, &value);
  return value;
}

#pragma GCC visibility pop
}
