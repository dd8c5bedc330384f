// SPDX-License-Identifier: Apache-2.0
//
// The rank host lies at ../libexec/weft/weft-rankhost, seen from mpiexec itself, in the build tree
// as in an installed one.
#include "hosting.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "host/check.h"

namespace weft::launch {
namespace {

/// "": mpiexec cannot find out where it is itself (errno).
std::string host_path() {
  char own[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
  if (n <= 0) return "";
  std::string path(own, static_cast<std::size_t>(n));
  for (int up = 0; up < 2; ++up)
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  return path + "/libexec/weft/weft-rankhost";
}

// Tools are each rank's, so ld.so must not load them into the host.
void hand_over_tools(Process& process) {
  const char* value = process.env.get("LD_PRELOAD");
  if (value == nullptr) return;
  const auto preload = host::split_preload(value, process.path, process.directory);
  if (preload.tools.empty()) return;
  std::string tools;
  for (const std::string& path : preload.tools) tools += (tools.empty() ? "" : ":") + path;
  process.env.set("WEFT_HOST_TOOLS", tools);
  process.env.set("WEFT_HOST_USER_PRELOAD", std::string("=") + value);
  process.env.set("LD_PRELOAD", preload.rest);
}

}  // namespace

std::string why_not_threads(const std::string& path, const std::string& preload,
                            const std::string& directory) {
  const std::string host = host_path();
  if (host.empty())
    return std::string("mpiexec cannot find its own place (/proc/self/exe: ") + strerror(errno) +
           ")";
  if (access(host.c_str(), X_OK) != 0)
    return "the rank host " + host + " is missing from this installation";
  return host::check(path, host::split_preload(preload, path, directory).tools);
}

void make_host_command(Process& process, const Options& options,
                       const std::string& debug_directory) {
  std::vector<std::string> argv{host_path()};
  if (options.debug) argv.emplace_back("--debug");
  if (options.stack_bytes != 0) {
    argv.emplace_back("--stack");
    argv.push_back(std::to_string(options.stack_bytes));
  }
  if (options.mode == RankMode::automatic) argv.emplace_back("--or-processes");
  argv.emplace_back("--");
  argv.insert(argv.end(), process.argv.begin(), process.argv.end());
  hand_over_tools(process);
  process.path = argv[0];
  process.argv = std::move(argv);
  if (options.debug) process.env.set("WEFT_HOST_DIR", debug_directory);
}

}  // namespace weft::launch
