// SPDX-License-Identifier: Apache-2.0
#include "wireup/pmix.h"

#include <dlfcn.h>
#include <pmix.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

namespace weft::wireup {
namespace {

constexpr const char* file = "libpmix.so.2";

struct Library {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Abort) abort;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Error_string) error_string;
};

template <class F>
bool find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

Result<Library> open_library() {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(
        MPI_ERR_OTHER,
        "this job's process manager speaks PMIx, and libpmix cannot be loaded (%s); install "
        "it (Debian: libpmix2), or set LD_LIBRARY_PATH to the folder that has the manager's",
        dlerror());
  Library all{};
  if (!find(library, "PMIx_Init", &all.init) || !find(library, "PMIx_Put", &all.put) ||
      !find(library, "PMIx_Commit", &all.commit) || !find(library, "PMIx_Fence", &all.fence) ||
      !find(library, "PMIx_Get", &all.get) || !find(library, "PMIx_Abort", &all.abort) ||
      !find(library, "PMIx_Finalize", &all.finalize) ||
      !find(library, "PMIx_Error_string", &all.error_string))
    return fail(MPI_ERR_OTHER, "%s is no PMIx library: %s", file, dlerror());
  return all;
}

class Pmix final : public Manager {
 public:
  explicit Pmix(const Library& library) : pmix_(library) {}

  Err introduce() {
    WEFT_TRY(check(pmix_.init(&self_, nullptr, 0), "begin"));
    rank_ = static_cast<int>(self_.rank);
    const Result<int> size = number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    if (!size) return size.err;
    size_ = size.value;
    const Result<int> app = number(self_.rank, PMIX_APPNUM);
    if (app) appnum_ = app.value;
    const Result<int> universe = number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE);
    if (universe) universe_ = std::max(0, universe.value);
    return ok;
  }
  const char* protocol() const override { return "PMIx"; }
  Err put(const std::string& key, const std::string& bytes) override {
    pmix_value_t value{};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = const_cast<char*>(bytes.data());  // it is copied
    value.data.bo.size = bytes.size();
    return check(pmix_.put(PMIX_GLOBAL, key.c_str(), &value), "put");
  }
  /// Values stay at their node's server until somebody gets them: nobody needs all.
  Err fence() override {
    WEFT_TRY(check(pmix_.commit(), "commit"));
    return check(pmix_.fence(nullptr, 0, nullptr, 0), "fence");
  }
  Result<std::string> get(int rank, const std::string& key) override {
    std::string bytes;
    WEFT_TRY(read(static_cast<pmix_rank_t>(rank), key.c_str(), [&](const pmix_value_t& value) {
      if (value.type != PMIX_BYTE_OBJECT) return false;
      bytes.assign(value.data.bo.bytes, value.data.bo.size);
      std::free(value.data.bo.bytes);
      return true;
    }));
    return bytes;
  }
  Result<std::vector<int>> nodes() override {
    std::vector<int> nodes;
    for (int rank = 0; rank < size_; ++rank) {
      const Result<int> node = number(static_cast<pmix_rank_t>(rank), PMIX_NODEID);
      if (!node) return nodes_by_name();
      nodes.push_back(node.value);
    }
    return nodes;
  }
  Err finalize() override { return check(pmix_.finalize(nullptr, 0), "end"); }
  void abort(int exit_code, const std::string& message) override {
    pmix_.abort(exit_code, message.c_str(), nullptr, 0);
  }

 private:
  /// Slurm (22.05) numbers only the ranks of the own node.
  Result<std::vector<int>> nodes_by_name() const {
    std::vector<int> nodes;
    std::map<std::string, int> known;
    for (int rank = 0; rank < size_; ++rank) {
      std::string name;
      WEFT_TRY(read(static_cast<pmix_rank_t>(rank), PMIX_HOSTNAME, [&](const pmix_value_t& value) {
        if (value.type != PMIX_STRING) return false;
        name = value.data.string;
        std::free(value.data.string);
        return true;
      }));
      nodes.push_back(known.try_emplace(name, static_cast<int>(known.size())).first->second);
    }
    return nodes;
  }
  Err check(pmix_status_t status, const char* what) const {
    if (status == PMIX_SUCCESS) return ok;
    return fail(MPI_ERR_OTHER, "the process manager cannot %s (PMIx): %s", what,
                pmix_.error_string(status));
  }
  template <class Take>
  Err read(pmix_rank_t rank, const char* key, Take&& take) const {
    pmix_proc_t who = self_;
    who.rank = rank;
    pmix_value_t* value = nullptr;
    WEFT_TRY(check(pmix_.get(&who, key, nullptr, 0, &value), key));
    const bool is_right = take(*value);
    std::free(value);
    return is_right ? ok : fail(MPI_ERR_OTHER, "the process manager's %s is of a wrong type", key);
  }
  Result<int> number(pmix_rank_t rank, const char* key) const {
    int number = 0;
    WEFT_TRY(read(rank, key, [&](const pmix_value_t& value) {
      number = static_cast<int>(value.data.uint32);
      return value.type == PMIX_UINT32;
    }));
    return number;
  }

  Library pmix_;
  pmix_proc_t self_{};
};

}  // namespace

bool has_pmix() {
  if (std::getenv("PMIX_RANK") == nullptr) return false;
  // Each version of libpmix that a server can speak with has a variable of its own.
  for (const char* uri : {"PMIX_SERVER_URI", "PMIX_SERVER_URI2", "PMIX_SERVER_URI21",
                          "PMIX_SERVER_URI3", "PMIX_SERVER_URI4", "PMIX_SERVER_URI41"})
    if (std::getenv(uri) != nullptr) return true;
  return false;
}

Result<std::unique_ptr<Manager>> join_pmix() {
  const Result<Library> library = open_library();
  if (!library) return library.err;
  auto client = std::make_unique<Pmix>(library.value);
  WEFT_TRY(client->introduce());
  unsetenv("PMIX_RANK");  // our children are no ranks
  return std::unique_ptr<Manager>(std::move(client));
}

}  // namespace weft::wireup
