// SPDX-License-Identifier: Apache-2.0
// The system's databases: users, groups, hosts, services.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <gshadow.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <rpc/netdb.h>
#include <shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rows.h"

static FILE* file_of(const char* text) {
  FILE* f = tmpfile();
  fputs(text, f);
  rewind(f);
  return f;
}

/* Every rank reads an entry of its own, then looks whether it is still there. */
static int users_and_groups(int r) {
  char line[200];
  struct passwd *by_id = getpwuid(0), *by_name = getpwnam("root");
  struct group *group = getgrgid(0), *by_group_name = getgrnam("root");
  CHECK(by_id && by_name && group && by_group_name && strcmp(by_name->pw_name, "root") == 0);
  snprintf(line, sizeof line, "user%d:x:%d:1:about:/home/%d:/bin/sh\n", r, 1000 + r, r);
  struct passwd* user = fgetpwent(file_of(line));
  snprintf(line, sizeof line, "group%d:x:%d:a%d,b%d\n", r, 2000 + r, r, r);
  struct group* of_file = fgetgrent(file_of(line));
  snprintf(line, sizeof line, "user%d:*:%d:0:99999:7:::\n", r, 3000 + r);
  struct spwd *shadow = fgetspent(file_of(line)), *of_text = sgetspent(line);
  snprintf(line, sizeof line, "group%d:!:root:b%d\n", r, r);
  struct sgrp* group_shadow = sgetsgent(line);
  t_barrier();
  CHECK(user && user->pw_uid == 1000 + (unsigned)r && atoi(user->pw_dir + 6) == r);
  CHECK(of_file && of_file->gr_gid == 2000 + (unsigned)r && atoi(of_file->gr_mem[1] + 1) == r);
  CHECK(shadow && shadow->sp_lstchg == 3000 + r && of_text && of_text->sp_lstchg == 3000 + r);
  CHECK(group_shadow && atoi(group_shadow->sg_mem[0] + 1) == r);
  CHECK(strcmp(by_id->pw_name, "root") == 0 && group->gr_gid == 0 && !getpwnam("no such user"));
  CHECK(strcmp(by_group_name->gr_name, "root") == 0);
  t_barrier();

  int count = 0, groups = 0, seen = 0;
  setpwent();
  while (getpwent()) {
    if (count++ < 3) t_barrier();
  }
  endpwent();
  for (setgrent(); getgrent();) groups++;
  endgrent();
  CHECK(count > 3 && groups > 3);
  t_barrier();
  for (int i = 0; i < r % 3; i++) CHECK(getpwent());
  t_barrier();
  struct passwd entry, *result;
  char buffer[2048], tiny[2];
  setpwent();
  CHECK(getpwent_r(&entry, tiny, sizeof tiny, &result) == ERANGE);
  while (getpwent_r(&entry, buffer, sizeof buffer, &result) == 0)
    seen += strcmp(entry.pw_name, "root") == 0;
  CHECK(seen == 1 && strlen(entry.pw_dir) > 0);
  /* nothing of a rank's was read or closed by another's walk */
  const int fd = open("/dev/null", O_RDONLY);
  t_barrier();
  if (r == 0) setpwent(), getpwent();
  t_barrier();
  if (r == 1) getpwent(), endpwent();
  t_barrier();
  CHECK(fcntl(fd, F_GETFD) >= 0);
  t_barrier();
  return 1;
}

static int hosts_and_services(int r) {
  char text[64], other[64];
  const unsigned char address[4] = {10, 0, 0, (unsigned char)r};
  snprintf(text, sizeof text, "10.1.2.%d", r);
  snprintf(other, sizeof other, "::%x", r + 16);
  struct hostent *host = gethostbyname(text), *v6 = gethostbyname2(other, AF_INET6);
  const char* names[] = {"tcp", "udp", "icmp", "ip"};
  const char* services[] = {"ftp", "ssh", "telnet", "http"};
  const int ports[] = {21, 22, 23, 80};
  struct protoent* protocol = getprotobyname(names[r % 4]);
  struct servent *service = getservbyname(services[r % 4], "tcp"),
                 *port = getservbyport(htons((unsigned short)ports[r % 4]), 0);
  t_barrier();
  CHECK(host && strcmp(host->h_name, text) == 0 && (unsigned char)host->h_addr_list[0][3] == r);
  CHECK(v6 && (unsigned char)v6->h_addr_list[0][15] == r + 16);
  if (protocol) CHECK(strcmp(protocol->p_name, names[r % 4]) == 0);
  if (service)
    CHECK(strcmp(service->s_name, services[r % 4]) == 0 && port && port->s_port == service->s_port);
  (void)address;
  t_barrier();
  int count = 0, walked = 0;
  for (setprotoent(1); getprotoent();) count++;
  endprotoent();
  struct servent entry, *result;
  char buffer[2048];
  for (setservent(0); getservent_r(&entry, buffer, sizeof buffer, &result) == 0;) walked++;
  endservent();
  CHECK(t_value(count, 0) == count && t_value(walked, 0) == walked && (!protocol || count > 2));
  for (setnetent(0); getnetent();) count++;
  for (sethostent(0); gethostent();) count++;
  for (setrpcent(0); getrpcent();) count++;
  endnetent();
  endhostent();
  endrpcent();
  struct ether_addr ethernet = {{2, 0, 0, 0, 0, (unsigned char)r}};
  char* shown = ether_ntoa(&ethernet);
  struct ether_addr* read = ether_aton(shown);
  t_barrier();
  CHECK(atoi(strrchr(shown, ':') + 1) == r && read->ether_addr_octet[5] == r);
  struct in_addr in = {htonl(0x0a000000u + (unsigned)r)};
  shown = inet_ntoa(in);
  t_barrier();
  CHECK(atoi(strrchr(shown, '.') + 1) == r);
  return 1;
}

const struct row name_rows[] = {
    {"users and groups", users_and_groups}, {"hosts and services", hosts_and_services}, {0, 0}};
