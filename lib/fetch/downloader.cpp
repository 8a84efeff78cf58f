#include "fetch/downloader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cudnn/loader_folders.hpp"
#include "fetch/command.hpp"

namespace attnprobe::fetch {
namespace {

namespace fs = std::filesystem;

// -I: never run a pip.py from the working directory.
std::vector<std::string> pip_of(const std::string& python) {
  return {python, "-I", "-m", "pip"};
}

bool works(std::vector<std::string> words) {
  words.emplace_back("--version");
  try {
    return run_command(words).status == 0;
  } catch (const Error&) {
    return false;
  }
}

// The platform tags that NVIDIA's wheels have used; pip before 20.3 uses only the last one.
std::vector<std::string> platforms() {
  utsname machine{};
  uname(&machine);
  std::vector<std::string> tags;
  for (const char* tag : {"manylinux1", "manylinux2010", "manylinux_2_12", "manylinux2014", "manylinux_2_17",
                          "manylinux_2_28", "manylinux_2_27"})
    tags.push_back(fmt::format("{}_{}", tag, machine.machine));
  return tags;
}

std::vector<std::string> words_of(const Downloader& downloader, const std::string& requirement,
                                  const fs::path& folder) {
  std::vector<std::string> words = downloader.words;
  if (downloader.is_uv) {
    utsname machine{};
    uname(&machine);
    words.insert(words.end(), {"pip", "install", "--target", folder.string(), "--python-platform",
                               fmt::format("{}-manylinux_2_28", machine.machine)});
  } else {
    words.insert(words.end(), {"download", "--disable-pip-version-check", "--no-input", "--dest", folder.string()});
    for (const auto& platform : platforms()) words.insert(words.end(), {"--platform", platform});
  }
  words.insert(words.end(), {"--no-deps", "--only-binary", ":all:", requirement});
  return words;
}

// The end of a failed program's output.
std::string last_words(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto& line : split(text, '\n'))
    if (!trim(line).empty()) lines.emplace_back(trim(line));
  constexpr size_t most = 2;
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - most);
  return fmt::format("{}", fmt::join(lines, " "));
}

}  // namespace

std::string Downloader::text() const {
  return fmt::format("{}", fmt::join(words, " "));
}

Downloader find_downloader() {
  std::vector<Downloader> candidates;
  std::error_code ignored;
  // site-packages/../../../bin/python3
  if (const fs::path packages = cudnn::own_site_packages(); !packages.empty())
    if (const fs::path python = packages.parent_path().parent_path().parent_path() / "bin/python3";
        fs::exists(python, ignored))
      candidates.push_back({pip_of(python), false});
  if (const auto python = first_on_path({"python3", "python"})) candidates.push_back({pip_of(*python), false});
  if (const auto pip = first_on_path({"pip3", "pip"})) candidates.push_back({{*pip}, false});
  if (const auto uv = first_on_path({"uv"})) candidates.push_back({{*uv}, true});
  const auto found =
      std::find_if(candidates.begin(), candidates.end(), [](const Downloader& d) { return works(d.words); });
  if (found != candidates.end()) return *found;
  throw Error(ErrorKind::environment,
              "neither pip nor uv works here: install one (Debian: `apt-get install "
              "python3-pip`), or download the wheel elsewhere and give it to `attnprobe cudnn fetch --wheel FILE`");
}

void download(const Downloader& downloader, const std::string& requirement, const fs::path& folder,
              const Waiting& waiting) {
  fs::create_directories(folder);
  const auto deadline = std::chrono::steady_clock::now() + longest_download;
  const auto wait = [&] {
    if (waiting) waiting();
    if (std::chrono::steady_clock::now() > deadline)
      throw Error(ErrorKind::environment,
                  fmt::format("{}: {} took more than an hour and was stopped", requirement, downloader.text()));
  };
  const bool shows = isatty(STDERR_FILENO) == 1;
  const CommandEnd end = run_command(words_of(downloader, requirement, folder), wait, shows);
  if (end.status == 0) return;
  throw Error(ErrorKind::environment,
              fmt::format("{} cannot be downloaded: {} ended with {}{}", requirement, downloader.text(), end.status,
                          shows ? "" : ": " + last_words(end.err)));
}

}  // namespace attnprobe::fetch
