#include "base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <random>
#include <streambuf>

#include "base/number.hpp"

namespace attnprobe {
namespace {

namespace fs = std::filesystem;

std::string unwritable(const std::string& name, const std::string& why) {
  return fmt::format("{}: cannot be written: {}", name, why);
}

[[noreturn]] void refuse_output(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::usage, unwritable(path.string(), why));
}

[[noreturn]] void fail_output(const fs::path& path, int error) {
  throw Error(kind_of_output_error(error), unwritable(path.string(), std::strerror(error)));
}

// The descriptor of this process that a path refers to, otherwise -1. It is used unchanged: reopening it would truncate
// a redirected file and block on a pipe.
int descriptor_named(const fs::path& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  const fs::path folder = path.parent_path();
  if (folder != "/dev/fd" && folder != "/proc/self/fd") return -1;
  return parse_number<int>(path.filename().string()).value_or(-1);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool is_trusted(uid_t owner) {
  return owner == 0 || owner == geteuid();
}

// Otherwise an attacker who can create a link in the folder could choose which file is overwritten.
void check_link(const fs::path& asked, const fs::path& link, const struct stat& status) {
  struct stat folder {};
  if (stat(folder_of(link).c_str(), &folder) != 0) fail_output(asked, errno);
  if (!is_trusted(status.st_uid) || !is_trusted(folder.st_uid))
    refuse_output(asked, fmt::format("{} is a link that belongs to another user, or is in another user's folder; "
                                     "name the file itself",
                                     link == asked ? std::string("it") : link.string()));
}

// A new file with an unpredictable name in the folder. Its destructor removes it unless it was kept.
class Temporary {
 public:
  Temporary(const fs::path& path, const fs::path& target)
      : path_(path), folder_(open(folder_of(target).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (!folder_) fail_output(path, errno);
    struct stat old {};
    const bool replaces = fstatat(folder_.get(), target.filename().c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (replaces && S_ISDIR(old.st_mode)) refuse_output(path, "it is a folder");
    std::random_device random;
    do {
      name_ = fmt::format(".attnprobe-{:08x}{:08x}.tmp", random(), random());
      file_ = FileDescriptor(
          openat(folder_.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    } while (!file_ && errno == EEXIST);
    if (!file_) fail_output(path, errno);
    // Keeps a private file private.
    if (replaces) fchmod(file_.get(), old.st_mode & 0777U);
  }
  ~Temporary() {
    if (!name_.empty() && file_) unlinkat(folder_.get(), name_.c_str(), 0);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int file() const { return file_.get(); }
  void rename_to(const fs::path& target) {
    // Some file systems (NFS) report a full disk only on close.
    if (close(dup(file_.get())) != 0) fail_output(path_, errno);
    if (renameat(folder_.get(), name_.c_str(), folder_.get(), target.filename().c_str()) != 0)
      fail_output(path_, errno);
    name_.clear();
  }

 private:
  fs::path path_;
  FileDescriptor folder_, file_;
  std::string name_;
};

// A stream buffer on a descriptor. It keeps the error number, which std::ofstream does not.
class DescriptorBuffer : public std::streambuf {
 public:
  DescriptorBuffer(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) { reset(); }

  /// Flushes the buffer; throws the error of an earlier write.
  void finish() {
    flush();
    if (failure_) std::rethrow_exception(failure_);
  }

 protected:
  int_type overflow(int_type c) override {
    flush();
    if (failure_) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  int sync() override {
    flush();
    return failure_ ? -1 : 0;
  }

 private:
  void reset() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
  void flush() {
    try {
      if (!failure_) write_all(descriptor_, {pbase(), static_cast<size_t>(pptr() - pbase())}, name_);
    } catch (const Error&) {
      failure_ = std::current_exception();
    }
    reset();
  }

  int descriptor_;
  std::string name_;
  std::exception_ptr failure_;
  std::array<char, size_t{1} << 16> buffer_{};
};

}  // namespace

ErrorKind kind_of_output_error(int error) {
  const bool is_limit = error == ENOSPC || error == EDQUOT || error == EIO || error == EMFILE || error == ENFILE ||
                        error == ENOMEM || error == EFBIG;
  return is_limit ? ErrorKind::environment : ErrorKind::usage;
}

fs::path without_links(const fs::path& path) {
  constexpr int most_links = 40;  // the kernel's own limit
  fs::path at = path;
  for (int i = 0; i < most_links; ++i) {
    struct stat status {};
    if (at.filename().empty()) refuse_output(path, "it is a folder");
    if (lstat(at.c_str(), &status) != 0) {
      if (errno == ENOENT) return at;
      fail_output(path, errno);
    }
    if (!S_ISLNK(status.st_mode)) return at;
    check_link(path, at, status);
    std::error_code error;
    const fs::path next = fs::read_symlink(at, error);
    if (error) fail_output(path, error.value());
    at = folder_of(at) / next;
  }
  fail_output(path, ELOOP);
}

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  if (const int own = descriptor_named(path_); own >= 0) {
    stream_ = FileDescriptor(fcntl(own, F_DUPFD_CLOEXEC, 0));
    if (!stream_) refuse_output(path_, "it is closed");
    return;
  }
  const fs::path target = without_links(path_);
  struct stat status {};
  if (stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    // Renaming onto a device would replace it with a file.
    if (!S_ISCHR(status.st_mode))
      refuse_output(path_, fmt::format("it is a {}; allowed: a regular file, /dev/stdout, /dev/null",
                                       S_ISFIFO(status.st_mode)   ? "named pipe"
                                       : S_ISSOCK(status.st_mode) ? "socket"
                                                                  : "block device"));
    stream_ = FileDescriptor(open(target.c_str(), O_WRONLY | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
    if (!stream_) fail_output(path_, errno);
    return;
  }
  const Temporary trial(path_, target);
}

void OutputFile::replace(const std::string& text) const {
  replace([&](std::ostream& out) { out << text; });
}

void OutputFile::replace(const std::function<void(std::ostream&)>& write) const {
  bool writes = false;  // an exception during the caller's writing is the caller's
  const auto put = [&](int descriptor) {
    DescriptorBuffer buffer(descriptor, path_.string());
    std::ostream out(&buffer);
    writes = true;
    write(out);
    writes = false;
    buffer.finish();
  };
  try {
    if (stream_) return put(stream_.get());
    const fs::path target = without_links(path_);
    Temporary temporary(path_, target);
    put(temporary.file());
    temporary.rename_to(target);
  } catch (const BrokenPipe&) {
    throw;
  } catch (const Error& e) {
    if (writes) throw;
    // The path was valid when it was opened, so the machine has changed.
    throw Error(ErrorKind::environment, e.what());
  }
}

void write_all(int descriptor, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {  // a pipe that another process made non-blocking
      pollfd waiting{descriptor, POLLOUT, 0};
      poll(&waiting, 1, -1);
      continue;
    }
    const int error = errno;
    const std::string message = unwritable(name, error == EBADF ? "it is closed" : std::strerror(error));
    if (error == EPIPE) throw BrokenPipe(ErrorKind::environment, message);
    throw Error(ErrorKind::environment, message);
  }
}

}  // namespace attnprobe
