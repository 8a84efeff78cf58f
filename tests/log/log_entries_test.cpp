// Log files split into entries: complete, truncated, mixed, and among other programs' text.
#include "log/log_entries.hpp"

#include <zlib.h>

#include <ctime>

#include "base/input.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::log_entries_test {

using namespace attnprobe::log;

namespace {

struct Split {
  std::vector<LogEntry> entries;
  std::vector<std::string> text;
};

Split split_log(const std::string& log, size_t piece = std::string::npos) {
  Split result;
  LogSplitter splitter([&](LogEntry&& entry) { result.entries.push_back(std::move(entry)); },
                       [&](std::string_view line, int64_t) { result.text.emplace_back(line); });
  for (size_t at = 0; at < log.size(); at += std::min(piece, log.size()))
    splitter.feed(std::string_view(log).substr(at, piece));
  splitter.finish();
  return result;
}

std::string entry(const std::string& function, const std::string& body, int thread = 570,
                  const std::string& prefix = "") {
  std::string text = prefix + "I! CuDNN (v91900 56) function " + function + " called:\n";
  if (!body.empty()) text += prefix + "i!     " + body + "\n";
  text += prefix + "i! Time: 2026-11-21T06:54:53.327163 (0d+0h+0m+0s since start)\n";
  return text + prefix + "i! Process=570; Thread=" + std::to_string(thread) +
         "; GPU=0; Handle=NULL; StreamId=NULL.\n\n\n";
}

std::string log_of(const std::string& name) {
  return test::unpacked_fixture("logs/" + name);
}

void check_same(const Split& a, const Split& b) {
  REQUIRE(a.entries.size() == b.entries.size());
  for (size_t i = 0; i < a.entries.size(); ++i) {
    CHECK(a.entries[i].function == b.entries[i].function);
    CHECK(a.entries[i].lines == b.entries[i].lines);
    CHECK(a.entries[i].whole == b.entries[i].whole);
  }
}

}  // namespace

TEST_CASE("an entry has head, body, time and writer", "[log]") {
  const auto split = split_log(entry("cudnnCreate()", "handle: location=host; addr=0x1;"));
  REQUIRE(split.entries.size() == 1);
  const LogEntry& e = split.entries[0];
  CHECK(e.severity == 'I');
  CHECK(e.version == CudnnVersion(91900));
  CHECK(e.function == "cudnnCreate()");
  CHECK(e.lines == std::vector<std::string>{"    handle: location=host; addr=0x1;"});
  CHECK(e.time == "2026-11-21T06:54:53.327163");
  CHECK(e.process == 570);
  CHECK(e.thread == 570);
  CHECK(e.gpu == "0");
  CHECK(e.first_line == 1);
  CHECK(e.whole);
}

TEST_CASE("a real log: every entry is complete, however the file is split", "[log]") {
  const std::string log = log_of("pytorch-2.11-cudnn-9.19-decode-bf16.log.xz");
  const Split whole = split_log(log);
  CHECK(whole.entries.size() == 799);
  for (const auto& e : whole.entries) CHECK(e.whole);
  check_same(whole, split_log(log, 4097));
  check_same(whole, split_log(log, 3));
}

TEST_CASE("Windows line ends and launcher prefixes are not part of a line", "[log]") {
  const std::string plain = entry("cudnnCreate()", "a: type=int; val=1;");
  std::string windows;
  for (const char c : plain) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  check_same(split_log(plain), split_log(windows));
  for (const char* prefix : {"[rank0]: ", "2026-11-21T06:54:53 node17 train[1]: ", "[1,0]<stderr>: "})
    check_same(split_log(plain), split_log(entry("cudnnCreate()", "a: type=int; val=1;", 570, prefix)));
}

TEST_CASE("text of other programs is separated, even inside an entry", "[log]") {
  std::string log = entry("cudnnCreate()", "a: type=int; val=1;");
  log.insert(log.find("i! Time"), "epoch 3, loss 0.25!\nWarning: the GPU is warm\n");
  const auto split = split_log("Hi! there\n" + log);
  REQUIRE(split.entries.size() == 1);
  CHECK(split.entries[0].whole);
  CHECK(split.entries[0].lines.size() == 1);
  CHECK(split.text.at(0) == "Hi! there");
  CHECK(split.text.at(1) == "epoch 3, loss 0.25!");
}

TEST_CASE("mixed entries of two writers keep their ends", "[log]") {
  const std::string a = entry("cudnnSetStream()", "a: type=int; val=1;", 1);
  const std::string b = entry("cudnnCreate()", "b: type=int; val=2;", 2);
  std::string log = a;
  log.insert(log.find("i!     a:"), b);
  const auto split = split_log(log);
  REQUIRE(split.entries.size() == 2);
  CHECK(split.entries[0].function == "cudnnCreate()");
  CHECK(split.entries[0].thread == 2);
  CHECK(split.entries[0].lines == std::vector<std::string>{"    b: type=int; val=2;"});
  CHECK(split.entries[1].thread == 1);
  CHECK(split.entries[1].lines == std::vector<std::string>{"    a: type=int; val=1;"});
}

TEST_CASE("an entry without its end is returned and marked incomplete", "[log]") {
  const std::string log = entry("cudnnCreate()", "a: type=int; val=1;");
  const auto split = split_log(log.substr(0, log.find("i! Process")));
  REQUIRE(split.entries.size() == 1);
  CHECK(!split.entries[0].whole);
  CHECK(split.entries[0].lines.size() == 1);
}

TEST_CASE("an endless line does not fill the memory", "[log]") {
  LogSplitter splitter([](LogEntry&&) {},
                       [](std::string_view line, int64_t) { CHECK(line.size() == LogSplitter::longest_line); });
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) splitter.feed(piece);
  splitter.feed("\n");
  splitter.finish();
  CHECK(splitter.lines() == 1);
}

TEST_CASE("gzip and xz are detected by their first bytes, and a truncated file is read up to its end", "[input]") {
  const TemporaryFolder folder;
  const std::string text(300'000, 'a');
  const auto gz = folder.path() / "log.gz";
  gzFile out = gzopen(gz.string().c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  std::string read, problem;
  const auto take = [&](std::string_view bytes) { read += bytes; };
  read_input(gz.string(), take, &problem);
  CHECK(read == text);
  CHECK(problem.empty());

  const std::string bytes = read_text(gz);
  const auto cut = folder.path() / "cut.gz";
  std::ofstream(cut, std::ios::binary) << bytes.substr(0, bytes.size() - 12);
  read.clear();
  read_input(cut.string(), take, &problem);
  CHECK(!read.empty());
  CHECK(problem == "its gzip data is truncated");

  // Two files in one.
  std::ofstream(folder.path() / "two.gz", std::ios::binary) << bytes << bytes;
  read.clear();
  problem.clear();
  read_input((folder.path() / "two.gz").string(), take, &problem);
  CHECK(read.size() == 2 * text.size());
  CHECK(problem.empty());

  const std::string xz = fixture("logs/jax-0.11-cudnn-9.19-fprop-causal-f16.log.xz");
  std::ofstream(folder.path() / "cut.xz", std::ios::binary) << xz.substr(0, xz.size() / 2);
  read.clear();
  read_input((folder.path() / "cut.xz").string(), take, &problem);
  CHECK(problem == "its xz data is truncated");
  CHECK_THROWS_WITH(read_input("/nowhere.log", take), ContainsSubstring("/nowhere.log: cannot be opened"));
  CHECK_THROWS_WITH(read_input(folder.path().string(), take), ContainsSubstring("cannot be read"));
}

TEST_CASE("a log is read in linear time, for any bytes", "[log]") {
  const auto seconds_of = [](const std::string& text) {
    const std::clock_t begin = std::clock();  // CPU time of this process, because the machine may be busy
    LogSplitter splitter([](LogEntry&&) {}, [](std::string_view, int64_t) {});
    for (size_t at = 0; at < text.size(); at += 1 << 18) splitter.feed(std::string_view(text).substr(at, 1 << 18));
    splitter.finish();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  constexpr size_t size = 8 << 20;  // at 0.45 MB/s, the former speed for NULs, 18 s
  std::string mixed;
  while (mixed.size() < size) mixed += std::string("x\0", 2);
  for (const std::string& text : {std::string(size, '\0'), mixed, std::string(size, '\n'), std::string(size, '\r'),
                                  std::string(size, ' '), std::string(size, '!')})
    CHECK(seconds_of(text) < 2);
}

}  // namespace attnprobe::test::log_entries_test
