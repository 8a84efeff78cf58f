// pip, or uv where there is no pip: index, mirror, proxy, certificates, credentials, hashes and retries are those of the
// user's configuration of it. Not installed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace attnprobe::fetch {

struct Downloader {
  std::vector<std::string> words;  ///< "/usr/bin/python3", "-I", "-m", "pip"
  bool is_uv = false;
  std::string text() const;  ///< the words as a command
};

/// pip of the Python environment that attnprobe is installed in, else of the python3 on PATH, else pip3, pip and uv on PATH.
/// Throws Error(environment) where there is none of them.
Downloader find_downloader();

/// What takes longer is stopped.
inline constexpr std::chrono::hours longest_download{1};

/// Called some times a second while a program runs; what it throws ends that program.
using Waiting = std::function<void()>;

/// Brings the package that satisfies `requirement`, "nvidia-cudnn-jit-cu13==9.20.0.48", without its dependencies and for this
/// machine's processor into `folder`: as a wheel, or unpacked by uv. On a terminal the program shows its own progress. Throws
/// Error(environment) with the program's last words, and after an hour.
void download(const Downloader& downloader, const std::string& requirement, const std::filesystem::path& folder,
              const Waiting& waiting);

}  // namespace attnprobe::fetch
