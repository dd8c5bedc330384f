// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/channel.h>

#include "../check.h"

// A channel of MPI_COMM_WORLD from one rank to another; by all ranks.
static WEFT_Channel one_to_one(int sender, int receiver, MPI_Datatype type, int count, int k) {
  WEFT_Channel channel;
  OK(WEFT_Channel_create(MPI_COMM_WORLD,
                         &(WEFT_Channel_options){.type = type,
                                                 .count = count,
                                                 .asynchrony = k,
                                                 .sender_count = 1,
                                                 .senders = &sender,
                                                 .receiver_count = 1,
                                                 .receivers = &receiver},
                         &channel));
  return channel;
}
