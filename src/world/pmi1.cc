// SPDX-License-Identifier: Apache-2.0
//
// The protocol's lines, and the one connection of a process. Answers are read by key: managers
// differ in the order of fields and add some of their own.
#include "world/pmi1.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::world {
namespace {

constexpr const char* job_key = "weft-job";

int number(const std::string& text, int otherwise) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  return end != text.c_str() ? static_cast<int>(value) : otherwise;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Distinguishes running kernels, and so nodes, where host names may be equal.
std::string boot_id() {
  char text[64] = "";
  if (std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    if (std::fgets(text, sizeof text, file) == nullptr) text[0] = 0;
    std::fclose(file);
  }
  text[std::strcspn(text, "\n")] = 0;
  return text[0] != 0 ? text : "unknown";
}

int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

Result<int> connect_to(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return fail(MPI_ERR_OTHER, "PMI_PORT is \"%s\", expected host:port", address.c_str());
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints,
                  &found) != 0)
    return fail(MPI_ERR_OTHER, "the host of PMI_PORT=%s is unknown", address.c_str());
  int fd = -1;
  for (const addrinfo* at = found; at != nullptr && fd < 0; at = at->ai_next) {
    fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(found);
  if (fd < 0)
    return fail(MPI_ERR_OTHER, "cannot connect to the process manager at PMI_PORT=%s: %s",
                address.c_str(), std::strerror(errno));
  return fd;
}

/// The connection of this process; it belongs to the Process, which asks for it once.
Pmi1*& connection() {
  static Pmi1* the_connection = nullptr;
  return the_connection;
}

Result<Pmi1*> connect_manager() {
  const std::string fd = variable("PMI_FD"), port = variable("PMI_PORT");
  if (!fd.empty()) {
    fcntl(number(fd, -1), F_SETFD, FD_CLOEXEC);  // our children are no ranks
    return new Pmi1(number(fd, -1), number(variable("PMI_RANK"), 0),
                    number(variable("PMI_SIZE"), 1));
  }
  const Result<int> socket = connect_to(port);
  if (!socket) return socket.err;
  auto* manager = new Pmi1(socket.value, 0, 1);
  WEFT_TRY(manager->identify(number(variable("PMI_ID"), 0)));
  return manager;
}

Result<memory::Job*> open_published(const std::string& where) {
  char boot[64] = "";
  int pid = 0, fd = 0;
  if (std::sscanf(where.c_str(), "%63[^:]:%d:%d", boot, &pid, &fd) != 3)
    return fail(MPI_ERR_OTHER,
                "rank 0 published \"%s\" as the place of the job; is it another "
                "version of weft?",
                where.c_str());
  if (boot_id() != boot)
    return fail(MPI_ERR_OTHER,
                "rank 0 runs on another machine, and weft has no network lane yet; "
                "start all ranks on one node");
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  const int own = open(path, O_RDWR | O_CLOEXEC);
  if (own < 0)
    return fail(MPI_ERR_OTHER,
                "cannot open rank 0's job segment %s: %s; ranks must run as one user "
                "and see each other's processes",
                path, std::strerror(errno));
  return memory::Job::open(own);
}

}  // namespace

Err Pmi1::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t at = 0; at < text.size();) {
    ssize_t n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK) n = write(fd_, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return fail(MPI_ERR_OTHER, "the process manager cannot be reached (PMI): %s",
                  std::strerror(errno));
    at += static_cast<std::size_t>(n);
  }
  return ok;
}

Result<std::string> Pmi1::receive() {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    char text[1024];
    const ssize_t n = read(fd_, text, sizeof text);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return fail(MPI_ERR_OTHER, "the process manager ended the conversation (PMI): %s",
                  n == 0 ? "end of file" : std::strerror(errno));
    buffer_.append(text, static_cast<std::size_t>(n));
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

Result<Pmi1::Fields> Pmi1::ask(const std::string& line, const char* answer) {
  WEFT_TRY(send(line));
  Result<std::string> got = receive();
  if (!got) return got.err;
  Fields fields;
  for (std::size_t at = 0; at < got.value.size();) {
    const std::size_t end = std::min(got.value.find(' ', at), got.value.size());
    const std::string word = got.value.substr(at, end - at);
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) fields[word.substr(0, equals)] = word.substr(equals + 1);
    at = end + 1;
  }
  const bool is_right = fields["cmd"] == answer;
  const bool is_good = fields.find("rc") == fields.end() || number(fields["rc"], -1) == 0;
  if (!is_right || !is_good)
    return fail(MPI_ERR_OTHER, "the process manager answered \"%s\" to \"%s\" (PMI)",
                got.value.c_str(), line.c_str());
  return fields;
}

Err Pmi1::identify(int id) {
  const Result<Fields> hello = ask("cmd=initack pmiid=" + std::to_string(id), "initack");
  if (!hello) return hello.err;
  for (const char* wanted : {"size", "rank", "debug"}) {
    const Result<std::string> line = receive();
    if (!line) return line.err;
    const std::string key = std::string(wanted) + "=";
    const std::size_t at = line.value.find(key);
    if (line.value.rfind("cmd=set", 0) != 0 || at == std::string::npos)
      return fail(MPI_ERR_OTHER, "the process manager said \"%s\", expected cmd=set %s (PMI)",
                  line.value.c_str(), wanted);
    const int value = number(line.value.substr(at + key.size()), 0);
    if (wanted[0] == 's') size_ = value;
    if (wanted[0] == 'r') rank_ = value;
  }
  return ok;
}

Err Pmi1::init() {
  const Result<Fields> version = ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (!version) return version.err;
  Result<Fields> space = ask("cmd=get_my_kvsname", "my_kvsname");
  if (!space) return space.err;
  space_ = space.value["kvsname"];
  return ok;
}

Result<int> Pmi1::appnum() {
  Result<Fields> answer = ask("cmd=get_appnum", "appnum");
  if (!answer) return answer.err;
  return number(answer.value["appnum"], 0);
}

Err Pmi1::put(const std::string& key, const std::string& value) {
  return ask("cmd=put kvsname=" + space_ + " key=" + key + " value=" + value, "put_result").err;
}

Result<std::string> Pmi1::get(const std::string& key) {
  Result<Fields> answer = ask("cmd=get kvsname=" + space_ + " key=" + key, "get_result");
  if (!answer) return answer.err;
  return answer.value["value"];
}

Err Pmi1::barrier() {
  return ask("cmd=barrier_in", "barrier_out").err;
}
Err Pmi1::finalize() {
  return ask("cmd=finalize", "finalize_ack").err;
}

void Pmi1::abort(int exit_code) {
  static_cast<void>(send("cmd=abort exitcode=" + std::to_string(exit_code)));
}

int nodes_of_mapping(const std::string& mapping, int size) {
  if (mapping.rfind("(vector,", 0) != 0) return 1;
  int ranks = 0, highest = 0;
  const char* at = mapping.c_str() + std::strlen("(vector,");
  int first = 0, nodes = 0, per_node = 0, read = 0;
  while (ranks < size && std::sscanf(at, "(%d,%d,%d)%n", &first, &nodes, &per_node, &read) == 3 &&
         per_node > 0) {
    for (int node = first; node < first + nodes && ranks < size; ++node, ranks += per_node)
      highest = std::max(highest, node);
    at += read;
    if (*at == ',') ++at;
  }
  return highest + 1;
}

Result<Placement> join_job(Pmi1& manager, const Params& params) {
  WEFT_TRY(manager.init());
  const int rank = manager.rank(), size = manager.size();
  if (size < 1 || rank < 0 || rank >= size)
    return fail(MPI_ERR_OTHER, "the process manager says rank %d of %d (PMI_RANK, PMI_SIZE)", rank,
                size);
  if (size > 1) {
    const Result<std::string> mapping = manager.get("PMI_process_mapping");
    const int nodes = mapping ? nodes_of_mapping(mapping.value, size) : 1;
    if (nodes > 1)
      return fail(MPI_ERR_OTHER,
                  "the job's %d ranks run on %d nodes, and weft has no network lane "
                  "yet; start all ranks on one node",
                  size, nodes);
  }
  const Result<int> appnum = manager.appnum();
  memory::Job* job = nullptr;
  if (rank == 0) {
    const Result<memory::Job*> made = memory::Job::create(size, allowed_cpus(), params);
    if (!made) return made.err;
    job = made.value;
    if (size > 1)
      WEFT_TRY(manager.put(
          job_key, boot_id() + ":" + std::to_string(getpid()) + ":" + std::to_string(job->fd())));
  }
  if (size > 1) WEFT_TRY(manager.barrier());
  if (rank != 0) {
    const Result<std::string> where = manager.get(job_key);
    if (!where) return where.err;
    const Result<memory::Job*> opened = open_published(where.value);
    if (!opened) return opened.err;
    job = opened.value;
  }
  job->entry(rank).appnum = appnum ? appnum.value : 0;
  job->entry(rank).app_size = size;
  // Rank 0 may not close or leave before everybody has opened the segment.
  if (size > 1) WEFT_TRY(manager.barrier());
  return Placement{job, rank, 1};
}

bool has_pmi() {
  return (!variable("PMI_FD").empty() && !variable("PMI_RANK").empty()) ||
         (!variable("PMI_PORT").empty() && !variable("PMI_ID").empty());
}

Result<Placement> from_pmi(const Params& params) {
  const Result<Pmi1*> manager = connect_manager();
  if (!manager) return manager.err;
  connection() = manager.value;
  return join_job(*manager.value, params);
}

Err pmi_finalize() {
  return connection() != nullptr ? connection()->finalize() : ok;
}

void pmi_abort(int exit_code) {
  if (connection() != nullptr) connection()->abort(exit_code);
}

}  // namespace weft::world
