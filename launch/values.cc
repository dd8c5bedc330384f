// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <sstream>

#include "options.h"

namespace weft::launch {
namespace {

/// The whole of `text` as a number; from_chars takes neither blanks nor a plus nor hexadecimals.
template <class T>
bool read(const std::string& text, T* out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc() && stop == end;
}

int shift_of(char unit) {
  switch (unit) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    default:
      return 0;
  }
}

}  // namespace

std::string shown(const std::string& text) {
  constexpr std::size_t most = 80;
  std::string out = "\"";
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    char number[8];
    snprintf(number, sizeof number, "\\x%02x", byte);
    out += byte < ' ' || byte == 127 ? std::string(number) : std::string(1, c);
  }
  return out + (text.size() > most ? "...\"" : "\"");
}

void mistake(const std::string& text) {
  throw Failure{2, "weft: " + text + "; `mpiexec --help` shows all options"};
}

void unexpected(const std::string& option, const std::string& expected, const std::string& given,
                const char* near) {
  mistake(option + " expects " + expected + ", but it was given " + shown(given) +
          (near != nullptr ? "; did you mean " + std::string(near) + "?" : ""));
}

int take_number(const std::string& option, const char* what, int least, int most,
                const std::string& text) {
  int n = 0;
  if (!read(text, &n) || n < least || n > most)
    unexpected(option,
               std::string(what) + " from " + std::to_string(least) + " to " + std::to_string(most),
               text);
  return n;
}

double take_seconds(const std::string& option, const std::string& text) {
  double seconds = 0;
  if (!read(text, &seconds) || !(seconds > 0 && seconds <= 1e9))
    unexpected(option, "a number of seconds above 0", text);
  return seconds;
}

std::size_t take_bytes(const std::string& option, std::size_t least, std::size_t most,
                       const std::string& text) {
  const int shift = text.empty() ? 0 : shift_of(text.back());
  double number = 0;
  const bool is_read = read(shift > 0 ? text.substr(0, text.size() - 1) : text, &number);
  const double bytes = std::ldexp(number, shift);
  if (!is_read || !(bytes >= static_cast<double>(least) && bytes <= static_cast<double>(most)))
    unexpected(option,
               "a size like 512K, 64M or 1G, from " + std::to_string(least >> 10) + "K to " +
                   std::to_string(most >> 30) + "G",
               text);
  return static_cast<std::size_t>(bytes);
}

std::vector<std::string> take_list(const std::string& option, const std::string& text) {
  std::vector<std::string> out;
  std::istringstream parts(text + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    if (part.empty()) unexpected(option, "a list like A,B", text);
    out.push_back(part);
  }
  return out;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace weft::launch
