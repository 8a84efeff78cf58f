// Report files that are complete or absent, and other objects at their path.
#include "base/output_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "catch.hpp"

namespace attnprobe::test::output_file_test {

namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

Names files_in(const fs::path& folder) {
  Names names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// The error of replacing the file's text; or "".
std::string environment_error(const OutputFile& file) {
  try {
    file.replace("text");
  } catch (const Error& e) {
    return (e.kind() == ErrorKind::environment ? "" : "not of the environment: ") + std::string(e.what());
  }
  return "";
}

constexpr uid_t somebody_else = 65534;

bool can_be_others() {
  if (geteuid() == 0) return true;
  WARN("SKIPPED: only root makes what belongs to others");
  return false;
}

}  // namespace

TEST_CASE("A report file has the last report, and no temporary file is left", "[output]") {
  const TemporaryFolder folder;
  {
    OutputFile file(folder.path() / "r.json");
    file.replace("first, and longer");
    CHECK(read_text(folder.path() / "r.json") == "first, and longer");
    file.replace("second");
  }
  CHECK(read_text(folder.path() / "r.json") == "second");
  CHECK(files_in(folder.path()) == Names{"r.json"});
}

TEST_CASE("An old report remains until the new one is complete", "[output]") {
  const TemporaryFolder folder;
  const auto path = folder.file("r.json", "old");
  {
    const OutputFile file(path);
    CHECK(read_text(path) == "old");
  }
  CHECK(read_text(path) == "old");
  CHECK(files_in(folder.path()) == Names{"r.json"});
}

TEST_CASE("A report that was never written leaves no file", "[output]") {
  const TemporaryFolder folder;
  { const OutputFile file(folder.path() / "r.json"); }
  CHECK(files_in(folder.path()).empty());
}

TEST_CASE("A bad path fails before any work is done", "[output]") {
  const TemporaryFolder folder;
  const std::string nowhere = (folder.path() / "no" / "r.json").string(), here = folder.path().string();
  CHECK(usage_error([&] { const OutputFile file(nowhere); }) ==
        nowhere + ": cannot be written: No such file or directory");
  CHECK(usage_error([&] { const OutputFile file(here); }) == here + ": cannot be written: it is a folder");
}

TEST_CASE("Readers see a complete report or none", "[output]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "r.json";
  OutputFile file(path);
  const std::string a(200'000, 'a'), b(300'000, 'b');
  file.replace(a);
  std::jthread writer([&] {
    for (int i = 0; i < 50; ++i) file.replace(i % 2 == 0 ? b : a);
  });
  for (int i = 0; i < 50; ++i) {
    const std::string seen = read_text(path);
    CHECK((seen == a || seen == b));
  }
}

TEST_CASE("A device is not replaced by a file", "[output]") {
  const TemporaryFolder folder;
  const auto link = folder.path() / "null";
  fs::create_symlink("/dev/null", link);
  usage_error([&] {
    OutputFile file(link);
    file.replace("text");
  });
  CHECK(fs::is_character_file(link));
}

TEST_CASE("A report keeps the file mode of the old one, and is private while it is written", "[output]") {
  const TemporaryFolder folder;
  const auto path = folder.file("r.json", "old");
  REQUIRE(chmod(path.c_str(), 0600) == 0);
  OutputFile(path).replace("new");
  CHECK((fs::status(path).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("An attacker cannot place a link at a report's name between two reports", "[output]") {
  const TemporaryFolder folder;
  const auto victim = folder.file("victim", "precious");
  fs::create_symlink(victim, folder.path() / fmt::format("r.json.{}.tmp", getpid()));
  OutputFile file(folder.path() / "r.json");
  CHECK(files_in(folder.path()).size() == 2);
  file.replace("text");
  CHECK(read_text(victim) == "precious");
  CHECK(read_text(folder.path() / "r.json") == "text");
}

TEST_CASE("A link of your own is followed, even to a missing file", "[output]") {
  const TemporaryFolder folder;
  fs::create_symlink("there", folder.path() / "here");
  OutputFile(folder.path() / "here").replace("text");
  CHECK(read_text(folder.path() / "there") == "text");
  CHECK(fs::is_symlink(folder.path() / "here"));
  fs::create_symlink("b", folder.path() / "a");
  fs::create_symlink("a", folder.path() / "b");
  CHECK_THAT(usage_error([&] { const OutputFile file(folder.path() / "a"); }),
             ContainsSubstring("Too many levels of symbolic links"));
}

TEST_CASE("Links of another user, or in another user's folder, are not followed", "[output]") {
  if (!can_be_others()) return;
  const TemporaryFolder folder;
  const auto victim = folder.file("victim", "precious");
  const auto link = folder.path() / "r.json";
  fs::create_symlink(victim, link);
  const auto refused = [&](const fs::path& path) { return usage_error([&] { OutputFile(path).replace("text"); }); };
  REQUIRE(lchown(link.c_str(), somebody_else, somebody_else) == 0);
  CHECK_THAT(refused(link), ContainsSubstring("it is a link that belongs to another user"));
  const auto theirs = folder.path() / "theirs";
  fs::create_directory(theirs);
  fs::create_symlink(victim, theirs / "r.json");
  REQUIRE(chown(theirs.c_str(), somebody_else, somebody_else) == 0);
  CHECK_THAT(refused(theirs / "r.json"), ContainsSubstring("another user's folder"));
  CHECK(read_text(victim) == "precious");
  // A file of the same user in it is allowed.
  OutputFile(theirs / "mine.json").replace("text");
  CHECK(read_text(theirs / "mine.json") == "text");
}

TEST_CASE("A named pipe is refused immediately, without waiting", "[output]") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "pipe").string();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(usage_error([&] { const OutputFile file(path); }) ==
        path + ": cannot be written: it is a named pipe; allowed: a regular file, /dev/stdout, /dev/null");
}

TEST_CASE("An output that cannot be rewritten is a stream", "[output]") {
  const TemporaryFolder folder;
  CHECK(OutputFile("/dev/null").is_stream());
  CHECK(OutputFile("/dev/stdout").is_stream());
  CHECK(OutputFile("/proc/self/fd/1").is_stream());
  CHECK_FALSE(OutputFile(folder.path() / "r.json").is_stream());
  CHECK_THAT(usage_error([] { const OutputFile file("/dev/fd/987"); }), ContainsSubstring("it is closed"));
}

TEST_CASE("A file lost during the work is an environment error that names it", "[output]") {
  const TemporaryFolder folder;
  const auto inner = folder.path() / "inner", path = inner / "r.json";
  fs::create_directory(inner);
  const OutputFile file(path);
  fs::remove(inner);
  CHECK(environment_error(file) == path.string() + ": cannot be written: No such file or directory");
  fs::create_directories(path);
  CHECK(environment_error(file) == path.string() + ": cannot be written: it is a folder");
  fs::remove(path);
  CHECK(environment_error(file).empty());
  CHECK(environment_error(OutputFile("/dev/full")) == "/dev/full: cannot be written: No space left on device");
}

}  // namespace attnprobe::test::output_file_test
