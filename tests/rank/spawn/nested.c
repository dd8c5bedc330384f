// SPDX-License-Identifier: Apache-2.0
// Three generations: parents and children spawn grandchildren together; then the parents leave them
// alone, and children and grandchildren go on.
#include "family.h"

static void sum_up(MPI_Comm inter) {
  int n = 0, one = 1, sum = 0;
  OK(MPI_Comm_remote_size(inter, &n));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
  EQ(sum, n);
}

// The children's way to the grandchildren, made of what all three have: `old` is all but these.
static void without_parents(MPI_Comm old, MPI_Comm inter, int is_child, int is_grandchild) {
  MPI_Comm all, part, young = MPI_COMM_NULL;
  int parents_count = 0, n = 0;
  OK(MPI_Intercomm_merge(inter, is_grandchild, &all));
  OK(MPI_Comm_size(all, &n));
  OK(MPI_Comm_split(all, is_child ? 1 : is_grandchild ? 2 : MPI_UNDEFINED, 0, &part));
  if (rank == 0 && !is_child && !is_grandchild) parents_count = size;
  OK(MPI_Bcast(&parents_count, 1, MPI_INT, 0, all));
  int old_count = old == MPI_COMM_NULL ? 0 : -1;
  if (old != MPI_COMM_NULL) OK(MPI_Comm_size(old, &old_count));
  OK(MPI_Bcast(&old_count, 1, MPI_INT, 0, all));
  if (is_child || is_grandchild)
    OK(MPI_Intercomm_create(part, 0, all, is_child ? old_count : parents_count, 5, &young));
  OK(MPI_Comm_disconnect(&all));
  if (part != MPI_COMM_NULL) {
    sum_up(young);
    OK(MPI_Comm_disconnect(&young));
    OK(MPI_Comm_free(&part));
  }
}

int main(int argc, char** argv) {
  const int spawned = start_family(&argc, &argv);
  if (spawned && strcmp(argv[1], "grandchild") == 0) {
    sum_up(parents);
    without_parents(MPI_COMM_NULL, parents, 0, 1);
    OK(MPI_Comm_disconnect(&parents));
    return finish_child();
  }
  MPI_Comm link = spawned ? parents : spawn(argv[0], "child", 2, ""), both, young;
  OK(MPI_Intercomm_merge(link, spawned, &both));
  char word[] = "grandchild";
  char* words[] = {word, NULL};
  int codes[2] = {-1, -1}, last = 0;
  OK(MPI_Comm_size(both, &last));
  OK(MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, last - 1, both, &young, codes));
  EQ(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS, 1);
  sum_up(young);
  without_parents(both, young, spawned, 0);
  OK(MPI_Comm_disconnect(&young));
  OK(MPI_Comm_disconnect(&both));
  OK(MPI_Comm_disconnect(&link));
  return spawned ? finish_child() : finish();
}
