// Searches a machine for cuDNN, in the documented order: requested, environment, the Python environment of attnprobe's
// package, loader, pip, CUDA toolkit.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/trust.hpp"
#include "base/version.hpp"
#include "cudnn/library_file.hpp"
#include "cudnn/library_info.hpp"
#include "cudnn/loader_folders.hpp"

namespace attnprobe::cudnn {
namespace {

namespace fs = std::filesystem;
constexpr const char *file_name = "libcudnn.so.9", *latest = "latest";
// NVIDIA's packages: the full cuDNN and the small cuDNN.
constexpr std::array<const char*, 2> package_folders{"nvidia/cudnn/lib", "nvidia/cudnn_jit/lib"};
constexpr const char* own_environment = "the Python environment of this attnprobe";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<fs::path> split_paths(const std::string& list) {
  std::vector<fs::path> paths;
  for (const auto& path : split(list, ':'))
    if (!path.empty()) paths.emplace_back(path);
  return paths;
}

class Candidates {
 public:
  // Adds a library that the search found. Loading it runs its code, so it must belong to this user or the system.
  void add(const fs::path& path, const std::string& found_by) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return;
    if (const auto why = why_not_believed(path))
      passed_over_.push_back(fmt::format("{}: {}", path.string(), *why));
    else
      add_named(path, found_by);
  }
  void add_named(const fs::path& path, const std::string& found_by) {
    std::error_code ignored;
    const fs::path real = fs::canonical(path, ignored);
    if (std::find(seen_.begin(), seen_.end(), real) != seen_.end()) return;
    seen_.push_back(real);
    list_.push_back({path, found_by});
  }
  void add_packages(const fs::path& folder, const std::string& found_by) {
    for (const char* package : package_folders) add(folder / package / file_name, found_by);
  }
  // Adds the packages in every subfolder of `folder`.
  void add_packages_below(const fs::path& folder, const std::string& found_by) {
    std::error_code ignored;
    std::vector<fs::path> children;
    for (const auto& entry : fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored))
      children.push_back(entry.path());
    std::sort(children.begin(), children.end());
    for (const auto& child : children) add_packages(child, found_by);
  }
  const std::vector<Candidate>& list() const { return list_; }
  const std::vector<std::string>& passed_over() const { return passed_over_; }

 private:
  std::vector<Candidate> list_;
  std::vector<fs::path> seen_;
  std::vector<std::string> passed_over_;
};

// A file or a folder that the user named.
fs::path named_library(const std::string& path, const std::string& by) {
  const fs::path given = path;
  std::vector<fs::path> files{given, given / file_name, given / "lib" / file_name, given / "lib64" / file_name};
  for (const char* package : package_folders) files.push_back(given / package / file_name);
  for (const fs::path& file : files) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  throw Error(ErrorKind::environment,
              fmt::format("{}: \"{}\" is neither a libcudnn.so.9 nor a folder that contains one", by, path));
}

// site-packages of the active virtual environment, of the Python on PATH and of the usual system places. Found by
// folder names, because starting an interpreter would take longer than the whole probe.
std::vector<fs::path> site_packages() {
  std::vector<fs::path> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string prefix = environment(variable); !prefix.empty()) prefixes.emplace_back(prefix);
  std::error_code ignored;
  for (const auto& folder : split_paths(environment("PATH"))) {
    const fs::path python = fs::canonical(folder / "python3", ignored);
    // pyenv puts a shell script named python3 on PATH; the real prefixes are its versions.
    if (!python.empty() && python.parent_path().filename() == "shims")
      for (const auto& version : fs::directory_iterator(python.parent_path().parent_path() / "versions", ignored))
        prefixes.push_back(version.path());
    else if (!python.empty())
      prefixes.push_back(folder.parent_path());
  }
  for (const char* usual : {"/usr/local", "/usr"}) prefixes.emplace_back(usual);
  if (const std::string home = environment("HOME"); !home.empty()) prefixes.push_back(fs::path(home) / ".local");
  std::vector<fs::path> packages;
  for (const auto& prefix : prefixes) {
    for (const auto& entry : fs::directory_iterator(prefix / "lib", ignored)) {
      if (entry.path().filename().string().rfind("python3", 0) != 0) continue;
      for (const char* below : {"site-packages", "dist-packages"}) packages.push_back(entry.path() / below);
    }
  }
  return packages;
}

// Every cuDNN on this machine, if none is requested.
Candidates search() {
  Candidates found;
  if (const std::string path = environment("ATTNPROBE_CUDNN"); !path.empty())
    found.add_named(named_library(path, "ATTNPROBE_CUDNN"), "ATTNPROBE_CUDNN");
  if (const fs::path packages = own_site_packages(); !packages.empty()) {
    // The cuDNN that a framework in the same environment loads: pip's, or conda's.
    found.add_packages(packages, own_environment);
    const fs::path prefix = packages.parent_path().parent_path().parent_path();
    std::error_code ignored;
    if (fs::exists(prefix / "conda-meta", ignored)) found.add(prefix / "lib" / file_name, own_environment);
  }
  for (const auto& folder : loader_folders()) found.add(folder / file_name, "the loader's search path");
  for (const auto& folder : site_packages()) found.add_packages(folder, "pip (nvidia/cudnn)");
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const std::string path = environment(variable); !path.empty())
      for (const char* lib : {"lib64", "lib"}) found.add(fs::path(path) / lib / file_name, "CUDA toolkit");
  for (const char* lib : {"lib64", "lib"}) found.add(fs::path("/usr/local/cuda") / lib / file_name, "CUDA toolkit");
  // The wheels that scripts/setup unpacks next to a build of this project.
  std::error_code ignored;
  const fs::path self = fs::canonical("/proc/self/exe", ignored);
  for (fs::path folder = self.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    found.add_packages(folder / ".deps", "the project's .deps");
  if (const auto fetched = fetched_folder()) found.add_packages_below(*fetched, "attnprobe cudnn fetch");
  return found;
}

// The version from the library itself, and the build from a folder name of `attnprobe cudnn fetch`. Loads nothing.
std::vector<std::string> versions_of(const fs::path& library, const std::string& build) {
  std::vector<std::string> names{version_of_file(parts_folder(library) / "libcudnn_graph.so.9")};
  const auto fetched = fetched_folder();
  for (fs::path folder = library; folder.has_relative_path(); folder = folder.parent_path())
    if ((fetched && folder.parent_path() == *fetched) || folder.filename() == build) names.push_back(folder.filename());
  std::erase_if(names, [](const std::string& name) { return !is_version(name); });
  return names;
}

std::vector<int> release_numbers(const std::string& version) {
  std::vector<int> numbers = version_numbers(version);
  numbers.resize(3);
  return numbers;
}

std::string versions_here() {
  std::set<std::vector<int>> versions;
  const Candidates here = search();
  for (const auto& candidate : here.list())
    for (const auto& name : versions_of(candidate.path, "")) versions.insert(release_numbers(name));
  std::vector<std::string> texts;
  texts.reserve(versions.size());
  for (const auto& version : versions) texts.push_back(fmt::format("{}", fmt::join(version, ".")));
  return texts.empty() ? "none is" : fmt::format("there are {}", fmt::join(texts, ", "));
}

}  // namespace

// The program is site-packages/attnprobe/_bin/attnprobe, with the library next to it.
fs::path own_site_packages() {
  Dl_info library{};
  std::vector<fs::path> files{"/proc/self/exe"};
  if (dladdr(reinterpret_cast<const void*>(&choose_library), &library) != 0 && library.dli_fname != nullptr)
    files.emplace_back(library.dli_fname);
  for (const auto& file : files) {
    std::error_code ignored;
    const fs::path folder = fs::canonical(file, ignored).parent_path(), package = folder.parent_path();
    if (folder.filename() == "_bin" && package.filename() == "attnprobe") return package.parent_path();
  }
  return {};
}

std::optional<fs::path> fetched_folder() {
  if (const auto cache = user_cache_folder()) return *cache / "attnprobe/cudnn";
  return std::nullopt;
}

std::vector<fs::path> library_path_folders() {
  return split_paths(environment("LD_LIBRARY_PATH"));
}

// The dynamic loader's folders, including LD_LIBRARY_PATH, from the loader itself.
std::vector<fs::path> loader_folders() {
  std::vector<fs::path> folders = library_path_folders();
  // ld.so.cache has no stable format; ld.so.conf(.d) lists its source folders.
  std::vector<fs::path> files{"/etc/ld.so.conf"};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/etc/ld.so.conf.d", ignored))
    if (entry.path().extension() == ".conf") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty() && line[0] == '/') folders.emplace_back(line);
  }
  for (const char* usual : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                            "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"})
    folders.emplace_back(usual);
  return folders;
}

std::string pip_requirement() {
  return own_site_packages().empty() ? "nvidia-cudnn-cu13" : "'attnprobe[cu13]'";
}

std::optional<fs::path> find_version(const std::string& word) {
  std::optional<fs::path> best;
  std::vector<int> newest;
  const Candidates here = search();
  // If two have the same version, the first one wins; ignores the build number.
  for (const auto& candidate : here.list())
    for (const auto& name : versions_of(candidate.path, word)) {
      if (word != latest && !is_of_version(name, word)) continue;
      if (release_numbers(name) <= newest) continue;
      newest = release_numbers(name);
      best = candidate.path;
    }
  return best;
}

std::vector<Candidate> find_libraries(const std::string& requested) {
  if ((is_version(requested) || requested == latest) && !fs::exists(requested)) {
    if (const auto found = find_version(requested)) return {{*found, "--cudnn"}};
    throw Error(
        ErrorKind::environment,
        fmt::format("--cudnn {}: no cuDNN of that version is installed ({}); `attnprobe cudnn fetch {}` downloads it",
                    requested, versions_here(), requested));
  }
  if (!requested.empty()) return {{named_library(requested, "--cudnn"), "--cudnn"}};
  return search().list();
}

Candidate choose_library(const std::string& requested) {
  if (!requested.empty()) return find_libraries(requested).front();
  const Candidates found = search();
  if (!found.list().empty()) return found.list().front();
  std::string passed_over;
  if (!found.passed_over().empty())
    passed_over = fmt::format(" ({} is skipped, because other users can write it)", found.passed_over().front());
  throw Error(
      ErrorKind::environment,
      fmt::format(
          "no cuDNN 9 on this machine{}. Download the small one with --fetch, install one (`attnprobe cudnn fetch latest`, `pip install {}`, or NVIDIA's package), or name one with --cudnn or ATTNPROBE_CUDNN",
          passed_over, pip_requirement()));
}

}  // namespace attnprobe::cudnn
