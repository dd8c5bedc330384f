// SPDX-License-Identifier: Apache-2.0
//
// Sentinels, strings, handles: what support.h says of them.
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct sentinels mpifort_sentinels_;

static int is_constant(const void* p) {
  return (uintptr_t)p - (uintptr_t)&mpifort_sentinels_ < sizeof mpifort_sentinels_;
}

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

void convert_ints(struct ints* ints, const integer* from, MPI_Count n, int logical) {
  ints->made = NULL;
  ints->at = ints->room;
  if (is_constant(from)) {
    ints->at = c_address(from);
    return;
  }
  if (n > (MPI_Count)(sizeof ints->room / sizeof ints->room[0]))
    ints->at = ints->made = malloc((size_t)n * sizeof ints->at[0]);
  if (ints->at == NULL) abort();
  for (MPI_Count i = 0; i < n; ++i) ints->at[i] = logical ? logical_in(from[i]) : in_c(from[i]);
}

void convert_ints_back(const struct ints* ints, integer* to, MPI_Count n) {
  for (MPI_Count i = 0; i < n && !is_constant(to); ++i) to[i] = ints->at[i];
}

void free_memory(void* memory) {
  free(memory);
}

// A status is 8 integers in C, too.
void convert_statuses(struct statuses* statuses, const integer* from, MPI_Count n) {
  statuses->at = statuses->room;
  if (is_constant(from)) {
    statuses->at = c_address(from);
    return;
  }
  if (n > (MPI_Count)(sizeof statuses->room / sizeof statuses->room[0]))
    statuses->at = malloc((size_t)n * sizeof(MPI_Status));
  if (statuses->at == NULL) abort();
  int* at = (int*)statuses->at;
  for (MPI_Count i = 0; i < 8 * n; ++i) at[i] = (int)from[i];
}

void convert_statuses_back(const struct statuses* statuses, integer* to, MPI_Count n) {
  const int* at = (const int*)statuses->at;
  for (MPI_Count i = 0; i < 8 * n && !is_constant(to); ++i) to[i] = at[i];
}

void release_statuses(struct statuses* statuses) {
  if (statuses->at != statuses->room) free(statuses->at);
}

MPI_Count sum_of(const integer* counts, MPI_Count n) {
  MPI_Count sum = 0;
  for (MPI_Count i = 0; i < n; ++i) sum += counts[i];
  return sum;
}

int dimensions(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, n = 0;
  if (comm == MPI_COMM_NULL || PMPI_Topo_test(comm, &kind) || kind != MPI_CART) return 0;
  PMPI_Cartdim_get(comm, &n);
  return n;
}

#ifdef MPIFORT_I8
MPI_Datatype two_integers(void) {
  static MPI_Datatype _Atomic made = MPI_DATATYPE_NULL;
  MPI_Datatype type = atomic_load(&made);
  if (type != MPI_DATATYPE_NULL) return type;
  // Predefined: whoever asks gets the same, and nobody frees it. Libraries choose which pairs they
  // have.
  PMPI_Type_get_value_index(MPI_INT64_T, MPI_INT64_T, &type);
  if (type == MPI_DATATYPE_NULL) PMPI_Type_get_value_index(MPI_INT64_T, MPI_OFFSET, &type);
  atomic_store(&made, type);
  return type;
}
#endif

// Arrays of types that a library may still read: a list that only grows, by one entry for each
// content.
struct kept {
  struct kept* next;
  MPI_Count n;
  MPI_Datatype types[];
};
static struct kept* _Atomic kept_list;

MPI_Datatype* kept_types(const integer* types, MPI_Count n) {
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

void indices_out(int* indices, int error, int count) {
  int class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) PMPI_Error_class(error, &class);
  if (class != MPI_SUCCESS && class != MPI_ERR_IN_STATUS) return;
  for (int i = 0; count != MPI_UNDEFINED && i < count; ++i) ++indices[i];
}

// The places of attributes: blocks, which stay, and a list of those that are free.
enum { block_places = 512 };
struct block {
  struct block* next;
  MPI_Aint place[block_places];
};
static pthread_mutex_t attribute_lock = PTHREAD_MUTEX_INITIALIZER;
static struct block* blocks;
static MPI_Aint* free_place;  // holds the address of the next

static int is_place(const void* p) {
  for (const struct block* b = blocks; b != NULL; b = b->next)
    if ((uintptr_t)p - (uintptr_t)b->place < sizeof b->place) return 1;
  return 0;
}

void* attribute_in(MPI_Aint value) {
  pthread_mutex_lock(&attribute_lock);
  if (free_place == NULL) {
    struct block* made = malloc(sizeof *made);
    if (made == NULL) abort();
    made->next = blocks;
    blocks = made;
    for (int i = 0; i < block_places; ++i) {
      made->place[i] = (MPI_Aint)free_place;
      free_place = &made->place[i];
    }
  }
  MPI_Aint* place = free_place;
  free_place = (MPI_Aint*)*place;
  *place = value;
  pthread_mutex_unlock(&attribute_lock);
  return place;
}

MPI_Aint attribute_value(void* attribute) {
  pthread_mutex_lock(&attribute_lock);
  const MPI_Aint value = is_place(attribute) ? *(MPI_Aint*)attribute : (MPI_Aint)attribute;
  pthread_mutex_unlock(&attribute_lock);
  return value;
}

void free_attribute(void* attribute) {
  pthread_mutex_lock(&attribute_lock);
  if (is_place(attribute)) {
    *(MPI_Aint*)attribute = (MPI_Aint)free_place;
    free_place = attribute;
  }
  pthread_mutex_unlock(&attribute_lock);
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
      return attribute_value(value);
  }
}
