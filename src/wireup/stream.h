// SPDX-License-Identifier: Apache-2.0
//
// The connection to a process manager, and the two forms of what goes over it: lines of PMI-1
// (cmd=put key=k value=v) and frames of PMI-2 (six characters of length,
// cmd=kvs-put;key=k;value=v;). Answers are read by key: managers differ in the order of fields and
// add some of their own.
#pragma once

#include <map>
#include <string>

#include "base/err.h"

namespace weft::wireup {

using Fields = std::map<std::string, std::string>;

class Stream {
 public:
  /// `fd` is a connected stream; it is not closed.
  explicit Stream(int fd) : fd_(fd) {}

  Err send(const std::string& text);
  /// The next line, without its end.
  Result<std::string> line();
  /// The next so many bytes.
  Result<std::string> take(std::size_t bytes);

 private:
  Err fill();

  int fd_;
  std::string buffer_;
};

/// Of "key=value" between separators.
Fields fields_of(const std::string& text, char separator);
int number_of(const std::string& text, int otherwise);

/// Is `answer` the one to `request`, without an error?
Err check_answer(const Fields& fields, const char* expected, const std::string& answer,
                 const std::string& request);

/// Values as characters that no protocol gives a meaning to (two hexadecimal digits a byte), and
/// back.
std::string text_of(const std::string& bytes);
Result<std::string> bytes_of(const std::string& text);

}  // namespace weft::wireup
