// SPDX-License-Identifier: Apache-2.0
//
// The sentences of argument checks, and the checks that loop. Cold, except for arrays of requests.
#include "abi/check.h"

#include <cstdio>
#include <cstring>
#include <limits>

#include "abi/constants.h"
#include "abi/entry.h"
#include "object/op.h"

namespace weft::abi::check {
namespace {

struct KindName {
  Kind kind;
  const char* name;
};
constexpr KindName kind_names[] = {
    {Kind::comm, "a communicator"}, {Kind::group, "a group"},
    {Kind::datatype, "a datatype"}, {Kind::op, "an operation"},
    {Kind::request, "a request"},   {Kind::info, "an info object"},
    {Kind::message, "a message"},   {Kind::errhandler, "an error handler"},
    {Kind::session, "a session"},   {Kind::win, "a window"},
    {Kind::file, "a file"},
};

/// What is this handle? e.g. "MPI_INT", "a request", "an object that was freed".
void describe(const void* handle, char* out, std::size_t size) {
  if (is_constant(handle)) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    const char* name = constant_name(static_cast<int>(value));
    if (name)
      std::snprintf(out, size, "%s", name);
    else
      std::snprintf(out, size, "%#zx, which is no handle", value);
    return;
  }
  for (const KindName& k : kind_names) {
    if (is_live(handle, k.kind)) {
      std::snprintf(out, size, "%s", k.name);
      return;
    }
  }
  if (is_live(handle, Kind::dead))
    std::snprintf(out, size, "an object that was freed");
  else
    std::snprintf(out, size, "%p, which is no handle of this process", handle);
}

struct Name {
  char text[64];
};
/// What is passed where memory is expected? "a null pointer", "MPI_UNWEIGHTED".
Name memory_name(const void* pointer) {
  Name name{};
  const char* constant = constant_name(static_cast<int>(reinterpret_cast<std::uintptr_t>(pointer)));
  if (pointer == nullptr || constant != nullptr)
    std::snprintf(name.text, sizeof name.text, "%s", constant ? constant : "a null pointer");
  else
    std::snprintf(name.text, sizeof name.text, "%p, which is no address", pointer);
  return name;
}

/// The n-th of names separated by ", ".
Name nth(const char* names, int n) {
  for (; n > 0; --n) names = std::strstr(names, ", ") + 2;
  Name name{};
  std::snprintf(name.text, sizeof name.text, "%.*s", static_cast<int>(std::strcspn(names, ",")),
                names);
  return name;
}

/// "MPI_COMM_WORLD, which has ranks 0 to 3"
void describe(const Comm& comm, char* out, std::size_t size) {
  std::snprintf(out, size, "%s%s%s has %s0 to %d", comm.name.empty() ? "the communicator" : "",
                comm.name.c_str(), comm.is_inter() ? "'s remote group" : "", "ranks ",
                static_cast<int>(comm.peers().size()) - 1);
}

/// May `data`, which is no address, be the buffer of elements of `type`? MPI_BOTTOM of a type that
/// holds addresses; anything where there is no data (containers without elements give odd
/// pointers).
bool reaches_data(const void* data, const Type& type) {
  return type.size == 0 ||
         (data == MPI_BOTTOM && type.true_lb >= static_cast<std::int64_t>(object::first_address));
}

constexpr const char* in_place_rule =
    " (MPI_IN_PLACE is for collectives on intracommunicators, in one of two buffers, and at the "
    "root if there is one)";

Err bad_blocks(const void* data, std::int64_t total, const char* names) {
  return fail(MPI_ERR_BUFFER,
              "%s is %s, but its counts add up to %lld elements; pass the buffer's address%s",
              nth(names, 0).text, memory_name(data).text, static_cast<long long>(total),
              data == MPI_IN_PLACE ? in_place_rule : "");
}

Err bad_block_count(std::int64_t count, std::int64_t block, const char* names) {
  return fail(MPI_ERR_COUNT, "%s[%lld] is %lld; expected 0 or more elements", nth(names, 1).text,
              static_cast<long long>(block), static_cast<long long>(count));
}

Err too_much(const char* count_name, std::int64_t count, const Type& type) {
  return fail(MPI_ERR_COUNT, "%s is %lld elements of %lld bytes: more bytes than 64 bits hold",
              count_name, static_cast<long long>(count), static_cast<long long>(type.size));
}

}  // namespace

Err bad_handle(int cls, const void* handle, const char* expected, const char* name) {
  char is[160];
  describe(handle, is, sizeof is);
  if (std::strncmp(expected, is, std::strlen(is)) == 0)  // an operation may still use a freed one
    return fail(cls,
                "%s is %s that was freed, or of another rank; do not use a handle after it was "
                "freed, nor pass handles between ranks",
                name, is);
  return fail(cls, "%s is %s; expected %s%s", name, is, expected,
              is_live(handle, Kind::dead) ? "; do not use a handle after it was freed" : "");
}

Err bad_inter(const char* name) {
  return fail(MPI_ERR_COMM, "%s is an intercommunicator; this call is for intracommunicators",
              name);
}

Err bad_count(std::int64_t count, const char* name) {
  return fail(
      MPI_ERR_COUNT, "%s is %lld; expected 0 or more%s", name, static_cast<long long>(count),
      count < -1000000 ? " (does it overflow int? the _c form of the call takes MPI_Count)" : "");
}

Err bad_length(std::int64_t count, const char* name, int cls) {
  return fail(cls, "%s is %lld; expected 0 or more", name, static_cast<long long>(count));
}

Err bad_pointer(const void* pointer, const char* name, int cls) {
  return fail(cls, "%s is %s; pass the address of a variable", name, memory_name(pointer).text);
}

Err bad_array(std::int64_t length, const char* name) {
  return fail(MPI_ERR_COUNT, "%s cannot have %lld elements: no memory is that large", name,
              static_cast<long long>(length));
}

Err string_tag(const char* text, const char* name) {
  if (std::strlen(text) < MPI_MAX_STRINGTAG_LEN) return ok;
  return fail(MPI_ERR_ARG, "%s has %zu characters; it may have at most %d", name, std::strlen(text),
              MPI_MAX_STRINGTAG_LEN - 1);
}

Err bad_dest(int rank, const Comm& comm, const char* name) {
  char range[200];
  describe(comm, range, sizeof range);
  return fail(MPI_ERR_RANK, "%s is %d, but %s; pass one of them or MPI_PROC_NULL%s", name, rank,
              range, rank == MPI_ANY_SOURCE ? "; MPI_ANY_SOURCE is for receives" : "");
}

Err bad_source(int rank, const Comm& comm, const char* name) {
  char range[200];
  describe(comm, range, sizeof range);
  return fail(MPI_ERR_RANK, "%s is %d, but %s; pass one of them, MPI_ANY_SOURCE or MPI_PROC_NULL",
              name, rank, range);
}

Err bad_rank(int rank, const Comm& comm, const char* name) {
  char range[200];
  describe(comm, range, sizeof range);
  return fail(MPI_ERR_RANK, "%s is %d, but %s; pass one of them", name, rank, range);
}

Err bad_root(int root, const Comm& comm, const char* name) {
  char range[200];
  describe(comm, range, sizeof range);
  return fail(MPI_ERR_ROOT, "%s is %d, but %s; pass the same one of them on every process%s", name,
              root, range,
              comm.is_inter() ? ", MPI_ROOT at the root and MPI_PROC_NULL beside it" : "");
}

Err bad_any_tag(const Comm& comm, const char* name) {
  return fail(
      MPI_ERR_TAG,
      "%s is MPI_ANY_TAG, but communicator %s was made with mpi_assert_no_any_tag; name the "
      "tag, or make the communicator without that assertion",
      name, comm.name.c_str());
}

Err bad_tag(int tag, const char* name) {
  return fail(MPI_ERR_TAG, "%s is %d; expected 0 to 2147483647 (attribute MPI_TAG_UB)%s", name, tag,
              tag == MPI_ANY_TAG ? "; MPI_ANY_TAG is for receives" : "");
}

Err unusual_buffer(const void* buffer, std::int64_t count, const Type* type, MPI_Datatype handle,
                   const char* names) {
  if (count < 0) return bad_count(count, nth(names, 1).text);
  const Name type_name = nth(names, 2);
  if (type == nullptr) return check::type(type, handle, type_name.text);
  if (!type->committed) {
    return fail(MPI_ERR_TYPE,
                "%s is not committed; call MPI_Type_commit before it is used in "
                "communication",
                type_name.text);
  }
  if (!holds(count, *type)) return too_much(nth(names, 1).text, count, *type);
  if (reaches_data(buffer, *type)) return ok;
  return fail(MPI_ERR_BUFFER,
              "%s is %s, but %s is %lld; pass the buffer's address, or a count of 0%s",
              nth(names, 0).text, memory_name(buffer).text, nth(names, 1).text,
              static_cast<long long>(count), buffer == MPI_IN_PLACE ? in_place_rule : "");
}

namespace {
/// The name of an element of an array.
Name element_name(const char* array, std::int64_t i) {
  Name name{};
  std::snprintf(name.text, sizeof name.text, "%.40s[%lld]", array, static_cast<long long>(i));
  return name;
}

[[gnu::cold]] Err bad_request(MPI_Request handle, const char* array, std::int64_t i) {
  return request_given(handle, element_name(array, i).text);
}
}  // namespace

Err requests(const MPI_Request* array, std::int64_t count, const char* name) {
  if (count <= 0) return ok;
  if (!is_address(array)) return bad_pointer(array, name);
  for (std::int64_t i = 0; i < count; ++i) {
    if (array[i] == MPI_REQUEST_NULL || is_live(array[i], Kind::request)) [[likely]]
      continue;
    return bad_request(array[i], name, i);
  }
  return ok;
}

Err requests_given(const MPI_Request* array, std::int64_t count, const char* name) {
  WEFT_TRY(requests(array, count, name));
  for (std::int64_t i = 0; i < count; ++i)
    if (array[i] == MPI_REQUEST_NULL) return bad_request(array[i], name, i);
  return ok;
}

Err types(const MPI_Datatype* array, std::int64_t count, const char* name) {
  if (count <= 0) return ok;
  if (!is_address(array)) return bad_pointer(array, name);
  for (std::int64_t i = 0; i < count; ++i) {
    if (abi::type(array[i]) != nullptr) continue;
    return type(nullptr, array[i], element_name(name, i).text);
  }
  return ok;
}

Err commands(char* const* array, int count, const char* name) {
  if (count < 1) return fail(MPI_ERR_ARG, "count is %d; expected at least one command", count);
  if (!is_address(array)) return bad_pointer(array, name);
  for (int i = 0; i < count; ++i)
    if (!is_address(array[i])) return bad_pointer(array[i], element_name(name, i).text);
  return ok;
}

Err infos(const MPI_Info* array, int count, object::Store& store, const char* name) {
  if (!is_address(array)) return bad_pointer(array, name);
  for (int i = 0; i < count; ++i)
    WEFT_TRY(info(store.info(array[i]), array[i], element_name(name, i).text));
  return ok;
}

Err buffers(const void* data, coll::Counts counts, const Type* type, MPI_Datatype handle,
            std::int64_t blocks, const char* names) {
  if (!is_address(counts.data) && blocks > 0) return bad_pointer(counts.data, nth(names, 1).text);
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (counts[i] < 0) return bad_block_count(counts[i], i, names);
    if (__builtin_add_overflow(total, counts[i], &total))
      total = std::numeric_limits<std::int64_t>::max();
  }
  if (type == nullptr || !type->committed) return unusual_buffer(data, 0, type, handle, names);
  if (!holds(total, *type)) return too_much(nth(names, 1).text, total, *type);
  if (!is_address(data) && total > 0 && !reaches_data(data, *type))
    return bad_blocks(data, total, names);
  return ok;
}

Err buffers(const void* data, coll::Counts counts, coll::Counts displs, const MPI_Datatype* types,
            std::int64_t blocks, const char* names) {
  if (blocks == 0) return ok;  // without a neighbor
  if (!is_address(counts.data)) return bad_pointer(counts.data, nth(names, 1).text);
  if (!is_address(types)) return bad_pointer(types, nth(names, 2).text);
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (counts[i] < 0) return bad_block_count(counts[i], i, names);
    const Type* type = abi::type(types[i]);
    if (type != nullptr && type->committed) {
      if (!holds(counts[i], *type)) return too_much(nth(names, 1).text, counts[i], *type);
      const bool reached = is_address(data) || (data == MPI_BOTTOM && displs[i] != 0);
      if (!reached && counts[i] > 0 && !reaches_data(data, *type))
        return bad_blocks(data, counts[i], names);
      continue;
    }
    char element[4 * sizeof(Name)];
    std::snprintf(element, sizeof element, "%s, %s, %s", nth(names, 0).text, nth(names, 1).text,
                  element_name(nth(names, 2).text, i).text);
    return unusual_buffer(data, 0, type, types[i], element);
  }
  return ok;
}

std::int64_t sum(const int* numbers, std::int64_t length) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < length; ++i) sum += std::max(numbers[i], 0);
  return sum;
}

Err op_defined(const object::Op* op, const Type* type) {
  // A type that is not significant here (MPI_DATATYPE_NULL beside the root) is not looked at.
  return type == nullptr ? ok : object::check_op(*op, *type);
}

namespace {
/// `first`: in bytes. An intercommunicator has no own part.
Part part(const Comm& comm, const void* data, std::int64_t first, std::int64_t count,
          const Type* type) {
  return {is_address(data) ? static_cast<const std::byte*>(data) + first : data, count,
          comm.is_inter() ? nullptr : type};
}
}  // namespace

Part own(const Comm& comm, const void* data, std::int64_t count, const Type* type) {
  return part(comm, data, type != nullptr ? comm.rank * count * type->extent : 0, count, type);
}

Part own(const Comm& comm, const void* data, coll::Counts counts, coll::Counts displs,
         const Type* type) {
  if (data == MPI_IN_PLACE || comm.is_inter() || displs.data == nullptr) return {data, 0, nullptr};
  return part(comm, data, displs[comm.rank] * type->extent, counts[comm.rank], type);
}

Part own(const Comm& comm, const void* data, coll::Counts counts, coll::Counts displs,
         const MPI_Datatype* types) {
  if (data == MPI_IN_PLACE || comm.is_inter() || displs.data == nullptr) return {data, 0, nullptr};
  return part(comm, data, displs[comm.rank], counts[comm.rank], abi::type(types[comm.rank]));
}

Err aliased(const void* address, const Type* type) {
  if (type == nullptr || type->size == 0) return ok;  // no memory
  return fail(MPI_ERR_BUFFER,
              "what is sent and what is received lie at the same address (%p); pass MPI_IN_PLACE "
              "where the call takes it, or two buffers",
              address);
}

}  // namespace weft::abi::check
