// SPDX-License-Identifier: Apache-2.0
//
// Users and groups, and their shadows. See databases.h.
#include <grp.h>
#include <gshadow.h>
#include <pwd.h>
#include <shadow.h>

#include "databases.h"
#include "next.h"

using namespace weft::host;

template <>
Shape weft::host::shape_of<passwd>() {
  return {{offsetof(passwd, pw_name), offsetof(passwd, pw_passwd), offsetof(passwd, pw_gecos),
           offsetof(passwd, pw_dir), offsetof(passwd, pw_shell)},
          {}};
}
template <>
Shape weft::host::shape_of<group>() {
  return {{offsetof(group, gr_name), offsetof(group, gr_passwd)}, {offsetof(group, gr_mem)}};
}
template <>
Shape weft::host::shape_of<spwd>() {
  return {{offsetof(spwd, sp_namp), offsetof(spwd, sp_pwdp)}, {}};
}
template <>
Shape weft::host::shape_of<sgrp>() {
  return {{offsetof(sgrp, sg_namp), offsetof(sgrp, sg_passwd)},
          {offsetof(sgrp, sg_adm), offsetof(sgrp, sg_mem)}};
}

namespace {

struct Users {
  using Type = passwd;
  static void set() { setpwent(); }
  static int get(passwd* out, char* buffer, std::size_t size, passwd** found) {
    return getpwent_r(out, buffer, size, found);
  }
  static void end() { endpwent(); }
};
struct Groups {
  using Type = group;
  static void set() { setgrent(); }
  static int get(group* out, char* buffer, std::size_t size, group** found) {
    return getgrent_r(out, buffer, size, found);
  }
  static void end() { endgrent(); }
};
struct Shadows {
  using Type = spwd;
  static void set() { setspent(); }
  static int get(spwd* out, char* buffer, std::size_t size, spwd** found) {
    return getspent_r(out, buffer, size, found);
  }
  static void end() { endspent(); }
};
struct GroupShadows {
  using Type = sgrp;
  static void set() { setsgent(); }
  static int get(sgrp* out, char* buffer, std::size_t size, sgrp** found) {
    return getsgent_r(out, buffer, size, found);
  }
  static void end() { endsgent(); }
};

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

// --- users ---

passwd* getpwnam(const char* name) {
  static constinit Next<passwd*(const char*)> real{"getpwnam"};
  Rank* rank = current();
  if (!rank) return real(name);
  struct Tag {};
  return keep<Tag, passwd>(*rank, [&](auto... out) { return getpwnam_r(name, out...); });
}

passwd* getpwuid(uid_t id) {
  static constinit Next<passwd*(uid_t)> real{"getpwuid"};
  Rank* rank = current();
  if (!rank) return real(id);
  struct Tag {};
  return keep<Tag, passwd>(*rank, [&](auto... out) { return getpwuid_r(id, out...); });
}

passwd* fgetpwent(FILE* file) {
  static constinit Next<passwd*(FILE*)> real{"fgetpwent"};
  Rank* rank = current();
  if (!rank) return real(file);
  struct Tag {};
  return keep<Tag, passwd>(*rank, [&](auto... out) { return fgetpwent_r(file, out...); });
}

void setpwent() {
  static constinit Next<void()> real{"setpwent"};
  Rank* rank = current();
  return rank ? begin_anew<Users>(*rank) : real();
}

void endpwent() {
  static constinit Next<void()> real{"endpwent"};
  Rank* rank = current();
  return rank ? begin_anew<Users>(*rank) : real();
}

passwd* getpwent() {
  static constinit Next<passwd*()> real{"getpwent"};
  Rank* rank = current();
  return rank ? next_entry<Users>(*rank) : real();
}

int getpwent_r(passwd* out, char* buffer, std::size_t size, passwd** result) {
  static constinit Next<int(passwd*, char*, std::size_t, passwd**)> real{"getpwent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<Users>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result);
}

// --- groups ---

group* getgrnam(const char* name) {
  static constinit Next<group*(const char*)> real{"getgrnam"};
  Rank* rank = current();
  if (!rank) return real(name);
  struct Tag {};
  return keep<Tag, group>(*rank, [&](auto... out) { return getgrnam_r(name, out...); });
}

group* getgrgid(gid_t id) {
  static constinit Next<group*(gid_t)> real{"getgrgid"};
  Rank* rank = current();
  if (!rank) return real(id);
  struct Tag {};
  return keep<Tag, group>(*rank, [&](auto... out) { return getgrgid_r(id, out...); });
}

group* fgetgrent(FILE* file) {
  static constinit Next<group*(FILE*)> real{"fgetgrent"};
  Rank* rank = current();
  if (!rank) return real(file);
  struct Tag {};
  return keep<Tag, group>(*rank, [&](auto... out) { return fgetgrent_r(file, out...); });
}

void setgrent() {
  static constinit Next<void()> real{"setgrent"};
  Rank* rank = current();
  return rank ? begin_anew<Groups>(*rank) : real();
}

void endgrent() {
  static constinit Next<void()> real{"endgrent"};
  Rank* rank = current();
  return rank ? begin_anew<Groups>(*rank) : real();
}

group* getgrent() {
  static constinit Next<group*()> real{"getgrent"};
  Rank* rank = current();
  return rank ? next_entry<Groups>(*rank) : real();
}

int getgrent_r(group* out, char* buffer, std::size_t size, group** result) {
  static constinit Next<int(group*, char*, std::size_t, group**)> real{"getgrent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<Groups>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result);
}

// --- their shadows ---

spwd* getspnam(const char* name) {
  static constinit Next<spwd*(const char*)> real{"getspnam"};
  Rank* rank = current();
  if (!rank) return real(name);
  struct Tag {};
  return keep<Tag, spwd>(*rank, [&](auto... out) { return getspnam_r(name, out...); });
}

spwd* fgetspent(FILE* file) {
  static constinit Next<spwd*(FILE*)> real{"fgetspent"};
  Rank* rank = current();
  if (!rank) return real(file);
  struct Tag {};
  return keep<Tag, spwd>(*rank, [&](auto... out) { return fgetspent_r(file, out...); });
}

spwd* sgetspent(const char* line) {
  static constinit Next<spwd*(const char*)> real{"sgetspent"};
  Rank* rank = current();
  if (!rank) return real(line);
  struct Tag {};
  return keep<Tag, spwd>(*rank, [&](auto... out) { return sgetspent_r(line, out...); });
}

void setspent() {
  static constinit Next<void()> real{"setspent"};
  Rank* rank = current();
  return rank ? begin_anew<Shadows>(*rank) : real();
}

void endspent() {
  static constinit Next<void()> real{"endspent"};
  Rank* rank = current();
  return rank ? begin_anew<Shadows>(*rank) : real();
}

spwd* getspent() {
  static constinit Next<spwd*()> real{"getspent"};
  Rank* rank = current();
  return rank ? next_entry<Shadows>(*rank) : real();
}

int getspent_r(spwd* out, char* buffer, std::size_t size, spwd** result) {
  static constinit Next<int(spwd*, char*, std::size_t, spwd**)> real{"getspent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<Shadows>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result);
}

sgrp* getsgnam(const char* name) {
  static constinit Next<sgrp*(const char*)> real{"getsgnam"};
  Rank* rank = current();
  if (!rank) return real(name);
  struct Tag {};
  return keep<Tag, sgrp>(*rank, [&](auto... out) { return getsgnam_r(name, out...); });
}

sgrp* fgetsgent(FILE* file) {
  static constinit Next<sgrp*(FILE*)> real{"fgetsgent"};
  Rank* rank = current();
  if (!rank) return real(file);
  struct Tag {};
  return keep<Tag, sgrp>(*rank, [&](auto... out) { return fgetsgent_r(file, out...); });
}

sgrp* sgetsgent(const char* line) {
  static constinit Next<sgrp*(const char*)> real{"sgetsgent"};
  Rank* rank = current();
  if (!rank) return real(line);
  struct Tag {};
  return keep<Tag, sgrp>(*rank, [&](auto... out) { return sgetsgent_r(line, out...); });
}

void setsgent() {
  static constinit Next<void()> real{"setsgent"};
  Rank* rank = current();
  return rank ? begin_anew<GroupShadows>(*rank) : real();
}

void endsgent() {
  static constinit Next<void()> real{"endsgent"};
  Rank* rank = current();
  return rank ? begin_anew<GroupShadows>(*rank) : real();
}

sgrp* getsgent() {
  static constinit Next<sgrp*()> real{"getsgent"};
  Rank* rank = current();
  return rank ? next_entry<GroupShadows>(*rank) : real();
}

int getsgent_r(sgrp* out, char* buffer, std::size_t size, sgrp** result) {
  static constinit Next<int(sgrp*, char*, std::size_t, sgrp**)> real{"getsgent_r"};
  Rank* rank = current();
  return rank ? next_entry_into<GroupShadows>(*rank, out, buffer, size, result)
              : real(out, buffer, size, result);
}

#pragma GCC visibility pop
}
