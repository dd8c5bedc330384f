// SPDX-License-Identifier: Apache-2.0
//
// What users read from a status and write into one (MPI-5.0 §3.2.5, §5.1.11, §13.3).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "abi/check.h"
#include "base/err.h"
#include "datatype/api.h"
#include "object/request.h"

namespace weft::abi {

inline Err test_cancelled(const MPI_Status* status, int* flag) {
  *flag = object::status_cancelled(*status) ? 1 : 0;
  return ok;
}

inline Err set_cancelled(MPI_Status* status, int flag) {
  object::set_status(status, status->MPI_SOURCE, status->MPI_TAG, object::status_bytes(*status),
                     flag != 0);
  return ok;
}

inline Err set_elements(MPI_Status* status, const datatype::Type& type, std::int64_t elements) {
  if (elements < 0)
    return fail(MPI_ERR_COUNT, "count is %lld; expected 0 or more",
                static_cast<long long>(elements));
  const std::int64_t each = std::max<std::int64_t>(type.elements, 1);
  if (!check::holds(elements / each + (elements % each != 0), type))
    return fail(MPI_ERR_COUNT, "count is %lld: more bytes of this type than 64 bits hold",
                static_cast<long long>(elements));
  object::set_status(status, status->MPI_SOURCE, status->MPI_TAG,
                     datatype::bytes_of_elements(type, elements),
                     object::status_cancelled(*status));
  return ok;
}

}  // namespace weft::abi
