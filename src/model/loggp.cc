// SPDX-License-Identifier: Apache-2.0
#include "model/loggp.h"

#include <algorithm>
#include <vector>

namespace weft::model {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Software at both ends, and a copy at each.
double overhead(const Parameters& machine, std::int64_t bytes) {
  return machine.message + 2 * machine.copy * lines_of(bytes);
}

}  // namespace

double message_seconds(const Network& network, const Parameters& machine, std::int64_t bytes) {
  return overhead(machine, bytes) + network.takes(lines_of(bytes)) + network.latency;
}

double message_interval(const Network& network, const Parameters& machine, std::int64_t bytes) {
  // A sender prepares the next message while the network has the one before.
  return std::max(network.takes(lines_of(bytes)), overhead(machine, bytes) / 2);
}

Network fit_network(std::span<const MessageTimes> times, const Parameters& machine,
                    std::int64_t short_bytes) {
  constexpr double least_line = line_bytes / 1e12;
  std::vector<double> slopes, gaps, latencies;
  for (std::size_t i = 0; i < times.size(); ++i)
    for (std::size_t j = i + 1; j < times.size(); ++j)
      if (times[i].bytes != times[j].bytes)
        slopes.push_back((times[j].one_of_many - times[i].one_of_many) /
                         (lines_of(times[j].bytes) - lines_of(times[i].bytes)));
  Network out;
  out.line = std::max(median(slopes), least_line);
  for (const MessageTimes& t : times)
    if (t.bytes <= short_bytes) gaps.push_back(t.one_of_many - out.line * lines_of(t.bytes));
  out.gap = std::max(median(gaps), 0.0);
  for (const MessageTimes& t : times)
    if (t.bytes <= short_bytes)
      latencies.push_back(t.half_round - message_seconds(out, machine, t.bytes));
  out.latency = std::max(median(latencies), 0.0);
  return out;
}

}  // namespace weft::model
