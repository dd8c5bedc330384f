// SPDX-License-Identifier: Apache-2.0
//
// Values as bytes and back, for the payloads of frames. A type says once what its fields are
//
//     template <class A> void fields(A& a, Hello& h) { a(h.version, h.kernel); }
//
// and is packed and unpacked by that. Both sides are the same build on the same processor, or the
// job is refused (Hello), so numbers lie as in memory. Unpacking trusts no length.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "options.h"

namespace weft::launch {

class Packer {
 public:
  std::string bytes;

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }

 private:
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(const std::string& text) {
    put(text.size());
    bytes += text;
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(list.size());
    for (const T& item : list) put(item);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
    requires std::is_class_v<T>
  void put(const T& value) {
    fields(*this, const_cast<T&>(value));
  }
};

/// Throws Failure where the bytes end too early.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::size_t bytes) {
    if (bytes > rest_.size()) throw Failure{1, "a frame whose values do not fit into it"};
    const std::string_view out = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return out;
  }
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void get(T& value) {
    const std::string_view bytes = take(sizeof value);
    if constexpr (std::is_same_v<T, bool>)
      value = bytes[0] != 0;
    else
      std::memcpy(&value, bytes.data(), sizeof value);
  }
  std::size_t length() {
    std::size_t out = 0;
    get(out);
    if (out > rest_.size()) throw Failure{1, "a frame whose values do not fit into it"};
    return out;
  }
  void get(std::string& text) { text = take(length()); }
  template <class T>
  void get(std::vector<T>& list) {
    list.clear();
    for (std::size_t n = length(); n > 0; --n) get(list.emplace_back());
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool is_there = false;
    get(is_there);
    value.reset();
    if (is_there) get(value.emplace());
  }
  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
    requires std::is_class_v<T>
  void get(T& value) {
    fields(*this, value);
  }

  std::string_view rest_;
};

template <class T>
std::string packed(const T& value) {
  Packer packer;
  packer(value);
  return std::move(packer.bytes);
}

template <class T>
T unpacked(std::string_view bytes) {
  Unpacker unpacker(bytes);
  T value{};
  unpacker(value);
  if (!unpacker.is_at_end()) throw Failure{1, "a frame that is longer than its values"};
  return value;
}

}  // namespace weft::launch
