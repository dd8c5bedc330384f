// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "hosting.h"

namespace weft::launch {
namespace {

bool is_file(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

/// The value that `name` will have for the program, or `otherwise`. PATH is mpiexec's own even
/// where the program does not get it.
std::string variable(const Options& options, const Program& program, std::string_view name,
                     const char* otherwise) {
  const char* value = getenv(std::string(name).c_str());
  for (const Variables* list : {&options.env, &program.env})
    for (const auto& [n, v] : *list)
      if (n == name) value = v.c_str();
  return value != nullptr ? value : otherwise;
}

// Absolute, because the process changes its directory before it becomes the program; "" where
// mpiexec's own directory has been deleted.
std::string in_directory(const std::string& directory, const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(directory) / name;
  if (path.is_absolute()) return path.lexically_normal();
  char here[PATH_MAX];
  if (getcwd(here, sizeof here) == nullptr || here[0] != '/') return "";
  return (here / path).lexically_normal();
}

void check_directory(const std::string& directory) {
  if (directory.empty()) return;
  struct stat s {};
  const char* why = stat(directory.c_str(), &s) != 0       ? strerror(errno)
                    : !S_ISDIR(s.st_mode)                  ? "it is no directory"
                    : access(directory.c_str(), X_OK) != 0 ? strerror(errno)
                                                           : nullptr;
  if (why != nullptr)
    throw Failure{127, "weft: ranks cannot start in the directory " + directory + ": " + why};
}

[[noreturn]] void may_not_execute(const std::string& path) {
  struct statvfs fs {};
  const bool never = statvfs(path.c_str(), &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0;
  throw Failure{126, "weft: program " + path + " is not executable; " +
                         (never ? "its file system is mounted noexec" : "try chmod +x " + path)};
}

std::string find_by_path(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0)
    throw Failure{127, "weft: program " + path + " cannot be found: " + strerror(errno)};
  if (S_ISDIR(s.st_mode)) throw Failure{126, "weft: " + path + " is a directory, not a program"};
  if (access(path.c_str(), X_OK) != 0) may_not_execute(path);
  return path;
}

std::string find_program(const Options& options, const Program& program) {
  const std::string& name = program.argv[0];
  check_directory(program.directory);
  if (name.find('/') != std::string::npos) {
    const std::string path = in_directory(program.directory, name);
    if (path.empty())
      throw Failure{127, "weft: program " + name +
                             " cannot be found: the directory in which mpiexec was started has "
                             "been deleted; change to one that is there"};
    return find_by_path(path);
  }
  std::string unusable;
  std::istringstream directories(
      variable(options, program, "PATH", "/usr/local/bin:/usr/bin:/bin"));
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string path = in_directory(directory.empty() ? "." : directory, name);
    if (!is_file(path)) continue;
    if (access(path.c_str(), X_OK) == 0) return path;
    if (unusable.empty()) unusable = path;
  }
  if (!unusable.empty()) may_not_execute(unusable);
  const bool is_here = is_file((std::filesystem::path(program.directory) / name).string());
  throw Failure{127, "weft: program " + name + " was not found in PATH" +
                         (is_here ? "; did you mean ./" + name + "?" : "")};
}

std::string why_not_script(std::string line) {
  line = line.substr(0, line.find('\n'));
  const std::size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return "its first line (#!) names no interpreter";
  const std::string interpreter = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  if (interpreter[0] != '/') return "";  // as seen from where the rank will start
  if (interpreter.back() == '\r')
    return "its first line ends as on Windows, so the interpreter \"" +
           interpreter.substr(0, interpreter.size() - 1) + "\\r\" does not exist; try dos2unix";
  if (access(interpreter.c_str(), X_OK) == 0) return "";
  return "its interpreter " + interpreter + " (first line) cannot be executed: " + strerror(errno);
}

std::string why_not_elf(int fd, const Elf64_Ehdr& header) {
#if defined(__x86_64__)
  constexpr int machine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr int machine = EM_AARCH64;
#endif
  // The kernel may have been taught to run others.
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != machine) return "";
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    const auto at = static_cast<off_t>(header.e_phoff + static_cast<std::size_t>(i) * sizeof part);
    if (pread(fd, &part, sizeof part, at) != sizeof part) return "it ends before its header does";
    char loader[PATH_MAX] = "";
    if (part.p_type != PT_INTERP || part.p_filesz >= sizeof loader ||
        pread(fd, loader, part.p_filesz, static_cast<off_t>(part.p_offset)) <= 0)
      continue;
    if (access(loader, X_OK) != 0)
      return std::string("its loader ") + loader + " cannot be executed: " + strerror(errno) +
             " (it was built for another system)";
  }
  return "";
}

}  // namespace

bool may_spawn(const Options& options) {
  const auto may = [&](const Program& program) {
    std::ostringstream bytes;
    try {
      bytes << std::ifstream(find_program(options, program)).rdbuf();
    } catch (const Failure&) {
      return false;  // the hosts' agents say so
    }
    const std::string file = std::move(bytes).str();
    const auto names = [&](const char* word) { return file.find(word) != file.npos; };
    return !names("libmpi_abi.so") || names("MPI_Comm_spawn") || names("mpi_comm_spawn");
  };
  return std::any_of(options.programs.begin(), options.programs.end(), may);
}

std::string why_not_executable(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";  // one may execute what one may not read
  char start[256] = "";   // so much of a script the kernel looks at
  const ssize_t n = read(fd, start, sizeof start - 1);
  std::string why;
  if (n == 0) why = "it is empty";
  if (n > 2 && start[0] == '#' && start[1] == '!') why = why_not_script(start);
  if (n >= static_cast<ssize_t>(sizeof(Elf64_Ehdr)) && memcmp(start, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header{};
    memcpy(&header, start, sizeof header);
    why = why_not_elf(fd, header);
  }
  close(fd);
  return why;
}

std::vector<Runnable> find_programs(const Options& options) {
  std::vector<Runnable> out;
  for (const Program& program : options.programs) {
    Runnable runnable;
    runnable.path = find_program(options, program);
    if (const std::string why = why_not_executable(runnable.path); !why.empty())
      throw Failure{126, "weft: program " + runnable.path + " cannot be executed: " + why};
    if (options.mode != RankMode::process) {
      const std::string reason = why_not_threads(
          runnable.path, variable(options, program, "LD_PRELOAD", ""), program.directory);
      runnable.as_threads = reason.empty();
      if (!reason.empty() && options.mode == RankMode::thread)
        throw Failure{126,
                      "weft: " + program.argv[0] + " cannot run with ranks as threads: " + reason};
      if (!reason.empty())
        runnable.note = "weft: ranks of " + program.argv[0] + " are processes: " + reason;
    }
    out.push_back(std::move(runnable));
  }
  return out;
}

}  // namespace weft::launch
