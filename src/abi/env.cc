// SPDX-License-Identifier: Apache-2.0
#include "abi/env.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "object/info.h"

namespace weft::abi {

Err init(Rank& rank, int required, int* provided) {
  if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED &&
      required != MPI_THREAD_SERIALIZED && required != MPI_THREAD_MULTIPLE) {
    return fail(MPI_ERR_ARG,
                "required is %d; expected MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, "
                "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                required);
  }
  int level = required;
  WEFT_TRY(world::init(rank, required, &level));
  if (provided != nullptr) *provided = level;
  return ok;
}

void abort(Rank& rank, const object::Comm& comm, int code) {
  char text[200];
  std::snprintf(text, sizeof text, "weft: MPI_Abort on rank %d of %s with code %d", rank.world_rank,
                comm.name.empty() ? "a communicator" : comm.name.c_str(), code);
  world::abort_job(&rank, code, text);
}

Err is_initialized(const Rank& rank, int* flag) {
  *flag = rank.world_model.load(std::memory_order_acquire) != Rank::Phase::before_init;
  return ok;
}

Err is_finalized(const Rank& rank, int* flag) {
  *flag = rank.world_model.load(std::memory_order_acquire) == Rank::Phase::finalized;
  return ok;
}

Err query_thread(const Rank& rank, int* level) {
  *level = rank.thread_level;
  return ok;
}

Err is_thread_main(const Rank& rank, int* flag) {
  *flag = pthread_equal(rank.main_thread, pthread_self()) != 0;
  return ok;
}

Err version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return ok;
}

Err library_version(char* text, int* length) {
  world::library_version(text, length);
  return ok;
}

Err processor_name(char* text, int* length) {
  world::processor_name(text, length);
  return ok;
}

Err alloc_mem(object::Store& store, std::int64_t bytes, const object::Info* info,
              void* pointer_to_memory) {
  if (bytes < 0)
    return fail(MPI_ERR_ARG, "size is %lld; expected 0 or more bytes",
                static_cast<long long>(bytes));
  std::size_t alignment = 64;
  const std::string* wanted = object::info_find(info, "mpi_minimum_memory_alignment");
  if (wanted != nullptr) {
    const auto n = std::strtoul(wanted->c_str(), nullptr, 10);
    if (n > alignment && (n & (n - 1)) == 0) alignment = n;
  }
  const std::size_t n = bytes == 0 ? 1 : static_cast<std::size_t>(bytes);
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, n) != 0)
    return fail(MPI_ERR_NO_MEM, "%lld bytes of memory are not to be had",
                static_cast<long long>(bytes));
  store.memory.insert(memory);
  std::memcpy(pointer_to_memory, &memory, sizeof memory);
  return ok;
}

Err free_mem(object::Store& store, void* memory) {
  if (memory != nullptr && store.memory.erase(memory) == 0)
    return fail(MPI_ERR_BASE,
                "base is %p, which is not from MPI_Alloc_mem, or was freed already; free what "
                "malloc gave with free",
                memory);
  std::free(memory);
  return ok;
}

Err abi_version(int* major, int* minor) {
  *major = MPI_ABI_VERSION;
  *minor = MPI_ABI_SUBVERSION;
  return ok;
}

namespace {

struct Fact {
  const char* key;
  const char* value;
};

static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);
constexpr Fact abi_facts[] = {
    {"mpi_aint_size", "8"}, {"mpi_count_size", "8"}, {"mpi_offset_size", "8"}};
// All the optional types that the ABI has handles for (datatype/predefined.cc).
constexpr Fact fortran_facts[] = {{"mpi_logical_size", "4"},
                                  {"mpi_integer_size", "4"},
                                  {"mpi_real_size", "4"},
                                  {"mpi_double_precision_size", "8"},
                                  {"mpi_logical1_supported", "true"},
                                  {"mpi_logical2_supported", "true"},
                                  {"mpi_logical4_supported", "true"},
                                  {"mpi_logical8_supported", "true"},
                                  {"mpi_logical16_supported", "true"},
                                  {"mpi_integer1_supported", "true"},
                                  {"mpi_integer2_supported", "true"},
                                  {"mpi_integer4_supported", "true"},
                                  {"mpi_integer8_supported", "true"},
                                  {"mpi_integer16_supported", "true"},
                                  {"mpi_real2_supported", "true"},
                                  {"mpi_real4_supported", "true"},
                                  {"mpi_real8_supported", "true"},
                                  {"mpi_real16_supported", "true"},
                                  {"mpi_complex4_supported", "true"},
                                  {"mpi_complex8_supported", "true"},
                                  {"mpi_complex16_supported", "true"},
                                  {"mpi_complex32_supported", "true"},
                                  {"mpi_double_complex_supported", "true"}};

Err info_of(Entry& entry, MPI_Info* out, std::span<const Fact> facts) {
  object::create_info(entry.store(), out);
  object::Info* info = entry.store().info(*out);
  for (const Fact& f : facts) WEFT_TRY(object::info_set(*info, f.key, f.value));
  return ok;
}

}  // namespace

Err fortran_booleans(int size, void* is_true, void* is_false, int* is_set) {
  *is_set = 0;
  if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
    return fail(MPI_ERR_ARG, "logical_size is %d; expected 1, 2, 4, 8 or 16 bytes", size);
  const auto n = static_cast<std::size_t>(size);
  std::memset(is_true, 0, n);
  std::memset(is_false, 0, n);
  static_cast<unsigned char*>(is_true)[0] = 1;  // little endian
  *is_set = 1;
  return ok;
}

Err set_fortran_booleans(int size, const void* is_true, const void* is_false) {
  unsigned char yes[16], no[16];
  int is_set = 0;
  WEFT_TRY(fortran_booleans(size, yes, no, &is_set));
  const auto n = static_cast<std::size_t>(size);
  if (std::memcmp(yes, is_true, n) == 0 && std::memcmp(no, is_false, n) == 0) return ok;
  return fail(MPI_ERR_ABI,
              "Fortran's logicals are set already, to 1 and 0; they cannot be changed");
}

Err set_fortran_info(const object::Info& info) {
  for (const Fact& f : fortran_facts) {
    const std::string* value = object::info_find(&info, f.key);
    if (value == nullptr || *value == f.value) continue;
    return fail(MPI_ERR_ABI, "%s is %s; it is set already, to %s, and cannot be changed", f.key,
                value->c_str(), f.value);
  }
  return ok;
}

Err abi_info(Entry& entry, MPI_Info* info) {
  return info_of(entry, info, abi_facts);
}

Err abi_fortran_info(Entry& entry, MPI_Info* info) {
  return info_of(entry, info, fortran_facts);
}

}  // namespace weft::abi
