// SPDX-License-Identifier: Apache-2.0
//
// Writing a rank's copy of an image; patch.h says what is changed and why.
#include "patch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "shared_tls.h"

namespace weft::host {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t round_up(std::size_t n) {
  return (n + page - 1) / page * page;
}
constexpr std::size_t round_down(std::size_t n) {
  return n / page * page;
}

bool is_initialiser(ElfW(Sxword) tag) {
  constexpr std::array tags = {DT_INIT,          DT_FINI,           DT_INIT_ARRAY,
                               DT_INIT_ARRAYSZ,  DT_FINI_ARRAY,     DT_FINI_ARRAYSZ,
                               DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ};
  return std::ranges::find(tags, tag) != tags.end();
}

bool is_relocation(ElfW(Sxword) tag) {
  constexpr std::array tags = {DT_RELA,   DT_RELASZ,   DT_RELAENT, DT_RELACOUNT,
                               DT_JMPREL, DT_PLTRELSZ, DT_PLTREL};
  return std::ranges::find(tags, tag) != tags.end();
}

std::string write_all(int fd, const std::byte* data, std::size_t size, std::size_t at) {
  while (size > 0) {
    const ssize_t n = pwrite(fd, data, size, static_cast<off_t>(at));
    if (n <= 0) return std::string("writing a rank's copy failed: ") + std::strerror(errno);
    data += n;
    at += static_cast<std::size_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

template <class T>
std::string write_items(int fd, const std::vector<T>& items, std::size_t at) {
  return write_all(fd, reinterpret_cast<const std::byte*>(items.data()), items.size() * sizeof(T),
                   at);
}

}  // namespace

Patch::Patch(const Plan& plan, int index, bool share_text)
    : image_(*plan.images[index].image),
      is_program_(index == 0),
      share_text_(share_text && !image_.runs_resolvers() && !image_.writes_text()),
      bytes_(image_.bytes().begin(), image_.bytes().end()),
      tail_offset_(round_up(image_.bytes().size())),
      tail_address_(round_up(image_.memory_end())) {
  if (share_text_ && tables_lie_in_shared_segment()) share_text_ = false;
  drop_program_tls(plan, index);
  const std::size_t at = image_.offset_of(image_.value(DT_SYMTAB), 1);
  auto* symbols = reinterpret_cast<ElfW(Sym)*>(bytes_.data() + at);
  for (std::size_t i = 1; i < image_.symbols().size(); i++)
    if (ELF64_ST_BIND(symbols[i].st_info) == STB_GNU_UNIQUE)
      symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(symbols[i].st_info));
  if (!share_text_) hide_versions_from_debuggers();
  find_ranges();
  find_version_names();
}

void Patch::drop_program_tls(const Plan& plan, int index) {
  for (const ProgramTls& t : program_tls_of(plan, index)) {
    const auto* place = reinterpret_cast<const std::byte*>(&t.relocation->r_info);
    std::memset(bytes_.data() + (place - image_.bytes().data()), 0, sizeof t.relocation->r_info);
  }
}

// New names lie outside the section that a debugger reads them from; it would then refuse the whole
// file. It can do without versions. ld.so does not look at sections.
void Patch::hide_versions_from_debuggers() {
  const ElfW(Ehdr)& header = image_.header();
  for (std::size_t i = 0; i < header.e_shnum; i++) {
    const std::size_t at = header.e_shoff + i * sizeof(ElfW(Shdr));
    if (header.e_shoff > bytes_.size() || at + sizeof(ElfW(Shdr)) > bytes_.size()) return;
    auto* section = reinterpret_cast<ElfW(Shdr)*>(bytes_.data() + at);
    if (section->sh_type == SHT_GNU_verneed || section->sh_type == SHT_GNU_versym)
      section->sh_type = SHT_NULL;
  }
}

bool Patch::is_shared(const ElfW(Phdr) & s) const {
  return share_text_ && s.p_type == PT_LOAD && !(s.p_flags & PF_W) && s.p_offset != 0;
}

// ld.so reads these while it loads; they must be in the copy. They are, with every linker known,
// because they come first in the file.
bool Patch::tables_lie_in_shared_segment() const {
  for (auto tag : {DT_STRTAB, DT_SYMTAB, DT_RELA, DT_JMPREL, DT_GNU_HASH, DT_HASH, DT_VERSYM,
                   DT_VERNEED, DT_VERDEF}) {
    const ElfW(Addr) a = image_.value(tag);
    for (const auto& s : image_.segments())
      if (a != 0 && is_shared(s) && a >= s.p_vaddr && a < s.p_vaddr + s.p_filesz) return true;
  }
  return false;
}

// Everything, or everything but the inner pages of shared segments and what follows the last
// segment (symbols and debugging information). Border pages may belong to a neighbour as well.
void Patch::find_ranges() {
  std::size_t end = bytes_.size();
  std::vector<Range> holes;
  if (share_text_) {
    end = 0;
    for (const auto& s : image_.segments()) {
      if (s.p_type != PT_LOAD) continue;
      end = std::max(end, s.p_offset + s.p_filesz);
      const Range inner{round_up(s.p_offset), round_down(s.p_offset + s.p_filesz)};
      if (is_shared(s) && inner.begin < inner.end) holes.push_back(inner);
    }
  }
  std::ranges::sort(holes, {}, &Range::begin);
  std::size_t at = 0;
  for (const Range& hole : holes) {
    if (at < hole.begin) ranges_.push_back({at, hole.begin});
    at = std::max(at, hole.end);
  }
  if (at < end) ranges_.push_back({at, end});
}

std::vector<ElfW(Phdr)> Patch::make_headers(std::size_t names_bytes) const {
  std::vector<ElfW(Phdr)> out;
  auto last_load = out.size();
  for (const ElfW(Phdr) & h : image_.segments()) {
    if (h.p_type == PT_PHDR || h.p_type == PT_INTERP || h.p_type == PT_GNU_RELRO ||
        (is_program_ && h.p_type == PT_TLS))
      continue;
    out.push_back(h);
    if (h.p_type == PT_LOAD) last_load = out.size();
  }
  ElfW(Phdr) load{};
  load.p_type = PT_LOAD;
  load.p_flags = PF_R;
  load.p_offset = tail_offset_;
  load.p_vaddr = load.p_paddr = tail_address_;
  load.p_filesz = load.p_memsz = names_bytes;
  load.p_align = page;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(last_load), load);
  return out;
}

// A name's number is its distance from the original string table, which lies below the tail in
// memory; ld.so adds without looking at DT_STRSZ.
Patch::Content Patch::make_content(const Changes& changes) const {
  const auto& renames = changes.renames;
  Content out;
  const std::size_t base = tail_address_ - image_.value(DT_STRTAB);
  auto add_name = [&](const std::string& s) {
    const std::size_t at = base + out.names.size();
    out.names.append(s).push_back('\0');
    return at;
  };
  std::vector<std::size_t> renamed;
  for (const Rename& r : renames) renamed.push_back(add_name(r.second));
  auto new_name = [&](std::string_view old, std::size_t offset) {
    for (std::size_t i = 0; i < renames.size(); i++)
      if (renames[i].first == old) return renamed[i];
    return offset;
  };

  auto add_libraries = [&](const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      ElfW(Dyn) d{};
      d.d_tag = DT_NEEDED;
      d.d_un.d_val = add_name(path);
      out.dynamic.push_back(d);
    }
  };
  add_libraries(changes.first);
  for (ElfW(Dyn) d : image_.dynamic()) {
    if (is_initialiser(d.d_tag) || d.d_tag == DT_SONAME) continue;
    if (changes.without_relocations && is_relocation(d.d_tag)) continue;
    if (d.d_tag == DT_FLAGS_1) d.d_un.d_val &= ~ElfW(Xword){DF_1_PIE | DF_1_NOOPEN};
    if (d.d_tag == DT_NEEDED) d.d_un.d_val = new_name(image_.string(d.d_un.d_val), d.d_un.d_val);
    out.dynamic.push_back(d);
  }
  add_libraries(changes.extra);
  out.dynamic.emplace_back();  // DT_NULL

  for (std::size_t at : version_names_) {
    ElfW(Word) old;
    std::memcpy(&old, bytes_.data() + at, sizeof old);
    const std::size_t name = new_name(image_.string(old), old);
    if (name != old) out.versions.emplace_back(at, static_cast<ElfW(Word)>(name));
  }
  return out;
}

// The version-needs table names files too, and ld.so insists on finding them among the libraries.
void Patch::find_version_names() {
  if (image_.value(DT_VERNEED) == 0) return;
  std::size_t at = image_.offset_of(image_.value(DT_VERNEED), sizeof(ElfW(Verneed)));
  for (ElfW(Xword) i = image_.value(DT_VERNEEDNUM); i > 0; i--) {
    if (at > bytes_.size() - sizeof(ElfW(Verneed))) return;
    ElfW(Verneed) need;
    std::memcpy(&need, bytes_.data() + at, sizeof need);
    version_names_.push_back(at + offsetof(ElfW(Verneed), vn_file));
    if (need.vn_next == 0) return;
    at += need.vn_next;
  }
}

std::string Patch::write(int fd, const Changes& changes) const {
  Content content = make_content(changes);
  // Removed entries make room for additional libraries.
  const ElfW(Phdr)& place = *image_.segment(PT_DYNAMIC);
  if (content.dynamic.size() * sizeof(ElfW(Dyn)) > place.p_filesz)
    return image_.path() + " has no room for " +
           std::to_string(changes.first.size() + changes.extra.size()) + " more libraries; " +
           (changes.extra.empty() ? "preload fewer tools" : "load fewer plugins with RTLD_GLOBAL");
  content.names.resize((content.names.size() + 15) / 16 * 16);
  const std::size_t headers_at = tail_offset_ + content.names.size();
  const auto headers = make_headers(content.names.size());
  ElfW(Ehdr) header = image_.header();
  header.e_phoff = headers_at;
  header.e_phnum = static_cast<ElfW(Half)>(headers.size());
  if (share_text_) header.e_shoff = header.e_shnum = header.e_shstrndx = 0;

  std::string error;
  if (ftruncate(fd, static_cast<off_t>(headers_at + headers.size() * sizeof headers[0])) != 0)
    error = std::string("sizing a rank's copy failed: ") + std::strerror(errno);
  for (const Range& r : ranges_)
    if (error.empty()) error = write_all(fd, bytes_.data() + r.begin, r.end - r.begin, r.begin);
  for (const auto& [at, name] : content.versions)
    if (error.empty()) error = write_items(fd, std::vector{name}, at);
  if (error.empty()) error = write_items(fd, std::vector{header}, 0);
  if (error.empty()) error = write_items(fd, content.dynamic, place.p_offset);
  if (error.empty())
    error = write_all(fd, reinterpret_cast<const std::byte*>(content.names.data()),
                      content.names.size(), tail_offset_);
  return error.empty() ? write_items(fd, headers, headers_at) : error;
}

}  // namespace weft::host
