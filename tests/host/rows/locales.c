// SPDX-License-Identifier: Apache-2.0
// Locales and what depends on them.
#define _GNU_SOURCE
#include <langinfo.h>
#include <libintl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uchar.h>
#include <wchar.h>

#include "rows.h"

static void* codeset(void* p) {
  return nl_langinfo(CODESET);
}

static int locale(int r) {
  /* C.UTF-8 comes with the C library; others need not be there */
  const char* mine = r % 2 ? "C.UTF-8" : "C";
  CHECK(strcmp(setlocale(LC_ALL, 0), "C") == 0 && MB_CUR_MAX == 1);
  t_barrier();
  CHECK(setlocale(LC_CTYPE, mine) && !setlocale(LC_ALL, "no_such_locale"));
  t_barrier();
  CHECK(strcmp(setlocale(LC_CTYPE, 0), mine) == 0 && strcmp(setlocale(LC_TIME, 0), "C") == 0);
  CHECK((MB_CUR_MAX > 1) == r % 2);
  CHECK((strstr(setlocale(LC_ALL, 0), "LC_CTYPE=C.UTF-8;LC_NUMERIC=C;") != 0) == r % 2);
  wchar_t w = 0;
  CHECK((mbtowc(&w, "\xc3\xa4", 2) == 2) == r % 2);
  void* of_thread;
  pthread_t t;
  pthread_create(&t, 0, codeset, 0);
  pthread_join(t, &of_thread);
  CHECK(strcmp(of_thread, r % 2 ? "UTF-8" : "ANSI_X3.4-1968") == 0);
  t_barrier();

  locale_t other = newlocale(LC_ALL_MASK, r % 2 ? "C" : "C.UTF-8", 0);
  CHECK(other && uselocale(other) == LC_GLOBAL_LOCALE && (MB_CUR_MAX > 1) == (r % 2 == 0));
  CHECK(uselocale(LC_GLOBAL_LOCALE) == other && (MB_CUR_MAX > 1) == r % 2);
  locale_t copy = duplocale(LC_GLOBAL_LOCALE);
  CHECK(strcmp(nl_langinfo_l(CODESET, copy), of_thread) == 0);
  setenv("LC_ALL", r % 2 ? "C" : "C.UTF-8", 1);
  t_barrier();
  CHECK(strcmp(setlocale(LC_ALL, ""), r % 2 ? "C" : "C.UTF-8") == 0);
  char all[600];
  strcpy(all, setlocale(LC_ALL, 0));
  CHECK(setlocale(LC_ALL, "C") && setlocale(LC_ALL, all) && strcmp(setlocale(LC_ALL, 0), all) == 0);
  CHECK(strcmp(localeconv()->decimal_point, ".") == 0);
  t_barrier();
  return 1;
}

static int conversions(int r) {
  CHECK(setlocale(LC_ALL, "C.UTF-8"));
  t_barrier();
  /* half a letter in each hidden state; then rank 0 alone goes on */
  wchar_t w = 0;
  char16_t c16 = 0;
  char32_t c32 = 0;
  const char *from = "\xc3", *again = "\xc3";
  const size_t half = (size_t)-2;
  if (r == 0) {
    CHECK(mbrtowc(&w, "\xc3", 1, 0) == half && mbrlen("\xc3", 1, 0) == half);
    CHECK(mbrtoc16(&c16, "\xc3", 1, 0) == half && mbrtoc32(&c32, "\xc3", 1, 0) == half);
    CHECK(mblen("\xc3", 1) == -1 && mbtowc(&w, "\xc3", 1) == -1);
    mbsnrtowcs(&w, &from, 1, 1, 0);
    (void)again;
  }
  t_barrier();
  if (r != 0) {
    CHECK(mbrtowc(&w, "A", 1, 0) == 1 && w == L'A' && mbrlen("A", 1, 0) == 1);
    CHECK(mbrtoc16(&c16, "A", 1, 0) == 1 && mbrtoc32(&c32, "A", 1, 0) == 1);
    CHECK(mblen("A", 1) == 1 && mbtowc(&w, "A", 1) == 1);
    from = "A";
    CHECK(mbsnrtowcs(&w, &from, 1, 1, 0) == 1);
  }
  t_barrier();
  if (r == 0) {
    CHECK(mbrtowc(&w, "\xa4", 1, 0) == 1 && w == 0xe4 && mbrlen("\xa4", 1, 0) == 1);
    CHECK(mbrtoc16(&c16, "\xa4", 1, 0) == 1 && mbrtoc32(&c32, "\xa4", 1, 0) == 1 && c32 == 0xe4);
  }
  char bytes[16];
  if (r == 0) CHECK(c16rtomb(bytes, 0xd83d, 0) == 0);
  t_barrier();
  if (r != 0) CHECK(c16rtomb(bytes, 'A', 0) == 1);
  t_barrier();
  if (r == 0) CHECK(c16rtomb(bytes, 0xde00, 0) == 4);
  CHECK(wctomb(bytes, 0xe4) == 2 && wcrtomb(bytes, 0xe4, 0) == 2);
  return 1;
}

static int text_domain(int r) {
  CHECK(strcmp(textdomain(0), "messages") == 0);
  t_barrier();
  CHECK(strcmp(textdomain(own_name("domain", r)), own_name("domain", r)) == 0);
  t_barrier();
  CHECK(strcmp(textdomain(0), own_name("domain", r)) == 0 && strcmp(gettext("text"), "text") == 0);
  t_barrier();
  return 1;
}

const struct row locale_rows[] = {{"locale", locale},
                                  {"multibyte conversions", conversions},
                                  {"text domain", text_domain},
                                  {0, 0}};
