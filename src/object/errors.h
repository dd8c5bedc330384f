// SPDX-License-Identifier: Apache-2.0
//
// Error classes, codes and strings (MPI-5.0 §9.4, §9.5), and error handlers (§9.3). weft has no
// codes of its own: a code is a class, or one of those that the user added.
#pragma once

#include <string>
#include <vector>

#include "base/err.h"
#include "object/objects.h"

namespace weft::object {

/// The standard's words for a predefined class (of MPI or MPI_T), nullptr if it is none.
const char* class_text(int cls);

/// Classes and codes that the user added; numbers follow MPI_ERR_LASTCODE.
class ErrorCodes {
 public:
  Err add_class(int* cls);
  Err add_code(int cls, int* code);
  Err add_string(int code, const char* text);
  Err remove_class(int cls);
  Err remove_code(int code);
  Err remove_string(int code);

  Err class_of(int code, int* cls) const;
  /// MPI_Error_string: the words for the code and what is known about this thread's newest error.
  Err text_of(int code, char* text, int* length) const;
  /// Value of MPI_LASTUSEDCODE.
  const int& last_used() const { return last_used_; }

 private:
  struct Entry {
    int cls = 0;  // 0: free; its own number for a class
    std::string text;
  };
  Entry* find(int code);
  const Entry* find(int code) const { return const_cast<ErrorCodes*>(this)->find(code); }
  int add(int cls);
  Err remove(int code, bool is_class);

  std::vector<Entry> added_;
  int last_used_ = MPI_ERR_LASTCODE;
};

// --- error handlers -----------------------------------------------------------------------------
Err create_errhandler(Store& store, Errhandler::What what, void* function, MPI_Errhandler* out);
Err free_errhandler(Store& store, MPI_Errhandler* handle);
/// Make `errhandler` the handler of an object whose handlers are of kind `user`. `slot` may be
/// null.
Err set_errhandler(Errhandler** slot, Errhandler::What user, Errhandler& errhandler);
/// A new reference to the handler in `slot` for the user.
void get_errhandler(Errhandler& current, MPI_Errhandler* out);

/// What is left to do for the caller after an error handler had its say.
enum class Verdict : std::uint8_t {
  return_code,  // give *code back to the user
  abort_job,    // MPI_ERRORS_ARE_FATAL
  abort_comm,   // MPI_ERRORS_ABORT: end the processes of the communicator
};
/// Call the handler for an error `*code` on the object whose handle is `handle` (MPI_Comm, MPI_Win,
/// MPI_File or MPI_Session).
Verdict invoke_errhandler(Errhandler& errhandler, void* handle, int* code);

}  // namespace weft::object
