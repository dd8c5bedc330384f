// SPDX-License-Identifier: Apache-2.0
#include "net/survey.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <tuple>

#include "base/kernel.h"

namespace weft::net {
namespace {

/// Best first. Others (udp;ofi_rxd, sockets, shm, ...) are slow, unreliable or do not leave the
/// node: who wants one names it. The order of tcp and tcp;ofi_rxm is measured (docs/network.md).
constexpr const char* preferred[] = {"cxi",           "efa", "opx", "psm3",
                                     "verbs;ofi_rxm", "tcp", "net", "tcp;ofi_rxm"};

int rank_of(const std::string& provider) {
  const auto* at = std::find(std::begin(preferred), std::end(preferred), provider);
  return static_cast<int>(at - std::begin(preferred));
}
bool is_preferred(const std::string& provider) {
  return rank_of(provider) < static_cast<int>(std::size(preferred));
}

/// Two addresses of IP, without their ports.
bool is_same_host(const sockaddr& a, const sockaddr& b) {
  if (a.sa_family != b.sa_family) return false;
  if (a.sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  return a.sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr, sizeof(in6_addr)) == 0;
}

/// The interface that has the address an endpoint would listen at.
void look_up_interface(const fi_info& info, Offer* offer) {
  offer->is_ipv6 = info.addr_format == FI_SOCKADDR_IN6;
  const bool is_ip = offer->is_ipv6 || info.addr_format == FI_SOCKADDR_IN;
  ifaddrs* all = nullptr;
  if (!is_ip || info.src_addr == nullptr || getifaddrs(&all) != 0) return;
  for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    if (!is_same_host(*at->ifa_addr, *static_cast<const sockaddr*>(info.src_addr))) continue;
    offer->interface = at->ifa_name;
    offer->is_loopback = (at->ifa_flags & IFF_LOOPBACK) != 0;
    break;
  }
  freeifaddrs(all);
}

/// bbr, bbr2, ...: others send what the receiver has room for.
bool paces(Paced paced) {
  if (paced != Paced::by_kernel) return paced == Paced::yes;
  return first_line("/proc/sys/net/ipv4/tcp_congestion_control").starts_with("bbr");
}

Offer offer_of(const fi_info& info) {
  Offer offer;
  offer.provider = info.fabric_attr->prov_name;
  offer.device = offer.interface = info.domain_attr->name;
  const auto is_part = [&](const char* name) {
    return offer.provider.find(name) != std::string::npos;
  };
  offer.has_sockets =
      is_part("net") || is_part("tcp") || is_part("udp") || offer.provider == "sockets";
  offer.reaches_memory = (info.caps & FI_RMA) != 0;
  offer.registers_own = (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  look_up_interface(info, &offer);
  return offer;
}

std::string listed(const std::vector<Offer>& offers) {
  std::string text;
  for (const Offer& offer : offers) {
    const std::string one = offer.provider + " on " + offer.interface;
    if (text.find(one + ",") == std::string::npos) text += " " + one + ",";
  }
  if (text.empty()) return " nothing";
  text.pop_back();
  return text;
}

}  // namespace

Survey::Survey(const Library& library, Wish wish)
    : library_(library), wish_(std::move(wish)), paces_(paces(wish_.paced)) {}

Wish Wish::of(const Params& params) {
  return {params.text(P::net_provider), params.text(P::net_interface),
          static_cast<Paced>(params.integer(P::net_paced))};
}

Result<std::unique_ptr<Survey>> Survey::make(const Wish& wish, const std::string& first) {
  const Result<Library> library = open_library();
  if (!library) return library.err;
  std::unique_ptr<Survey> survey(new Survey(library.value, wish));
  // A provider shows only what it is asked for: first those that can do all, then also the others.
  survey->ask(FI_MSG | FI_RMA | FI_TAGGED, first);
  survey->ask(FI_MSG | FI_RMA, first);
  survey->ask(FI_MSG, first);
  survey->choose();
  if (survey->taken_ < 0 && !first.empty()) return make(wish);
  return survey;
}

void Survey::ask(std::uint64_t capabilities, const std::string& provider) {
  Infos hints(library_.dupinfo(nullptr), library_.freeinfo);
  if (hints == nullptr) return;
  hints->caps = capabilities;
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());  // freed with it
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  // Messages of one sender arrive in the order in which they were sent, as matching wants.
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  fi_info* found = nullptr;
  if (library_.getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found) != 0) return;
  lists_.emplace_back(found, library_.freeinfo);
  for (const fi_info* info = found; info != nullptr; info = info->next) {
    Offer offer = offer_of(*info);
    offer.is_paced = offer.has_sockets && paces_;
    const auto is_same = [&](const Offer& other) {
      return other.provider == offer.provider && other.device == offer.device &&
             other.is_ipv6 == offer.is_ipv6;
    };
    if (std::any_of(offers_.begin(), offers_.end(), is_same)) continue;
    offers_.push_back(std::move(offer));
    infos_.push_back(info);
  }
}

void Survey::choose() {
  const char* only = std::getenv("FI_PROVIDER");
  const bool is_named = !wish_.provider.empty() || (only != nullptr && *only != '^' && *only != 0);
  const auto price = [&](int i) {
    const Offer& offer = offers_[static_cast<std::size_t>(i)];
    return std::tuple(rank_of(offer.provider), offer.is_loopback, offer.is_ipv6, i);
  };
  for (int i = 0; i < static_cast<int>(offers_.size()); ++i) {
    Offer& offer = offers_[static_cast<std::size_t>(i)];
    if (!wish_.provider.empty() && offer.provider != wish_.provider)
      offer.verdict = "WEFT_NET_PROVIDER=" + wish_.provider + " is asked for";
    else if (!wish_.interface.empty() && offer.interface != wish_.interface &&
             offer.device != wish_.interface)
      offer.verdict = "WEFT_NET_INTERFACE=" + wish_.interface + " is asked for";
    else if (!is_named && !is_preferred(offer.provider))
      offer.verdict = "taken only where WEFT_NET_PROVIDER names it";
    else if (taken_ < 0 || price(i) < price(taken_))
      taken_ = i;
  }
  if (taken_ < 0) return;
  const Offer& best = offers_[static_cast<std::size_t>(taken_)];
  for (Offer& offer : offers_) {
    if (!offer.verdict.empty()) continue;
    if (&offer == &best)
      offer.verdict = "taken";
    else if (offer.provider != best.provider)
      offer.verdict = best.provider + " is preferred";
    else if (offer.is_loopback && !best.is_loopback)
      offer.verdict = "reaches only this node";
    else
      offer.verdict =
          best.interface + (best.is_ipv6 == offer.is_ipv6 ? " comes first" : " has IPv4");
  }
}

Result<int> Survey::taken() const {
  if (taken_ >= 0) return taken_;
  const char* barred = std::getenv("FI_PROVIDER");
  const std::string asked =
      (wish_.provider.empty() ? "" : " WEFT_NET_PROVIDER=" + wish_.provider) +
      (wish_.interface.empty() ? "" : " WEFT_NET_INTERFACE=" + wish_.interface) +
      (barred == nullptr ? "" : std::string(" FI_PROVIDER=") + barred);
  return fail(MPI_ERR_OTHER,
              "there is no network that weft can use: asked for%s, libfabric %u.%u offers%s; "
              "`weft info --net` shows more",
              asked.empty() ? " the best" : asked.c_str(), FI_MAJOR(library_.version()),
              FI_MINOR(library_.version()), listed(offers_).c_str());
}

}  // namespace weft::net
