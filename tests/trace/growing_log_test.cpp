// A file that is read while it grows, and its remaining blocks on disk.
#include "trace/growing_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "trace/log_folder.hpp"

namespace attnprobe::test::growing_log_test {

using namespace attnprobe::trace;

namespace {

// A writer like cuDNN, which opens with O_TRUNC and writes at its own offset.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& file)
      : file_(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {}
  void write(const std::string& text) const {
    REQUIRE(::write(file_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  int64_t bytes_on_disk() const {
    struct stat status {};
    REQUIRE(fstat(file_.get(), &status) == 0);
    constexpr int64_t unit = 512;  // unit of st_blocks
    return status.st_blocks * unit;
  }

 private:
  FileDescriptor file_;
};

std::string read_all(GrowingLog& log) {
  std::string text;
  for (std::string_view piece; !(piece = log.read()).empty();) text += piece;
  return text;
}

}  // namespace

TEST_CASE("a growing log is read to its end each time it grows, without repetition", "[trace]") {
  const LogFolder folder("");
  const auto file = folder.path() / "cudnn-1.log";
  const Writer writer(file);
  GrowingLog log(file, folder.after_reading());
  CHECK(log.read().empty());
  writer.write("I! CuDNN one\n");
  CHECK(read_all(log) == "I! CuDNN one\n");
  CHECK(log.read().empty());
  writer.write("i! two");
  writer.write(" three\n");
  CHECK(read_all(log) == "i! two three\n");
  CHECK(log.bytes_read() == 26);
}

TEST_CASE("read parts are freed on disk without disturbing the writer", "[trace]") {
  const LogFolder folder("");
  REQUIRE(folder.problem() == "");
  const auto file = folder.path() / "cudnn-1.log";
  const Writer writer(file);
  GrowingLog log(file, AfterReading::punch);
  const std::string megabytes(8 * GrowingLog::piece, 'x');
  for (int i = 0; i < 8; ++i) {
    writer.write(megabytes);
    CHECK(read_all(log) == megabytes);
    CHECK(writer.bytes_on_disk() < 2 * static_cast<int64_t>(GrowingLog::piece));
  }
  CHECK(std::filesystem::file_size(file) == 8 * megabytes.size());
  CHECK(log.bytes_read() == static_cast<int64_t>(8 * megabytes.size()));
}

TEST_CASE("a kept log remains complete", "[trace]") {
  const LogFolder folder("");
  const auto file = folder.path() / "cudnn-1.log";
  const Writer writer(file);
  GrowingLog log(file, AfterReading::keep);
  const std::string megabytes(4 * GrowingLog::piece, 'x');
  writer.write(megabytes);
  CHECK(read_all(log) == megabytes);
  CHECK(writer.bytes_on_disk() >= static_cast<int64_t>(megabytes.size()));
}

TEST_CASE("a file restarted by its writer is read again", "[trace]") {
  const LogFolder folder("");
  const auto file = folder.path() / "cudnn-1.log";
  const Writer first(file);
  GrowingLog log(file, folder.after_reading());
  first.write("before the program set a callback\n");
  CHECK(read_all(log) == "before the program set a callback\n");
  const Writer second(file);
  second.write("after\n");
  CHECK(read_all(log) == "after\n");
}

TEST_CASE("a log that grows too fast loses its oldest part, and the loss is counted", "[trace]") {
  const LogFolder folder("");
  const auto file = folder.path() / "cudnn-1.log";
  const Writer writer(file);
  GrowingLog log(file, folder.after_reading());
  // A sparse file with the length of an unread log, and no bytes on disk.
  REQUIRE(truncate(file.c_str(), GrowingLog::most_unread + 1000) == 0);
  const FileDescriptor end(open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string entry = "i! rest of an entry\n\nI! CuDNN (v91900 56) function cudnnBackendFinalize() called:\n";
  REQUIRE(::write(end.get(), entry.data(), entry.size()) == static_cast<ssize_t>(entry.size()));
  const std::string text = read_all(log);
  CHECK(log.bytes_passed_over() > GrowingLog::most_unread / 2);
  // The rest of an entry with a lost beginning is not part of another one.
  CHECK_THAT(text, ContainsSubstring("\nI! CuDNN (v91900 56) function cudnnBackendFinalize() called:\n"));
  CHECK_THAT(text, !ContainsSubstring("rest of an entry"));
}

TEST_CASE("the private folder belongs to this user only and is removed at the end unless kept", "[trace]") {
  std::filesystem::path path;
  {
    const LogFolder folder("");
    path = folder.path();
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0700U);
    const Writer writer(path / "cudnn-1.log");
    writer.write("text");
  }
  CHECK(!std::filesystem::exists(path));
  const TemporaryFolder kept;
  { const LogFolder folder(kept.path() / "logs"); }
  CHECK(std::filesystem::exists(kept.path() / "logs"));
  const Writer writer(kept.path() / "logs" / "cudnn-1.log");
  CHECK_THROWS_WITH(LogFolder(kept.path() / "logs"),
                    ContainsSubstring("it is not an empty folder; allowed: a new folder, or an empty one of yours"));
}

TEST_CASE("logs are never kept in a folder that another user can change", "[trace]") {
  const TemporaryFolder place;
  const std::filesystem::path open_to_all = place.path() / "open", mine = open_to_all / "mine",
                              link = place.path() / "link";
  std::filesystem::create_directories(mine);
  REQUIRE(chmod(open_to_all.c_str(), 0777) == 0);
  CHECK_THROWS_WITH(LogFolder(mine), ContainsSubstring("open is writable by all"));
  REQUIRE(chmod(open_to_all.c_str(), 0755) == 0);
  CHECK(LogFolder(mine).path() == mine);
  // A link is followed once, and its target is used.
  std::filesystem::create_directory_symlink(mine, link);
  CHECK(LogFolder(link).path() == mine);
  if (geteuid() != 0) return;  // only root can make a folder of another user
  constexpr uid_t other = 65534;
  REQUIRE((chmod(mine.c_str(), 0750) == 0 && chown(mine.c_str(), other, other) == 0));
  CHECK_THROWS_WITH(LogFolder(mine), ContainsSubstring("it belongs to user 65534"));
  struct stat status {};
  REQUIRE(stat(mine.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0750U);
}

}  // namespace attnprobe::test::growing_log_test
