// SPDX-License-Identifier: Apache-2.0
#include "option_takers.h"

#include <cstdlib>
#include <cstring>

#include "values.h"

extern char** environ;

namespace weft::launch {
namespace {

void check_name(const Given& given, const std::string& name) {
  if (name.empty() || name.find('=') != std::string::npos)
    mistake(shown(name) + " is not a name of a variable; " + given.name + " expects NAME VALUE");
}

/// Of mpiexec's variables those whose name begins so.
void add_all(const std::string& begin, Variables& env) {
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    const char* equals = std::strchr(*e, '=');
    if (equals != nullptr && std::strncmp(*e, begin.c_str(), begin.size()) == 0)
      env.emplace_back(std::string(*e, equals - *e), equals + 1);
  }
}

}  // namespace

void take_export(Section& section, const Given& given) {
  const std::string& word = given.value();
  Variables& env = section.program.env;
  const std::size_t equals = word.find('=');
  if (equals == 0 || word.empty()) unexpected(given.name, "NAME or NAME=VALUE", word);
  if (equals != std::string::npos) {
    env.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  } else if (word.back() == '*') {
    add_all(word.substr(0, word.size() - 1), env);
  } else if (const char* own = std::getenv(word.c_str())) {
    env.emplace_back(word, own);
  } else {
    section.options.notes.push_back("weft: " + given.name + " " + shown(word) +
                                    ": mpiexec has no such variable to pass on");
  }
}

void take_variable(Section& section, const Given& given) {
  check_name(given, given.values[0]);
  section.program.env.emplace_back(given.values[0], given.values[1]);
}

void take_global_variable(Section& section, const Given& given) {
  check_name(given, given.values[0]);
  section.options.env.emplace_back(given.values[0], given.values[1]);
}

void take_list_of_variables(Section& section, const Given& given) {
  section.program.inherit = Inherit{false, take_list(given.name, given.value())};
}

void take_global_list_of_variables(Section& section, const Given& given) {
  section.options.inherit = {false, take_list(given.name, given.value())};
}

}  // namespace weft::launch
