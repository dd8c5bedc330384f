// SPDX-License-Identifier: Apache-2.0
//
// Parsing an ELF file from its program headers and dynamic section alone, as ld.so does: section
// headers may be stripped.
#include "image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "machine.h"

namespace weft::host {

std::unique_ptr<Image> Image::open(const std::string& path, std::string& reason) {
  std::unique_ptr<Image> image(new Image);
  image->path_ = path;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) {
    reason = path + ": " + std::strerror(errno);
    if (fd >= 0) close(fd);
    return nullptr;
  }
  image->stat_ = st;
  const bool is_file = S_ISREG(st.st_mode);
  void* map = MAP_FAILED;
  if (is_file && st.st_size > 0)
    map = mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (map == MAP_FAILED) {
    reason = path + (is_file ? " is empty or cannot be read" : " is not a file");
    return nullptr;
  }
  image->base_ = static_cast<const std::byte*>(map);
  image->size_ = static_cast<std::size_t>(st.st_size);

  const char* text = reinterpret_cast<const char*>(image->base_);
  if (image->size_ >= 2 && text[0] == '#' && text[1] == '!') {
    reason = path + " is a script: all ranks would share its interpreter";
    return nullptr;
  }
  if (image->size_ < sizeof(ElfW(Ehdr)) || std::memcmp(text, ELFMAG, SELFMAG) != 0) {
    reason = path + " is not an ELF program";
    return nullptr;
  }
  const ElfW(Ehdr)& h = image->header();
  if (h.e_machine != machine::elf_machine || h.e_ident[EI_CLASS] != ELFCLASS64) {
    reason = path + " is not a 64-bit program for " + machine::name;
    return nullptr;
  }
  const std::size_t table_end = h.e_phoff + std::size_t{h.e_phnum} * sizeof(ElfW(Phdr));
  if (h.e_phentsize != sizeof(ElfW(Phdr)) || table_end < h.e_phoff || table_end > image->size_) {
    reason = path + " is damaged: its program headers lie outside the file";
    return nullptr;
  }
  image->segments_ = {reinterpret_cast<const ElfW(Phdr)*>(image->base_ + h.e_phoff), h.e_phnum};
  if (!image->parse_dynamic(reason)) return nullptr;
  return image;
}

Image::~Image() {
  if (base_) munmap(const_cast<std::byte*>(base_), size_);
}

bool Image::is_file(const struct stat& s) const {
  return s.st_dev == stat_.st_dev && s.st_ino == stat_.st_ino && s.st_size == stat_.st_size &&
         s.st_mtim.tv_sec == stat_.st_mtim.tv_sec && s.st_mtim.tv_nsec == stat_.st_mtim.tv_nsec;
}

std::string_view Image::base_name() const {
  return std::string_view(path_).substr(path_.rfind('/') + 1);
}

const ElfW(Phdr) * Image::segment(ElfW(Word) type) const {
  auto it = std::ranges::find(segments_, type, &ElfW(Phdr)::p_type);
  return it == segments_.end() ? nullptr : &*it;
}

ElfW(Addr) Image::memory_begin() const {
  const ElfW(Phdr)* first = segment(PT_LOAD);  // they are in ascending order
  return first ? first->p_vaddr : 0;
}

ElfW(Addr) Image::memory_end() const {
  ElfW(Addr) end = 0;
  for (const auto& p : segments_)
    if (p.p_type == PT_LOAD) end = std::max(end, p.p_vaddr + p.p_memsz);
  return end;
}

const ElfW(Dyn) * Image::tag(ElfW(Sxword) tag) const {
  auto it = std::ranges::find(dynamic_, tag, &ElfW(Dyn)::d_tag);
  return it == dynamic_.end() ? nullptr : &*it;
}

ElfW(Xword) Image::value(ElfW(Sxword) t) const {
  const ElfW(Dyn)* d = tag(t);
  return d ? d->d_un.d_val : 0;
}

std::size_t Image::offset_of(ElfW(Addr) vaddr, std::size_t length) const {
  for (const auto& p : segments_) {
    if (p.p_type != PT_LOAD || vaddr < p.p_vaddr) continue;
    const std::size_t into = vaddr - p.p_vaddr;
    if (into > p.p_filesz || length > p.p_filesz - into) continue;
    if (p.p_offset > size_ || into + length > size_ - p.p_offset) return npos;
    return p.p_offset + into;
  }
  return npos;
}

template <class T>
std::span<const T> Image::table(ElfW(Addr) vaddr, std::size_t count) const {
  if (vaddr == 0 || count == 0 || count > size_ / sizeof(T)) return {};
  const std::size_t at = offset_of(vaddr, count * sizeof(T));
  if (at == npos) return {};
  return {reinterpret_cast<const T*>(base_ + at), count};
}

std::string_view Image::string(std::size_t offset) const {
  if (offset >= strings_.size()) return {};
  const char* s = strings_.data() + offset;
  return {s, strnlen(s, strings_.size() - offset)};
}

std::string_view Image::string_tag(ElfW(Sxword) t) const {
  const ElfW(Dyn)* d = tag(t);
  return d ? string(d->d_un.d_val) : std::string_view{};
}

std::string_view Image::interpreter() const {
  const ElfW(Phdr)* p = segment(PT_INTERP);
  if (!p || p->p_offset > size_ || p->p_filesz > size_ - p->p_offset) return {};
  const char* s = reinterpret_cast<const char*>(base_ + p->p_offset);
  return {s, strnlen(s, p->p_filesz)};
}

bool Image::parse_dynamic(std::string& reason) {
  const ElfW(Phdr)* p = segment(PT_DYNAMIC);
  if (!p) return true;  // a static program: the plan refuses it with a better sentence
  if (p->p_offset > size_ || p->p_filesz > size_ - p->p_offset) {
    reason = path_ + " is damaged: its dynamic section lies outside the file";
    return false;
  }
  const auto* d = reinterpret_cast<const ElfW(Dyn)*>(base_ + p->p_offset);
  std::size_t n = 0;
  while (n < p->p_filesz / sizeof(ElfW(Dyn)) && d[n].d_tag != DT_NULL) n++;
  dynamic_ = {d, n};

  strings_ = table<char>(value(DT_STRTAB), value(DT_STRSZ));
  rela_ = table<ElfW(Rela)>(value(DT_RELA), value(DT_RELASZ) / sizeof(ElfW(Rela)));
  plt_ = table<ElfW(Rela)>(value(DT_JMPREL), value(DT_PLTRELSZ) / sizeof(ElfW(Rela)));
  symbols_ = table<ElfW(Sym)>(value(DT_SYMTAB), count_symbols());
  if (strings_.empty() || symbols_.empty()) {
    reason = path_ + " is damaged: no dynamic symbols";
    return false;
  }
  for (const auto& entry : dynamic_)
    if (entry.d_tag == DT_NEEDED) needed_.emplace_back(string(entry.d_un.d_val));

  auto is_indirect = [](const ElfW(Rela) & r) {
    return machine::classify(ELF64_R_TYPE(r.r_info)) == machine::Reloc::indirect;
  };
  auto is_resolver = [](const ElfW(Sym) & s) {
    return s.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC;
  };
  resolvers_ = std::ranges::any_of(rela_, is_indirect) || std::ranges::any_of(plt_, is_indirect) ||
               std::ranges::any_of(symbols_, is_resolver);
  auto is_unique = [](const ElfW(Sym) & s) {
    return s.st_shndx != SHN_UNDEF && ELF64_ST_BIND(s.st_info) == STB_GNU_UNIQUE;
  };
  stays_ = (value(DT_FLAGS_1) & DF_1_NODELETE) || std::ranges::any_of(symbols_, is_unique);
  return true;
}

// The dynamic symbol table has no length of its own: the hash tables and the relocations bound it.
std::size_t Image::count_symbols() const {
  std::size_t n = 1;
  for (auto relocations : {rela_, plt_})
    for (const auto& r : relocations) n = std::max(n, std::size_t{ELF64_R_SYM(r.r_info)} + 1);
  if (auto head = table<std::uint32_t>(value(DT_HASH), 2); !head.empty())
    return std::max(n, std::size_t{head[1]});

  auto head = table<std::uint32_t>(value(DT_GNU_HASH), 4);
  if (head.empty()) return n;
  const std::uint32_t buckets = head[0], first = head[1], bloom_words = head[2];
  const ElfW(Addr) buckets_at = value(DT_GNU_HASH) + 16 + std::size_t{bloom_words} * 8;
  std::uint32_t last = 0;
  for (std::uint32_t b : table<std::uint32_t>(buckets_at, buckets)) last = std::max(last, b);
  if (last < first) return std::max(n, std::size_t{first});
  // The chain of the highest bucket ends at the last symbol: an entry with its lowest bit set.
  const ElfW(Addr) chains_at = buckets_at + std::size_t{buckets} * 4;
  for (;; last++) {
    auto word = table<std::uint32_t>(chains_at + std::size_t{last - first} * 4, 1);
    if (word.empty() || (word[0] & 1)) return std::max(n, std::size_t{last} + 1);
  }
}

const ElfW(Sym) * Image::definition(std::string_view wanted) const {
  for (const auto& s : symbols_.subspan(1))
    if (s.st_shndx != SHN_UNDEF && ELF64_ST_BIND(s.st_info) != STB_LOCAL && name(s) == wanted)
      return &s;
  return nullptr;
}

bool Image::exports_any(std::string_view prefix) const {
  return std::ranges::any_of(symbols_.subspan(1), [&](const ElfW(Sym) & s) {
    return s.st_shndx != SHN_UNDEF && ELF64_ST_BIND(s.st_info) != STB_LOCAL &&
           name(s).starts_with(prefix);
  });
}

Image::Version Image::version_needed(std::size_t number) const {
  const auto indices = table<ElfW(Half)>(value(DT_VERSYM), symbols_.size());
  if (number >= indices.size() || value(DT_VERNEED) == 0) return {};
  const unsigned wanted = indices[number] & 0x7fff;
  ElfW(Addr) at = value(DT_VERNEED);
  for (ElfW(Xword) i = value(DT_VERNEEDNUM); i > 0; i--) {
    const auto need = table<ElfW(Verneed)>(at, 1);
    if (need.empty()) return {};
    ElfW(Addr) inner = at + need[0].vn_aux;
    for (unsigned k = 0; k < need[0].vn_cnt; k++) {
      const auto version = table<ElfW(Vernaux)>(inner, 1);
      if (version.empty()) return {};
      if (version[0].vna_other == wanted)
        return {string(need[0].vn_file), string(version[0].vna_name)};
      inner += version[0].vna_next;
    }
    if (need[0].vn_next == 0) return {};
    at += need[0].vn_next;
  }
  return {};
}

bool Image::imports(std::string_view wanted) const {
  return std::ranges::any_of(symbols_.subspan(1), [&](const ElfW(Sym) & s) {
    return s.st_shndx == SHN_UNDEF && name(s) == wanted;
  });
}

}  // namespace weft::host
