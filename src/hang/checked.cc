// SPDX-License-Identifier: Apache-2.0
#include "hang/checked.h"

namespace weft::hang {
namespace {

bool is_among(const Ranks& among, std::int32_t ranks) {
  if (among.count == 0) return true;
  const std::int64_t last = among.first + std::int64_t{among.count - 1} * among.stride;
  return among.count > 0 && among.first >= 0 && among.first < ranks && last >= 0 && last < ranks;
}

bool make_safe(Need& need, std::int32_t ranks) {
  need.comm.name[name_bytes - 1] = need.call[call_bytes - 1] = 0;
  return need.peer >= nobody && need.peer < ranks && is_among(need.among, ranks);
}

}  // namespace

bool make_safe(Record& record, std::int32_t ranks) {
  if (record.needs_count < 0 || record.messages_count < 0 || record.begun_count < 0 ||
      record.begun_count > Record::begun_max)
    return false;
  record.call[call_bytes - 1] = 0;
  for (Need& need : record.needs)
    if (!make_safe(need, ranks)) return false;
  if (!make_safe(record.rest, ranks)) return false;
  for (Message& message : record.messages) message.comm.name[name_bytes - 1] = 0;
  return true;
}

}  // namespace weft::hang
