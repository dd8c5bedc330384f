// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include <algorithm>

extern char** environ;

namespace weft::launch {
namespace {

constexpr const char* foreign[] = {
    "WEFT_JOB",
    "WEFT_HOST_STDOUT",
    "WEFT_HOST_STDERR",
    "WEFT_HOST_CPUS",
    "WEFT_HOST_OMP",
    "WEFT_HOST_LOCAL",
    "WEFT_HOST_WORLD",
    "WEFT_HOST_DIR",
    "WEFT_HOST_TOOLS",
    "WEFT_HOST_USER_PRELOAD",
    "PMI_FD",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_PORT",
    "PMI_ID",
    "PMI_SPAWNED",
    "WEFT_HOST_STDIN",
    "WEFT_HOST_INPUTS",
    // Of PMIx, by which a program that a rank starts would take itself for a task of that launcher.
    "PMIX_RANK",
    "PMIX_NAMESPACE",
};

bool is_entry_of(const std::string& entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' &&
         entry.compare(0, name.size(), name) == 0;
}

bool is_wanted(const std::string& entry, const Inherit& which) {
  return which.all ||
         std::any_of(which.names.begin(), which.names.end(), [&](const std::string& name) {
           return name.back() == '*'
                      ? entry.compare(0, name.size() - 1, name, 0, name.size() - 1) == 0
                      : is_entry_of(entry, name);
         });
}

}  // namespace

Environment Environment::inherited(const Inherit& which) {
  Environment out;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e)
    if (is_wanted(*e, which)) out.entries_.emplace_back(*e);
  for (const char* name : foreign) out.unset(name);
  return out;
}

std::vector<std::string>::iterator Environment::find(std::string_view name) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const std::string& entry) { return is_entry_of(entry, name); });
}

void Environment::set(std::string_view name, std::string_view value) {
  std::string entry = std::string(name) + "=" + std::string(value);
  const auto at = find(name);
  if (at != entries_.end()) {
    *at = std::move(entry);
  } else {
    entries_.push_back(std::move(entry));
  }
}

void Environment::unset(std::string_view name) {
  const auto at = find(name);
  if (at != entries_.end()) entries_.erase(at);
}

const char* Environment::get(std::string_view name) const {
  const auto at = const_cast<Environment*>(this)->find(name);
  return at != entries_.end() ? at->c_str() + name.size() + 1 : nullptr;
}

std::vector<char*> Environment::block() {
  std::vector<char*> out;
  out.reserve(entries_.size() + 1);
  for (std::string& entry : entries_) out.push_back(entry.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace weft::launch
