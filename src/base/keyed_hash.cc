// SPDX-License-Identifier: Apache-2.0
#include "base/keyed_hash.h"

#include <sys/random.h>

#include <cerrno>

namespace weft {

Result<HashKey> random_key() {
  HashKey key;
  if (getrandom(&key, sizeof key, 0) != sizeof key)
    return fail(MPI_ERR_INTERN, "the system gives no random bits: %s", std::strerror(errno));
  return key;
}

}  // namespace weft
