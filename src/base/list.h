// SPDX-License-Identifier: Apache-2.0
//
// An intrusive doubly-linked list: the links live in the objects, so queueing allocates nothing. An
// object may be in several lists through several Link members.
#pragma once

#include <cstddef>

namespace weft {

template <class T>
struct Link {
  T* next = nullptr;
  T* prev = nullptr;
};

/// Objects of type T linked through member L, in order of insertion.
template <class T, Link<T> T::*L>
class List {
 public:
  bool empty() const { return first_ == nullptr; }
  T* front() const { return first_; }
  static T* next(const T* object) { return (object->*L).next; }

  void push_back(T* object) {
    (object->*L).next = nullptr;
    (object->*L).prev = last_;
    (last_ != nullptr ? (last_->*L).next : first_) = object;
    last_ = object;
  }

  void push_front(T* object) {
    (object->*L).prev = nullptr;
    (object->*L).next = first_;
    (first_ != nullptr ? (first_->*L).prev : last_) = object;
    first_ = object;
  }

  void remove(T* object) {
    Link<T>& link = object->*L;
    (link.prev != nullptr ? (link.prev->*L).next : first_) = link.next;
    (link.next != nullptr ? (link.next->*L).prev : last_) = link.prev;
  }

  T* pop_front() {
    T* object = first_;
    if (object != nullptr) remove(object);
    return object;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace weft
