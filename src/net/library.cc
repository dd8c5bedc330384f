// SPDX-License-Identifier: Apache-2.0
#include "net/library.h"

#include <dlfcn.h>
#include <signal.h>

namespace weft::net {
namespace {

constexpr const char* file = "libfabric.so.1";

/// The function of the interface that a program linked with libfabric 1.17 gets: later libraries
/// keep it, with the structures of that time.
template <class F>
bool find(void* library, const char* name, const char* interface, F* function) {
  *function = reinterpret_cast<F>(dlvsym(library, name, interface));
  return *function != nullptr;
}

/// Libraries that come with libfabric take signals that end programs for themselves, to print where
/// the program was and to exit with 1 (those of PSM). They are the program's, or the kernel's.
class KeptSignals {
 public:
  KeptSignals() {
    for (int s = 1; s < count; ++s) known_[s] = sigaction(s, nullptr, &found_[s]) == 0;
  }
  ~KeptSignals() {
    for (int s = 1; s < count; ++s) {
      struct sigaction now {};
      if (known_[s] && sigaction(s, nullptr, &now) == 0 && now.sa_handler != found_[s].sa_handler)
        sigaction(s, &found_[s], nullptr);
    }
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr int count = 32;  // without real-time signals
  struct sigaction found_[count];
  bool known_[count] = {};
};

}  // namespace

Result<Library> open_library() {
  const KeptSignals kept;
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(MPI_ERR_OTHER,
                "the network needs libfabric, which cannot be loaded (%s); install it (Debian: "
                "libfabric1), or set LD_LIBRARY_PATH to the folder that has %s",
                dlerror(), file);
  Library all{};
  if (!find(library, "fi_getinfo", "FABRIC_1.3", &all.getinfo) ||
      !find(library, "fi_freeinfo", "FABRIC_1.3", &all.freeinfo) ||
      !find(library, "fi_dupinfo", "FABRIC_1.3", &all.dupinfo) ||
      !find(library, "fi_fabric", "FABRIC_1.1", &all.fabric) ||
      !find(library, "fi_strerror", "FABRIC_1.0", &all.strerror) ||
      !find(library, "fi_version", "FABRIC_1.0", &all.version))
    return fail(MPI_ERR_OTHER, "%s is no libfabric of version 1.17 or newer (%s)", file, dlerror());
  return all;
}

}  // namespace weft::net
