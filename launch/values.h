// SPDX-License-Identifier: Apache-2.0
//
// Values of options: text made into numbers and words, or refused with a sentence that names the
// option, what it expects and what it was given.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/params.h"

namespace weft::launch {

/// What the user typed, in quotes: long text is cut, bytes that are no letters are shown by number.
std::string shown(const std::string& text);
/// Throws Failure with exit code 2.
[[noreturn]] void mistake(const std::string& text);
/// "--ranks expects one of process, thread, auto, but it was given "treads"; did you mean thread?"
[[noreturn]] void unexpected(const std::string& option, const std::string& expected,
                             const std::string& given, const char* near = nullptr);

/// A decimal number from `least` to `most`; `what` is what it counts.
int take_number(const std::string& option, const char* what, int least, int most,
                const std::string& text);
/// More than 0, at most 30 years.
double take_seconds(const std::string& option, const std::string& text);
/// 512K, 64M, 1.5G.
std::size_t take_bytes(const std::string& option, std::size_t least, std::size_t most,
                       const std::string& text);
/// The parts of a list; none of them is empty.
std::vector<std::string> take_list(const std::string& option, const std::string& text);
std::string lower(std::string text);

template <class T>
using Choices = std::initializer_list<std::pair<const char*, T>>;

/// The value of the word `text`.
template <class T>
T take_choice(const std::string& option, const std::string& text, Choices<T> choices) {
  std::vector<const char*> names;
  std::string list;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names.push_back(name);
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  unexpected(option, "one of " + list, text, nearest_name(text.c_str(), names));
}

}  // namespace weft::launch
