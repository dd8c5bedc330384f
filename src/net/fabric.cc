// SPDX-License-Identifier: Apache-2.0
#include "net/fabric.h"

#include <rdma/fabric.h>

namespace weft::net {

Result<std::unique_ptr<Fabric>> Fabric::open(const Wish& wish) {
  Result<std::unique_ptr<Survey>> survey = Survey::make(wish);
  if (!survey) return survey.err;
  return open(std::shared_ptr<const Survey>(std::move(survey.value)));
}

Result<std::unique_ptr<Fabric>> Fabric::open(std::shared_ptr<const Survey> survey) {
  const Result<int> taken = survey->taken();
  if (!taken) return taken.err;
  std::unique_ptr<Fabric> made(new Fabric(std::move(survey), taken.value));
  const Library& library = made->survey_->library();
  const int rc =
      library.fabric(made->survey_->info(taken.value).fabric_attr, &made->fabric_, nullptr);
  if (rc != 0)
    return fail(MPI_ERR_OTHER, "libfabric cannot open %s on %s: %s; try another WEFT_NET_PROVIDER",
                made->offer().provider.c_str(), made->offer().interface.c_str(),
                library.strerror(-rc));
  return made;
}

Fabric::~Fabric() {
  if (fabric_ != nullptr) fi_close(reinterpret_cast<fid*>(fabric_));
}

Result<std::unique_ptr<Endpoint>> Fabric::endpoint(const Rooms& rooms) const {
  return Endpoint::open({survey_->library(), *fabric_, survey_->info(taken_), offer().registers_own,
                         offer().has_sockets},
                        rooms);
}

}  // namespace weft::net
