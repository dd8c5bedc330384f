// SPDX-License-Identifier: Apache-2.0
//
// A buffer that is spread over ranks: block i belongs to rank i. MPI has three forms of it (count;
// counts and displacements in elements; counts, displacements in bytes and types), algorithms also
// a list of buffers; they see one.
#pragma once

#include <span>

#include "coll/coll.h"

namespace weft::coll {

class Blocks {
 public:
  /// Block i is `each.count` elements, i * count elements behind the first.
  explicit Blocks(const Buffer& each)
      : form_(Form::uniform), data_(each.data), count_(each.count), type_(each.type) {}
  explicit Blocks(const ConstBuffer& each) : Blocks(writable(each)) {}
  explicit Blocks(const VBuffer& v)
      : form_(Form::v), data_(v.data), type_(v.type), counts_(v.counts), displs_(v.displs) {}
  /// Block i is each[i], which are there as long as this is used.
  explicit Blocks(std::span<const Buffer> each)
      : form_(Form::listed), data_(nullptr), listed_(each.data()) {}
  explicit Blocks(const WBuffer& w)
      : form_(Form::w), data_(w.data), counts_(w.counts), displs_(w.displs), types_(w.types) {}

  Buffer operator[](int i) const {
    auto* at = static_cast<std::byte*>(data_);
    switch (form_) {
      case Form::uniform:
        return {at + i * count_ * type_->extent, count_, type_};
      case Form::v:
        return {at + displs_[i] * type_->extent, counts_[i], type_};
      case Form::w:
        return {at + displs_[i], counts_[i], type_of(types_[i])};
      case Form::listed:
        return listed_[i];
    }
    __builtin_unreachable();
  }
  bool in_place() const { return data_ == MPI_IN_PLACE; }
  bool is_uniform() const { return form_ == Form::uniform; }

 private:
  enum class Form : std::uint8_t { uniform, v, w, listed };
  static const Type* type_of(MPI_Datatype handle) {
    const Type* type = datatype::predefined(reinterpret_cast<std::uintptr_t>(handle));
    return type != nullptr ? type : reinterpret_cast<const Type*>(handle);
  }

  Form form_;
  void* data_;
  std::int64_t count_ = 0;
  const Type* type_ = nullptr;
  Counts counts_, displs_;
  const MPI_Datatype* types_ = nullptr;
  const Buffer* listed_ = nullptr;
};

/// How many elements of a reduction's result go to each rank.
class Parts {
 public:
  explicit Parts(std::int64_t each) : each_(each) {}
  explicit Parts(Counts counts) : counts_(counts) {}
  std::int64_t operator[](int i) const { return counts_.data != nullptr ? counts_[i] : each_; }
  /// Elements in front of rank i's part. cost: O(i) unless the parts are equal
  std::int64_t before(int i) const {
    if (counts_.data == nullptr) return each_ * i;
    std::int64_t sum = 0;
    for (int k = 0; k < i; ++k) sum += counts_[k];
    return sum;
  }

 private:
  std::int64_t each_ = 0;
  Counts counts_;
};

inline bool is_in_place(const void* data) {
  return data == MPI_IN_PLACE;
}

/// What this rank brings to a reduction.
inline const void* operand(const Operands& x) {
  return is_in_place(x.send) ? x.recv : x.send;
}
/// What this rank brings to an allgather; `place`: where it belongs in the receive buffer.
inline ConstBuffer contribution(const ConstBuffer& send, const Buffer& place) {
  return is_in_place(send.data) ? ConstBuffer(place) : send;
}

}  // namespace weft::coll
