// SPDX-License-Identifier: Apache-2.0
#include "hang/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::hang {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// A 64-bit ELF file, mapped. Everything read from it is checked against its size.
class Elf {
 public:
  explicit Elf(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat s {};
    if (fstat(fd, &s) == 0 && s.st_size > 0) {
      size_ = static_cast<std::size_t>(s.st_size);
      void* at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      data_ = at == MAP_FAILED ? nullptr : static_cast<const char*>(at);
    }
    close(fd);
    header_ = at<Elf64_Ehdr>(0);
    if (header_ != nullptr && std::memcmp(header_->e_ident, ELFMAG "\2", 5) != 0) header_ = nullptr;
  }
  ~Elf() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }
  Elf(const Elf&) = delete;
  Elf& operator=(const Elf&) = delete;

  /// The address, as the file counts, of what is at `offset` in the file; 0: none.
  std::uint64_t address_of(std::uint64_t offset) const {
    for (int i = 0; header_ != nullptr && i < header_->e_phnum; ++i) {
      const auto* p =
          at<Elf64_Phdr>(header_->e_phoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Phdr));
      if (p != nullptr && p->p_type == PT_LOAD && offset - p->p_offset < p->p_filesz)
        return p->p_vaddr + (offset - p->p_offset);
    }
    return 0;
  }

  std::string function_at(std::uint64_t address) const {
    std::string name;
    for (int i = 0; header_ != nullptr && i < header_->e_shnum && name.empty(); ++i) {
      const Elf64_Shdr* table = section(static_cast<std::uint32_t>(i));
      if (table != nullptr && (table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM))
        name = function_in(*table, address);
    }
    return name;
  }

 private:
  template <class T>
  const T* at(std::uint64_t offset) const {
    if (data_ == nullptr || offset > size_ || size_ - offset < sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }
  const Elf64_Shdr* section(std::uint32_t index) const {
    return at<Elf64_Shdr>(header_->e_shoff + std::uint64_t{index} * sizeof(Elf64_Shdr));
  }
  std::string function_in(const Elf64_Shdr& table, std::uint64_t address) const {
    const Elf64_Shdr* strings = section(table.sh_link);
    for (std::uint64_t i = 0; i + sizeof(Elf64_Sym) <= table.sh_size; i += sizeof(Elf64_Sym)) {
      const auto* symbol = at<Elf64_Sym>(table.sh_offset + i);
      if (symbol == nullptr || strings == nullptr) break;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
          address - symbol->st_value >= symbol->st_size)
        continue;
      const std::uint64_t begin = strings->sh_offset + symbol->st_name;
      if (begin < size_) return std::string(data_ + begin, strnlen(data_ + begin, size_ - begin));
    }
    return "";
  }

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  const Elf64_Ehdr* header_ = nullptr;
};

std::string for_people(const std::string& symbol) {
  if (symbol.rfind("_Z", 0) != 0) return symbol;
  int status = 0;
  char* plain = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && plain != nullptr ? plain : symbol;
  std::free(plain);
  return out.substr(0, out.find('('));
}

/// "ring.c:12", or nothing.
std::string line_at(const std::string& file, std::uint64_t address) {
  if (file.find('\'') != file.npos) return "";
  char command[4200], answer[4096] = "";
  std::snprintf(command, sizeof command, "timeout 5 addr2line -e '%s' 0x%llx 2>/dev/null",
                file.c_str(), static_cast<unsigned long long>(address));
  std::FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return "";
  if (std::fgets(answer, sizeof answer, pipe) == nullptr) answer[0] = 0;
  pclose(pipe);
  const std::string line = base_name(std::string(answer, std::strcspn(answer, " \n")));
  return line.find('?') != line.npos ? "" : line;
}

}  // namespace

std::vector<std::string> programs_of(std::int32_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
  std::vector<std::string> words(1);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return {};
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    if (c != 0)
      words.back() += static_cast<char>(c);
    else
      words.emplace_back();
  std::fclose(file);
  return words;
}

std::string Symbols::file_of(std::int32_t pid, const std::string& mapped) const {
  constexpr const char* in_memory = "/memfd:";
  if (mapped.rfind(in_memory, 0) != 0) return mapped;
  std::string name = mapped.substr(std::strlen(in_memory));
  name = name.substr(0, name.find(" (deleted)"));
  for (const std::vector<std::string>& programs : {programs_, programs_of(pid)})
    for (const std::string& program : programs)
      if (base_name(program) == name) return program;
  return "";
}

std::string Symbols::find(std::int32_t pid, std::uint64_t address) const {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/maps", pid);
  std::FILE* maps = std::fopen(path, "re");
  if (maps == nullptr) return "";
  std::string mapped;
  std::uint64_t offset = 0;
  for (char line[4352]; mapped.empty() && std::fgets(line, sizeof line, maps) != nullptr;) {
    unsigned long long begin = 0, end = 0, file_offset = 0;
    int name_at = 0;
    line[std::strcspn(line, "\n")] = 0;
    if (std::sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &begin, &end, &file_offset, &name_at) !=
            3 ||
        address < begin || address >= end)
      continue;
    mapped = line + name_at;
    offset = address - begin + file_offset;
  }
  std::fclose(maps);
  const std::string file = file_of(pid, mapped);
  if (file.empty()) return "";
  const Elf elf(file);
  const std::uint64_t in_file = elf.address_of(offset);
  const std::string function = elf.function_at(in_file);
  const std::string line = lines_ ? line_at(file, in_file) : "";
  const std::string where = line.empty() ? base_name(file) : line;
  return function.empty() ? where : for_people(function) + " (" + where + ")";
}

std::string Symbols::operator()(std::int32_t pid, std::uint64_t address) {
  if (address == 0) return "";
  const auto [at, is_new] = known_.try_emplace({pid, address});
  if (is_new) at->second = find(pid, address - 1);  // the call itself, not what follows it
  return at->second;
}

}  // namespace weft::hang
