// SPDX-License-Identifier: Apache-2.0
//
// A task farm: rank 0 sends tasks to workers, one after the other or on demand; rank 1 collects.
// Every task is done once; each worker's results come in order; round robin gives all as many; on
// demand a slow worker gets few.
#include <unistd.h>
#include <weft/channel.h>

#include "../check.h"

typedef struct {
  int task, worker;
  unsigned char data[100];
} Item;

static void farm(int k, int distribution, int tasks, int slow_us) {
  const int workers = size - 2;
  int* ranks = alloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < workers; ++i) ranks[i] = i + 2;
  const int emitter = 0, collector = 1;
  WEFT_Channel work, results;
  OK(WEFT_Channel_create(MPI_COMM_WORLD,
                         &(WEFT_Channel_options){.type = MPI_BYTE,
                                                 .count = sizeof(Item),
                                                 .asynchrony = k,
                                                 .sender_count = 1,
                                                 .senders = &emitter,
                                                 .receiver_count = workers,
                                                 .receivers = ranks,
                                                 .distribution = distribution},
                         &work));
  OK(WEFT_Channel_create(MPI_COMM_WORLD,
                         &(WEFT_Channel_options){.type = MPI_BYTE,
                                                 .count = sizeof(Item),
                                                 .asynchrony = k,
                                                 .sender_count = workers,
                                                 .senders = ranks,
                                                 .receiver_count = 1,
                                                 .receivers = &collector},
                         &results));
  const void* message;
  int source;
  if (rank == emitter) {
    Item item = {0};
    for (int t = 0; t < tasks; ++t) {
      item.task = t;
      fill(item.data, sizeof item.data, (unsigned)t);
      OK(WEFT_Channel_send(work, &item));
    }
  } else if (rank == collector) {
    char* seen = calloc((size_t)tasks, 1);
    int* last = alloc(sizeof(int) * (size_t)size);
    int* done = calloc((size_t)size, sizeof(int));
    for (int i = 0; i < size; ++i) last[i] = -1;
    int got = 0;
    for (;;) {
      OK(WEFT_Channel_receive(results, &message, &source));
      if (message == NULL) break;
      const Item* item = message;
      EQ(item->worker, source);
      CHECK(item->task >= 0 && item->task < tasks && !seen[item->task], "task %d twice",
            item->task);
      CHECK(item->task > last[source], "task %d of rank %d after %d", item->task, source,
            last[source]);
      FILLED(item->data, sizeof item->data, (unsigned)item->task + 1000);
      seen[item->task] = 1;
      last[source] = item->task;
      ++done[source];
      ++got;
      OK(WEFT_Channel_release(results, message));
    }
    EQ(got, tasks);
    for (int i = 2; i < size; ++i) {
      if (distribution == WEFT_CHANNEL_ROUND_ROBIN) EQ(done[i], tasks / workers);
      if (slow_us > 0 && workers > 1 && i == size - 1)
        CHECK(done[i] <= tasks / workers, "the slow worker has done %d of %d tasks", done[i],
              tasks);
    }
    free(seen);
    free(last);
    free(done);
  } else {
    for (;;) {
      OK(WEFT_Channel_receive(work, &message, &source));
      if (message == NULL) break;
      EQ(source, emitter);
      const Item* task = message;
      FILLED(task->data, sizeof task->data, (unsigned)task->task);
      Item result = {.task = task->task, .worker = rank};
      fill(result.data, sizeof result.data, (unsigned)task->task + 1000);
      if (slow_us > 0 && rank == size - 1) usleep((useconds_t)slow_us);
      OK(WEFT_Channel_release(work, message));
      OK(WEFT_Channel_send(results, &result));
    }
  }
  OK(WEFT_Channel_free(&work));
  OK(WEFT_Channel_free(&results));
  free(ranks);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (size < 3) DIE("3 ranks or more");
  const int tasks = 60 * (size - 2);
  for (int k = 0; k < 4; ++k) {
    farm(k, WEFT_CHANNEL_ROUND_ROBIN, tasks, 0);
    farm(k, WEFT_CHANNEL_ON_DEMAND, tasks, 0);
  }
  farm(1, WEFT_CHANNEL_ON_DEMAND, tasks, 2000);
  return finish();
}
