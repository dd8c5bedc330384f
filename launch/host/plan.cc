// SPDX-License-Identifier: Apache-2.0
//
// Following DT_NEEDED from the program through its private libraries. Shared libraries are not
// followed: they need nothing private, or they would not be shared.
#include "plan.h"

#include <climits>
#include <cstdlib>
#include <cstring>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "check.h"
#include "machine.h"
#include "refuse.h"

namespace weft::host {
namespace {

// Loaded once per process. Compared up to ".so", so that versions do not matter.
constexpr std::array shared_stems = {
    "ld-linux-x86-64", "ld-linux-aarch64", "libc",        "libm",
    "libmvec",         "libpthread",       "libdl",       "librt",
    "libutil",         "libanl",           "libresolv",   "libgcc_s",
    "libasan",         "liblsan",          "libtsan",     "libubsan",
    "libclang_rt",     "libmpi_abi",       "libweft_host"};

constexpr const char* mpi_library = "libmpi_abi.so";
constexpr std::array sanitizer_stems = {"libasan", "liblsan", "libtsan", "libubsan", "libclang_rt"};
constexpr std::array runtime_stems = {"libstdc++", "libc++", "libc++abi"};

template <class Stems>
bool has_stem(const std::string& soname, const Stems& stems) {
  const std::string stem = soname.substr(0, soname.find(".so"));
  return std::ranges::any_of(stems, [&](const char* s) {
    return stem == s || (stem.starts_with(s) && stem[std::strlen(s)] == '.');
  });
}

class Builder {
 public:
  Builder(Plan& plan, Search& search, const IsShared& is_shared,
          std::span<const std::string> tools = {})
      : plan_(plan), search_(search), is_shared_(is_shared), tools_(tools) {}

  /// Add the image at `path` and all private images that it needs; its index, -1 on error.
  int add(const std::string& path, const std::string& name) {
    std::string reason;
    auto image = Image::open(path, reason);
    if (!image) return fail(reason);
    for (std::size_t i = 0; i < plan_.images.size(); i++)
      if (plan_.images[i].image->same_file(*image)) {
        plan_.images[i].names.push_back(name);
        return static_cast<int>(i);
      }
    const int index = static_cast<int>(plan_.images.size());
    if (index == 0) reason = refuse_program(*image);
    if (!reason.empty()) return fail(reason);
    plan_.images.push_back({std::move(image), {name}, {}});
    if (index == 0) add_tools();
    add_needed(index);
    plan_.order.push_back(index);
    return index;
  }

  std::string reason() const { return reason_; }

 private:
  int fail(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
    return -1;
  }

  void add_tools() {
    for (const std::string& path : tools_) {
      const int tool = add(path, path);
      if (tool < 0) return;
      plan_.tools.push_back(tool);
      plan_.images[0].needs.push_back(tool);
    }
  }

  void add_needed(int index) {
    const std::vector<std::string> needed = plan_.images[index].image->needed();
    for (const std::string& name : needed) {
      if (name.starts_with(mpi_library)) plan_.uses_mpi = true;
      int found = plan_.find(name);
      if (found < 0 && is_shared_(name)) {
        if (has_stem(name, sanitizer_stems)) {
          // clang's lie where only the program's search path leads
          const std::string path = search_.find(name, *plan_.images[index].image, plan_.program());
          plan_.preload.push_back(path.empty() ? name : path);
        }
        continue;
      }
      if (found < 0) {
        const Image& by = *plan_.images[index].image;
        const std::string path = search_.find(name, by, plan_.program());
        if (path.empty()) {
          fail("shared library " + name + " needed by " + by.path() +
               " was not found; set LD_LIBRARY_PATH or link it with -Wl,-rpath");
          return;
        }
        found = add(path, name);
      }
      if (found < 0) return;
      plan_.images[index].needs.push_back(found);
    }
  }

  Plan& plan_;
  Search& search_;
  const IsShared& is_shared_;
  std::span<const std::string> tools_;
  std::string reason_;
};

// Breadth first, as ld.so searches; libmpi_abi answers for what comes after it.
void find_images_before_mpi(Plan& plan) {
  std::vector<int>& out = plan.before_mpi;
  auto append = [&](int image) {
    if (image >= 0 && std::ranges::find(out, image) == out.end()) out.push_back(image);
  };
  append(0);
  for (int tool : plan.tools) append(tool);
  for (std::size_t i = 0; i < out.size(); i++)
    for (const std::string& name : plan.images[out[i]].image->needed()) {
      if (name.starts_with(mpi_library)) return;
      append(plan.find(name));
    }
}

/// The image that has the thread-local variable `name`, or -1.
int find_thread_local(const Plan& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.images.size(); i++) {
    const ElfW(Sym)* s = plan.images[i].image->definition(name);
    if (s && ELF64_ST_TYPE(s->st_info) == STT_TLS) return static_cast<int>(i);
  }
  return -1;
}

// An image says itself that its own variables are addressed from the thread pointer; others',
// that it addresses so, only its relocations tell. The program's are in the reserve.
void count_static_tls(Plan& plan) {
  std::vector<char> is_static(plan.images.size(), 0);
  for (std::size_t i = 0; i < plan.images.size(); i++) {
    const Image& image = *plan.images[i].image;
    if (image.needs_static_tls()) is_static[i] = 1;
    for (auto relocations : {image.relocations(), image.plt_relocations()})
      for (const auto& r : relocations) {
        if (machine::classify(ELF64_R_TYPE(r.r_info)) != machine::Reloc::tls_offset) continue;
        const ElfW(Sym)& symbol = image.symbols()[ELF64_R_SYM(r.r_info)];
        const int owner = find_thread_local(plan, image.name(symbol));
        if (owner >= 0) is_static[owner] = 1;
      }
  }
  plan.static_tls_bytes = 0;
  for (std::size_t i = 1; i < plan.images.size(); i++)
    if (const ElfW(Phdr)* tls = plan.images[i].image->segment(PT_TLS); tls && is_static[i])
      plan.static_tls_bytes += tls->p_memsz + std::max<std::size_t>(tls->p_align, 64);
}

}  // namespace

bool is_shared_by_name(const std::string& soname) {
  return has_stem(soname, shared_stems);
}

bool is_private_by_name(const std::string& soname) {
  return has_stem(soname, runtime_stems);
}

int Plan::find(std::string_view needed) const {
  for (std::size_t i = 0; i < images.size(); i++)
    if (std::ranges::find(images[i].names, needed) != images[i].names.end() ||
        images[i].image->soname() == needed)
      return static_cast<int>(i);
  return -1;
}

int Plan::wrapper(std::string_view name) const {
  if (name.starts_with(mpi_prefix)) {
    const auto at =
        std::ranges::find_if(before_mpi, [&](int i) { return images[i].image->definition(name); });
    return at != before_mpi.end() ? *at : -1;
  }
  for (std::size_t i = 0; i < images.size(); i++)
    if (images[i].image->definition(name)) return static_cast<int>(i);
  return -1;
}

std::string make_plan(const std::string& path, const std::vector<std::string>& tools,
                      const IsShared& is_shared, Plan& plan) {
  char real[PATH_MAX];
  if (!realpath(path.c_str(), real)) return path + ": " + std::strerror(errno);
  Search search;
  Builder builder(plan, search, is_shared, tools);
  builder.add(real, std::string(path));
  if (!builder.reason().empty()) return builder.reason();
  find_images_before_mpi(plan);
  count_static_tls(plan);
  return refuse_closure(plan);
}

std::string add_library(Plan& plan, Search& search, const std::string& path,
                        const IsShared& is_shared) {
  Builder builder(plan, search, is_shared);
  const std::size_t known = plan.images.size();
  builder.add(path, path);
  std::string reason = builder.reason();
  for (std::size_t i = known; i < plan.images.size() && reason.empty(); i++)
    reason = refuse_image(*plan.images[i].image);
  return reason;
}

Preload split_preload(const std::string& value, const std::string& program,
                      const std::string& directory) {
  Preload out;
  std::string ignored;
  const auto by = Image::open(program, ignored);
  if (!by) return {{}, value};
  Search search;
  constexpr const char* separators = ": ";
  for (std::size_t at = 0; (at = value.find_first_not_of(separators, at)) != value.npos;) {
    const std::size_t end = std::min(value.find_first_of(separators, at), value.size());
    const std::string name = value.substr(at, end - at);
    at = end;
    std::string path = name;
    if (name.find('/') == name.npos)
      path = search.find(name, *by, *by);
    else if (name[0] != '/' && !directory.empty())
      path = directory + '/' + name;
    const auto image = Image::open(path, ignored);
    if (image && image->exports_any(mpi_prefix))
      out.tools.push_back(path);
    else
      out.rest += (out.rest.empty() ? "" : ":") + name;
  }
  return out;
}

std::string check(const std::string& path, const std::vector<std::string>& tools) {
  Plan plan;
  return make_plan(path, tools, is_shared_by_name, plan);
}

}  // namespace weft::host
