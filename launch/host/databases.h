// SPDX-License-Identifier: Apache-2.0
//
// The system's databases (users, groups, hosts, services, …) as functions with one buffer and one
// place per process offer them; here each rank has both. A walk through a database keeps a file
// open in libc, whose descriptor another rank would take for one of its own: so the whole database
// is read at the first step, and the rank walks what was read.
//
// Used by interpose_users.cc and interpose_hosts.cc.
#pragma once

#include <errno.h>
#include <string.h>

#include <cstddef>
#include <deque>
#include <vector>

#include "host.h"

namespace weft::host {

/// An entry and the bytes that its pointers point to.
template <class T>
struct Entry {
  T value{};
  std::vector<char> bytes;
};

/// Where a type has strings, and lists of strings (or of addresses) that end with nullptr.
struct Shape {
  std::vector<std::size_t> strings, lists;
};
template <class T>
Shape shape_of();  // specialised for each type of entry

inline char*& pointer_at(void* base, std::size_t offset) {
  return *reinterpret_cast<char**>(static_cast<char*>(base) + offset);
}

/// Copy an entry into a caller's buffer. The pointers move as far as the bytes do.
template <class T>
int copy(const Entry<T>& from, T* out, char* buffer, std::size_t size) {
  if (size < from.bytes.size()) return ERANGE;
  memcpy(buffer, from.bytes.data(), from.bytes.size());
  *out = from.value;
  auto moved = [&](char* p) {
    const bool inside = p >= from.bytes.data() && p < from.bytes.data() + from.bytes.size();
    return inside ? buffer + (p - from.bytes.data()) : p;
  };
  const Shape shape = shape_of<T>();
  for (std::size_t at : shape.strings) pointer_at(out, at) = moved(pointer_at(out, at));
  for (std::size_t at : shape.lists) {
    char*& list = pointer_at(out, at);
    if (!list) continue;
    list = moved(list);
    for (char** p = reinterpret_cast<char**>(list); *p; p++) *p = moved(*p);
  }
  return 0;
}

/// Read one entry by `read(value, buffer, size, found)`, an error number, with a buffer that is
/// large enough. nullptr, with errno as `read` says, if there is none.
template <class T, class Read>
T* fill(Entry<T>& entry, Read read) {
  if (entry.bytes.empty()) entry.bytes.resize(256);
  for (;;) {
    T* found = nullptr;
    const int e = read(&entry.value, entry.bytes.data(), entry.bytes.size(), &found);
    if (e != ERANGE) {
      if (e != 0) errno = e;
      return e == 0 ? found : nullptr;
    }
    entry.bytes.resize(2 * entry.bytes.size());
  }
}

/// The rank's result of one function, which `Tag` tells from others.
template <class Tag, class T, class Read>
T* keep(Rank& rank, Read read) {
  struct Kept : Entry<T> {};
  return fill<T>(rank.only<Kept>(), read);
}

/// A walk through a database; Family says how libc's goes: Type, set, get, end.
template <class Family>
class Walk {
 public:
  using T = typename Family::Type;

  /// The next entry, or nullptr.
  const Entry<T>* next(bool moves = true) {
    read();
    if (at_ == all_.size()) return nullptr;
    return &all_[moves ? at_++ : at_];
  }
  void move() { at_++; }
  void begin_anew() {
    all_.clear();
    was_read_ = false;
    at_ = 0;
  }

 private:
  void read() {
    if (was_read_) return;
    const AsHost as_host;
    std::scoped_lock guard(the_host->libc_lock);
    was_read_ = true;
    Family::set();
    for (;;) {
      Entry<T> entry;
      if (!fill<T>(entry, Family::get)) break;
      all_.push_back(std::move(entry));
    }
    Family::end();
  }

  std::deque<Entry<T>> all_;
  std::size_t at_ = 0;
  bool was_read_ = false;
};

template <class Family>
typename Family::Type* next_entry(Rank& rank) {
  std::scoped_lock guard(rank.lock);
  const auto* entry = rank.only<Walk<Family>>().next();
  if (!entry) errno = ENOENT;
  return entry ? const_cast<typename Family::Type*>(&entry->value) : nullptr;
}

template <class Family>
int next_entry_into(Rank& rank, typename Family::Type* out, char* buffer, std::size_t size,
                    typename Family::Type** result) {
  std::scoped_lock guard(rank.lock);
  auto& walk = rank.only<Walk<Family>>();
  const auto* entry = walk.next(false);
  *result = nullptr;
  if (!entry) return ENOENT;
  if (const int e = copy(*entry, out, buffer, size); e != 0) return e;
  walk.move();
  *result = out;
  return 0;
}

template <class Family>
void begin_anew(Rank& rank) {
  std::scoped_lock guard(rank.lock);
  rank.only<Walk<Family>>().begin_anew();
}

}  // namespace weft::host
