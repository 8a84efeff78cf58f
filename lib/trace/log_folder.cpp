#include "trace/log_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/trust.hpp"
#include "trace/running.hpp"

namespace attnprobe::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view folder_prefix = "attnprobe-trace-";  // then the process id, "-" and six random letters

std::vector<fs::path> places() {
  std::vector<fs::path> list;
  const auto add = [&](const char* folder) {
    if (folder != nullptr && fs::path(folder).is_absolute()) list.emplace_back(folder);
  };
  add(std::getenv("TMPDIR"));
  add("/tmp");
  add(std::getenv("XDG_RUNTIME_DIR"));
  add("/dev/shm");
  return list;
}

bool is_empty(int folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(dup(folder)), closedir);
  if (!listing) return false;
  for (const dirent* entry = readdir(listing.get()); entry != nullptr; entry = readdir(listing.get()))
    if (std::string_view(entry->d_name) != "." && std::string_view(entry->d_name) != "..") return false;
  return true;
}

[[noreturn]] void refuse_to_keep(const fs::path& folder, const std::string& why) {
  throw Error(ErrorKind::usage,
              fmt::format("--keep-logs {}: {}; allowed: a new folder, or an empty one of yours", folder.string(), why));
}

std::optional<fs::path> new_folder_in(const fs::path& place) {
  std::string name = (place / fmt::format("{}{}-XXXXXX", folder_prefix, getpid())).string();
  if (mkdtemp(name.data()) == nullptr) return std::nullopt;
  return fs::path(name);
}

// The process id in the folder's name; 0 for another name.
int64_t owner_of(const std::string& name) {
  int64_t pid = 0;
  if (!std::string_view(name).starts_with(folder_prefix)) return 0;
  const char* begin = name.data() + folder_prefix.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), pid);
  return error == std::errc() && *end == '-' ? pid : 0;
}

void remove_left_behind(const fs::path& place) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, fs::directory_options::skip_permission_denied, error)) {
    const int64_t owner = owner_of(entry.path().filename());
    struct stat status {};
    if (owner <= 0 || lstat(entry.path().c_str(), &status) != 0) continue;
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) continue;
    const FileDescriptor folder(open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // The guard of a killed trace keeps the lock as long as programs write there.
    if (!is_running(owner) && folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0) remove_log_folder(entry.path());
  }
}

}  // namespace

LogFolder::LogFolder(const fs::path& keep) : is_kept_(!keep.empty()) {
  if (!is_kept_) {
    make_private();
    return;
  }
  std::error_code error;
  if (mkdir(keep.c_str(), 0700) != 0 && errno != EEXIST) refuse_to_keep(keep, std::strerror(errno));
  const fs::path absolute = fs::canonical(keep, error);
  if (error) refuse_to_keep(keep, error.message());
  // Checks the opened folder, not the path. Unless the whole path belongs to this user or root, it may refer to another
  // folder a moment later.
  const FileDescriptor folder(open(absolute.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!folder || fstat(folder.get(), &status) != 0) refuse_to_keep(keep, std::strerror(errno));
  if (status.st_uid != geteuid()) refuse_to_keep(keep, fmt::format("it belongs to user {}", status.st_uid));
  if (const auto why = why_not_believed(absolute)) refuse_to_keep(keep, *why);
  if (!is_empty(folder.get())) refuse_to_keep(keep, "it is not an empty folder");
  if (fchmod(folder.get(), 0700) != 0) refuse_to_keep(keep, std::strerror(errno));
  path_ = absolute;
  after_ = AfterReading::keep;
}

void LogFolder::make_private() {
  std::optional<fs::path> second_best;
  for (const auto& place : places()) {
    remove_left_behind(place);
    auto folder = new_folder_in(place);
    if (!folder) continue;
    if (can_punch(*folder)) {
      if (second_best) remove_log_folder(*second_best);
      path_ = *folder;
      return;
    }
    if (!second_best)
      second_best = std::move(folder);
    else
      remove_log_folder(*folder);
  }
  if (!second_best)
    throw Error(ErrorKind::environment,
                "no folder for the logs: none of $TMPDIR, /tmp, $XDG_RUNTIME_DIR and /dev/shm can be written");
  path_ = *second_best;
  after_ = AfterReading::keep;
  problem_ = fmt::format("the file system of {} cannot free the parts already read, so the logs grow until the end",
                         path_.parent_path().string());
}

LogFolder::~LogFolder() {
  if (!is_kept_ && !is_left_behind_ && !path_.empty()) remove_log_folder(path_);
}

void remove_log_folder(const fs::path& folder) noexcept {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace attnprobe::trace
