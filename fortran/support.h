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

// The default integer of the program, and as large a logical. Where it has 8 bytes
// (-fdefault-integer-8), this is another library, libmpifort_abi_i8: counts go to the large forms
// as they are, all other integers are converted.
#ifdef MPIFORT_I8
typedef int64_t integer;
#else
typedef int integer;
#endif
enum { integer_is_int = sizeof(integer) == sizeof(int) };

// What is out of range for C stays out of range for the call.
static inline int in_c(integer value) {
  if (value > INT32_MAX) return INT32_MAX;
  return value < INT32_MIN ? INT32_MIN : (int)value;
}
// Compilers disagree about true, 1 or -1, but in all of them the lowest bit decides. MPI's own true
// is 1.
static inline int logical_in(integer value) {
  return (int)(value & 1);
}

// The constants that stand for an address, as variables of a common block (mpif.h and the modules
// declare the same). With ranks as threads each rank has its own copy of the program and of this
// library, so each knows its own.
struct sentinels {
  integer bottom, in_place, buffer_automatic, errcodes_ignore, unweighted, weights_empty;
  integer status_ignore[8], statuses_ignore[8];
  char argv_null, argvs_null;
};
extern struct sentinels mpifort_sentinels_;
// One of them, as C has it.
LOCAL void* constant_address(size_t place);

static inline void* c_address(const void* p) {
  const size_t place = (size_t)((uintptr_t)p - (uintptr_t)&mpifort_sentinels_);
  return place < sizeof mpifort_sentinels_ ? constant_address(place) : (void*)(uintptr_t)p;
}

// Arrays of default integers, statuses and logicals. Where C's are the same they are used where
// they lie, otherwise they are converted and (if MPI writes them) converted back.
struct ints {
  int room[16];
  int *at, *made;
};
struct statuses {
  MPI_Status room[2];
  MPI_Status* at;
};
LOCAL void convert_ints(struct ints* ints, const integer* from, MPI_Count n, int logical);
LOCAL void convert_ints_back(const struct ints* ints, integer* to, MPI_Count n);
LOCAL void convert_statuses(struct statuses* statuses, const integer* from, MPI_Count n);
LOCAL void convert_statuses_back(const struct statuses* statuses, integer* to, MPI_Count n);
LOCAL void free_memory(void* memory);
LOCAL void release_statuses(struct statuses* statuses);
static inline void ints_in(struct ints* ints, integer* from, MPI_Count n) {
  ints->made = NULL;
  if (integer_is_int)
    ints->at = (int*)c_address(from);
  else
    convert_ints(ints, from, n, 0);
}
static inline void ints_out(const struct ints* ints, integer* to, MPI_Count n) {
  if (!integer_is_int) convert_ints_back(ints, to, n);
}
static inline void free_ints(struct ints* ints) {
  if (ints->made != NULL) free_memory(ints->made);
}
static inline void logicals_in(struct ints* ints, const integer* from, MPI_Count n) {
  convert_ints(ints, from, n, 1);
}
static inline void logicals_out(const struct ints* ints, integer* to, MPI_Count n) {
  for (MPI_Count i = 0; i < n; ++i) to[i] = ints->at[i] != 0;
}
static inline void statuses_in(struct statuses* statuses, integer* from, MPI_Count n) {
  if (integer_is_int)
    statuses->at = (MPI_Status*)c_address(from);
  else
    convert_statuses(statuses, from, n);
}
static inline void statuses_out(const struct statuses* statuses, integer* to, MPI_Count n) {
  if (!integer_is_int) convert_statuses_back(statuses, to, n);
}
static inline void free_statuses(struct statuses* statuses) {
  if (!integer_is_int) release_statuses(statuses);
}
// How long an array is whose length other arrays say, or the communicator's topology.
LOCAL MPI_Count sum_of(const integer* counts, MPI_Count n);
static inline MPI_Count last_of(const integer* ends, MPI_Count n) {
  return n > 0 ? ends[n - 1] : 0;
}
LOCAL int dimensions(MPI_Comm comm);

// Strings: Fortran's are padded with blanks and have a length, C's end with a NUL.
struct text {
  char room[256];
  char* chars;
};
LOCAL char* text_in(struct text* text, const char* chars, size_t length, int strip_leading);
LOCAL void free_text(struct text* text);
LOCAL void text_out(char* chars, size_t length, const char* text);
// How long a value may be that MPI_Info_get writes.
static inline int c_length(integer length) {
  return length < MPI_MAX_INFO_VAL ? in_c(length) : MPI_MAX_INFO_VAL;
}

// Handles are integers in Fortran. Those of the ABI's own objects are small and the same in both
// languages; of all others the C library knows the number.
#define HANDLE(Type, name) HANDLE_AS(Type, Type, name)
#define HANDLE_AS(function, Type, name)                                                     \
  static inline MPI_##Type function##_in(integer value) {                                   \
    return (uint64_t)value < 4096 ? (MPI_##Type)(uintptr_t)value                            \
                                  : PMPI_##name##_fromint(in_c(value));                     \
  }                                                                                         \
  static inline integer function##_out(MPI_##Type handle) {                                 \
    return (uintptr_t)handle < 4096 ? (int)(uintptr_t)handle : PMPI_##name##_toint(handle); \
  }
HANDLE(Comm, Comm)
#ifdef MPIFORT_I8
// The modules' MPI_INTEGER and MPI_LOGICAL are MPI_INTEGER8 and MPI_LOGICAL8. Of pairs of such the
// ABI has no constant, but a type.
LOCAL MPI_Datatype two_integers(void);
HANDLE_AS(Plain, Datatype, Type)
static inline MPI_Datatype Datatype_in(integer value) {
  return value == (integer)(uintptr_t)MPI_2INTEGER ? two_integers() : Plain_in(value);
}
static inline integer Datatype_out(MPI_Datatype handle) {
  const integer value = Plain_out(handle);
  return value >= 4096 && handle == two_integers() ? (integer)(uintptr_t)MPI_2INTEGER : value;
}
#else
HANDLE(Datatype, Type)
#endif
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
#define HANDLE_ARRAY(Type)                                                                       \
  static inline void Type##_array(struct handles* h, const integer* from, MPI_Count n, int in) { \
    make_handles(h, n);                                                                          \
    for (MPI_Count i = 0; i < n && in; ++i) h->at[i] = Type##_in(from[i]);                       \
  }                                                                                              \
  static inline void Type##_array_out(struct handles* h, integer* to, MPI_Count n, int all) {    \
    for (MPI_Count i = 0; i < n && all; ++i) to[i] = Type##_out((MPI_##Type)h->at[i]);           \
  }
HANDLE_ARRAY(Request)
HANDLE_ARRAY(Datatype)
HANDLE_ARRAY(Info)
// The types' handles for a call that returns before it is done: they stay. Equal arrays are kept
// once.
LOCAL MPI_Datatype* kept_types(const integer* types, MPI_Count n);
// How many processes (neighbors) a collective sends to and receives from.
LOCAL void peers(MPI_Comm comm, int neighbors, int* targets, int* sources);

// Fortran counts from 1.
static inline int index_out(int index) {
  return index == MPI_UNDEFINED ? index : index + 1;
}
LOCAL void indices_out(int* indices, int error, int count);
// Attributes (19.3.7): what Fortran sets is in C the address of an integer, what C sets is an
// address in Fortran, and of attributes that MPI sets itself Fortran gets the value. So a value
// that Fortran sets lies in a place of this library's, by which it is known again.
LOCAL void* attribute_in(MPI_Aint value);
LOCAL MPI_Aint attribute_value(void* attribute);  // of what Fortran or C have set
LOCAL MPI_Aint attribute_out(int keyval, void* attribute);
LOCAL void free_attribute(void* attribute);  // no more than its place, if it has one

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
// How many elements a contiguous array has; -1 if it is not contiguous, `no_end` if it is of
// assumed size (which a(1) as a dummy argument means in old programs, too).
enum { no_end = INT32_MAX };
LOCAL MPI_Count contiguous_elements(const struct array* array);
static inline int is_contiguous(const struct array* array) {
  return contiguous_elements(array) >= 0;
}

// A buffer in terms of C: a section of an array becomes one element of a datatype made for it.
struct view {
  void* address;
  MPI_Count count;
  MPI_Datatype type;
  enum {
    view_is_kept,
    view_is_made,
    view_counts
  } end;  // what its end has to do: nothing, free, uncount
};
LOCAL int check_room(MPI_Count elements, const struct array* array, MPI_Count count,
                     MPI_Datatype type, MPI_Comm comm, const char* call, const char* name);
LOCAL int section_view(struct view* view, const struct array* array, MPI_Count count,
                       MPI_Datatype type, MPI_Comm comm, const char* call, const char* name);
static inline int view_of(struct view* view, const struct array* array, MPI_Count count,
                          MPI_Datatype type, MPI_Comm comm, const char* call, const char* name) {
  *view = (struct view){c_address(array->base_addr), count, type, view_is_kept};
  if (array->rank == 0) return MPI_SUCCESS;
  const MPI_Count elements = contiguous_elements(array);
  if (elements >= count || elements == no_end) return MPI_SUCCESS;
  if (elements >= 0) return check_room(elements, array, count, type, comm, call, name);
  return section_view(view, array, count, type, comm, call, name);
}
LOCAL void end_section_view(struct view* view);
static inline void end_view(struct view* view) {
  if (view->end != view_is_kept) end_section_view(view);
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
