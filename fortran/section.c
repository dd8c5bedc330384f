// SPDX-License-Identifier: Apache-2.0
//
// Sections of arrays: datatypes that describe them, contiguous copies of them, or a sentence why
// neither will do.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

MPI_Count contiguous_elements(const struct array* array) {
  MPI_Count n = 1;
  for (int d = 0; d < array->rank; ++d) {
    const struct array_dim* dim = &array->dim[d];
    if (dim->extent == 0) return 0;
    if (dim->extent != 1 && dim->stride_bytes != n * (MPI_Count)array->elem_len) return -1;
    if (dim->extent < 0 || (dim->extent == 1 && d + 1 == array->rank)) return no_end;
    n *= dim->extent;
  }
  return n;
}

// The sentence, then the error handler of the communicator.
static int fail(MPI_Comm comm, int code, const char* call, const char* sentence) {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "mpifort: rank %d: %s: %s\n", rank, call, sentence);
  PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm, code);
  return code;
}
static int refuse(MPI_Comm comm, int code, const char* call, const char* name, const char* why) {
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s is a section of an array that is not contiguous; %s",
           name, why);
  return fail(comm, code, call, sentence);
}

// Of types that a program made only the library knows what they touch.
int check_room(MPI_Count elements, const struct array* array, MPI_Count count, MPI_Datatype type,
               MPI_Comm comm, const char* call, const char* name) {
  MPI_Count size = 0;
  const MPI_Count has = elements * (MPI_Count)array->elem_len;
  if ((uintptr_t)type >= 4096 || type == MPI_DATATYPE_NULL || PMPI_Type_size_c(type, &size) ||
      size <= 0 || count <= has / size)
    return MPI_SUCCESS;
  char sentence[256];
  snprintf(
      sentence, sizeof sentence,
      "%s is an array of %lld bytes (%lld elements of %lld), too short for a count of %lld items "
      "of %lld bytes",
      name, (long long)has, (long long)elements, (long long)array->elem_len, (long long)count,
      (long long)size);
  return fail(comm, MPI_ERR_COUNT, call, sentence);
}

int refuse_section(const struct array* array, MPI_Comm comm, const char* call, const char* name) {
  return refuse(comm, MPI_ERR_BUFFER, call, name,
                "here it has to be contiguous: copy it to an array of its own first, or make a "
                "datatype for it and "
                "pass its first element");
}

static MPI_Count elements(const struct array* array, int dims) {
  MPI_Count n = 1;
  for (int d = 0; d < dims; ++d) n *= array->dim[d].extent;
  return n;
}

// A datatype for the first n items of dimensions 0..d of the section; an item is `per` elements
// along dimension 0.
static int section_type(const struct array* array, int d, MPI_Count n, MPI_Count per,
                        MPI_Datatype item, MPI_Datatype* type) {
  const MPI_Aint stride = array->dim[d].stride_bytes * (d == 0 ? per : 1);
  if (d == 0) return PMPI_Type_create_hvector_c(n, 1, stride, item, type);
  const MPI_Count below = elements(array, d) / per, whole = n / below, rest = n % below;
  MPI_Datatype parts[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, full;
  MPI_Count lengths[2] = {1, 1}, places[2] = {0, whole * stride};
  int e = section_type(array, d - 1, below, per, item, &full);
  if (e == MPI_SUCCESS) {
    e = PMPI_Type_create_hvector_c(whole, 1, stride, full, &parts[0]);
    PMPI_Type_free(&full);
  }
  if (e != MPI_SUCCESS || rest == 0) {
    *type = parts[0];
    return e;
  }
  e = section_type(array, d - 1, rest, per, item, &parts[1]);
  if (e == MPI_SUCCESS) {
    e = PMPI_Type_create_struct_c(2, lengths, places, parts, type);
    PMPI_Type_free(&parts[1]);
  }
  PMPI_Type_free(&parts[0]);
  return e;
}

// Types of sections stay until MPI_Finalize, so that a section that is used again costs what a type
// costs that its program keeps. Only where the elements are of a predefined type: the handle of
// another may be freed, and name another type later. Who finds no place makes a type for one call.
enum { places = 256, looks = 4 };
struct kept_section {
  MPI_Datatype made, type;
  MPI_Count count;
  size_t elem_len;
  int rank;
  struct array_dim dim[];
};
// Filled once, by whoever comes first; emptied when no thread calls any more.
static struct kept_section* _Atomic kept_sections[places];
static enum { not_yet, yes, over } _Atomic keeping = not_yet;
// Calls that use them, if several threads call. One may go on in a session while another calls
// MPI_Finalize: it counts itself and then looks at `keeping`, and forget_all() does both in the
// other order (all seq_cst), so either it uses none of them or all stay.
static int _Atomic are_several = 0;  // set before `keeping`
static int _Atomic inside = 0;

// What view.end is for a call that now may use them, as long as `keeping` is yes.
static int come_in(void) {
  if (!atomic_load(&are_several)) return view_is_kept;
  atomic_fetch_add(&inside, 1);
  return view_counts;
}

static struct kept_section* _Atomic* first_place(const struct array* array, MPI_Count count,
                                                 MPI_Datatype type) {
  const uint64_t odd = 0x9e3779b97f4a7c15;
  uint64_t hash = ((uint64_t)count * odd) ^ (uintptr_t)type;
  for (int d = 0; d < array->rank; ++d)
    hash = (hash ^ (uint64_t)array->dim[d].extent) * odd + (uint64_t)array->dim[d].stride_bytes;
  return &kept_sections[(hash * odd) >> 56];
}
static struct kept_section* _Atomic* next_place(struct kept_section* _Atomic* place) {
  return place + 1 < kept_sections + places ? place + 1 : kept_sections;
}

static int is_kept(const struct kept_section* kept, const struct array* array, MPI_Count count,
                   MPI_Datatype type) {
  int same = kept->type == type && kept->count == count && kept->elem_len == array->elem_len &&
             kept->rank == array->rank;
  for (int d = 0; same && d < array->rank; ++d)
    same = kept->dim[d].extent == array->dim[d].extent &&
           kept->dim[d].stride_bytes == array->dim[d].stride_bytes;
  return same;
}

// True if there is one for the view.
static int use_kept(struct view* view, const struct array* array, MPI_Count count,
                    MPI_Datatype type) {
  if (atomic_load(&keeping) != yes) return 0;
  const int end = come_in();
  struct kept_section* _Atomic* place = first_place(array, count, type);
  for (int i = 0; i < looks && atomic_load(&keeping) == yes; ++i, place = next_place(place)) {
    const struct kept_section* kept =
        atomic_load_explicit(place, memory_order_acquire);  // with keep()
    if (kept == NULL) break;
    if (!is_kept(kept, array, count, type)) continue;
    *view = (struct view){view->address, 1, kept->made, end};
    return 1;
  }
  if (end == view_counts) atomic_fetch_sub(&inside, 1);
  return 0;
}

void end_section_view(struct view* view) {
  if (view->end == view_is_made) PMPI_Type_free(&view->type);
  if (view->end == view_counts) atomic_fetch_sub(&inside, 1);
}

// What MPI_Finalize does first: it deletes the attributes of MPI_COMM_SELF.
static int forget_all(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)comm, (void)keyval, (void)value, (void)state;
  atomic_store(&keeping, over);
  for (int i = 0; i < places && atomic_load(&inside) == 0; ++i) {
    struct kept_section* kept = atomic_exchange(&kept_sections[i], NULL);
    if (kept != NULL) PMPI_Type_free(&kept->made);
    free(kept);
  }
  return MPI_SUCCESS;
}

// Not where only sessions are: nothing would say when the last one ends.
static int may_keep(void) {
  int on = 0, off = 0, level = MPI_THREAD_MULTIPLE, keyval, expected = not_yet;
  if (atomic_load(&keeping) != not_yet) return atomic_load(&keeping) == yes;
  if (PMPI_Initialized(&on) || PMPI_Finalized(&off) || !on || off) return 0;
  PMPI_Query_thread(&level);
  atomic_store(&are_several, level == MPI_THREAD_MULTIPLE);
  if (!atomic_compare_exchange_strong(&keeping, &expected, yes)) return expected == yes;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_all, &keyval, NULL)) {
    atomic_store(&keeping, over);
    return 0;
  }
  PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  PMPI_Comm_free_keyval(&keyval);
  return 1;
}

// The new type of the view stays, or is the call's alone.
static void keep(struct view* view, const struct array* array, MPI_Count count, MPI_Datatype type) {
  const size_t dims = sizeof(struct array_dim) * (size_t)array->rank;
  struct kept_section* kept = may_keep() ? malloc(sizeof *kept + dims) : NULL;
  if (kept == NULL) return;
  *kept = (struct kept_section){view->type, type, count, array->elem_len, array->rank};
  memcpy(kept->dim, array->dim, dims);
  const int end = come_in();
  struct kept_section* _Atomic* place = first_place(array, count, type);
  for (int i = 0; i < looks && atomic_load(&keeping) == yes; ++i, place = next_place(place)) {
    struct kept_section* nobody = NULL;
    if (!atomic_compare_exchange_strong(place, &nobody, kept)) continue;
    view->end = end;
    return;
  }
  if (end == view_counts) atomic_fetch_sub(&inside, 1);
  free(kept);
}

int section_view(struct view* view, const struct array* array, MPI_Count count, MPI_Datatype type,
                 MPI_Comm comm, const char* call, const char* name) {
  MPI_Count lb = 0, extent = 0, size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL) return MPI_SUCCESS;  // the call itself looks at them
  const int is_predefined = (uintptr_t)type < 4096;
  if (is_predefined && use_kept(view, array, count, type)) return MPI_SUCCESS;
  if (PMPI_Type_get_extent_c(type, &lb, &extent) || PMPI_Type_size_c(type, &size))
    return MPI_SUCCESS;
  const MPI_Count length = (MPI_Count)array->elem_len, total = elements(array, array->rank);
  MPI_Datatype item = type;
  MPI_Count n = count, per = 1;
  if (extent == length) {
    // one item for each element of the array
  } else if (extent > 0 && lb == 0 && length % extent == 0 && count % (length / extent) == 0) {
    n = count / (length / extent);  // an element holds several items: a complex number as two reals
    if (PMPI_Type_contiguous_c(length / extent, type, &item)) return MPI_ERR_TYPE;
  } else if (extent > length && lb == 0 && extent % length == 0 &&
             array->dim[0].stride_bytes == length &&
             array->dim[0].extent % (extent / length) == 0) {
    per = extent / length;  // an item is several elements, one after the other
  } else {
    return refuse(comm, MPI_ERR_TYPE, call, name,
                  "the datatype fits neither into one of its elements nor to a run of them");
  }
  int e = MPI_SUCCESS;
  if (n > total / per) {
    char why[100];
    snprintf(why, sizeof why, "it has room for %lld items, and the count is %lld",
             (long long)(count / n * (total / per)), (long long)count);
    e = refuse(comm, MPI_ERR_COUNT, call, name, why);
  } else {
    e = section_type(array, array->rank - 1, n, per, item, &view->type);
    if (e == MPI_SUCCESS) e = PMPI_Type_commit(&view->type);
    view->count = 1;
    if (e == MPI_SUCCESS) view->end = view_is_made;
    if (e == MPI_SUCCESS && is_predefined) keep(view, array, count, type);
  }
  if (item != type) PMPI_Type_free(&item);
  return e;
}

// Copies between the section and its image: to the image, or from it.
static void copy_section(const struct array* array, int d, char* at, char** image, int to_image) {
  const struct array_dim* dim = &array->dim[d];
  for (ptrdiff_t i = 0; i < dim->extent; ++i, at += dim->stride_bytes) {
    if (d > 0) {
      copy_section(array, d - 1, at, image, to_image);
      continue;
    }
    memcpy(to_image ? *image : at, to_image ? at : *image, array->elem_len);
    *image += array->elem_len;
  }
}

int section_image(struct image* image, const struct array* array, MPI_Comm comm, const char* call,
                  const char* name) {
  image->address = malloc((size_t)elements(array, array->rank) * array->elem_len + 1);
  if (image->address == NULL)
    return refuse(comm, MPI_ERR_NO_MEM, call, name,
                  "there is no memory for a contiguous copy of it");
  image->made = 1;
  char* place = image->address;
  copy_section(array, array->rank - 1, array->base_addr, &place, 1);
  return MPI_SUCCESS;
}

void copy_back(struct image* image, const struct array* array, int changed) {
  char* place = image->address;
  if (changed) copy_section(array, array->rank - 1, array->base_addr, &place, 0);
  free(image->address);
}
