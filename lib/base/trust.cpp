#include "base/trust.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace attnprobe {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> absolute_path(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value != '/') return std::nullopt;
  return fs::path(value);
}

}  // namespace

std::optional<std::string> why_not_believed(const fs::path& path) {
  if (!path.is_absolute()) return "it is found by a path that is not absolute";
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (failed) return failed.message();
  for (fs::path part = real;; part = part.parent_path()) {
    struct stat status {};
    if (stat(part.c_str(), &status) != 0) return fmt::format("{}: {}", part.string(), std::strerror(errno));
    const std::string which = part == real ? "it" : part.string();
    if (status.st_uid != 0 && status.st_uid != geteuid())
      return fmt::format("{} belongs to user {}", which, status.st_uid);
    const bool sticky_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & S_IWOTH) != 0 && !sticky_folder) return fmt::format("{} is writable by all", which);
    if (!part.has_relative_path()) return std::nullopt;
  }
}

std::optional<fs::path> user_cache_folder() {
  if (auto cache = absolute_path("XDG_CACHE_HOME")) return cache;
  if (const auto home = absolute_path("HOME")) return *home / ".cache";
  return std::nullopt;
}

}  // namespace attnprobe
