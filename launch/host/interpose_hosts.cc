// SPDX-License-Identifier: Apache-2.0
//
// Hosts, networks, protocols, services, remote procedures, Ethernet addresses. See
// databases.h.
#include <netdb.h>
#include <netinet/ether.h>
#include <rpc/netdb.h>

#include "databases.h"
#include "next.h"

using namespace weft::host;

template <>
Shape weft::host::shape_of<hostent>() {
  return {{offsetof(hostent, h_name)},
          {offsetof(hostent, h_aliases), offsetof(hostent, h_addr_list)}};
}
template <>
Shape weft::host::shape_of<netent>() {
  return {{offsetof(netent, n_name)}, {offsetof(netent, n_aliases)}};
}
template <>
Shape weft::host::shape_of<protoent>() {
  return {{offsetof(protoent, p_name)}, {offsetof(protoent, p_aliases)}};
}
template <>
Shape weft::host::shape_of<servent>() {
  return {{offsetof(servent, s_name), offsetof(servent, s_proto)}, {offsetof(servent, s_aliases)}};
}
template <>
Shape weft::host::shape_of<rpcent>() {
  return {{offsetof(rpcent, r_name)}, {offsetof(rpcent, r_aliases)}};
}

namespace {

struct Hosts {
  using Type = hostent;
  static void set() { sethostent(0); }
  static int get(hostent* out, char* buffer, std::size_t size, hostent** found) {
    return gethostent_r(out, buffer, size, found, &h_errno);
  }
  static void end() { endhostent(); }
};
struct Networks {
  using Type = netent;
  static void set() { setnetent(0); }
  static int get(netent* out, char* buffer, std::size_t size, netent** found) {
    return getnetent_r(out, buffer, size, found, &h_errno);
  }
  static void end() { endnetent(); }
};
struct Protocols {
  using Type = protoent;
  static void set() { setprotoent(0); }
  static int get(protoent* out, char* buffer, std::size_t size, protoent** found) {
    return getprotoent_r(out, buffer, size, found);
  }
  static void end() { endprotoent(); }
};
struct Services {
  using Type = servent;
  static void set() { setservent(0); }
  static int get(servent* out, char* buffer, std::size_t size, servent** found) {
    return getservent_r(out, buffer, size, found);
  }
  static void end() { endservent(); }
};
struct Procedures {
  using Type = rpcent;
  static void set() { setrpcent(0); }
  static int get(rpcent* out, char* buffer, std::size_t size, rpcent** found) {
    return getrpcent_r(out, buffer, size, found);
  }
  static void end() { endrpcent(); }
};

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

// --- hosts ---

hostent* gethostbyname(const char* name) {
  static constinit Next<hostent*(const char*)> real{"gethostbyname"};
  Rank* rank = current();
  if (!rank) return real(name);
  struct Tag {};
  return keep<Tag, hostent>(*rank,
                            [&](auto... out) { return gethostbyname_r(name, out..., &h_errno); });
}

hostent* gethostbyname2(const char* name, int family) {
  static constinit Next<hostent*(const char*, int)> real{"gethostbyname2"};
  Rank* rank = current();
  if (!rank) return real(name, family);
  struct Tag {};
  return keep<Tag, hostent>(
      *rank, [&](auto... out) { return gethostbyname2_r(name, family, out..., &h_errno); });
}

hostent* gethostbyaddr(const void* address, socklen_t bytes, int family) {
  static constinit Next<hostent*(const void*, socklen_t, int)> real{"gethostbyaddr"};
  Rank* rank = current();
  if (!rank) return real(address, bytes, family);
  struct Tag {};
  return keep<Tag, hostent>(*rank, [&](auto... out) {
    return gethostbyaddr_r(address, bytes, family, out..., &h_errno);
  });
}

void sethostent(int stays_open) {
  static constinit Next<void(int)> real{"sethostent"};
  Rank* rank = current();
  return rank ? begin_anew<Hosts>(*rank) : real(stays_open);
}

void endhostent() {
  static constinit Next<void()> real{"endhostent"};
  Rank* rank = current();
  return rank ? begin_anew<Hosts>(*rank) : real();
}

hostent* gethostent() {
  static constinit Next<hostent*()> real{"gethostent"};
  Rank* rank = current();
  return rank ? next_entry<Hosts>(*rank) : real();
}

int gethostent_r(hostent* out, char* buffer, std::size_t size, hostent** result, int* error) {
  static constinit Next<int(hostent*, char*, std::size_t, hostent**, int*)> real{"gethostent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<Hosts>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result, error);
}

// --- networks ---

netent* getnetbyname(const char* name) {
  static constinit Next<netent*(const char*)> real{"getnetbyname"};
  Rank* rank = current();
  if (!rank) return real(name);
  struct Tag {};
  return keep<Tag, netent>(*rank,
                           [&](auto... out) { return getnetbyname_r(name, out..., &h_errno); });
}

netent* getnetbyaddr(std::uint32_t net, int family) {
  static constinit Next<netent*(std::uint32_t, int)> real{"getnetbyaddr"};
  Rank* rank = current();
  if (!rank) return real(net, family);
  struct Tag {};
  return keep<Tag, netent>(
      *rank, [&](auto... out) { return getnetbyaddr_r(net, family, out..., &h_errno); });
}

void setnetent(int stays_open) {
  static constinit Next<void(int)> real{"setnetent"};
  Rank* rank = current();
  return rank ? begin_anew<Networks>(*rank) : real(stays_open);
}

void endnetent() {
  static constinit Next<void()> real{"endnetent"};
  Rank* rank = current();
  return rank ? begin_anew<Networks>(*rank) : real();
}

netent* getnetent() {
  static constinit Next<netent*()> real{"getnetent"};
  Rank* rank = current();
  return rank ? next_entry<Networks>(*rank) : real();
}

int getnetent_r(netent* out, char* buffer, std::size_t size, netent** result, int* error) {
  static constinit Next<int(netent*, char*, std::size_t, netent**, int*)> real{"getnetent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<Networks>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result, error);
}

// --- protocols ---

protoent* getprotobyname(const char* name) {
  static constinit Next<protoent*(const char*)> real{"getprotobyname"};
  Rank* rank = current();
  if (!rank) return real(name);
  struct Tag {};
  return keep<Tag, protoent>(*rank, [&](auto... out) { return getprotobyname_r(name, out...); });
}

protoent* getprotobynumber(int number) {
  static constinit Next<protoent*(int)> real{"getprotobynumber"};
  Rank* rank = current();
  if (!rank) return real(number);
  struct Tag {};
  return keep<Tag, protoent>(*rank,
                             [&](auto... out) { return getprotobynumber_r(number, out...); });
}

void setprotoent(int stays_open) {
  static constinit Next<void(int)> real{"setprotoent"};
  Rank* rank = current();
  return rank ? begin_anew<Protocols>(*rank) : real(stays_open);
}

void endprotoent() {
  static constinit Next<void()> real{"endprotoent"};
  Rank* rank = current();
  return rank ? begin_anew<Protocols>(*rank) : real();
}

protoent* getprotoent() {
  static constinit Next<protoent*()> real{"getprotoent"};
  Rank* rank = current();
  return rank ? next_entry<Protocols>(*rank) : real();
}

int getprotoent_r(protoent* out, char* buffer, std::size_t size, protoent** result) {
  static constinit Next<int(protoent*, char*, std::size_t, protoent**)> real{"getprotoent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<Protocols>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result);
}

// --- services ---

servent* getservbyname(const char* name, const char* protocol) {
  static constinit Next<servent*(const char*, const char*)> real{"getservbyname"};
  Rank* rank = current();
  if (!rank) return real(name, protocol);
  struct Tag {};
  return keep<Tag, servent>(*rank,
                            [&](auto... out) { return getservbyname_r(name, protocol, out...); });
}

servent* getservbyport(int port, const char* protocol) {
  static constinit Next<servent*(int, const char*)> real{"getservbyport"};
  Rank* rank = current();
  if (!rank) return real(port, protocol);
  struct Tag {};
  return keep<Tag, servent>(*rank,
                            [&](auto... out) { return getservbyport_r(port, protocol, out...); });
}

void setservent(int stays_open) {
  static constinit Next<void(int)> real{"setservent"};
  Rank* rank = current();
  return rank ? begin_anew<Services>(*rank) : real(stays_open);
}

void endservent() {
  static constinit Next<void()> real{"endservent"};
  Rank* rank = current();
  return rank ? begin_anew<Services>(*rank) : real();
}

servent* getservent() {
  static constinit Next<servent*()> real{"getservent"};
  Rank* rank = current();
  return rank ? next_entry<Services>(*rank) : real();
}

int getservent_r(servent* out, char* buffer, std::size_t size, servent** result) {
  static constinit Next<int(servent*, char*, std::size_t, servent**)> real{"getservent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<Services>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result);
}

// --- procedures ---

rpcent* getrpcbyname(const char* name) {
  static constinit Next<rpcent*(const char*)> real{"getrpcbyname"};
  Rank* rank = current();
  if (!rank) return real(name);
  struct Tag {};
  return keep<Tag, rpcent>(*rank, [&](auto... out) { return getrpcbyname_r(name, out...); });
}

rpcent* getrpcbynumber(int number) {
  static constinit Next<rpcent*(int)> real{"getrpcbynumber"};
  Rank* rank = current();
  if (!rank) return real(number);
  struct Tag {};
  return keep<Tag, rpcent>(*rank, [&](auto... out) { return getrpcbynumber_r(number, out...); });
}

void setrpcent(int stays_open) {
  static constinit Next<void(int)> real{"setrpcent"};
  Rank* rank = current();
  return rank ? begin_anew<Procedures>(*rank) : real(stays_open);
}

void endrpcent() {
  static constinit Next<void()> real{"endrpcent"};
  Rank* rank = current();
  return rank ? begin_anew<Procedures>(*rank) : real();
}

rpcent* getrpcent() {
  static constinit Next<rpcent*()> real{"getrpcent"};
  Rank* rank = current();
  return rank ? next_entry<Procedures>(*rank) : real();
}

int getrpcent_r(rpcent* out, char* buffer, std::size_t size, rpcent** result) {
  static constinit Next<int(rpcent*, char*, std::size_t, rpcent**)> real{"getrpcent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<Procedures>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result);
}

// --- Ethernet addresses ---

char* ether_ntoa(const struct ether_addr* address) noexcept {
  static thread_local char buffer[18];
  return ether_ntoa_r(address, buffer);
}

struct ether_addr* ether_aton(const char* text) noexcept {
  static thread_local struct ether_addr buffer;
  return ether_aton_r(text, &buffer);
}

#pragma GCC visibility pop
}
