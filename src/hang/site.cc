// SPDX-License-Identifier: Apache-2.0
//
// The first frame outside this library is the program's; the one before it is the entry point.
#include "hang/site.h"

#include <dlfcn.h>
#include <unwind.h>

// The library's first and last address, from the linker.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[];
extern "C" [[gnu::visibility("hidden")]] const char _end[];

namespace weft::hang {
namespace {

struct Walk {
  std::uintptr_t entry = 0;  // start of the library's function that the program called
  std::uintptr_t outside = 0;
};

_Unwind_Reason_Code look(_Unwind_Context* frame, void* context) {
  Walk& walk = *static_cast<Walk*>(context);
  const std::uintptr_t at = _Unwind_GetIP(frame);
  const bool inside = at >= reinterpret_cast<std::uintptr_t>(__ehdr_start) &&
                      at < reinterpret_cast<std::uintptr_t>(_end);
  if (inside) {
    walk.entry = _Unwind_GetRegionStart(frame);
    return _URC_NO_REASON;
  }
  walk.outside = at;
  return _URC_END_OF_STACK;
}

}  // namespace

Site find_site() {
  Walk walk;
  _Unwind_Backtrace(look, &walk);
  Site site{"", walk.outside};
  Dl_info info{};
  if (walk.outside != 0 && dladdr(reinterpret_cast<void*>(walk.entry), &info) != 0 &&
      info.dli_sname != nullptr)
    site.call = info.dli_sname + (info.dli_sname[0] == 'P' ? 1 : 0);  // PMPI_Recv is MPI_Recv
  return site;
}

}  // namespace weft::hang
