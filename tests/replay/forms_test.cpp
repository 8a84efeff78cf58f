// The forms of logs and graphs: with colours, in UTF-16, truncated, of an older interface, from a reproducer.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/utf16.hpp"
#include "catch.hpp"
#include "replay/replay.hpp"
#include "support.hpp"

namespace attnprobe::test::forms_test {

namespace {

const std::string decode = "logs/pytorch-2.11-cudnn-9.19-decode-bf16.log.xz";

std::string utf16(std::string_view ascii, bool big_endian, bool mark) {
  std::string text = !mark ? "" : big_endian ? "\xfe\xff" : "\xff\xfe";
  for (const char c : ascii) text += big_endian ? std::string{'\0', c} : std::string{c, '\0'};
  return text;
}

std::string in_colours(std::string_view text) {
  std::string coloured;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; begin = end + 1, end = text.find('\n', begin))
    coloured +=
        fmt::format("\x1b[38;5;2m{}\x1b[0m{}\x1b[K\n", text.substr(begin, 1), text.substr(begin + 1, end - begin - 1));
  return coloured;
}

std::string hash_in(const TemporaryFolder& folder, const std::string& text) {
  const replay::Replay read = replay::read_replay(folder.file("a.log", text).string());
  REQUIRE(read.graphs.size() == 1);
  CHECK(read.history.broken_entries == 0);
  return read.graphs[0].logged.hash;
}

std::string why(const TemporaryFolder& folder, const std::string& text) {
  const Run run = run_attnprobe("replay " + folder.file("a.log", text).string());
  CHECK(run.exit_code == 2);
  return run.err;
}

}  // namespace

TEST_CASE("A log with terminal colours or in UTF-16 gives the same result as the plain log", "[replay]") {
  const std::string plain = unpacked_fixture(decode);
  const TemporaryFolder folder;
  const std::string hash = hash_in(folder, plain);
  CHECK(hash_in(folder, in_colours(plain)) == hash);
  CHECK(hash_in(folder, utf16(plain, false, true)) == hash);
  CHECK(hash_in(folder, utf16(plain, true, true)) == hash);
  CHECK(hash_in(folder, utf16(plain, false, false)) == hash);
}

TEST_CASE("UTF-16 becomes UTF-8 for any split of its bytes", "[base]") {
  const std::string text(
      "\xff\xfe"
      "a\0\xe9\0\xac\x20\x3d\xd8\x00\xde"
      "b\0\x00\xd8"
      "c\0",
      18);
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    std::string out;
    const auto take = [&](std::string_view bytes) { out += bytes; };
    Utf8Pieces pieces;
    for (size_t at = 0; at < text.size(); at += piece) pieces.feed(std::string_view(text).substr(at, piece), take);
    pieces.finish(take);
    // é, the euro sign, a smiley, and half a surrogate pair, which is invalid.
    CHECK(out ==
          "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
          "b\xef\xbf\xbd"
          "c");
  }
  for (const std::string other : {"", "a", "ab", "abc",
                                  "a\xc3\xa9"
                                  "b"}) {
    std::string out;
    const auto take = [&](std::string_view bytes) { out += bytes; };
    Utf8Pieces pieces;
    pieces.feed(other, take);
    pieces.finish(take);
    CHECK(out == other);
  }
}

TEST_CASE("A log truncated before its first graph is incomplete, and the answer blames no layer", "[replay]") {
  const std::string plain = unpacked_fixture(decode);
  const size_t graph = plain.find("CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR");
  REQUIRE(graph != std::string::npos);
  const std::string before = plain.substr(0, plain.rfind("I! CuDNN", graph));
  const TemporaryFolder folder;
  CHECK_THAT(why(folder, before), ContainsSubstring("a.log: the log is incomplete (it shows "));
  CHECK_THAT(why(folder, before), ContainsSubstring("tensors and operations, but not their graph)"));
  const size_t entry = plain.find("I! CuDNN", plain.size() / 20);
  CHECK_THAT(why(folder, plain.substr(0, plain.find('\n', entry) + 1)),
             ContainsSubstring("it ends in the middle of an entry"));
  const std::string packed = read_text(source_dir() / "tests/fixtures" / decode);
  CHECK_THAT(why(folder, packed.substr(0, 2000)), ContainsSubstring("its xz data is truncated"));
  for (const std::string& text : {before, packed.substr(0, 2000)})
    CHECK_THAT(why(folder, text), !ContainsSubstring("cuDNN was not asked"));
}

TEST_CASE("replay --emit uses the log's own GPU", "[replay][emit]") {
  const Environment none{{"CUDA_VISIBLE_DEVICES", ""}};
  const std::string log = "tests/fixtures/" + decode;
  for (const char* form : {"cpp", "python-frontend"}) {
    const Run run = run_attnprobe(fmt::format("replay {} --emit {}", log, form), none);
    REQUIRE(run.exit_code == 0);
    CHECK_THAT(run.out, ContainsSubstring("simulated NVIDIA H200"));
    CHECK_THAT(run.out, ContainsSubstring("--target h200"));
    CHECK_THAT(run.out, !ContainsSubstring("h100"));
  }
  CHECK_THAT(run_attnprobe(fmt::format("replay {} --emit cpp --target b200", log), none).out,
             ContainsSubstring("--target b200"));
}

TEST_CASE("cudnn-frontend's JSON with lists of host values is read, including lengths", "[replay][frontend]") {
  const std::string file = (source_dir() / "tests/fixtures/frontend-host-values.json").string();
  const replay::Replay read = replay::read_replay(file);
  REQUIRE(read.graphs.size() == 1);
  REQUIRE(read.graphs[0].recognised.spec);
  CHECK(read.graphs[0].recognised.spec->mask.seqlens_q == std::vector<int64_t>{29, 24});
  CHECK(read.graphs[0].recognised.spec->mask.seqlens_kv == std::vector<int64_t>{35, 33});
  const Run run = run_attnprobe("replay " + file + " --target h100,b200 --quick --format json");
  REQUIRE(run.exit_code == 1);
  const Json results = run.json()["results"];
  CHECK(results[0]["usable"] == "no");
  CHECK(results[1]["usable"] == "yes");
  // A length that is impossible for any entry is reported and omitted.
  Json graph = Json::parse(read_text(file));
  for (Json& tensor : graph["tensors"])
    if (tensor["uid"] == 13) tensor["pass_by_value"] = {29, 99};
  const TemporaryFolder folder;
  const replay::Replay other = replay::read_replay(folder.file("a.json", graph.dump()).string());
  CHECK(other.graphs[0].recognised.spec->mask.seqlens_q.empty());
  CHECK_THAT(fmt::format("{}", fmt::join(other.graphs[0].notes, "; ")),
             ContainsSubstring("the values of SEQ_LEN_Q are not 2 lengths from 0 to 32"));
}

TEST_CASE("replay reports other and unreadable graphs as explain does", "[replay][explain]") {
  const std::string convolution = "tests/fixtures/frontend-convolution.json";
  const Run replayed = run_attnprobe("replay " + convolution + " --target h100");
  CHECK(replayed.exit_code == 2);
  CHECK_THAT(replayed.err, ContainsSubstring("frontend-convolution.json: no attention: CONV_FPROP"));
  CHECK_THAT(run_attnprobe("explain " + convolution).out, ContainsSubstring("no attention: CONV_FPROP"));
  const TemporaryFolder folder;
  Json graph = Json::parse(read_text(source_dir() / "tests/fixtures/frontend-host-values.json"));
  graph["tensors"][0]["dim"] = "wide";
  const std::string broken = folder.file("a.json", graph.dump()).string();
  for (const char* command : {"replay ", "explain "}) {
    const Run run = run_attnprobe(command + broken);
    CHECK_THAT(
        run.out + run.err,
        ContainsSubstring("a graph of cudnn-frontend that cannot be read: cudnn-frontend's JSON: /tensors/1/dim"));
  }
}

TEST_CASE("For the legacy attention API, the answer has its reason for refusing", "[replay][explain]") {
  const std::string file = "tests/fixtures/old-attention.txt";
  const Run replayed = run_attnprobe("replay " + file);
  CHECK(replayed.exit_code == 2);
  CHECK_THAT(replayed.err, ContainsSubstring("line 1: cudnnSetAttnDescriptor() belongs to cuDNN's multi-head attention "
                                             "API from before operation graphs"));
  CHECK_THAT(replayed.err, ContainsSubstring("The projected sizes of Q and K are 12 and 6, and cuDNN refuses"));
  CHECK_THAT(replayed.err, ContainsSubstring("Make qProjSize equal to kProjSize"));
  const Run explained = run_attnprobe("explain " + file);
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.out, ContainsSubstring("the multi-head attention API that preceded operation graphs"));
  CHECK_THAT(explained.out, !ContainsSubstring("inconsistent dimensions, strides or attributes"));
}

}  // namespace attnprobe::test::forms_test
