// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/channel.h>

#include "../check.h"

// The next message is the one that was filled with `seed`.
static inline void receive(WEFT_Channel channel, size_t bytes, unsigned seed) {
  const void* message;
  OK(WEFT_Channel_receive(channel, &message, NULL));
  if (message == NULL) DIE("message %u is missing", seed);
  FILLED(message, bytes, seed);
  OK(WEFT_Channel_release(channel, message));
}

static inline void is_over(WEFT_Channel channel) {
  const void* message;
  OK(WEFT_Channel_receive(channel, &message, NULL));
  CHECK(message == NULL, "there is one more message");
}
