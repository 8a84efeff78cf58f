#include "machine/python_packages.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "base/version.hpp"

namespace attnprobe::machine {
namespace {

namespace fs = std::filesystem;

bool holds_packages(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().ends_with(".dist-info")) return true;
  return false;
}

// lib/python3.11/site-packages and similar below a prefix; `version` selects among several Pythons.
void add_below_prefix(std::vector<fs::path>& folders, const fs::path& prefix, const std::string& version) {
  std::error_code ignored;
  for (const char* lib : {"lib", "lib64"})
    for (const auto& entry : fs::directory_iterator(prefix / lib, ignored)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("python3") || (!version.empty() && name != "python3" && name != version)) continue;
      for (const char* below : {"site-packages", "dist-packages"}) {
        const fs::path folder = fs::canonical(entry.path() / below, ignored);
        if (!ignored && std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
      }
    }
}

fs::path on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::error_code ignored;
  for (const auto& folder : split(path == nullptr ? "" : path, ':'))
    if (!folder.empty() && fs::is_regular_file(fs::path(folder) / name, ignored)) return fs::path(folder) / name;
  return name;
}

// METADATA and RECORD are foreign files: a FIFO would block, and only a part of a huge file is read.
std::string beginning_of(const fs::path& file) {
  constexpr size_t most = size_t{64} << 20;  // PyTorch's RECORD, with 12,000 files, has 2 MB
  const FileDescriptor opened(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!opened || fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string text(std::min<size_t>(static_cast<size_t>(status.st_size), most), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = read(opened.get(), text.data() + filled, text.size() - filled);
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

std::string trimmed_text(std::string_view text) {
  return std::string(trim(text));
}

}  // namespace

std::string normalised_package(const std::string& name) {
  std::string normal;
  for (const char c : name) {
    const bool is_joint = c == '-' || c == '_' || c == '.';
    if (!is_joint)
      normal += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!normal.empty() && normal.back() != '-')
      normal += '-';
  }
  return normal;
}

std::vector<DistInfo> dist_infos(const fs::path& site_packages) {
  std::vector<DistInfo> infos;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(site_packages, ignored)) {
    constexpr std::string_view ending = ".dist-info";
    const std::string name = entry.path().filename();
    if (!name.ends_with(ending)) continue;
    const std::string stem = name.substr(0, name.size() - ending.size());
    const size_t at = stem.rfind('-');
    if (at == std::string::npos) continue;
    infos.push_back({normalised_package(stem.substr(0, at)), stem.substr(at + 1), entry.path()});
  }
  std::sort(infos.begin(), infos.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return infos;
}

std::vector<Requirement> requirements_of(const DistInfo& info) {
  constexpr std::string_view key = "Requires-Dist: ";
  std::vector<Requirement> requirements;
  std::istringstream file(beginning_of(info.folder / "METADATA"));
  for (std::string line; std::getline(file, line) && !trim(line).empty();) {
    if (!line.starts_with(key)) continue;
    const std::string text = line.substr(key.size());
    const size_t marker = text.find(';');
    const bool is_extra = marker != std::string::npos && text.find("extra", marker) != std::string::npos;
    const std::string wanted = text.substr(0, marker);
    const size_t end = std::min(wanted.find_first_of("<>=!~ ([;"), wanted.size());
    std::string specifier = wanted.substr(end);
    std::erase_if(specifier, [](char c) { return c == ' ' || c == '(' || c == ')' || c == '\r'; });
    if (specifier.starts_with('[')) specifier.erase(0, std::min(specifier.find(']'), specifier.size() - 1) + 1);
    requirements.push_back({normalised_package(wanted.substr(0, end)), specifier, is_extra});
  }
  return requirements;
}

std::vector<RecordedFile> recorded_files(const DistInfo& info) {
  std::vector<RecordedFile> files;
  std::istringstream file(beginning_of(info.folder / "RECORD"));
  for (std::string line; std::getline(file, line);) {
    // Names of libraries have neither commas nor quotes.
    const auto fields = split(trimmed_text(line), ',');
    if (fields.size() != 3) continue;
    RecordedFile recorded{fields[0], std::nullopt};
    uint64_t size = 0;
    const char* end = fields[2].data() + fields[2].size();
    if (!fields[2].empty() && std::from_chars(fields[2].data(), end, size).ptr == end) recorded.size = size;
    files.push_back(std::move(recorded));
  }
  return files;
}

std::vector<fs::path> site_packages_of(const fs::path& python) {
  std::error_code ignored;
  std::vector<fs::path> folders;
  const fs::path named = python.has_parent_path() || fs::exists(python, ignored) ? python : on_path(python.string());
  if (fs::is_directory(named, ignored)) {
    if (holds_packages(named)) return {named};
    add_below_prefix(folders, named, "");
  } else if (fs::exists(named, ignored)) {
    // A virtual environment's interpreter is a link to another interpreter; its packages are next to the link.
    const fs::path real = fs::canonical(named, ignored);
    const fs::path prefix = fs::absolute(named, ignored).parent_path().parent_path();
    const std::string version = real.filename().string().find('.') == std::string::npos ? "" : real.filename().string();
    add_below_prefix(folders, prefix, version);
    const bool is_virtual = fs::exists(prefix / "pyvenv.cfg", ignored);
    if (!is_virtual && real.has_parent_path()) add_below_prefix(folders, real.parent_path().parent_path(), version);
    if (!is_virtual && prefix == "/usr") add_below_prefix(folders, "/usr/local", version);
  } else {
    throw Error(ErrorKind::usage, fmt::format("--python {}: there is no such file or folder", python.string()));
  }
  if (folders.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "--python {}: no site-packages found; allowed: an interpreter (bin/python; with pyenv the one that `pyenv which python` prints), a virtual environment, a site-packages folder",
            python.string()));
  return folders;
}

bool satisfies(const std::string& version, const std::string& specifier) {
  if (!is_version(version)) return false;
  const auto have = version_numbers(version);
  for (const auto& part : split(specifier, ',')) {
    if (part.empty()) continue;
    const size_t at = std::min(part.find_first_not_of("<>=!~"), part.size());
    const std::string sign = part.substr(0, at);
    std::string word = part.substr(at);
    const bool any_further = word.ends_with(".*");
    if (any_further) word.erase(word.size() - 2);
    if (!is_version(word)) return false;
    auto want = version_numbers(word);
    auto mine = have;
    if (any_further || sign == "~=") {
      const size_t common = any_further ? want.size() : want.size() - 1;
      const bool is_same =
          mine.size() >= common && std::equal(want.begin(), want.begin() + static_cast<long>(common), mine.begin());
      if (sign == "!=" ? is_same : !is_same) return false;
      if (any_further) continue;
    }
    const size_t length = std::max(mine.size(), want.size());
    mine.resize(length);
    want.resize(length);
    const bool holds = sign == "==" || sign == "===" ? mine == want
                       : sign == "!="                ? mine != want
                       : sign == "<"                 ? mine < want
                       : sign == "<="                ? mine <= want
                       : sign == ">"                 ? mine > want
                                                     : mine >= want;  // ">=", "~="
    if (!holds) return false;
  }
  return true;
}

}  // namespace attnprobe::machine
