#include "machine/pinned_packages.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/input.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "machine/python_packages.hpp"

namespace attnprobe::machine {
namespace {

namespace fs = std::filesystem;

// "torch[opt]==2.9.1 ; python_version > '3.9'", "- pytorch=2.9.1=cuda129_0", "torch == 2.9.1 \".
void add_requirement(const std::string& line, std::vector<PinnedPackage>& packages) {
  static const RE2 pinned(
      R"(^\s*-?\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*={1,3}\s*([0-9][A-Za-z0-9.+!_-]*))");
  std::string name, version;
  if (RE2::PartialMatch(line, pinned, &name, &version)) packages.push_back({normalised_package(name), version});
}

// name = "torch" and version = "2.9.1" of one block of a TOML lock file.
class LockBlock {
 public:
  void read(const std::string& line, std::vector<PinnedPackage>& packages) {
    static const RE2 head(R"(^\[\[packages?\]\])"), member(R"re(^(name|version)\s*=\s*"([^"]+)")re");
    std::string key, value;
    if (RE2::PartialMatch(line, head)) {
      name_.clear();
      is_open_ = true;
    } else if (line.starts_with("[")) {
      is_open_ = false;
    } else if (is_open_ && RE2::PartialMatch(line, member, &key, &value)) {
      if (key == "name") name_ = value;
      if (key == "version" && !name_.empty()) packages.push_back({normalised_package(name_), value});
    }
  }

 private:
  std::string name_;
  bool is_open_ = false;
};

// {"default": {"torch": {"version": "==2.9.1"}}}
std::vector<PinnedPackage> of_pipfile_lock(const Json& document) {
  std::vector<PinnedPackage> packages;
  for (const auto& [group, entries] : document.items()) {
    if (!entries.is_object()) continue;
    for (const auto& [name, entry] : entries.items())
      if (entry.is_object() && entry.contains("version") && entry["version"].is_string())
        add_requirement(name + entry["version"].get<std::string>(), packages);
  }
  return packages;
}

std::vector<PinnedPackage> of_text(const std::string& text) {
  if (const Json document = Json::parse(text, nullptr, false); document.is_object()) return of_pipfile_lock(document);
  std::vector<PinnedPackage> packages;
  LockBlock block;
  for (const auto& line : split(text, '\n')) {
    block.read(line, packages);
    add_requirement(line, packages);
  }
  return packages;
}

std::vector<PinnedPackage> of_environment(const fs::path& environment) {
  std::vector<PinnedPackage> packages;
  for (const auto& folder : site_packages_of(environment))
    for (const auto& info : dist_infos(folder)) packages.push_back({info.name, info.version});
  return packages;
}

// An interpreter is a program; any other file is text.
bool is_interpreter(const fs::path& path) {
  return path.filename().string().starts_with("python") &&
         (fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none;
}

}  // namespace

std::vector<PinnedPackage> pinned_packages(const std::string& path) {
  const bool is_environment = fs::is_directory(path) || is_interpreter(path);
  auto packages = is_environment ? of_environment(path) : of_text(input_text(path));
  if (packages.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "{}: it pins no package; allowed: a requirements file, a lock file of uv, poetry, pdm, pip, Pipenv or "
            "conda, or a Python environment",
            path));
  return packages;
}

}  // namespace attnprobe::machine
