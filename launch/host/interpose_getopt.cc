// SPDX-License-Identifier: Apache-2.0
//
// getopt with its state per rank: libc keeps the position inside a cluster of options (-abc) and
// the permutation of arguments in hidden variables of the process. Written from the manual page
// getopt(3) and POSIX; messages are worded like glibc's.
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "next.h"
#include "rank.h"

using namespace weft::host;

namespace {

struct LongOptions {
  const struct option* list;  // nullptr: short options only
  int* index;                 // where the caller wants the option's place in the list, or nullptr
  bool single_dash;           // getopt_long_only
};

class Scan {
 public:
  Scan(Rank& rank, int argc, char** argv, const char* shorts, LongOptions longs)
      : rank_(rank), argc_(argc), argv_(argv), shorts_(shorts), longs_(longs) {
    if (*shorts_ == '+' || getenv("POSIXLY_CORRECT")) order_ = Order::stop;
    if (*shorts_ == '-') order_ = Order::deliver;
    if (*shorts_ == '+' || *shorts_ == '-') shorts_++;
    quiet_ = *shorts_ == ':';
  }

  int next() {
    rank_.option_argument() = nullptr;
    int& at = rank_.number(var_optind);
    if (at == 0) {
      at = 1;
      rank_.option_place = 0;
    }
    if (rank_.option_place == 0) {
      int end = 0;
      if (!begin_element(end)) return end;
    }
    char* element = argv_[at];
    if (rank_.option_place == 0 && longs_.list) {
      const bool two = element[1] == '-';
      if (two || (longs_.single_dash && (element[2] || !strchr(shorts_, element[1])))) {
        int result = 0;
        if (long_option(element, two ? 2 : 1, result)) return result;
      }
    }
    return short_option(element);
  }

 private:
  enum class Order { permute, stop, deliver };
  static bool is_option(const char* s) { return s[0] == '-' && s[1] != '\0'; }

  /// Bring the next option to argv[optind]; false when there is none, with what to return.
  bool begin_element(int& result) {
    int& at = rank_.number(var_optind);
    int i = at;
    if (order_ == Order::permute)
      while (i < argc_ && argv_[i] && !is_option(argv_[i])) i++;
    result = -1;
    if (i >= argc_ || !argv_[i]) return false;
    if (!is_option(argv_[i])) {
      if (order_ == Order::stop) return false;
      rank_.option_argument() = argv_[at++];
      result = 1;
      return false;
    }
    move(i, at);
    rank_.option_next = i + 1;
    if (strcmp(argv_[at], "--") != 0) return true;
    at++;
    return false;
  }

  void move(int from, int to) {
    char* s = argv_[from];
    for (int i = from; i > to; i--) argv_[i] = argv_[i - 1];
    argv_[to] = s;
  }

  void end_element() {
    rank_.number(var_optind)++;
    rank_.option_place = 0;
  }

  /// The argument that follows the option; false when there is none. Ends the element.
  bool take_argument() {
    end_element();
    int& at = rank_.number(var_optind);
    const int i = rank_.option_next;
    if (i >= argc_ || !argv_[i]) return false;
    move(i, at);
    rank_.option_argument() = argv_[at++];
    return true;
  }

  [[gnu::format(printf, 2, 3)]] void complain(const char* format, ...) {
    if (quiet_ || rank_.number(var_opterr) == 0) return;
    FILE* err = rank_.stream(var_stderr);
    fprintf(err, "%s: ", argv_[0]);
    va_list list;
    va_start(list, format);
    vfprintf(err, format, list);
    va_end(list);
    fputc('\n', err);
  }

  void complain_ambiguous(const char* element, const char* name, std::size_t length, int dashes) {
    if (quiet_ || rank_.number(var_opterr) == 0) return;
    FILE* err = rank_.stream(var_stderr);
    fprintf(err, "%s: option '%s' is ambiguous; possibilities:", argv_[0], element);
    for (const struct option* o = longs_.list; o->name; o++)
      if (strncmp(o->name, name, length) == 0) fprintf(err, " '%.*s%s'", dashes, element, o->name);
    fputc('\n', err);
  }

  /// Index of the long option that `name` (of `length`) means; -1 none, -2 ambiguous.
  int find_long(const char* name, std::size_t length) const {
    int found = -1;
    for (int i = 0; longs_.list[i].name; i++) {
      const struct option& o = longs_.list[i];
      if (strncmp(o.name, name, length) != 0) continue;
      if (strlen(o.name) == length) return i;
      if (found < 0) {
        found = i;
        continue;
      }
      const struct option& f = longs_.list[found];
      if (f.has_arg != o.has_arg || f.flag != o.flag || f.val != o.val) return -2;
    }
    return found;
  }

  /// False: it is to be read as short options after all.
  bool long_option(char* element, int dashes, int& result) {
    char* name = element + dashes;
    const std::size_t length = strcspn(name, "=");
    const int index = find_long(name, length);
    result = '?';
    if (index < 0) {
      if (index == -1 && dashes == 1 && strchr(shorts_, element[1])) return false;
      if (index == -2)
        complain_ambiguous(element, name, length, dashes);
      else
        complain("unrecognized option '%s'", element);
      rank_.number(var_optopt) = 0;
      end_element();
      return true;
    }
    const struct option& o = longs_.list[index];
    if (name[length] == '=' && o.has_arg == no_argument) {
      complain("option '%.*s%s' doesn't allow an argument", dashes, element, o.name);
      rank_.number(var_optopt) = o.val;
      end_element();
      return true;
    }
    if (name[length] == '=') {
      rank_.option_argument() = name + length + 1;
      end_element();
    } else if (o.has_arg != required_argument) {
      end_element();
    } else if (!take_argument()) {
      complain("option '%.*s%s' requires an argument", dashes, element, o.name);
      rank_.number(var_optopt) = o.val;
      result = quiet_ ? ':' : '?';
      return true;
    }
    if (longs_.index) *longs_.index = index;
    result = o.val;
    if (o.flag) {
      *o.flag = o.val;
      result = 0;
    }
    return true;
  }

  int short_option(char* element) {
    int& place = rank_.option_place;
    if (place == 0) place = 1;
    const char c = element[place++];
    const bool last = element[place] == '\0';
    const char* known = c == ':' || c == ';' ? nullptr : strchr(shorts_, c);
    if (!known) {
      complain("invalid option -- '%c'", c);
      rank_.number(var_optopt) = c;
      if (last) end_element();
      return '?';
    }
    if (known[1] != ':') {
      if (last) end_element();
      return c;
    }
    if (!last) {
      rank_.option_argument() = element + place;
      end_element();
    } else if (known[2] == ':') {
      end_element();  // an optional argument must be in the same element
    } else if (!take_argument()) {
      complain("option requires an argument -- '%c'", c);
      rank_.number(var_optopt) = c;
      return quiet_ ? ':' : '?';
    }
    return c;
  }

  Rank& rank_;
  int argc_;
  char** argv_;
  const char* shorts_;
  LongOptions longs_;
  Order order_ = Order::permute;
  bool quiet_ = false;
};

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

int getopt(int argc, char* const* argv, const char* shorts) {
  static constinit Next<int(int, char* const*, const char*)> real{"getopt"};
  if (Rank* rank = current())
    return Scan(*rank, argc, const_cast<char**>(argv), shorts, {nullptr, nullptr, false}).next();
  return real(argc, argv, shorts);
}

int getopt_long(int argc, char* const* argv, const char* shorts, const struct option* longs,
                int* index) {
  static constinit Next<int(int, char* const*, const char*, const struct option*, int*)> real{
      "getopt_long"};
  if (Rank* rank = current())
    return Scan(*rank, argc, const_cast<char**>(argv), shorts, {longs, index, false}).next();
  return real(argc, argv, shorts, longs, index);
}

int getopt_long_only(int argc, char* const* argv, const char* shorts, const struct option* longs,
                     int* index) {
  static constinit Next<int(int, char* const*, const char*, const struct option*, int*)> real{
      "getopt_long_only"};
  if (Rank* rank = current())
    return Scan(*rank, argc, const_cast<char**>(argv), shorts, {longs, index, true}).next();
  return real(argc, argv, shorts, longs, index);
}

#pragma GCC visibility pop
}
