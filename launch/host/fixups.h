// SPDX-License-Identifier: Apache-2.0
//
// What has to be put right in a loaded copy before any code of it runs, because ld.so cannot know:
//   text      mapped from the original file, so that all ranks share it
//   COPY      relocations: a dlopened copy finds itself instead of the library, because ld.so
//   leaves
//             out only the process's own executable, and would copy zeros
//   variables references to libc's per-process variables (stdout, environ, optind …) are turned to
//             the rank's
//   functions that only ranks' own code must find otherwise than libc's: libmpi_abi, in the same
//             process, needs libc's getpid
//   wrappers  references to MPI functions that a tool wraps are turned to the rank's copy of it:
//             ld.so searches what the process has, libmpi_abi too, before the rank's libraries
// The lists are made once per image and used for every rank.
#pragma once

#include <string>
#include <vector>

#include "patch.h"
#include "plan.h"
#include "rank.h"
#include "shared_tls.h"
#include "twins.h"

namespace weft::host {

class Fixups {
 public:
  Fixups(const Plan& plan, const Twins& twins, int index);
  /// The program's: its copy `loaded` is where the rank's variables are, as far as it has them.
  void place_variables(Rank& rank, const Loaded& loaded) const;
  /// Put `loaded`, a copy of the image that this was made for, right. "" or an error text.
  /// Copies of libraries come before the program's, whose variables were placed before all.
  std::string apply(Rank& rank, Loaded& loaded, const Patch& patch) const;

 private:
  struct Copy {
    ElfW(Addr) to;
    std::size_t bytes;
    int image;        // that defines the variable; -1: a library shared by all ranks
    ElfW(Addr) from;  // in that image; or absolute
  };
  struct Reference {
    ElfW(Addr) at;
    Variable variable;
    ElfW(Addr) libcs;  // libc's variable
    ElfW(Addr) addend;
  };
  struct Own {
    ElfW(Addr) at = 0;
    bool initialised = false;  // by the program
  };
  struct Wrapped {
    ElfW(Addr) at;
    int image;         // that defines the function
    ElfW(Addr) value;  // in that image, addend included
  };
  void find_copy(const ElfW(Rela) & r);
  void find_definitions();
  void find_functions(Loaded& loaded) const;
  std::string map_text(const Loaded& loaded, const Patch& patch) const;

  const Plan& plan_;
  const Twins& twins_;
  const Image& image_;
  const bool is_program_;
  std::string error_;
  std::vector<Copy> copies_;
  std::vector<Reference> references_;
  std::vector<Wrapped> wrapped_;
  struct Function {
    ElfW(Addr) at, value;
  };
  std::vector<Function> functions_;  // of the host, for ranks alone
  std::vector<ProgramTls> program_tls_;
  Own own_variables_[variable_count] = {};  // where the program has libc's variables, or 0
};

}  // namespace weft::host
