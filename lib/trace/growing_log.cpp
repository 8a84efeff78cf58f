#include "trace/growing_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace attnprobe::trace {
namespace {

constexpr int64_t block = 4096;                      // holes are whole blocks
constexpr int64_t least_punched = int64_t{1} << 20;  // a call per entry would cost more than the blocks
constexpr int64_t kept_of_a_backlog = int64_t{8} << 20;

int64_t size_of_log(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 ? status.st_size : 0;
}

bool punch_hole(int file, int64_t from, int64_t length) {
  return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, length) == 0;
}

// After a skipped part, drops the incomplete entry, which would be mistaken for part of another entry.
void begin_with_entry(std::string& text) {
  size_t begin = text.find("! CuDNN (v");
  begin = begin == std::string::npos ? text.find('\n') : begin - std::min<size_t>(begin, 1);
  text.erase(0, std::min(begin, text.size()));
  text.insert(0, 1, '\n');
}

}  // namespace

bool can_punch(const std::filesystem::path& folder) {
  const auto path = folder / "hole.tmp";
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return false;
  unlink(path.c_str());
  const std::string text(2 * block, 'x');
  return pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         punch_hole(file.get(), 0, block);
}

GrowingLog::GrowingLog(const std::filesystem::path& file, AfterReading after)
    : file_(open(file.c_str(), (after == AfterReading::punch ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC)),
      after_(after) {
  if (!file_)
    throw Error(ErrorKind::environment, fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
}

std::string_view GrowingLog::read() {
  const int64_t size = size_of_log(file_.get());
  if (size < offset_) offset_ = given_back_ = 0;
  const int64_t before = passed_over_;
  if (size - offset_ > most_unread) pass_over(size);
  // If the file was truncated under its writer, it begins with a hole.
  if (const off_t data = lseek(file_.get(), offset_, SEEK_DATA); data > offset_) offset_ = data;
  buffer_.resize(piece);
  const ssize_t count = pread(file_.get(), buffer_.data(), piece, offset_);
  if (count <= 0) {
    give_back(true);
    return {};
  }
  buffer_.resize(static_cast<size_t>(count));
  offset_ += count;
  bytes_read_ += count;
  give_back(false);
  if (passed_over_ > before) begin_with_entry(buffer_);
  return buffer_;
}

// Keeps the newest part, which shows more about the current state.
void GrowingLog::pass_over(int64_t size) {
  const int64_t to = size - kept_of_a_backlog;
  passed_over_ += to - offset_;
  offset_ = to;
}

void GrowingLog::give_back(bool all) {
  if (after_ != AfterReading::punch) return;
  const int64_t end = offset_ / block * block;
  if (end - given_back_ < (all ? block : least_punched)) return;
  if (punch_hole(file_.get(), given_back_, end - given_back_)) given_back_ = end;
}

void give_back_all(const std::filesystem::path& path) {
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (file) punch_hole(file.get(), 0, std::max<int64_t>(size_of_log(file.get()), block));
}

}  // namespace attnprobe::trace
