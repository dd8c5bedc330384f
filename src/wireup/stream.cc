// SPDX-License-Identifier: Apache-2.0
#include "wireup/stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace weft::wireup {

Err Stream::send(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    ssize_t n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK) n = write(fd_, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return fail(MPI_ERR_OTHER, "the process manager cannot be reached (PMI): %s",
                  std::strerror(errno));
    at += static_cast<std::size_t>(n);
  }
  return ok;
}

Err Stream::fill() {
  char text[1024];
  ssize_t n = 0;
  do n = read(fd_, text, sizeof text);
  while (n < 0 && errno == EINTR);
  if (n <= 0)
    return fail(MPI_ERR_OTHER, "the process manager ended the conversation (PMI): %s",
                n == 0 ? "end of file" : std::strerror(errno));
  buffer_.append(text, static_cast<std::size_t>(n));
  return ok;
}

Result<std::string> Stream::line() {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) WEFT_TRY(fill());
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

Result<std::string> Stream::take(std::size_t bytes) {
  while (buffer_.size() < bytes) WEFT_TRY(fill());
  std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return taken;
}

Fields fields_of(const std::string& text, char separator) {
  Fields fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    const std::string word = text.substr(at, end - at);
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) fields[word.substr(0, equals)] = word.substr(equals + 1);
    at = end + 1;
  }
  return fields;
}

int number_of(const std::string& text, int otherwise) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  return end != text.c_str() ? static_cast<int>(value) : otherwise;
}

Err check_answer(const Fields& fields, const char* expected, const std::string& answer,
                 const std::string& request) {
  const auto cmd = fields.find("cmd"), rc = fields.find("rc");
  const bool is_right = cmd != fields.end() && cmd->second == expected;
  const bool is_good = rc == fields.end() || number_of(rc->second, -1) == 0;
  if (is_right && is_good) return ok;
  return fail(MPI_ERR_OTHER, "the process manager answered \"%s\" to \"%s\" (PMI)", answer.c_str(),
              request.c_str());
}

std::string text_of(const std::string& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

Result<std::string> bytes_of(const std::string& text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const std::string two = text.substr(at, 2);
    char* end = nullptr;
    const long value = std::strtol(two.c_str(), &end, 16);
    if (two.size() != 2 || end != two.c_str() + 2)
      return fail(
          MPI_ERR_OTHER,
          "the process manager has \"%s\" under a key of weft's; is another rank of another "
          "version of weft?",
          text.c_str());
    bytes += static_cast<char>(value);
  }
  return bytes;
}

}  // namespace weft::wireup
