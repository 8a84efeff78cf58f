#include "cudnn/library_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "cudnn/library_file.hpp"

namespace attnprobe::cudnn {
namespace {

namespace fs = std::filesystem;

// A partial read would produce a different library's digest.
[[noreturn]] void unreadable(const fs::path& file) {
  throw Error(ErrorKind::environment, fmt::format("{}: cannot be read", file.string()));
}

// cuDNN's own files, by name.
std::vector<fs::path> files_of(const std::string& cudnn) {
  std::error_code ignored, error;
  std::vector<fs::path> files;
  const fs::path folder = fs::canonical(cudnn, error).parent_path();
  if (error) unreadable(cudnn);
  for (const auto& entry : fs::directory_iterator(folder, error))
    // Links are ignored, because wheels and toolkits have different links.
    if (!entry.is_symlink(ignored) && entry.path().filename().string().rfind("libcudnn", 0) == 0 &&
        entry.path().filename().string().find(".so") != std::string::npos)
      files.push_back(entry.path());
  if (error) unreadable(folder);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

// A library's ELF headers are at both ends of the file.
std::string look_of(const std::string& file) {
  constexpr std::streamoff sample = 8192;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  if (size < 0) unreadable(file);
  std::string text = fmt::format("{} {} ", fs::path(file).filename().string(), size);
  std::string bytes(static_cast<size_t>(std::min(size, sample)), '\0');
  for (const std::streamoff at : {std::streamoff{0}, std::max<std::streamoff>(size - sample, 0)}) {
    in.seekg(at);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!in) unreadable(file);
    text += bytes;
  }
  return text;
}

std::string build_of_library(const std::string& cudnn) {
  // A folder that links to only some files of a full cuDNN counts as a small cuDNN.
  std::string text = cudnn::is_jit_only(cudnn::parts_folder(cudnn)) ? "jit only " : "";
  for (const auto& file : files_of(cudnn)) text += look_of(file);
  return digest(text);
}

std::string times_of_library(const std::string& cudnn) {
  std::string text;
  for (const auto& file : files_of(cudnn)) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) unreadable(file);
    text += fmt::format("{} {} {}.{:09}\n", file.filename().string(), status.st_size, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec);
  }
  return digest(text);
}

}  // namespace attnprobe::cudnn
