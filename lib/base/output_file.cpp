#include "base/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.hpp"

namespace attnprobe {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: cannot be written: {}", path.string(), why));
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) fail(path_, "it is a folder");
  if (const auto real = std::filesystem::canonical(path_, ignored); !real.empty()) path_ = real;
  // Renaming onto /dev/stdout or a pipe would put a file in its place.
  if (std::filesystem::exists(path_, ignored) && !std::filesystem::is_regular_file(path_, ignored)) {
    if (!std::ofstream(path_)) fail(path_, std::strerror(errno));
    return;
  }
  temporary_ = path_.string() + fmt::format(".{}.tmp", getpid());
  errno = 0;
  if (!std::ofstream(temporary_)) fail(path_, std::strerror(errno));
}

OutputFile::~OutputFile() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

void OutputFile::replace(const std::string& text) {
  replace([&](std::ostream& out) { out << text; });
}

void OutputFile::replace(const std::function<void(std::ostream&)>& write) {
  std::ofstream file(temporary_.empty() ? path_ : temporary_, std::ios::binary | std::ios::trunc);
  write(file);
  file.close();
  if (!file) fail(path_, "writing failed (disk full?)");
  if (temporary_.empty()) return;
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) fail(path_, error.message());
}

}  // namespace attnprobe
