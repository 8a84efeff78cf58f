#include "base/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/error.hpp"

namespace attnprobe {
namespace {

constexpr size_t longest_word = 256;

std::string this_process() {
  std::array<char, longest_word> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, longest_word> since{};
  std::strftime(since.data(), since.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return fmt::format("process {} on {}, since {}", getpid(), host.data(), since.data());
}

// The holder's own description, up to the first unprintable character: any user may have written this file.
std::string holder_in(const FileDescriptor& file) {
  std::array<char, longest_word> bytes{};
  const ssize_t count = pread(file.get(), bytes.data(), bytes.size(), 0);
  std::string text;
  for (ssize_t i = 0; i < count && std::isprint(static_cast<unsigned char>(bytes[static_cast<size_t>(i)])) != 0; ++i)
    text += bytes[static_cast<size_t>(i)];
  return text.empty() ? "process unknown" : text;
}

// Whether the path still refers to this file, because holders delete the file when they end.
bool is_there(const FileDescriptor& file, const std::filesystem::path& path) {
  struct stat opened {
  }, named{};
  return fstat(file.get(), &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& option,
                       std::chrono::milliseconds patience)
    : file_(folder / ".attnprobe.lock") {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::usage, fmt::format("{} {}: {}", option, folder.string(), why));
  };
  while (true) {
    constexpr mode_t for_all = 0666;
    descriptor_ = FileDescriptor(open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, for_all));
    if (!descriptor_) refuse(fmt::format("{} cannot be written: {}", file_.filename().string(), std::strerror(errno)));
    if (flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      constexpr std::chrono::milliseconds pause{200};
      if (errno == EWOULDBLOCK && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(pause);
        continue;
      }
      if (errno == EWOULDBLOCK)
        refuse(fmt::format("another attnprobe is writing there ({}); wait until it ends, or name another folder",
                           holder_in(descriptor_)));
      problem_ = fmt::format("{}: this file system has no locks ({}): start no second run there", folder.string(),
                             std::strerror(errno));
      return;
    }
    if (is_there(descriptor_, file_)) break;
  }
  // For messages only. The lock is valid even if the disk is full and the file remains empty.
  const std::string holder = this_process() + "\n";
  if (ftruncate(descriptor_.get(), 0) != 0 || pwrite(descriptor_.get(), holder.data(), holder.size(), 0) < 0) return;
}

FolderLock::~FolderLock() {
  // Deleted while locked, so that no other process's file is deleted.
  if (problem_.empty() && descriptor_) unlink(file_.c_str());
}

}  // namespace attnprobe
