// SPDX-License-Identifier: Apache-2.0
//
// The older interface to regular expressions: one syntax and one pattern per process. POSIX's
// regcomp has neither.
#include <regex.h>
#include <string.h>

#include "host.h"
#include "next.h"

using namespace weft::host;

namespace {

struct Pattern {
  re_pattern_buffer buffer{};
  bool made = false;
  Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (made) regfree(&buffer);
  }
};

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

reg_syntax_t re_set_syntax(reg_syntax_t syntax) {
  static constinit Next<reg_syntax_t(reg_syntax_t)> real{"re_set_syntax"};
  Rank* rank = current();
  if (!rank) return real(syntax);
  return std::exchange(rank->variable<reg_syntax_t>(var_re_syntax_options), syntax);
}

const char* re_compile_pattern(const char* text, std::size_t length, re_pattern_buffer* out) {
  static constinit Next<const char*(const char*, std::size_t, re_pattern_buffer*)> real{
      "re_compile_pattern"};
  Rank* rank = current();
  if (!rank) return real(text, length, out);
  std::scoped_lock guard(the_host->libc_lock);
  const reg_syntax_t old =
      std::exchange(re_syntax_options, rank->variable<reg_syntax_t>(var_re_syntax_options));
  const char* error = real(text, length, out);
  re_syntax_options = old;
  return error;
}

char* re_comp(const char* text) {
  static constinit Next<char*(const char*)> real{"re_comp"};
  Rank* rank = current();
  if (!rank) return real(text);
  Pattern& pattern = rank->only<Pattern>();
  static char none[] = "No previous regular expression";
  if (!text) return pattern.made ? nullptr : none;
  if (pattern.made) regfree(&pattern.buffer);
  pattern.buffer = {};
  pattern.buffer.newline_anchor = 1;
  const char* error = re_compile_pattern(text, strlen(text), &pattern.buffer);
  pattern.made = error == nullptr;
  return const_cast<char*>(error);
}

int re_exec(const char* text) {
  static constinit Next<int(const char*)> real{"re_exec"};
  Rank* rank = current();
  if (!rank) return real(text);
  const auto length = static_cast<regoff_t>(strlen(text));
  Pattern& pattern = rank->only<Pattern>();
  return pattern.made && re_search(&pattern.buffer, text, length, 0, length, nullptr) >= 0;
}

#pragma GCC visibility pop
}
