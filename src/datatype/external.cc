// SPDX-License-Identifier: Apache-2.0
//
// MPI_Pack and MPI_Unpack, native and in "external32" (MPI-5.0 §5.2, §5.3, §14.5.2): big endian, no
// gaps, fixed widths. The portable form is made by walking the type's description element by
// element: it is a format for files and foreign machines, not for speed.
#include <cstring>

#include "datatype/construction.h"

namespace weft::datatype {
namespace {

using std::int64_t;
using ll = long long;

/// The bytes of one number: in memory and in the portable form. A complex is two numbers.
struct Width {
  int64_t native, external;
  int numbers;
};
Width width_of(const Type& basic) {
  const int numbers = basic.basic >= Basic::c16 && basic.basic <= Basic::c128 ? 2 : 1;
  return {basic.size / numbers, external_size(basic) / numbers, numbers};
}

void reverse(std::byte* to, const std::byte* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[n - 1 - i];
}

/// One number to the portable form; false if its value does not fit there.
bool encode(const Type& basic, const Width& w, std::byte* to, const std::byte* from) {
  if (basic.basic == Basic::f80 || basic.basic == Basic::c80) {
    long double value;
    std::memcpy(&value, from, sizeof value);
    const auto portable = static_cast<__float128>(value);
    reverse(to, reinterpret_cast<const std::byte*>(&portable), 16);
    return true;
  }
  reverse(to, from, w.external);  // little endian: the low bytes are in front
  // MPI_LONG is 4 bytes there, wide characters 2: what is cut off must be the sign or zeros.
  const bool negative = basic.basic == Basic::i64 && (std::to_integer<int>(to[0]) & 0x80) != 0;
  for (int64_t i = w.external; i < w.native; ++i)
    if (from[i] != (negative ? std::byte{0xff} : std::byte{0})) return false;
  return w.external == w.native || negative || basic.basic != Basic::i64 ||
         (std::to_integer<int>(to[0]) & 0x80) == 0;
}

void decode(const Type& basic, const Width& w, std::byte* to, const std::byte* from) {
  if (basic.basic == Basic::f80 || basic.basic == Basic::c80) {
    __float128 portable;
    reverse(reinterpret_cast<std::byte*>(&portable), from, 16);
    const auto value = static_cast<long double>(portable);
    std::memset(to, 0, sizeof value);
    std::memcpy(to, &value, 10);  // the rest is padding
    return;
  }
  reverse(to, from, w.external);
  const bool negative = basic.basic == Basic::i64 && (std::to_integer<int>(from[0]) & 0x80) != 0;
  std::memset(to + w.external, negative ? 0xff : 0,
              static_cast<std::size_t>(w.native - w.external));
}

/// Without data, however often: nobody walks there.
bool is_empty(const Term& term) {
  if (term.type != nullptr) return term.type->size == 0;
  for (int64_t i = 0; i < term.n; ++i)
    if (term.entries[i].count > 0 && !is_empty(*term.entries[i].child)) return false;
  return true;
}

/// Calls visit(basic type, address) for each basic element in order, until it returns false.
template <class Visit>
bool for_each_basic(const Type& type, std::byte* at, Visit& visit);

template <class Visit>
bool for_each_basic(const Term& term, std::byte* at, Visit& visit) {
  if (term.type != nullptr) return for_each_basic(*term.type, at, visit);
  for (int64_t i = 0; i < term.n; ++i) {
    const Entry& e = term.entries[i];
    if (is_empty(*e.child)) continue;
    for (int64_t k = 0; k < e.count; ++k)
      if (!for_each_basic(*e.child, at + e.disp + k * e.stride, visit)) return false;
  }
  return true;
}

template <class Visit>
bool for_each_basic(const Type& type, std::byte* at, Visit& visit) {
  if (type.construction != nullptr) return for_each_basic(type.construction->term, at, visit);
  const PairParts pair = pair_parts(type);
  if (pair.value == nullptr) return visit(type, at);
  return visit(*pair.value, at) && visit(*pair.index, at + pair.index_disp);
}

int64_t external_bytes(const Type& type);

int64_t external_bytes(const Term& term) {
  if (term.type != nullptr) return external_bytes(*term.type);
  int64_t sum = 0;
  for (int64_t i = 0; i < term.n; ++i)
    sum += term.entries[i].count * external_bytes(*term.entries[i].child);
  return sum;
}

int64_t external_bytes(const Type& type) {
  if (type.construction != nullptr) return external_bytes(type.construction->term);
  const PairParts pair = pair_parts(type);
  if (pair.value == nullptr) return external_size(type);
  return external_size(*pair.value) + external_size(*pair.index);
}

Err check_datarep(const char* datarep) {
  if (datarep != nullptr && std::strcmp(datarep, "external32") == 0) return ok;
  return fail(MPI_ERR_ARG, "data representation \"%s\" is not known here; use \"external32\"",
              datarep != nullptr ? datarep : "(null)");
}

Err check_room(const char* what, int64_t need, int64_t size, int64_t position) {
  if (position >= 0 && position <= size && need <= size - position) return ok;
  return fail(MPI_ERR_ARG,
              "%lld bytes are %s at position %lld, but the packed buffer has %lld bytes", ll(need),
              what, ll(position), ll(size));
}

Err total_bytes(int64_t count, int64_t each, int64_t* bytes) {
  if (!__builtin_mul_overflow(count, each, bytes)) return ok;
  return fail(MPI_ERR_COUNT, "%lld elements of %lld bytes are more bytes than 64 bits hold",
              ll(count), ll(each));
}

template <class Visit>
void for_each_basic(const ConstBuffer& buffer, Visit& visit) {
  auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(buffer.data));
  if (buffer.type->size == 0) return;
  for (int64_t i = 0; i < buffer.count; ++i)
    if (!for_each_basic(*buffer.type, at + i * buffer.type->extent, visit)) return;
}

}  // namespace

Err pack_at(const ConstBuffer& from, void* out, int64_t room, int64_t* position) {
  WEFT_TRY(check_room("to be packed", from.bytes(), room, *position));
  *position += pack(from, 0, static_cast<std::byte*>(out) + *position, from.bytes());
  return ok;
}

Err unpack_at(const void* in, int64_t size, int64_t* position, const Buffer& to) {
  WEFT_TRY(check_room("to be unpacked", to.bytes(), size, *position));
  unpack(to, 0, static_cast<const std::byte*>(in) + *position, to.bytes());
  *position += to.bytes();
  return ok;
}

Err pack_size(int64_t count, const Type& type, int64_t* bytes) {
  return total_bytes(count, type.size, bytes);
}

Err pack_external_size(const char* datarep, int64_t count, const Type& type, int64_t* bytes) {
  WEFT_TRY(check_datarep(datarep));
  return total_bytes(count, external_bytes(type), bytes);
}

Err pack_external(const char* datarep, const ConstBuffer& from, void* out, int64_t room,
                  int64_t* position) {
  int64_t need = 0;
  WEFT_TRY(pack_external_size(datarep, from.count, *from.type, &need));
  WEFT_TRY(check_room("to be packed", need, room, *position));
  std::byte* to = static_cast<std::byte*>(out) + *position;
  const Type* too_large = nullptr;
  const auto visit = [&](const Type& basic, const std::byte* at) {
    const Width w = width_of(basic);
    for (int i = 0; i < w.numbers; ++i, at += w.native, to += w.external)
      if (!encode(basic, w, to, at)) return too_large = &basic, false;
    return true;
  };
  for_each_basic(from, visit);
  if (too_large != nullptr)
    return fail(MPI_ERR_CONVERSION,
                "a value of %s does not fit in the %lld bytes it has in external32",
                predefined_name(*too_large), ll(external_size(*too_large)));
  *position += need;
  return ok;
}

Err unpack_external(const char* datarep, const void* in, int64_t size, int64_t* position,
                    const Buffer& to) {
  int64_t need = 0;
  WEFT_TRY(pack_external_size(datarep, to.count, *to.type, &need));
  WEFT_TRY(check_room("to be unpacked", need, size, *position));
  const std::byte* from = static_cast<const std::byte*>(in) + *position;
  const auto visit = [&](const Type& basic, std::byte* at) {
    const Width w = width_of(basic);
    for (int i = 0; i < w.numbers; ++i, at += w.native, from += w.external)
      decode(basic, w, at, from);
    return true;
  };
  for_each_basic(to, visit);
  *position += need;
  return ok;
}

}  // namespace weft::datatype
