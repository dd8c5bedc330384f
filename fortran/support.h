// SPDX-License-Identifier: Apache-2.0
//
// What the entry points for Fortran stand on: constants that are addresses, strings, handles and
// array descriptors, from Fortran's form to C's and back. Everything here uses only what the
// standard ABI defines, so that the library stands on any libmpi_abi. State is what Fortran's own
// names are (the sentinels) and what must outlive a call (below).
#ifndef WEFT_FORTRAN_SUPPORT_H
#define WEFT_FORTRAN_SUPPORT_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL __attribute__((visibility("hidden")))

// The constants that stand for an address, as variables of a common block (mpif.h and the modules
// declare the same). With ranks as threads each rank has its own copy of the program and of this
// library, so each knows its own.
struct sentinels {
  int bottom, in_place, buffer_automatic, errcodes_ignore, unweighted, weights_empty;
  int status_ignore[8], statuses_ignore[8];
  char argv_null, argvs_null;
};
extern struct sentinels mpifort_sentinels_;
// One of them, as C has it.
LOCAL void* constant_address(size_t place);

static inline void* c_address(const void* p) {
  const size_t place = (size_t)((uintptr_t)p - (uintptr_t)&mpifort_sentinels_);
  return place < sizeof mpifort_sentinels_ ? constant_address(place) : (void*)(uintptr_t)p;
}
static inline MPI_Status* status_at(MPI_Status* status) {
  return (MPI_Status*)c_address(status);
}

// Strings: Fortran's are padded with blanks and have a length, C's end with a NUL.
struct text {
  char room[256];
  char* chars;
};
LOCAL char* text_in(struct text* text, const char* chars, size_t length, int strip_leading);
LOCAL void free_text(struct text* text);
LOCAL void text_out(char* chars, size_t length, const char* text);
// How long a value may be that MPI_Info_get writes.
static inline int c_length(int length) {
  return length < MPI_MAX_INFO_VAL ? length : MPI_MAX_INFO_VAL;
}

// Handles are integers in Fortran. Those of the ABI's own objects are small and the same in both
// languages; of all others the C library knows the number.
#define HANDLE(Type, name)                                                                  \
  static inline MPI_##Type Type##_in(int value) {                                           \
    return (unsigned)value < 4096 ? (MPI_##Type)(uintptr_t)(unsigned)value                  \
                                  : PMPI_##name##_fromint(value);                           \
  }                                                                                         \
  static inline int Type##_out(MPI_##Type handle) {                                         \
    return (uintptr_t)handle < 4096 ? (int)(uintptr_t)handle : PMPI_##name##_toint(handle); \
  }
HANDLE(Comm, Comm)
HANDLE(Datatype, Type)
HANDLE(Errhandler, Errhandler)
HANDLE(File, File)
HANDLE(Group, Group)
HANDLE(Info, Info)
HANDLE(Message, Message)
HANDLE(Op, Op)
HANDLE(Request, Request)
HANDLE(Session, Session)
HANDLE(Win, Win)

// Arrays of handles.
struct handles {
  void* room[32];
  void** at;
};
LOCAL void make_handles(struct handles* handles, MPI_Count n);
LOCAL void free_handles(struct handles* handles);
#define HANDLE_ARRAY(Type)                                                                   \
  static inline void Type##_array(struct handles* h, const int* from, MPI_Count n, int in) { \
    make_handles(h, n);                                                                      \
    for (MPI_Count i = 0; i < n && in; ++i) h->at[i] = Type##_in(from[i]);                   \
  }                                                                                          \
  static inline void Type##_array_out(struct handles* h, int* to, MPI_Count n, int all) {    \
    for (MPI_Count i = 0; i < n && all; ++i) to[i] = Type##_out((MPI_##Type)h->at[i]);       \
  }
HANDLE_ARRAY(Request)
HANDLE_ARRAY(Datatype)
HANDLE_ARRAY(Info)
// The types' handles for a call that returns before it is done: they stay. Equal arrays are kept
// once.
LOCAL MPI_Datatype* kept_types(const int* types, MPI_Count n);
// How many processes (neighbors) a collective sends to and receives from.
LOCAL void peers(MPI_Comm comm, int neighbors, int* targets, int* sources);

// Fortran counts from 1.
static inline int index_out(int index) {
  return index == MPI_UNDEFINED ? index : index + 1;
}
LOCAL void indices_out(int* indices, int error, const int* count);
// Attributes that MPI sets itself: C gets an address, Fortran the value.
LOCAL MPI_Aint attribute_out(int keyval, void* value);

// Array descriptors of ISO_Fortran_binding.h, as far as compilers agree on them (gfortran 9 and
// newer, flang).
struct array_dim {
  ptrdiff_t lower_bound, extent, stride_bytes;
};
struct array {
  void* base_addr;
  size_t elem_len;
  int version;
  int8_t rank;
  char kind[3];  // attribute and type; their order differs
  struct array_dim dim[];
};
LOCAL int is_contiguous(const struct array* array);

// A buffer in terms of C: a section of an array becomes one element of a datatype made for it.
struct view {
  void* address;
  MPI_Count count;
  MPI_Datatype type;
  int made;
};
LOCAL int section_view(struct view* view, const struct array* array, MPI_Count count,
                       MPI_Datatype type, MPI_Comm comm, const char* call, const char* name);
static inline int view_of(struct view* view, const struct array* array, MPI_Count count,
                          MPI_Datatype type, MPI_Comm comm, const char* call, const char* name) {
  *view = (struct view){c_address(array->base_addr), count, type, 0};
  if (array->rank == 0 || is_contiguous(array)) return MPI_SUCCESS;
  return section_view(view, array, count, type, comm, call, name);
}
static inline void end_view(struct view* view) {
  if (view->made) PMPI_Type_free(&view->type);
}

// The same for calls in which a datatype cannot stand for the section: a contiguous copy of it.
struct image {
  void* address;
  int made;
};
LOCAL int section_image(struct image* image, const struct array* array, MPI_Comm comm,
                        const char* call, const char* name);
LOCAL void copy_back(struct image* image, const struct array* array, int changed);
static inline int image_of(struct image* image, const struct array* array, MPI_Comm comm,
                           const char* call, const char* name) {
  *image = (struct image){c_address(array->base_addr), 0};
  if (array->rank == 0 || is_contiguous(array)) return MPI_SUCCESS;
  return section_image(image, array, comm, call, name);
}
static inline void end_image(struct image* image, const struct array* array, int changed) {
  if (image->made) copy_back(image, array, changed);
}

// A buffer that must be contiguous: the call goes on after it returns, and no datatype describes
// the section.
LOCAL int refuse_section(const struct array* array, MPI_Comm comm, const char* call,
                         const char* name);
static inline int plain(void** at, const struct array* array, MPI_Comm comm, const char* call,
                        const char* name) {
  *at = c_address(array->base_addr);
  if (array->rank == 0 || is_contiguous(array)) return MPI_SUCCESS;
  return refuse_section(array, comm, call, name);
}

#endif
