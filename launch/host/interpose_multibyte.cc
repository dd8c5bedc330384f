// SPDX-License-Identifier: Apache-2.0
//
// Conversions of characters that keep how far they got in a hidden state of the process when the
// caller gives none. Here the state is the thread's.
#include <stdlib.h>
#include <uchar.h>
#include <wchar.h>

#include "next.h"
#include "rank.h"

using namespace weft::host;

namespace {

enum Place {
  in_mbrlen,
  in_mbrtowc,
  in_wcrtomb,
  in_mbsrtowcs,
  in_mbsnrtowcs,
  in_wcsrtombs,
  in_wcsnrtombs,
  in_mbrtoc16,
  in_c16rtomb,
  in_mbrtoc8,
  in_c8rtomb,
  in_mbrtoc32,
  in_c32rtomb,
  in_mblen,
  in_mbtowc,
  in_wctomb,
  places
};

mbstate_t* state_or_own(mbstate_t* given, Place place) {
  static thread_local mbstate_t own[places];
  return given || !current() ? given : &own[place];
}

/// What mblen, mbtowc and wctomb answer to a null pointer: does the encoding have states?
int start_anew(Place place) {
  *state_or_own(nullptr, place) = {};
  static constinit Next<int(const char*, std::size_t)> real_mblen{"mblen"};
  return real_mblen(nullptr, 0);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

std::size_t mbrlen(const char* text, std::size_t bytes, mbstate_t* state) noexcept {
  static constinit Next<std::size_t(const char*, std::size_t, mbstate_t*)> real{"mbrlen"};
  return real(text, bytes, state_or_own(state, in_mbrlen));
}
[[gnu::alias("mbrlen")]] std::size_t __mbrlen(const char*, std::size_t, mbstate_t*) noexcept;

std::size_t mbrtowc(wchar_t* out, const char* text, std::size_t bytes, mbstate_t* state) noexcept {
  static constinit Next<std::size_t(wchar_t*, const char*, std::size_t, mbstate_t*)> real{
      "mbrtowc"};
  return real(out, text, bytes, state_or_own(state, in_mbrtowc));
}

std::size_t wcrtomb(char* out, wchar_t letter, mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char*, wchar_t, mbstate_t*)> real{"wcrtomb"};
  return real(out, letter, state_or_own(state, in_wcrtomb));
}

std::size_t __wcrtomb_chk(char* out, wchar_t letter, mbstate_t* state, std::size_t) noexcept {
  return wcrtomb(out, letter, state);
}

std::size_t mbsrtowcs(wchar_t* out, const char** text, std::size_t size,
                      mbstate_t* state) noexcept {
  static constinit Next<std::size_t(wchar_t*, const char**, std::size_t, mbstate_t*)> real{
      "mbsrtowcs"};
  return real(out, text, size, state_or_own(state, in_mbsrtowcs));
}

std::size_t __mbsrtowcs_chk(wchar_t* out, const char** text, std::size_t size, mbstate_t* state,
                            std::size_t) noexcept {
  return mbsrtowcs(out, text, size, state);
}

std::size_t mbsnrtowcs(wchar_t* out, const char** text, std::size_t bytes, std::size_t size,
                       mbstate_t* state) noexcept {
  static constinit Next<std::size_t(wchar_t*, const char**, std::size_t, std::size_t, mbstate_t*)>
      real{"mbsnrtowcs"};
  return real(out, text, bytes, size, state_or_own(state, in_mbsnrtowcs));
}

std::size_t __mbsnrtowcs_chk(wchar_t* out, const char** text, std::size_t bytes, std::size_t size,
                             mbstate_t* state, std::size_t) noexcept {
  return mbsnrtowcs(out, text, bytes, size, state);
}

std::size_t wcsrtombs(char* out, const wchar_t** text, std::size_t size,
                      mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char*, const wchar_t**, std::size_t, mbstate_t*)> real{
      "wcsrtombs"};
  return real(out, text, size, state_or_own(state, in_wcsrtombs));
}

std::size_t __wcsrtombs_chk(char* out, const wchar_t** text, std::size_t size, mbstate_t* state,
                            std::size_t) noexcept {
  return wcsrtombs(out, text, size, state);
}

std::size_t wcsnrtombs(char* out, const wchar_t** text, std::size_t letters, std::size_t size,
                       mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char*, const wchar_t**, std::size_t, std::size_t, mbstate_t*)>
      real{"wcsnrtombs"};
  return real(out, text, letters, size, state_or_own(state, in_wcsnrtombs));
}

std::size_t __wcsnrtombs_chk(char* out, const wchar_t** text, std::size_t letters, std::size_t size,
                             mbstate_t* state, std::size_t) noexcept {
  return wcsnrtombs(out, text, letters, size, state);
}

std::size_t mbrtoc16(char16_t* out, const char* text, std::size_t bytes,
                     mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char16_t*, const char*, std::size_t, mbstate_t*)> real{
      "mbrtoc16"};
  return real(out, text, bytes, state_or_own(state, in_mbrtoc16));
}

std::size_t c16rtomb(char* out, char16_t letter, mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char*, char16_t, mbstate_t*)> real{"c16rtomb"};
  return real(out, letter, state_or_own(state, in_c16rtomb));
}

std::size_t mbrtoc32(char32_t* out, const char* text, std::size_t bytes,
                     mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char32_t*, const char*, std::size_t, mbstate_t*)> real{
      "mbrtoc32"};
  return real(out, text, bytes, state_or_own(state, in_mbrtoc32));
}

std::size_t c32rtomb(char* out, char32_t letter, mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char*, char32_t, mbstate_t*)> real{"c32rtomb"};
  return real(out, letter, state_or_own(state, in_c32rtomb));
}

std::size_t mbrtoc8(char8_t* out, const char* text, std::size_t bytes, mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char8_t*, const char*, std::size_t, mbstate_t*)> real{
      "mbrtoc8"};
  return real(out, text, bytes, state_or_own(state, in_mbrtoc8));
}

std::size_t c8rtomb(char* out, char8_t letter, mbstate_t* state) noexcept {
  static constinit Next<std::size_t(char*, char8_t, mbstate_t*)> real{"c8rtomb"};
  return real(out, letter, state_or_own(state, in_c8rtomb));
}

int mblen(const char* text, std::size_t bytes) noexcept {
  static constinit Next<int(const char*, std::size_t)> real{"mblen"};
  if (!current()) return real(text, bytes);
  if (!text) return start_anew(in_mblen);
  const auto n = static_cast<int>(mbrlen(text, bytes, state_or_own(nullptr, in_mblen)));
  return n < 0 ? -1 : n;
}

int mbtowc(wchar_t* out, const char* text, std::size_t bytes) noexcept {
  static constinit Next<int(wchar_t*, const char*, std::size_t)> real{"mbtowc"};
  if (!current()) return real(out, text, bytes);
  if (!text) return start_anew(in_mbtowc);
  const auto n = static_cast<int>(mbrtowc(out, text, bytes, state_or_own(nullptr, in_mbtowc)));
  return n < 0 ? -1 : n;
}

int wctomb(char* out, wchar_t letter) noexcept {
  static constinit Next<int(char*, wchar_t)> real{"wctomb"};
  if (!current()) return real(out, letter);
  if (!out) return start_anew(in_wctomb);
  return static_cast<int>(wcrtomb(out, letter, state_or_own(nullptr, in_wctomb)));
}

int __wctomb_chk(char* out, wchar_t letter, std::size_t) noexcept {
  return wctomb(out, letter);
}

#pragma GCC visibility pop
}
