// SPDX-License-Identifier: Apache-2.0
#include "wireup/pmi.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "wireup/mapping.h"

namespace weft::wireup {
namespace {

constexpr const char* mapping_key = "PMI_process_mapping";

/// Hydra's is -1 where there is no bound.
int universe_of(const std::string& text) {
  return std::max(0, number_of(text, 0));
}

/// The space of keys is common to all ranks.
std::string key_of(int rank, const std::string& key) {
  return "weft-" + std::to_string(rank) + "-" + key;
}

/// What was written to this pipe, for 0.1 s at most: Hydra prints what it has read, but ends a job
/// that aborts without reading more, which lost the words of 2 in 60 (2 busy CPUs).
void wait_until_read(int pipe) {
  constexpr int most_looks = 100;
  constexpr timespec between{0, 1'000'000};
  struct stat what {};
  if (fstat(pipe, &what) != 0 || !S_ISFIFO(what.st_mode)) return;
  int left = 0;
  for (int look = 0; look < most_looks && ioctl(pipe, FIONREAD, &left) == 0 && left > 0; ++look)
    nanosleep(&between, nullptr);
}

Result<Fields> ask_line(Stream& stream, const std::string& request, const char* expected) {
  WEFT_TRY(stream.send(request + "\n"));
  const Result<std::string> answer = stream.line();
  if (!answer) return answer.err;
  Fields fields = fields_of(answer.value, ' ');
  WEFT_TRY(check_answer(fields, expected, answer.value, request));
  return fields;
}

class Pmi1 final : public Manager {
 public:
  Pmi1(Stream stream, const Identity& who) : stream_(std::move(stream)) {
    rank_ = who.rank;
    size_ = who.size;
  }
  Err introduce() {
    Result<Fields> limits = ask("cmd=get_maxes", "maxes");
    if (!limits) return limits.err;
    longest_value_ = static_cast<std::size_t>(number_of(limits.value["vallen_max"], 1024));
    Result<Fields> space = ask("cmd=get_my_kvsname", "my_kvsname");
    if (!space) return space.err;
    space_ = space.value["kvsname"];
    Result<Fields> app = ask("cmd=get_appnum", "appnum");
    if (app) appnum_ = number_of(app.value["appnum"], 0);
    Result<Fields> universe = ask("cmd=get_universe_size", "universe_size");
    if (universe) universe_ = universe_of(universe.value["size"]);
    return ok;
  }
  const char* protocol() const override { return "PMI-1"; }
  Err put(const std::string& key, const std::string& value) override {
    const std::string text = text_of(value);
    if (text.size() >= longest_value_)
      return fail(MPI_ERR_OTHER, "a value of %zu bytes is too long for the process manager (PMI)",
                  value.size());
    return ask("cmd=put kvsname=" + space_ + " key=" + key_of(rank_, key) + " value=" + text,
               "put_result")
        .err;
  }
  Err fence() override { return ask("cmd=barrier_in", "barrier_out").err; }
  Result<std::string> get(int rank, const std::string& key) override {
    const Result<std::string> text = look_up(key_of(rank, key));
    return text ? bytes_of(text.value) : text;
  }
  Result<std::vector<int>> nodes() override {
    const Result<std::string> mapping = look_up(mapping_key);
    if (!mapping) return mapping.err;
    return nodes_of_mapping(mapping.value, size_);
  }
  Err finalize() override { return ask("cmd=finalize", "finalize_ack").err; }
  void abort(int exit_code, const std::string&) override {  // it has no room for words
    wait_until_read(STDERR_FILENO);
    static_cast<void>(stream_.send("cmd=abort exitcode=" + std::to_string(exit_code) + "\n"));
  }

 private:
  Result<Fields> ask(const std::string& request, const char* expected) {
    return ask_line(stream_, request, expected);
  }
  Result<std::string> look_up(const std::string& key) {
    Result<Fields> answer = ask("cmd=get kvsname=" + space_ + " key=" + key, "get_result");
    if (!answer) return answer.err;
    return answer.value["value"];
  }

  Stream stream_;
  std::string space_;  // name of the job's keys
  std::size_t longest_value_ = 1024;
};

class Pmi2 final : public Manager {
 public:
  Pmi2(Stream stream, const Identity& who) : stream_(std::move(stream)), job_(who.job) {
    rank_ = who.rank;
    size_ = who.size;
  }
  Err introduce() {
    Result<Fields> answer =
        ask("fullinit", job("pmijobid") + "pmirank=" + std::to_string(rank_) + ";threaded=FALSE;");
    if (!answer) return answer.err;
    rank_ = number_of(answer.value["rank"], rank_);
    size_ = number_of(answer.value["size"], size_);
    appnum_ = number_of(answer.value["appnum"], 0);
    if (!answer.value["pmijobid"].empty()) job_ = answer.value["pmijobid"];
    const Result<std::string> universe = attribute("universeSize");
    if (universe) universe_ = universe_of(universe.value);
    return ok;
  }
  const char* protocol() const override { return "PMI-2"; }
  Err put(const std::string& key, const std::string& value) override {
    return ask("kvs-put", "key=" + key_of(rank_, key) + ";value=" + text_of(value) + ";").err;
  }
  Err fence() override { return ask("kvs-fence", "").err; }
  Result<std::string> get(int rank, const std::string& key) override {
    const Result<std::string> text =
        found(ask("kvs-get", job("jobid") + "srcid=-1;key=" + key_of(rank, key) + ";"), key);
    return text ? bytes_of(text.value) : text;
  }
  Result<std::vector<int>> nodes() override {
    const Result<std::string> mapping = attribute(mapping_key);
    if (!mapping) return mapping.err;
    return nodes_of_mapping(mapping.value, size_);
  }
  Err finalize() override { return ask("finalize", "").err; }
  void abort(int, const std::string& message) override {
    std::string words;
    for (const char c : message) words += c == ';' ? ',' : c;
    static_cast<void>(stream_.send(frame("cmd=abort;isworld=TRUE;msg=" + words + ";")));
  }

 private:
  /// Not every manager names its jobs, and none takes an empty name.
  std::string job(const std::string& key) const {
    return job_.empty() ? "" : key + "=" + job_ + ";";
  }
  static std::string frame(const std::string& body) {
    char length[16];
    std::snprintf(length, sizeof length, "%6zu", body.size());
    return length + body;
  }
  Result<Fields> ask(const std::string& cmd, const std::string& arguments) {
    const std::string request = "cmd=" + cmd + ";" + arguments;
    WEFT_TRY(stream_.send(frame(request)));
    const Result<std::string> length = stream_.take(6);  // Slurm's is left-aligned
    if (!length) return length.err;
    const int bytes = number_of(length.value, -1);
    if (bytes < 0)
      return fail(MPI_ERR_OTHER,
                  "the process manager answered \"%s\" to \"%s\", expected a length "
                  "(PMI-2)",
                  length.value.c_str(), request.c_str());
    const Result<std::string> answer = stream_.take(static_cast<std::size_t>(bytes));
    if (!answer) return answer.err;
    Fields fields = fields_of(answer.value, ';');
    WEFT_TRY(check_answer(fields, (cmd + "-response").c_str(), answer.value, request));
    return fields;
  }
  /// Of the job.
  Result<std::string> attribute(const std::string& key) {
    return found(ask("info-getjobattr", "key=" + key + ";"), key);
  }
  static Result<std::string> found(Result<Fields> answer, const std::string& key) {
    if (!answer) return answer.err;
    if (answer.value["found"] != "TRUE" && answer.value["found"] != "true")
      return fail(MPI_ERR_OTHER, "the process manager has no \"%s\" (PMI-2)", key.c_str());
    return answer.value["value"];
  }

  Stream stream_;
  std::string job_;
};

template <class Client>
Result<std::unique_ptr<Manager>> introduced(Stream stream, const Identity& who) {
  auto client = std::make_unique<Client>(std::move(stream), who);
  WEFT_TRY(client->introduce());
  if (client->size() < 1 || client->rank() < 0 || client->rank() >= client->size())
    return fail(MPI_ERR_OTHER, "the process manager says rank %d of %d (%s)", client->rank(),
                client->size(), client->protocol());
  return std::unique_ptr<Manager>(std::move(client));
}

}  // namespace

Result<Identity> identify(int fd, int id) {
  // Its answers come one by one, so nothing of what follows is lost with this stream.
  Stream stream(fd);
  const Result<Fields> hello =
      ask_line(stream, "cmd=initack pmiid=" + std::to_string(id), "initack");
  if (!hello) return hello.err;
  Identity who;
  for (const char* wanted : {"size", "rank", "debug"}) {
    const Result<std::string> line = stream.line();
    if (!line) return line.err;
    Fields fields = fields_of(line.value, ' ');
    if (fields["cmd"] != "set" || fields.count(wanted) == 0)
      return fail(MPI_ERR_OTHER, "the process manager said \"%s\", expected cmd=set %s (PMI)",
                  line.value.c_str(), wanted);
    const int value = number_of(fields[wanted], 0);
    if (wanted[0] == 's') who.size = value;
    if (wanted[0] == 'r') who.rank = value;
  }
  return who;
}

Result<std::unique_ptr<Manager>> join_pmi(int fd, const Identity& who, bool newest) {
  Stream stream(fd);
  const auto hello = [&](const char* line) {
    return ask_line(stream, line, "response_to_init").err;
  };
  if (!newest && !hello("cmd=init pmi_version=1 pmi_subversion=1"))
    return introduced<Pmi1>(std::move(stream), who);
  WEFT_TRY(hello("cmd=init pmi_version=2 pmi_subversion=0"));
  return introduced<Pmi2>(std::move(stream), who);
}

}  // namespace weft::wireup
