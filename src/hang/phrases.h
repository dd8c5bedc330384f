// SPDX-License-Identifier: Apache-2.0
//
// Ranks, communicators and waits in words.
#pragma once

#include <string>
#include <vector>

#include "hang/view.h"

namespace weft::hang {

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

/// "rank 3", "ranks 0 and 2", "ranks 0-5 and 7"; `ranks` ascending. At most a few are named.
std::string ranks_text(const std::vector<std::int32_t>& ranks);
/// The same without the word.
std::string numbers_text(const std::vector<std::int32_t>& ranks);
/// "MPI_COMM_WORLD", "a communicator without a name (number 12, 4 ranks)"
std::string comm_text(const CommName& comm);
std::string tag_text(std::int32_t tag);
/// What a thread waits for: "a message from rank 1 (tag 7, MPI_COMM_WORLD, up to 4 bytes)"
std::string need_text(const Need& need);
/// "waits in MPI_Recv", "is in MPI_Finalize", "has finished", "is not waiting in MPI".
std::string doing_text(const RankView& rank);
/// The same of several: "wait in MPI_Recv".
std::string plural(std::string doing);
/// "MPI_Recv", also if it is not known.
std::string call_text(const Record& record);
/// The whole wait: "waits in MPI_Recv<called> for a message from ..."; more lines for many needs.
std::string wait_text(const Record& record, const std::string& called);

}  // namespace weft::hang
