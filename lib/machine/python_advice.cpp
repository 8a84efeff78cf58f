// The changes that attnprobe itself would make to an inspected environment.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cudnn/loader_folders.hpp"
#include "machine/python_environment.hpp"

namespace attnprobe::machine {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> own_places() {
  std::vector<fs::path> places;
  if (const fs::path own = cudnn::own_site_packages(); !own.empty()) places.push_back(own);
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* prefix = std::getenv(variable); prefix != nullptr && *prefix == '/') places.emplace_back(prefix);
  const char* path = std::getenv("PATH");
  std::error_code ignored;
  for (const auto& folder : split(path == nullptr ? "" : path, ':'))
    if (folder.starts_with('/') && fs::exists(fs::path(folder) / "python3", ignored)) {
      places.push_back(fs::path(folder) / "python3");
      break;
    }
  return places;
}

std::string sentence_of(const ExtraChange& change, const PythonEnvironment& environment) {
  std::string text;
  if (change.comes.empty()) return fmt::format("nothing: {} stay", fmt::join(change.stays, ", "));
  if (!change.stays.empty())
    text += fmt::format("{} {}; ", fmt::join(change.stays, ", "), change.stays.size() == 1 ? "stays" : "stay");
  text += fmt::format("installs {}", fmt::join(change.comes, ", "));
  if (!change.goes.empty()) text += fmt::format(" in place of {}", fmt::join(change.goes, ", "));
  if (change.overwritten.empty()) return text;
  std::string loaders;
  for (const auto& framework : environment.frameworks)
    loaders += fmt::format("{}{} {}", loaders.empty() ? ", which " : ", ", framework.name, framework.version);
  if (!loaders.empty()) loaders += environment.frameworks.size() == 1 ? " loads" : " load";
  text += fmt::format(": its cuDNN overwrites the files of {} (nvidia/cudnn){}; `pip freeze` then lists both",
                      change.overwritten, loaders);
  return text;
}

}  // namespace

std::optional<PythonEnvironment> inspect_own_python(const MachineGpus& machine) {
  for (const auto& place : own_places()) try {
      PythonEnvironment found = inspect_python(place, machine);
      if (!found.frameworks.empty() || !found.cudnn_wheels.empty()) return found;
    } catch (const Error&) {  // not an environment: a stale variable, or a Python without packages
    }
  return std::nullopt;
}

std::vector<Finding> extra_findings(const PythonEnvironment& environment) {
  std::vector<Finding> findings;
  for (const ExtraChange& change : environment.extras) {
    const bool ok = change.overwritten.empty() && (change.goes.empty() || environment.frameworks.empty());
    findings.push_back({fmt::format("attnprobe[{}]", change.extra), ok, sentence_of(change, environment),
                        ok ? "" : "install no extra here: pip install attnprobe uses the installed cuDNN"});
  }
  return findings;
}

}  // namespace attnprobe::machine
