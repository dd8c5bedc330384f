// SPDX-License-Identifier: Apache-2.0
//
// setlocale sets the locale of all threads of a process that have not chosen one by uselocale. A
// rank's is set by uselocale on its threads: the calling one at once, others when they begin.
#include <langinfo.h>
#include <libintl.h>
#include <locale.h>
#include <nl_types.h>
#include <string.h>

#include <map>
#include <string>

#include "host.h"
#include "libc_environment.h"
#include "next.h"

using namespace weft::host;

namespace {

constinit Next<locale_t(int, const char*, locale_t)> real_newlocale{"newlocale"};
constinit Next<locale_t(locale_t)> real_uselocale{"uselocale"};
constinit Next<locale_t(locale_t)> real_duplocale{"duplocale"};

struct Category {
  int number, mask;
  const char* name;
};
// in the order in which a name of all of them lists them
constexpr Category categories[] = {
    {LC_CTYPE, LC_CTYPE_MASK, "LC_CTYPE"},
    {LC_NUMERIC, LC_NUMERIC_MASK, "LC_NUMERIC"},
    {LC_TIME, LC_TIME_MASK, "LC_TIME"},
    {LC_COLLATE, LC_COLLATE_MASK, "LC_COLLATE"},
    {LC_MONETARY, LC_MONETARY_MASK, "LC_MONETARY"},
    {LC_MESSAGES, LC_MESSAGES_MASK, "LC_MESSAGES"},
    {LC_PAPER, LC_PAPER_MASK, "LC_PAPER"},
    {LC_NAME, LC_NAME_MASK, "LC_NAME"},
    {LC_ADDRESS, LC_ADDRESS_MASK, "LC_ADDRESS"},
    {LC_TELEPHONE, LC_TELEPHONE_MASK, "LC_TELEPHONE"},
    {LC_MEASUREMENT, LC_MEASUREMENT_MASK, "LC_MEASUREMENT"},
    {LC_IDENTIFICATION, LC_IDENTIFICATION_MASK, "LC_IDENTIFICATION"}};

struct Locale {
  // Threads may use any that was set, so none is freed; one that is set again is the same.
  std::map<std::string, locale_t> all;
  std::string answer;  // setlocale's last
  std::string domain = "messages";
};

/// Whether the thread has a locale of its own, by uselocale.
thread_local bool chose_locale = false;

int mask_of(int category) {
  if (category == LC_ALL) return LC_ALL_MASK;
  for (const Category& c : categories)
    if (c.number == category) return c.mask;
  return 0;
}

const char* name_of(locale_t locale, int category) {
  return locale ? locale->__names[category] : "C";
}

std::string full_name(locale_t locale) {
  std::string all, first = name_of(locale, LC_CTYPE);
  bool same = true;
  for (const Category& c : categories) {
    same = same && first == name_of(locale, c.number);
    all += std::string(all.empty() ? "" : ";") + c.name + '=' + name_of(locale, c.number);
  }
  return same ? first : all;
}

/// The rank's locale with one category, or all, set to `name`; nullptr if there is none such.
locale_t change(Rank& rank, Locale& locale, int category, const char* name) {
  const LibcEnvironment as_rank(rank);
  const locale_t now = rank.locale;
  locale_t base = now ? real_duplocale(now) : nullptr;
  if (!base && category != LC_ALL) base = real_newlocale(LC_ALL_MASK, "C", nullptr);
  const locale_t made = real_newlocale(mask_of(category), name, base);
  if (!made) {
    if (base) freelocale(base);
    return nullptr;
  }
  auto [it, is_new] = locale.all.emplace(full_name(made), made);
  if (!is_new) freelocale(made);
  return it->second;
}

}  // namespace

namespace weft::host {

void use_locale_of_rank(const Rank& rank) {
  chose_locale = false;
  if (const locale_t locale = rank.locale) real_uselocale(locale);
}

}  // namespace weft::host

extern "C" {
#pragma GCC visibility push(default)

char* setlocale(int category, const char* name) noexcept {
  static constinit Next<char*(int, const char*)> real{"setlocale"};
  Rank* rank = current();
  if (!rank) return real(category, name);
  if (mask_of(category) == 0) return nullptr;
  std::scoped_lock guard(rank->lock);
  Locale& locale = rank->only<Locale>();
  if (name) {
    const locale_t changed = change(*rank, locale, category, name);
    if (!changed) return nullptr;
    rank->locale = changed;
    if (!chose_locale) real_uselocale(changed);
  }
  locale.answer = category == LC_ALL ? full_name(rank->locale) : name_of(rank->locale, category);
  return locale.answer.data();
}

locale_t uselocale(locale_t wanted) noexcept {
  Rank* rank = current();
  if (!rank) return real_uselocale(wanted);
  const locale_t old = chose_locale ? real_uselocale(nullptr) : LC_GLOBAL_LOCALE;
  if (!wanted) return old;
  chose_locale = wanted != LC_GLOBAL_LOCALE;
  if (!chose_locale) {
    const locale_t ours = rank->locale;
    real_uselocale(ours ? ours : LC_GLOBAL_LOCALE);
  } else if (!real_uselocale(wanted)) {
    return nullptr;
  }
  return old;
}
[[gnu::alias("uselocale")]] locale_t __uselocale(locale_t) noexcept;

locale_t newlocale(int mask, const char* name, locale_t base) noexcept {
  Rank* rank = current();
  if (!rank || !name || strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0)
    return real_newlocale(mask, name, base);
  const LibcEnvironment as_rank(*rank);
  return real_newlocale(mask, name, base);
}
[[gnu::alias("newlocale")]] locale_t __newlocale(int, const char*, locale_t) noexcept;

locale_t duplocale(locale_t of) noexcept {
  Rank* rank = current();
  if (!rank || of != LC_GLOBAL_LOCALE) return real_duplocale(of);
  const locale_t ours = rank->locale;
  return real_duplocale(ours ? ours : LC_GLOBAL_LOCALE);
}
[[gnu::alias("duplocale")]] locale_t __duplocale(locale_t) noexcept;

struct lconv* localeconv() noexcept {
  static constinit Next<struct lconv*()> real{"localeconv"};
  Rank* rank = current();
  if (!rank) return real();
  static thread_local struct lconv own;
  std::scoped_lock guard(the_host->libc_lock);
  own = *real();
  return &own;
}

// --- translated messages ---

char* textdomain(const char* name) noexcept {
  static constinit Next<char*(const char*)> real{"textdomain"};
  Rank* rank = current();
  if (!rank) return real(name);
  std::scoped_lock guard(rank->lock);
  std::string& domain = rank->only<Locale>().domain;
  if (name) domain = *name ? name : "messages";
  return domain.data();
}

char* dcgettext(const char* domain, const char* text, int category) noexcept {
  static constinit Next<char*(const char*, const char*, int)> real{"dcgettext"};
  return real(domain || !current() ? domain : textdomain(nullptr), text, category);
}

char* __dcgettext(const char* domain, const char* text, int category) noexcept {
  return dcgettext(domain, text, category);
}

char* dgettext(const char* domain, const char* text) noexcept {
  return dcgettext(domain, text, LC_MESSAGES);
}

char* gettext(const char* text) noexcept {
  return dcgettext(nullptr, text, LC_MESSAGES);
}

char* dcngettext(const char* domain, const char* one, const char* many, unsigned long n,
                 int category) noexcept {
  static constinit Next<char*(const char*, const char*, const char*, unsigned long, int)> real{
      "dcngettext"};
  return real(domain || !current() ? domain : textdomain(nullptr), one, many, n, category);
}

char* dngettext(const char* domain, const char* one, const char* many, unsigned long n) noexcept {
  return dcngettext(domain, one, many, n, LC_MESSAGES);
}

char* ngettext(const char* one, const char* many, unsigned long n) noexcept {
  return dcngettext(nullptr, one, many, n, LC_MESSAGES);
}

nl_catd catopen(const char* name, int flag) {
  static constinit Next<nl_catd(const char*, int)> real{"catopen"};
  Rank* rank = current();
  if (!rank) return real(name, flag);
  const LibcEnvironment as_rank(*rank);
  return real(name, flag);
}

#pragma GCC visibility pop
}
