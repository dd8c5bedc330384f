// SPDX-License-Identifier: Apache-2.0
//
// libc functions with one hidden state per process: random numbers, strtok, and the static buffers
// of the time functions. Each rank gets the sequence that a process of its own would get.
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

char* strtok(char* text, const char* delimiters) {
  static constinit Next<char*(char*, const char*)> real{"strtok"};
  Rank* rank = current();
  return rank ? strtok_r(text, delimiters, &rank->token) : real(text, delimiters);
}

struct tm* localtime(const time_t* time) {
  static thread_local struct tm buffer;
  tzset();
  return localtime_r(time, &buffer);
}

struct tm* gmtime(const time_t* time) {
  static thread_local struct tm buffer;
  return gmtime_r(time, &buffer);
}

char* asctime(const struct tm* time) {
  static thread_local char buffer[64];
  return asctime_r(time, buffer);
}

char* ctime(const time_t* time) {
  struct tm parts;
  tzset();
  return localtime_r(time, &parts) ? asctime(&parts) : nullptr;
}

#pragma GCC visibility pop
}
