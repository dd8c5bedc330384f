// SPDX-License-Identifier: Apache-2.0
#include "config_file.h"

#include <cstring>
#include <fstream>

#include "values.h"

namespace weft::launch {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// The word at `at`, which is moved behind it; false where a quote is not closed.
bool take_word(const std::string& line, std::size_t& at, std::string* word) {
  char quote = 0;
  for (; at < line.size() && (quote != 0 || !is_blank(line[at])); ++at) {
    const char c = line[at];
    const bool escapes = c == '\\' && quote != '\'' && at + 1 < line.size() &&
                         (quote == 0 || std::strchr("\"\\$`", line[at + 1]) != nullptr);
    if (escapes) {
      *word += line[++at];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      *word += c;
    }
  }
  return quote == 0;
}

}  // namespace

bool split_words(const std::string& line, std::vector<std::string>* out) {
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    if (line[at] == '#') break;
    std::string word;
    if (!take_word(line, at, &word)) return false;
    out->push_back(word);
  }
  return true;
}

std::vector<std::vector<std::string>> read_config_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) mistake("cannot read the file of options " + shown(path));
  std::vector<std::vector<std::string>> out;
  int number = 0;
  for (std::string line, more; std::getline(in, line);) {
    ++number;
    while (!line.empty() && line.back() == '\\' && std::getline(in, more)) {
      line.back() = ' ';
      line += more;
      ++number;
    }
    std::vector<std::string> words;
    if (!split_words(line, &words))
      mistake("line " + std::to_string(number) + " of " + path + " has a quote without its end");
    if (!words.empty()) out.push_back(words);
  }
  if (out.empty()) mistake("the file of options " + shown(path) + " names no program");
  return out;
}

}  // namespace weft::launch
