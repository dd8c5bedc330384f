// SPDX-License-Identifier: Apache-2.0
// A frame of SIZE bytes.
#include <string.h>

#include "standin.h"

int main(void) {
  volatile char room[SIZE];
  memset((void*)room, 1, SIZE);
  return t_report("stack", room[SIZE - 1] == 1);
}
