#include "machine/process_libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cudnn/library_file.hpp"

namespace attnprobe::machine {
namespace {

namespace fs = std::filesystem;

constexpr const char* wanted_libraries[] = {"libcudnn", "libnvrtc", "libcublasLt", "libcudart", "libcuda.so"};

bool is_wanted(const std::string& name) {
  return std::any_of(std::begin(wanted_libraries), std::end(wanted_libraries),
                     [&](const char* begin) { return name.starts_with(begin); }) &&
         name.find(".so") != std::string::npos;
}

// "13.0" of libnvrtc-builtins.so.13.0, "12" of libnvrtc.so.12.
std::string version_in_name(const std::string& name) {
  const size_t at = name.find(".so.");
  return at == std::string::npos ? "" : name.substr(at + 4);
}

std::string version_of(const std::string& name, const fs::path& file) {
  if (name.starts_with("libcudnn")) return cudnn::version_of_file(file);
  return name.starts_with("libnvrtc") || name.starts_with("libcudart") ? version_in_name(name) : "";
}

std::string listed(const std::set<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : " and ") + word;
  return list;
}

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::vector<MappedLibrary> libraries_in_maps(std::string_view maps, const std::string& root) {
  constexpr std::string_view mark = " (deleted)";
  std::vector<MappedLibrary> libraries;
  std::set<std::string> seen;
  for (const auto& line : split(maps, '\n')) {
    const size_t at = line.find('/');
    if (at == std::string::npos) continue;
    MappedLibrary library;
    library.path = line.substr(at);
    if (library.path.ends_with(mark)) {
      library.path.erase(library.path.size() - mark.size());
      library.deleted = true;
    }
    library.name = fs::path(library.path).filename();
    if (!is_wanted(library.name) || !seen.insert(library.path).second) continue;
    if (!library.deleted) library.version = version_of(library.name, root + library.path);
    libraries.push_back(std::move(library));
  }
  return libraries;
}

std::vector<EnvironmentProblem> problems_of(const std::vector<MappedLibrary>& libraries) {
  std::vector<EnvironmentProblem> problems;
  std::set<std::string> versions, folders, nvrtc, builtins, deleted;
  for (const auto& library : libraries) {
    if (library.deleted) deleted.insert(library.name);
    if (library.name.starts_with("libcudnn")) {
      folders.insert(fs::path(library.path).parent_path());
      if (!library.version.empty()) versions.insert(library.version);
    } else if (library.name.starts_with("libnvrtc-builtins")) {
      builtins.insert(library.version);
    } else if (library.name.starts_with("libnvrtc.so")) {
      nvrtc.insert(library.version);
    }
  }
  if (versions.size() > 1)
    problems.push_back(
        {"two_cudnn_versions",
         fmt::format("sub-libraries of cuDNN {} are loaded in one process, from {}", listed(versions), listed(folders)),
         "unset LD_LIBRARY_PATH, or uninstall one of them, and start the program again"});
  else if (folders.size() > 1)
    problems.push_back({"two_cudnn_folders",
                        fmt::format("cuDNN's sub-libraries were loaded from two folders: {}", listed(folders)),
                        "unset LD_LIBRARY_PATH, or uninstall one of them, and start the program again"});
  if (!deleted.empty())
    problems.push_back({"deleted_files",
                        fmt::format("{} was removed or replaced after the process had loaded it; later loads come "
                                    "from another installation",
                                    listed(deleted)),
                        "start the program again"});
  for (const auto& one : nvrtc)
    for (const auto& other : builtins)
      if (!other.empty() && !is_of_version(other, one.substr(0, one.find('.'))))
        problems.push_back(
            {"nvrtc_builtins_differ",
             fmt::format("NVRTC {} is loaded with the builtins of {}: kernels do not compile", one, other),
             "leave one CUDA toolkit's folder in LD_LIBRARY_PATH"});
  if (nvrtc.size() > 1 || builtins.size() > 1)
    problems.push_back(
        {"two_nvrtc_versions",
         fmt::format("NVRTC is loaded in two versions ({}; builtins {})", listed(nvrtc), listed(builtins)),
         "leave one CUDA toolkit's folder in LD_LIBRARY_PATH"});
  return problems;
}

ProcessLibraries inspect_process(int64_t pid) {
  const fs::path folder = fmt::format("/proc/{}", pid);
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) throw Error(ErrorKind::usage, fmt::format("--pid {}: no such process", pid));
  ProcessLibraries process;
  process.pid = pid;
  process.command = file_text(folder / "cmdline");
  std::replace(process.command.begin(), process.command.end(), '\0', ' ');
  process.command = std::string(trim(process.command));
  errno = 0;
  std::ifstream file(folder / "maps");
  const std::string maps{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (maps.empty() && errno != 0)
    throw Error(ErrorKind::environment, fmt::format("--pid {}: {}/maps: {}; run attnprobe as the user of that process",
                                                    pid, folder.string(), std::strerror(errno)));
  process.libraries = libraries_in_maps(maps, (folder / "root").string());
  process.problems = problems_of(process.libraries);
  return process;
}

}  // namespace attnprobe::machine
