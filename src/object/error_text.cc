// SPDX-License-Identifier: Apache-2.0
//
// The words for the predefined error classes (MPI-5.0 tables 9.1, 9.2 and §15.3.10).
#include <array>

#include "object/errors.h"

namespace weft::object {
namespace {

struct Text {
  int cls;
  const char* words;
};

#define TEXT(cls, words) \
  Text {                 \
    cls, #cls ": " words \
  }
constexpr Text mpi[] = {
    Text{MPI_SUCCESS, "MPI_SUCCESS: no error"},
    TEXT(MPI_ERR_BUFFER, "invalid buffer pointer"),
    TEXT(MPI_ERR_COUNT, "invalid count"),
    TEXT(MPI_ERR_TYPE, "invalid datatype"),
    TEXT(MPI_ERR_TAG, "invalid tag"),
    TEXT(MPI_ERR_COMM, "invalid communicator"),
    TEXT(MPI_ERR_RANK, "invalid rank"),
    TEXT(MPI_ERR_REQUEST, "invalid request"),
    TEXT(MPI_ERR_ROOT, "invalid root"),
    TEXT(MPI_ERR_GROUP, "invalid group"),
    TEXT(MPI_ERR_OP, "invalid operation"),
    TEXT(MPI_ERR_TOPOLOGY, "invalid topology"),
    TEXT(MPI_ERR_DIMS, "invalid dimension"),
    TEXT(MPI_ERR_ARG, "invalid argument"),
    TEXT(MPI_ERR_UNKNOWN, "unknown error"),
    TEXT(MPI_ERR_TRUNCATE, "message longer than the receive buffer"),
    TEXT(MPI_ERR_OTHER, "error of no other class"),
    TEXT(MPI_ERR_INTERN, "internal error of the library"),
    TEXT(MPI_ERR_PENDING, "the request has neither failed nor completed"),
    TEXT(MPI_ERR_IN_STATUS, "the error codes are in the statuses"),
    TEXT(MPI_ERR_ACCESS, "permission denied"),
    TEXT(MPI_ERR_AMODE, "invalid access mode of a file"),
    TEXT(MPI_ERR_ASSERT, "invalid assertion"),
    TEXT(MPI_ERR_BAD_FILE, "invalid file name"),
    TEXT(MPI_ERR_BASE, "invalid base address"),
    TEXT(MPI_ERR_CONVERSION, "a user's data conversion function failed"),
    TEXT(MPI_ERR_DISP, "invalid displacement"),
    TEXT(MPI_ERR_DUP_DATAREP, "the data representation is defined already"),
    TEXT(MPI_ERR_FILE_EXISTS, "the file exists"),
    TEXT(MPI_ERR_FILE_IN_USE, "the file is in use"),
    TEXT(MPI_ERR_FILE, "invalid file handle"),
    TEXT(MPI_ERR_INFO_KEY, "invalid key of an info"),
    TEXT(MPI_ERR_INFO_NOKEY, "the info has no such key"),
    TEXT(MPI_ERR_INFO_VALUE, "invalid value of an info"),
    TEXT(MPI_ERR_INFO, "invalid info object"),
    TEXT(MPI_ERR_IO, "input or output failed"),
    TEXT(MPI_ERR_KEYVAL, "invalid keyval"),
    TEXT(MPI_ERR_LOCKTYPE, "invalid lock type"),
    TEXT(MPI_ERR_NAME, "no service of this name is published"),
    TEXT(MPI_ERR_NO_MEM, "out of memory"),
    TEXT(MPI_ERR_NOT_SAME, "a collective argument differs between processes"),
    TEXT(MPI_ERR_NO_SPACE, "no space left"),
    TEXT(MPI_ERR_NO_SUCH_FILE, "the file does not exist"),
    TEXT(MPI_ERR_PORT, "invalid port name"),
    TEXT(MPI_ERR_QUOTA, "quota exceeded"),
    TEXT(MPI_ERR_READ_ONLY, "the file or file system is read-only"),
    TEXT(MPI_ERR_RMA_ATTACH, "the memory cannot be attached"),
    TEXT(MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"),
    TEXT(MPI_ERR_RMA_RANGE, "the target memory is not part of the window"),
    TEXT(MPI_ERR_RMA_SHARED, "the memory cannot be shared"),
    TEXT(MPI_ERR_RMA_SYNC, "wrong synchronization of one-sided calls"),
    TEXT(MPI_ERR_SERVICE, "invalid service name"),
    TEXT(MPI_ERR_SIZE, "invalid size"),
    TEXT(MPI_ERR_SPAWN, "processes could not be spawned"),
    TEXT(MPI_ERR_UNSUPPORTED_DATAREP, "unsupported data representation"),
    TEXT(MPI_ERR_UNSUPPORTED_OPERATION, "unsupported operation"),
    TEXT(MPI_ERR_WIN, "invalid window"),
    TEXT(MPI_ERR_RMA_FLAVOR, "wrong flavor of window"),
    TEXT(MPI_ERR_PROC_ABORTED, "a process has aborted"),
    TEXT(MPI_ERR_VALUE_TOO_LARGE, "the value is too large for its type"),
    TEXT(MPI_ERR_SESSION, "invalid session"),
    TEXT(MPI_ERR_ERRHANDLER, "invalid error handler"),
    TEXT(MPI_ERR_ABI, "unsupported by the application binary interface"),
};
constexpr Text tool[] = {
    TEXT(MPI_T_ERR_CANNOT_INIT, "the tool interface cannot be initialized"),
    TEXT(MPI_T_ERR_NOT_ACCESSIBLE, "not accessible"),
    TEXT(MPI_T_ERR_NOT_INITIALIZED, "the tool interface is not initialized"),
    TEXT(MPI_T_ERR_NOT_SUPPORTED, "not supported"),
    TEXT(MPI_T_ERR_MEMORY, "out of memory"),
    TEXT(MPI_T_ERR_INVALID, "invalid argument"),
    TEXT(MPI_T_ERR_INVALID_INDEX, "invalid index"),
    TEXT(MPI_T_ERR_INVALID_ITEM, "invalid item"),
    TEXT(MPI_T_ERR_INVALID_SESSION, "invalid session"),
    TEXT(MPI_T_ERR_INVALID_HANDLE, "invalid handle"),
    TEXT(MPI_T_ERR_INVALID_NAME, "invalid name"),
    TEXT(MPI_T_ERR_OUT_OF_HANDLES, "out of handles"),
    TEXT(MPI_T_ERR_OUT_OF_SESSIONS, "out of sessions"),
    TEXT(MPI_T_ERR_CVAR_SET_NOT_NOW, "the control variable cannot be set now"),
    TEXT(MPI_T_ERR_CVAR_SET_NEVER, "the control variable can never be set"),
    TEXT(MPI_T_ERR_PVAR_NO_WRITE, "the performance variable cannot be written"),
    TEXT(MPI_T_ERR_PVAR_NO_STARTSTOP, "the performance variable cannot be started or stopped"),
    TEXT(MPI_T_ERR_PVAR_NO_ATOMIC, "the performance variable cannot be read and reset in one step"),
};
#undef TEXT

// Classes are numbered without gaps, so that they index the tables.
constexpr bool in_order(const Text* table, int n, int first) {
  for (int i = 0; i < n; ++i)
    if (table[i].cls != first + i) return false;
  return true;
}
static_assert(in_order(mpi, std::size(mpi), MPI_SUCCESS));
static_assert(in_order(tool, std::size(tool), MPI_T_ERR_CANNOT_INIT));

}  // namespace

const char* class_text(int cls) {
  if (cls >= 0 && cls < static_cast<int>(std::size(mpi))) return mpi[cls].words;
  const auto at = static_cast<unsigned>(cls) - MPI_T_ERR_CANNOT_INIT;
  if (at < std::size(tool)) return tool[at].words;
  return cls == MPI_ERR_LASTCODE ? "MPI_ERR_LASTCODE: the last predefined error code" : nullptr;
}

}  // namespace weft::object
