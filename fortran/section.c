// SPDX-License-Identifier: Apache-2.0
//
// Sections of arrays: datatypes that describe them, contiguous copies of them, or a sentence why
// neither will do.
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

int section_view(struct view* view, const struct array* array, MPI_Count count, MPI_Datatype type,
                 MPI_Comm comm, const char* call, const char* name) {
  MPI_Count lb = 0, extent = 0, size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL) return MPI_SUCCESS;  // the call itself looks at them
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
    e = refuse(comm, MPI_ERR_COUNT, call, name, "the count says more elements than it has");
  } else {
    e = section_type(array, array->rank - 1, n, per, item, &view->type);
    if (e == MPI_SUCCESS) e = PMPI_Type_commit(&view->type);
    view->made = e == MPI_SUCCESS;
    view->count = 1;
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
