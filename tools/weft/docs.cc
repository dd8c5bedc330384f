// SPDX-License-Identifier: Apache-2.0
#include "docs.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <regex>

#include "base/params.h"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;

struct Page {
  std::string name, title;
  fs::path file;
};

std::string title_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line.rfind("# ", 0) == 0 ? line.substr(2) : line;
}

std::vector<Page> pages(const fs::path& folder) {
  std::vector<Page> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".md")
      out.push_back({entry.path().stem(), title_of(entry.path()), entry.path()});
  std::sort(out.begin(), out.end(), [](const Page& a, const Page& b) { return a.name < b.name; });
  return out;
}

}  // namespace

int show_docs(const fs::path& prefix, const std::string& page) {
  const fs::path folder = prefix / WEFT_DOCDIR;
  const std::vector<Page> all = pages(folder);
  if (all.empty()) {
    std::cerr << "weft docs: no pages are installed in " << folder.string() << "\n";
    return 1;
  }
  if (page.empty()) {
    for (const Page& p : all)
      std::cout << p.name << std::string(20 - std::min<std::size_t>(19, p.name.size()), ' ')
                << p.title << "\n";
    std::cout << "\nin " << folder.string() << "; also: man mpiexec, mpicc, weft, weft-params\n";
    return 0;
  }
  std::vector<const char*> names;
  for (const Page& p : all) {
    names.push_back(p.name.c_str());
    if (p.name != page && p.name + ".md" != page) continue;
    std::cout << std::ifstream(p.file).rdbuf();
    return 0;
  }
  const char* near = nearest_name(page.c_str(), names);
  std::cerr << "weft docs: there is no page `" << page << "`"
            << (near != nullptr ? std::string("; did you mean `") + near + "`?" : "")
            << "; `weft docs` lists all\n";
  return 2;
}

Coverage read_coverage(const fs::path& prefix) {
  Coverage out;
  std::ifstream in(prefix / WEFT_DOCDIR / "coverage.md");
  const std::regex total(
      R"(\| \| \*\*all functions in C\*\* \| \*\*(\d+)\*\* \| \*\*(\d+)\*\* \|)");
  const std::regex missing(R"(\| \d+ \| .*: \*\*(.*)\*\* \| \*\*none\*\* \| .*)");
  std::smatch part;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, part, missing)) out.missing.push_back(part[1]);
    if (!std::regex_match(line, part, total)) continue;
    out.works = std::stoi(part[1]);
    out.not_yet = std::stoi(part[2]);
  }
  return out;
}

}  // namespace weft::tool
