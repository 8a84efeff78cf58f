#include "campaign/library_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/digest.hpp"

namespace attnprobe::campaign {
namespace {

namespace fs = std::filesystem;

// cuDNN's own, in order of their names.
std::vector<fs::path> files_of(const std::string& cudnn) {
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::canonical(cudnn, ignored).parent_path(), ignored))
    // The links beside them differ between a wheel and a toolkit.
    if (!entry.is_symlink(ignored) && entry.path().filename().string().rfind("libcudnn", 0) == 0 &&
        entry.path().filename().string().find(".so") != std::string::npos)
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

// A library's ELF headers stand at both ends.
std::string look_of(const std::string& file) {
  constexpr std::streamoff sample = 8192;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  std::string text = fmt::format("{} {} ", fs::path(file).filename().string(), size);
  std::string bytes(static_cast<size_t>(std::clamp<std::streamoff>(size, 0, sample)), '\0');
  for (const std::streamoff at : {std::streamoff{0}, std::max<std::streamoff>(size - sample, 0)}) {
    in.seekg(at);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    text += bytes;
  }
  return text;
}

std::string build_of_library(const std::string& cudnn) {
  std::string text;
  for (const auto& file : files_of(cudnn)) text += look_of(file);
  return digest(text);
}

std::string times_of_library(const std::string& cudnn) {
  std::string text;
  for (const auto& file : files_of(cudnn)) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) continue;
    text += fmt::format("{} {} {}.{:09}\n", file.filename().string(), status.st_size, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec);
  }
  return digest(text);
}

}  // namespace attnprobe::campaign
