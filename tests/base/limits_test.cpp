// Small files that claim large resources, and files that are not trusted.
#include "base/limits.hpp"

#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "base/input.hpp"
#include "base/trust.hpp"
#include "catch.hpp"
#include "support.hpp"
#include "variable.hpp"

namespace attnprobe::test::limits_test {

namespace {

// `mebibytes` of zeros as xz, made from one repeated block: xz files may be concatenated.
std::string packed_zeros(size_t mebibytes) {
  const std::string zeros(size_t{16} << 20, '\0');
  std::string block(1 << 16, '\0');
  size_t size = 0;
  lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const uint8_t*>(zeros.data()), zeros.size(),
                          reinterpret_cast<uint8_t*>(block.data()), &size, block.size());
  block.resize(size);
  std::string all;
  for (size_t i = 0; i < mebibytes; i += 16) all += block;
  return all;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("An environment variable sets a limit and must be a number", "[limits]") {
  CHECK(value_of(limits::cells) == 2'000'000);
  CHECK(usage_error([] { check_cells("m/cells.jsonl", 3000, 1000, 300); }) ==
        "m/cells.jsonl: 900000000 cells (3000 configs x 1000 GPUs x 300 cuDNNs) are more than the 2000000 that "
        "attnprobe allows; ATTNPROBE_MAX_CELLS=900000000 allows them");
  // The product of the claimed sizes may exceed 64 bits.
  constexpr size_t much = size_t{1} << 40;
  CHECK_THAT(usage_error([] { check_cells("x", much, much, much); }), ContainsSubstring("18446744073709551615 cells"));
  const Variable more("ATTNPROBE_MAX_CELLS", "900000000");
  CHECK(usage_error([] { check_cells("m/cells.jsonl", 3000, 1000, 300); }) == "no error");
  for (const char* wrong : {"many", "-1", "0", "1e6", "2 "}) {
    const Variable broken("ATTNPROBE_MAX_CELLS", wrong);
    CHECK(usage_error([] { value_of(limits::cells); }) ==
          fmt::format("ATTNPROBE_MAX_CELLS: \"{}\" is not a whole number; allowed: 1 or more", wrong));
  }
}

TEST_CASE("An endless file of zeros is not read completely", "[limits][input]") {
  const Variable small("ATTNPROBE_MAX_DOCUMENT_BYTES", "1000000");
  CHECK(usage_error([] { input_text("/dev/zero"); }) ==
        "/dev/zero: it has more than 1000000 bytes; ATTNPROBE_MAX_DOCUMENT_BYTES allows more");
}

TEST_CASE("A small file that unpacks to gigabytes is refused quickly", "[limits][input]") {
  const TemporaryFolder folder;
  const std::string bomb = folder.file("bomb.xz", packed_zeros(4096)).string();
  INFO(std::filesystem::file_size(bomb));
  size_t read = 0;
  std::string why;
  const double seconds = seconds_of(
      [&] { why = usage_error([&] { read_input(bomb, [&](std::string_view bytes) { read += bytes.size(); }); }); });
  CHECK_THAT(why, StartsWith(bomb + ": its ") && ContainsSubstring(", more than 2000 times as many"));
  CHECK(read < size_t{2} << 30);
  CHECK(seconds < 20);
  CHECK_THAT(usage_error([&] { input_text(bomb); }), StartsWith(bomb + ": it"));
}

TEST_CASE("An xz file cannot claim more memory than its decoder may use", "[limits][input]") {
  // A dictionary of 1.5 GiB for a few bytes, as written by xz --lzma2=dict=1536MiB.
  lzma_options_lzma options;
  REQUIRE(!lzma_lzma_preset(&options, 0));
  options.dict_size = 4096;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::string packed(4096, '\0');
  size_t size = 0;
  REQUIRE(lzma_stream_buffer_encode(filters, LZMA_CHECK_NONE, nullptr, reinterpret_cast<const uint8_t*>("{}"), 2,
                                    reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()) == LZMA_OK);
  packed.resize(size);
  // The block header follows the stream's 12 bytes. It has size, flags, up to two sizes (of a byte here) according to
  // the flags, filter 0x21, its properties' size 1, and the dictionary's.
  const auto flags = static_cast<unsigned char>(packed[13]);
  const size_t filter = size_t{14} + ((flags & 0x40) != 0 ? 1 : 0) + ((flags & 0x80) != 0 ? 1 : 0);
  REQUIRE(packed[filter] == 0x21);
  packed[filter + 2] = 37;  // 1.5 GiB
  const auto header = static_cast<size_t>(static_cast<unsigned char>(packed[12]) + 1) * 4;
  const uint32_t crc = lzma_crc32(reinterpret_cast<const uint8_t*>(packed.data()) + 12, header - 4, 0);
  for (size_t i = 0; i < 4; ++i) packed[12 + header - 4 + i] = static_cast<char>(crc >> (8 * i));
  const TemporaryFolder folder;
  const std::string file = folder.file("a.json.xz", packed).string();
  CHECK(usage_error([&] { input_text(file); }) ==
        file + ": decompressing its xz data needs more than 512 MiB of memory");
}

TEST_CASE("Jobs are limited by cores and memory", "[limits]") {
  CHECK(most_jobs() >= 1);
  CHECK(most_jobs() < 100'000);
  const Variable more("ATTNPROBE_MAX_JOBS", "100000");
  CHECK(most_jobs() == 100'000);
}

TEST_CASE("A file that other users can write is not trusted", "[limits][trust]") {
  const TemporaryFolder folder;
  const auto file = folder.file("libcudnn.so.9", "x");
  CHECK_FALSE(why_not_believed(file));
  CHECK(why_not_believed("libcudnn.so.9") == "it is found by a path that is not absolute");
  chmod(file.c_str(), 0666);
  CHECK(why_not_believed(file) == "it is writable by all");
  chmod(file.c_str(), 0664);
  CHECK_FALSE(why_not_believed(file));
  chmod(folder.path().c_str(), 0777);
  CHECK(why_not_believed(file) == folder.path().string() + " is writable by all");
  chmod(folder.path().c_str(), 01777);
  CHECK_FALSE(why_not_believed(file));
  // A link counts as its target.
  const TemporaryFolder mine;
  std::filesystem::create_symlink(file, mine.path() / "link");
  chmod(file.c_str(), 0666);
  CHECK(why_not_believed(mine.path() / "link") == "it is writable by all");
  chmod(file.c_str(), 0644);
  if (geteuid() != 0) return;  // only root can give files to another user
  REQUIRE(chown(file.c_str(), 65534, 65534) == 0);
  CHECK(why_not_believed(file) == "it belongs to user 65534");
}

TEST_CASE("Without a home there is no user folder, and no substitute", "[limits][trust]") {
  const Variable home("HOME", "/home/a"), cache("XDG_CACHE_HOME", "/c");
  CHECK(user_cache_folder()->string() == "/c");
  for (const char* none : {"", "relative", static_cast<const char*>(nullptr)}) {
    const Variable no_cache("XDG_CACHE_HOME", none);
    CHECK(user_cache_folder()->string() == "/home/a/.cache");
    const Variable no_home("HOME", none);
    CHECK_FALSE(user_cache_folder());
  }
}

TEST_CASE("Axes of a billion cells in a small cells.jsonl are refused", "[limits]") {
  const TemporaryFolder folder;
  Json axes = {{"title", "t"},
               {"command", "c"},
               {"configs", Json::array()},
               {"targets", Json::array()},
               {"cudnns", Json::array()}};
  for (int i = 0; i < 3000; ++i) axes["configs"].push_back(fmt::format("c{}", i));
  for (int i = 0; i < 1000; ++i)
    axes["targets"].push_back(
        {{"id", fmt::format("g{}", i)}, {"name", "g"}, {"sm", 90}, {"kind", "simulated"}, {"architecture", "a"}});
  for (int i = 0; i < 300; ++i) axes["cudnns"].push_back(fmt::format("9.{}.0", i));
  const std::string file =
      folder.file("cells.jsonl", Json{{"schema", "attnprobe/cells/1"}, {"axes", axes}}.dump() + "\n").string();
  const Run run = run_attnprobe("diff " + file + " " + file);
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, ContainsSubstring(":1: /axes: 900000000 cells (3000 configs x 1000 GPUs x 300 cuDNNs) are more"));
}

TEST_CASE("Options that are not numbers or too large are refused in one line", "[limits]") {
  const std::string problem = "--heads 8 --seqlen 128 --head-dim 64 --target h200 ";
  const std::pair<const char*, const char*> cases[] = {
      {"--timeout nan", "\"nan\" is not a time in seconds; allowed: above 0, up to 1000000"},
      {"--timeout inf", "\"inf\" is not a time in seconds"},
      {"--timeout=-1", "\"-1\" is not a time in seconds"},
      {"--timeout 1e300", "\"1e300\" is not a time in seconds"},
      {"--jobs 100000", "\"100000\" is not a valid number of worker processes; allowed: 1 to "},
      {"--jobs 0", "\"0\" is not a valid number of worker processes"},
      {"--repeat=-1", "--repeat: "}};
  for (const auto& [option, message] : cases) {
    const Run run = run_attnprobe(problem + option);
    INFO(option << "\n" << run.err << run.out);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.err + run.out, message));
    CHECK((run.err + run.out).size() < 400);
  }
}

}  // namespace attnprobe::test::limits_test
