// SPDX-License-Identifier: Apache-2.0
//
// Statuses. The standard ABI gives MPI_Status five ints of the library's own: two hold the number
// of bytes, one the cancelled flag.
#include "object/request.h"

#include <cstring>

namespace weft::object {

void set_status(MPI_Status* status, int source, int tag, std::int64_t bytes, bool cancelled) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  std::memcpy(&status->MPI_internal[0], &bytes, sizeof bytes);
  status->MPI_internal[2] = cancelled ? 1 : 0;
}

void set_empty_status(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
  status->MPI_ERROR = MPI_SUCCESS;
}

std::int64_t status_bytes(const MPI_Status& status) {
  std::int64_t bytes = 0;
  std::memcpy(&bytes, &status.MPI_internal[0], sizeof bytes);
  return bytes;
}

bool status_cancelled(const MPI_Status& status) {
  return status.MPI_internal[2] != 0;
}

}  // namespace weft::object
