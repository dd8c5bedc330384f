/* SPDX-License-Identifier: Apache-2.0 */
/* weft/channel.h with types and spans: a message is a std::span of T. Errors are exceptions where the
   communicator's error handler returns (MPI_ERRORS_RETURN), else what the handler does.

     weft::channel<double> rows(comm, {.length = n, .asynchrony = 2, .senders = {0}, .receivers = {1}});
     rows.send(row);                        // rank 0: a span of n doubles, copied once
     for (auto message = rows.receive(); message; message = rows.receive()) use(message.data());   */
#pragma once

#include <mpi.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/channel.h"

namespace weft {

/// An error of MPI: its code, and the sentence.
class channel_error : public std::runtime_error {
 public:
  explicit channel_error(int code) : std::runtime_error(text_of(code)), code_(code) {}
  int code() const { return code_; }

 private:
  static std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return text;
  }
  int code_;
};

namespace channel_detail {

inline void check(int code) {
  if (code != MPI_SUCCESS) throw channel_error(code);
}

/// The type of MPI for T; structures of plain data travel as bytes.
template <class T>
MPI_Datatype type_of() {
  if constexpr (std::is_same_v<T, float>) return MPI_FLOAT;
  else if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
  else if constexpr (std::is_same_v<T, long double>) return MPI_LONG_DOUBLE;
  else if constexpr (std::is_same_v<T, std::int8_t>) return MPI_INT8_T;
  else if constexpr (std::is_same_v<T, std::int16_t>) return MPI_INT16_T;
  else if constexpr (std::is_same_v<T, std::int32_t>) return MPI_INT32_T;
  else if constexpr (std::is_same_v<T, std::int64_t>) return MPI_INT64_T;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return MPI_UINT8_T;
  else if constexpr (std::is_same_v<T, std::uint16_t>) return MPI_UINT16_T;
  else if constexpr (std::is_same_v<T, std::uint32_t>) return MPI_UINT32_T;
  else if constexpr (std::is_same_v<T, std::uint64_t>) return MPI_UINT64_T;
  else return MPI_BYTE;
}

}  // namespace channel_detail

/// What a channel is: WEFT_Channel_options.
struct channel_options {
  std::size_t length = 1;  // elements of a message
  int asynchrony = 1;      // k
  std::vector<int> senders = {}, receivers = {};
  bool on_demand = false;
  std::string threads = {};  // the name of a set of communication threads; empty: none
  int thread_count = 1;
  std::vector<int> cpus = {};  // where these run; empty: where the process may
};

/// This rank's end of a channel whose messages are `length` elements T. Moves, does not copy.
template <class T>
class channel {
  static_assert(std::is_trivially_copyable_v<T>, "a message is plain data");

 public:
  /// A message that was received; released at its end. Messages of one sender end in their order.
  class message {
   public:
    message(message&& other) noexcept { *this = std::move(other); }
    message& operator=(message&& other) noexcept {
      std::swap(channel_, other.channel_);
      std::swap(data_, other.data_);
      std::swap(source_, other.source_);
      other.release();
      return *this;
    }
    ~message() { release(); }
    /// False: all senders have closed the channel.
    explicit operator bool() const { return data_ != nullptr; }
    std::span<const T> data() const { return {data_, data_ != nullptr ? channel_->length_ : 0}; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    int source() const { return source_; }

   private:
    friend class channel;
    message(channel* c, const void* data, int source)
        : channel_(c), data_(static_cast<const T*>(data)), source_(source) {}
    void release() noexcept {
      if (data_ != nullptr) WEFT_Channel_release(channel_->handle_, data_);
      data_ = nullptr;
    }
    channel* channel_ = nullptr;
    const T* data_ = nullptr;
    int source_ = MPI_PROC_NULL;
  };

  /// Collective over `comm`.
  channel(MPI_Comm comm, const channel_options& options) : length_(options.length) {
    const MPI_Datatype type = channel_detail::type_of<T>();
    const std::size_t per_item = type == MPI_BYTE ? sizeof(T) : 1;
    const WEFT_Channel_options o = {
        type,
        static_cast<MPI_Count>(length_ * per_item),
        options.asynchrony,
        static_cast<int>(options.senders.size()),
        options.senders.data(),
        static_cast<int>(options.receivers.size()),
        options.receivers.data(),
        options.on_demand ? WEFT_CHANNEL_ON_DEMAND : WEFT_CHANNEL_ROUND_ROBIN,
        options.threads.empty() ? nullptr : options.threads.c_str(),
        options.thread_count,
        options.cpus.empty() ? nullptr : options.cpus.data(),
        static_cast<int>(options.cpus.size())};
    channel_detail::check(WEFT_Channel_create(comm, &o, &handle_));
  }
  channel(channel&& other) noexcept
      : handle_(std::exchange(other.handle_, WEFT_CHANNEL_NULL)), length_(other.length_) {}
  channel& operator=(channel&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(length_, other.length_);
    return *this;
  }
  ~channel() {
    if (handle_ != WEFT_CHANNEL_NULL) WEFT_Channel_free(&handle_);
  }

  std::size_t length() const { return length_; }
  WEFT_Channel handle() const { return handle_; }

  void send(std::span<const T> data) {
    channel_detail::check(WEFT_Channel_send(handle_, right_length(data)));
  }
  bool try_send(std::span<const T> data) {
    int sent = 0;
    channel_detail::check(WEFT_Channel_try_send(handle_, right_length(data), &sent));
    return sent != 0;
  }
  /// `data` is the channel's until wait().
  WEFT_Channel_request send_delegated(std::span<const T> data) {
    WEFT_Channel_request request;
    channel_detail::check(WEFT_Channel_send_delegated(handle_, right_length(data), &request));
    return request;
  }
  void wait(WEFT_Channel_request& request) { channel_detail::check(WEFT_Channel_wait(&request)); }
  /// Where to build the next message; then commit().
  std::span<T> reserve() {
    void* place = nullptr;
    channel_detail::check(WEFT_Channel_reserve(handle_, &place));
    return {static_cast<T*>(place), length_};
  }
  void commit(std::span<T> place) {
    channel_detail::check(WEFT_Channel_commit(handle_, place.data()));
  }
  void close() { channel_detail::check(WEFT_Channel_close(handle_)); }

  message receive() {
    const void* data = nullptr;
    int source = MPI_PROC_NULL;
    channel_detail::check(WEFT_Channel_receive(handle_, &data, &source));
    return message(this, data, source);
  }

 private:
  const T* right_length(std::span<const T> data) const {
    if (data.size() != length_)
      throw std::length_error("a message of " + std::to_string(data.size()) +
                              " elements for a channel whose messages have " +
                              std::to_string(length_));
    return data.data();
  }

  WEFT_Channel handle_ = WEFT_CHANNEL_NULL;
  std::size_t length_;
};

}  // namespace weft
