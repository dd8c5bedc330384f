// SPDX-License-Identifier: Apache-2.0
//
// Local time. libc has one time zone, that of its environment's TZ when it last looked. A rank has
// its own: each call here takes libc's for as long as it lasts, and leaves what the rank may look
// at (timezone, daylight, tzname) in the rank's variables. The static buffers are a thread's.
#include <errno.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include <string>

#include "host.h"
#include "libc_environment.h"
#include "next.h"

using namespace weft::host;

namespace {

/// The value of TZ that counts for a rank: of when it last looked.
struct Zone {
  bool known = false;
  std::string text;                         // "TZ=…"; empty: it was not set
  char* variables[2] = {nullptr, nullptr};  // as an environment
};

enum class Look { if_never, again };

class InZone {
 public:
  InZone(Rank& rank, Look look)
      : rank_(rank), guard_(the_host->libc_lock), environment_(zone_of(rank, look)) {
    static constinit Next<void()> real_tzset{"tzset"};
    real_tzset();
  }
  ~InZone() {
    rank_.variable<long>(var_timezone) = __timezone;
    rank_.variable<int>(var_daylight) = __daylight;
    memcpy(rank_.variables[var_tzname], __tzname, sizeof __tzname);
  }
  InZone(const InZone&) = delete;
  InZone& operator=(const InZone&) = delete;

 private:
  static char** zone_of(Rank& rank, Look look) {
    Zone& zone = rank.only<Zone>();
    if (zone.known && look == Look::if_never) return zone.variables;
    const char* value = getenv("TZ");
    zone.known = true;
    zone.text = value ? std::string("TZ=") + value : "";
    zone.variables[0] = value ? zone.text.data() : nullptr;
    return zone.variables;
  }

  Rank& rank_;
  std::scoped_lock<std::recursive_mutex> guard_;
  LibcEnvironment environment_;
};

template <class Call>
auto in_zone(Look look, Call call) {
  Rank* rank = current();
  if (!rank) return call();
  const InZone zone(*rank, look);
  return call();
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

void tzset() noexcept {
  static constinit Next<void()> real{"tzset"};
  in_zone(Look::again, [] { real(); });
}

struct tm* localtime_r(const time_t* time, struct tm* out) noexcept {
  static constinit Next<struct tm*(const time_t*, struct tm*)> real{"localtime_r"};
  return in_zone(Look::if_never, [=] { return real(time, out); });
}

struct tm* localtime(const time_t* time) noexcept {
  static thread_local struct tm buffer;
  tzset();
  return localtime_r(time, &buffer);
}

struct tm* gmtime(const time_t* time) noexcept {
  static thread_local struct tm buffer;
  return gmtime_r(time, &buffer);
}

char* asctime(const struct tm* time) noexcept {
  static thread_local char buffer[64];
  return asctime_r(time, buffer);
}

char* ctime(const time_t* time) noexcept {
  struct tm* parts = localtime(time);
  return parts ? asctime(parts) : nullptr;
}

char* ctime_r(const time_t* time, char* out) noexcept {
  struct tm parts;
  return localtime_r(time, &parts) ? asctime_r(&parts, out) : nullptr;
}

time_t mktime(struct tm* parts) noexcept {
  static constinit Next<time_t(struct tm*)> real{"mktime"};
  return in_zone(Look::again, [=] { return real(parts); });
}
[[gnu::alias("mktime")]] time_t timelocal(struct tm*) noexcept;

std::size_t strftime(char* out, std::size_t size, const char* format,
                     const struct tm* time) noexcept {
  static constinit Next<std::size_t(char*, std::size_t, const char*, const struct tm*)> real{
      "strftime"};
  return in_zone(Look::again, [=] { return real(out, size, format, time); });
}

std::size_t strftime_l(char* out, std::size_t size, const char* format, const struct tm* time,
                       locale_t locale) noexcept {
  static constinit Next<std::size_t(char*, std::size_t, const char*, const struct tm*, locale_t)>
      real{"strftime_l"};
  return in_zone(Look::again, [=] { return real(out, size, format, time, locale); });
}
[[gnu::alias("strftime_l")]] std::size_t __strftime_l(char*, std::size_t, const char*,
                                                      const struct tm*, locale_t) noexcept;

std::size_t wcsftime(wchar_t* out, std::size_t size, const wchar_t* format,
                     const struct tm* time) noexcept {
  static constinit Next<std::size_t(wchar_t*, std::size_t, const wchar_t*, const struct tm*)> real{
      "wcsftime"};
  return in_zone(Look::again, [=] { return real(out, size, format, time); });
}

std::size_t wcsftime_l(wchar_t* out, std::size_t size, const wchar_t* format, const struct tm* time,
                       locale_t locale) noexcept {
  static constinit Next<std::size_t(wchar_t*, std::size_t, const wchar_t*, const struct tm*,
                                    locale_t)>
      real{"wcsftime_l"};
  return in_zone(Look::again, [=] { return real(out, size, format, time, locale); });
}
[[gnu::alias("wcsftime_l")]] std::size_t __wcsftime_l(wchar_t*, std::size_t, const wchar_t*,
                                                      const struct tm*, locale_t) noexcept;

char* strptime(const char* text, const char* format, struct tm* out) noexcept {
  static constinit Next<char*(const char*, const char*, struct tm*)> real{"strptime"};
  return in_zone(Look::if_never, [=] { return real(text, format, out); });
}

// The patterns are in a file that the environment names.
int getdate_r(const char* text, struct tm* out) {
  static constinit Next<int(const char*, struct tm*)> real{"getdate_r"};
  Rank* rank = current();
  if (!rank) return real(text, out);
  tzset();
  const LibcEnvironment as_rank(*rank);
  return real(text, out);
}

struct tm* getdate(const char* text) {
  static thread_local struct tm buffer;
  Rank* rank = current();
  const int error = getdate_r(text, &buffer);
  if (rank)
    rank->variable<int>(var_getdate_err) = error;
  else
    getdate_err = error;
  return error == 0 ? &buffer : nullptr;
}

#pragma GCC visibility pop
}
