// Downloads with pip, or with uv if pip is missing. The user's own configuration sets index, mirror, proxy,
// certificates, credentials, hashes and retries. Not installed.
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
  std::string text() const;  ///< the words as a shell command
};

/// pip of the Python environment that attnprobe is installed in, else of the python3 on PATH, else pip3, pip or uv on
/// PATH. Throws Error(environment) if none is found.
Downloader find_downloader();

/// Longer downloads are stopped.
inline constexpr std::chrono::hours longest_download{1};

/// Called several times a second while a program runs; an exception from it ends that program.
using Waiting = std::function<void()>;

/// Downloads the package for `requirement`, "nvidia-cudnn-jit-cu13==9.20.0.48", without dependencies and for this
/// machine's processor, into `folder`: as a wheel, or unpacked by uv. On a terminal the program shows its own progress.
/// If it fails or runs for more than an hour, throws Error(environment) with the end of its output.
void download(const Downloader& downloader, const std::string& requirement, const std::filesystem::path& folder,
              const Waiting& waiting);

}  // namespace attnprobe::fetch
