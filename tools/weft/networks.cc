// SPDX-License-Identifier: Apache-2.0
//
// weft info --net: see info.h.
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "info.h"
#include "launch/network_profile.h"
#include "net/fabric.h"

namespace weft::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string words(Err e) {
  const char* text = last_error_text(e.cls);
  return text != nullptr ? text : "unknown";
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Opens what is taken, as a rank would, so that it is known to work.
Json try_it(const net::Wish& wish) {
  const Result<std::unique_ptr<net::Fabric>> fabric = net::Fabric::open(wish);
  if (!fabric) return {{"error", words(fabric.err)}};
  const Result<std::unique_ptr<net::Endpoint>> endpoint = fabric.value->endpoint({});
  if (!endpoint) return {{"error", words(endpoint.err)}};
  const net::Offer& offer = fabric.value->offer();
  return {{"provider", offer.provider},
          {"interface", offer.interface},
          {"device", offer.device},
          {"address_bytes", endpoint.value->address().size()},
          {"remote_memory", endpoint.value->reaches_memory()},
          {"registers_own_memory", offer.registers_own},
          {"paced", offer.is_paced},
          {"sleeps", !endpoint.value->wait_fds().empty()}};
}

/// What a job would count with, between hosts and on one machine.
Json prices() {
  Json out = Json::array();
  for (const bool loopback : {false, true}) {
    std::string source;
    const model::Network x = launch::network_prices(loopback, &source);
    out.push_back({{"nodes", launch::network_key(loopback)},
                   {"latency_ns", x.latency * 1e9},
                   {"gap_ns", x.gap * 1e9},
                   {"bandwidth_mb_s", model::line_bytes / x.line / 1e6},
                   {"pairs", x.pairs},
                   {"source", source}});
  }
  return out;
}

}  // namespace

Json collect_networks() {
  const net::Wish wish = net::Wish::of(Params::from_env(/*complain=*/true));
  Json asked{{"WEFT_NET_PROVIDER", wish.provider},
             {"WEFT_NET_INTERFACE", wish.interface},
             {"FI_PROVIDER", variable("FI_PROVIDER")}};
  const std::int64_t begin = now_ns();
  const Result<std::unique_ptr<net::Survey>> survey = net::Survey::make(wish);
  const std::int64_t start_ms = (now_ns() - begin) / 1'000'000;
  if (!survey) return {{"asked", asked}, {"error", words(survey.err)}};
  const std::uint32_t version = survey.value->library().version();
  Json offers = Json::array();
  for (const net::Offer& offer : survey.value->offers())
    offers.push_back({{"provider", offer.provider},
                      {"interface", offer.interface},
                      {"device", offer.device},
                      {"ipv6", offer.is_ipv6},
                      {"remote_memory", offer.reaches_memory},
                      {"verdict", offer.verdict}});
  return {{"libfabric", std::to_string(version >> 16) + "." + std::to_string(version & 0xffff)},
          {"start_ms", start_ms},
          {"asked", asked},
          {"offers", offers},
          {"prices", prices()},
          {"taken", try_it(wish)}};
}

std::string networks_as_text(const Json& networks) {
  std::string out = "network of a job of several nodes (weft docs network)\n";
  for (const auto& [name, value] : networks["asked"].items())
    if (value != "") out += "  " + name + "=" + value.get<std::string>() + "\n";
  if (networks.contains("error")) return out + "  " + networks["error"].get<std::string>() + "\n";
  const Json& taken = networks["taken"];
  out += "  libfabric " + networks["libfabric"].get<std::string>() + ", which took " +
         std::to_string(networks["start_ms"].get<int>()) + " ms to start in this process\n";
  if (taken.contains("error"))
    out += "  " + taken["error"].get<std::string>() + "\n";
  else
    out += "  taken: " + taken["provider"].get<std::string>() + " on " +
           taken["interface"].get<std::string>() + "; " +
           (taken["remote_memory"] == true ? "reads and writes a peer's memory"
                                           : "sends messages only") +
           (taken["sleeps"] == true ? "" : "; a thread that waits must poll") +
           (taken["paced"] == true ? "; paced, which long messages pay for" : "") + "\n";
  out += "\noffered\n";
  for (const Json& offer : networks["offers"]) {
    const std::string interface =
        offer["interface"].get<std::string>() + (offer["ipv6"] == true ? " (IPv6)" : "");
    char line[400];
    std::snprintf(line, sizeof line, "%s %-14s %-14s %s\n", offer["verdict"] == "taken" ? "*" : " ",
                  offer["provider"].get<std::string>().c_str(), interface.c_str(),
                  offer["verdict"].get<std::string>().c_str());
    out += line;
  }
  out += "\nwhat messages between nodes cost, by which collectives choose (weft tune --net)\n";
  for (const Json& row : networks["prices"]) {
    char line[400];
    std::snprintf(line, sizeof line,
                  "  %s: latency %.0f ns, gap %.0f ns, %.0f MB/s, pairs at once %.0f; %s\n",
                  row["nodes"].get<std::string>().c_str(), row["latency_ns"].get<double>(),
                  row["gap_ns"].get<double>(), row["bandwidth_mb_s"].get<double>(),
                  row["pairs"].get<double>(), row["source"].get<std::string>().c_str());
    out += line;
  }
  return out;
}

}  // namespace weft::tool
