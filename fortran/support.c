// SPDX-License-Identifier: Apache-2.0
//
// Sentinels, strings, handles: what support.h says of them.
#include "support.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct sentinels mpifort_sentinels_;

void* constant_address(size_t place) {
  if (place == offsetof(struct sentinels, in_place)) return MPI_IN_PLACE;
  if (place == offsetof(struct sentinels, buffer_automatic)) return MPI_BUFFER_AUTOMATIC;
  if (place == offsetof(struct sentinels, unweighted)) return MPI_UNWEIGHTED;
  if (place == offsetof(struct sentinels, weights_empty)) return MPI_WEIGHTS_EMPTY;
  return NULL;  // all others are 0 in the ABI
}

char* text_in(struct text* text, const char* chars, size_t length, int strip_leading) {
  while (length > 0 && chars[length - 1] == ' ') --length;
  while (strip_leading && length > 0 && *chars == ' ') ++chars, --length;
  text->chars = length < sizeof text->room ? text->room : malloc(length + 1);
  if (text->chars == NULL) return NULL;
  memcpy(text->chars, chars, length);
  text->chars[length] = '\0';
  return text->chars;
}

void free_text(struct text* text) {
  if (text->chars != text->room) free(text->chars);
}

void text_out(char* chars, size_t length, const char* text) {
  const size_t n = strlen(text) < length ? strlen(text) : length;
  memcpy(chars, text, n);
  memset(chars + n, ' ', length - n);
}

void make_handles(struct handles* handles, MPI_Count n) {
  const size_t room = sizeof handles->room / sizeof *handles->room;
  handles->at = handles->room;
  if (n > (MPI_Count)room) handles->at = malloc((size_t)n * sizeof *handles->at);
  if (handles->at == NULL) abort();
}

void free_handles(struct handles* handles) {
  if (handles->at != handles->room) free(handles->at);
}

// Arrays of types that a library may still read: a list that only grows, by one entry for each
// content.
struct kept {
  struct kept* next;
  MPI_Count n;
  MPI_Datatype types[];
};
static struct kept* _Atomic kept_list;

MPI_Datatype* kept_types(const int* types, MPI_Count n) {
  struct kept* made = malloc(sizeof *made + (size_t)n * sizeof made->types[0]);
  if (made == NULL) abort();
  made->n = n;
  for (MPI_Count i = 0; i < n; ++i) made->types[i] = Datatype_in(types[i]);
  struct kept* first = atomic_load(&kept_list);
  for (struct kept* k = first; k != NULL; k = k->next) {
    if (k->n != n || memcmp(k->types, made->types, (size_t)n * sizeof made->types[0]) != 0)
      continue;
    free(made);
    return k->types;
  }
  do made->next = first;
  while (!atomic_compare_exchange_weak(&kept_list, &first, made));
  return made->types;
}

void peers(MPI_Comm comm, int neighbors, int* targets, int* sources) {
  int n = 0, inter = 0, kind = MPI_UNDEFINED, rank = 0, weighted;
  if (comm == MPI_COMM_NULL) return;
  if (!neighbors) {
    PMPI_Comm_test_inter(comm, &inter);
    if (inter ? PMPI_Comm_remote_size(comm, &n) : PMPI_Comm_size(comm, &n)) n = 0;
    *targets = *sources = n;
    return;
  }
  PMPI_Topo_test(comm, &kind);
  if (kind == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(comm, sources, targets, &weighted);
  } else if (kind == MPI_CART) {
    PMPI_Cartdim_get(comm, &n);
    *targets = *sources = 2 * n;
  } else if (kind == MPI_GRAPH) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &n);
    *targets = *sources = n;
  }
}

void indices_out(int* indices, int error, const int* count) {
  int class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) PMPI_Error_class(error, &class);
  if (class != MPI_SUCCESS && class != MPI_ERR_IN_STATUS) return;
  for (int i = 0; *count != MPI_UNDEFINED && i < *count; ++i) ++indices[i];
}

MPI_Aint attribute_out(int keyval, void* value) {
  switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
      return *(int*)value;
    case MPI_WIN_SIZE:
      return *(MPI_Aint*)value;
    default:
      return (MPI_Aint)value;
  }
}
