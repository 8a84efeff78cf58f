// Which runs may resume a cells.jsonl.
#include "report/model/cell_log.hpp"

#include <cerrno>
#include <fstream>

#include "base/output_file.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "report/model/cells.hpp"
#include "support.hpp"

namespace attnprobe::test::cell_log_test {

using namespace attnprobe::report;
using Present = CellLog::Present;

namespace {

const char* two_configs = R"({"defaults": {"heads": 8, "seqlen": 256, "head_dim": 64},
  "configs": [{"name": "plain"}, {"name": "causal", "mask": "causal"}]})";

// The options of a matrix without options.
asking::PlanOptions usual() {
  asking::PlanOptions options;
  options.walk.plans = probe::Plans::automatic;
  options.walk.sweep_where_none = false;
  return options;
}

// An unfinished matrix, with a cuDNN that consists only of files.
class Begun {
 public:
  Begun() {
    folder_.file("libcudnn.so.9", std::string(40'000, 'x'));
    matrix.questions = asking::questions_of(attention::parse_configs(two_configs, "two.json"));
    matrix.targets = {*gpu::find("h200"), *gpu::find("t4")};
    libraries.resize(1);
    libraries[0].version = {9, 19, 0};
    libraries[0].path = library();
    CellLog log(file(), header(), Present::refuse);
    log.add({0, 0, 0}, R"({"verdict":"supported"})");
  }
  std::filesystem::path file() const { return folder_.path() / "cells.jsonl"; }
  std::filesystem::path library() const { return folder_.path() / "libcudnn.so.9"; }
  CellHeader header() const { return header_of(matrix, libraries, options, "title", "attnprobe matrix two.json"); }
  // "" if a run may resume; otherwise the reason.
  std::string refusal() const {
    const std::string message = usage_error([&] { CellLog(file(), header(), Present::resume); });
    if (message == "no error") return "";
    const std::string begin = file().string() + ": --resume: it is another matrix: ";
    const std::string end = "; name another --out, or --overwrite to start again";
    REQUIRE(message.starts_with(begin));
    REQUIRE(message.ends_with(end));
    return message.substr(begin.size(), message.size() - begin.size() - end.size());
  }

  asking::QuestionGroup matrix;
  std::vector<cudnn::LibraryInfo> libraries;
  asking::PlanOptions options = usual();

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("only the same matrix resumes a cell file, and the error names the difference", "[cells]") {
  const Begun same;
  CHECK(same.refusal().empty());
  SECTION("configs") {
    Begun other;
    other.matrix.questions[1].config.spec.batch = 2;
    CHECK(other.refusal() == "the config \"causal\" has changed since then");
    other.matrix.questions[0].config.spec.expect.otherwise = attention::ExpectedVerdict::unsupported;
    CHECK(other.refusal() == "the config \"plain\" (and 1 more) has changed since then");
    other.matrix.questions.pop_back();
    CHECK(other.refusal() == "it has the config \"causal\", which this command does not ask about");
    other.matrix.questions[0].config.spec.name = "new";
    CHECK(other.refusal() == "it has the config \"plain\", which this command does not ask about");
  }
  SECTION("targets") {
    Begun other;
    other.matrix.targets[0].properties["multiProcessorCount"] = 1;
    CHECK(other.refusal() == "the target \"h200\" has changed since then");
    std::swap(other.matrix.targets[0], other.matrix.targets[1]);
    CHECK(other.refusal() == "it has each target in a different position");
    other.matrix.targets.push_back(*gpu::find("l40s"));
    CHECK(other.refusal() == "it lacks the target \"l40s\", which this command asks about");
  }
  SECTION("cuDNN, patched in place") {
    const Begun other;
    const auto written = std::filesystem::last_write_time(other.library());
    std::fstream(other.library()).seekp(20'000) << "y";
    std::filesystem::last_write_time(other.library(), written + std::chrono::seconds(1));
    CHECK(other.refusal() == "the cuDNN \"9.19.0\" has changed since then");
  }
  SECTION("options") {
    Begun other;
    other.options.run.seed = 7;
    CHECK(other.refusal() == "it was asked with no options, now with the options \"--seed 7\"");
    other.options = usual();
    other.options.run.data = run::DataRegime::large;
    other.options.walk.modes = {"A"};
    CHECK(contains(other.refusal(), "\"--mode A"));
    CHECK(contains(other.refusal(), "--data large"));
    other.options = usual();
    other.options.jobs = 3;  // does not change answers
    CHECK(other.refusal().empty());
  }
}

TEST_CASE("a cell file without digests is read but not resumed", "[cells]") {
  const Begun begun;
  std::string text = read_text(begun.file());
  const size_t digests = text.find(",\"made_of\"");
  REQUIRE(digests != std::string::npos);
  text.erase(digests, text.find('\n') - 1 - digests);
  std::ofstream(begun.file()) << text;
  CHECK(CellLog(begun.file()).size() == 1);
  CHECK(
      usage_error([&] { CellLog(begun.file(), begun.header(), Present::resume); }) ==
      begun.file().string() +
          ": --resume: it does not record its configs, targets and options (written by an older attnprobe or a merge of different parts); name another --out, or --overwrite to start again");
}

TEST_CASE("a line that is not JSON cannot be resumed", "[cells]") {
  const Begun begun;
  std::string text = read_text(begun.file());
  const size_t cell = text.find("{\"cell\"");
  REQUIRE(cell != std::string::npos);
  text.replace(text.size() - 12, 11, "#garbage###");
  std::ofstream(begun.file()) << text;
  CHECK(CellLog(begun.file()).size() == 1);
  CHECK(CellLog(begun.file(), begun.header(), Present::resume).size() == 0);
}

TEST_CASE("reading a cell file does not truncate a line that another process is writing", "[cells]") {
  const Begun begun;
  std::ofstream(begun.file(), std::ios::app) << R"({"cell":[1,0,0],"verd)";
  const std::string text = read_text(begun.file());
  CHECK(CellLog(begun.file()).size() == 1);
  CHECK(read_text(begun.file()) == text);
  CellLog(begun.file(), begun.header(), Present::resume);
  CHECK(read_text(begun.file()) < text);
}

TEST_CASE("a merge names the differences between its parts", "[cells]") {
  Begun one, two;
  two.matrix.questions[0].config.spec.batch = 4;
  CellLog(two.file(), two.header(), Present::replace).add({1, 0, 0}, R"({"verdict":"unsupported"})");
  const TemporaryFolder folder;
  const auto merged = merge_cells({one.file(), two.file()}, folder.path() / "cells.jsonl", "");
  CHECK(merged.differing == std::vector<std::string>{"the config \"plain\""});
  CHECK(merged.conflicts == 0);
  const CellLog log(folder.path() / "cells.jsonl");
  CHECK(log.size() == 2);
  CHECK_FALSE(log.header().made_of);
  CHECK(merged.table.cells.size() == 2);
  // Merging one file gives the same file.
  merge_cells({one.file()}, one.file(), "");
  CHECK(one.refusal().empty());
}

TEST_CASE("the error for a damaged cell names its file, and the merge changes nothing", "[cells]") {
  const Begun one, two;
  const std::string text = read_text(one.file());
  std::ofstream(two.file(), std::ios::app) << R"({"cell":[1,0,0],"verdict":"unsup)" << '\0' << "\"}\n";
  CHECK_THAT(usage_error([&] {
               merge_cells({one.file(), two.file()}, one.file(), "");
             }),
             StartsWith(two.file().string() + ":3: "));
  CHECK(read_text(one.file()) == text);
}

TEST_CASE("a full disk under a cell file is an environment error", "[cells]") {
  CHECK(kind_of_output_error(ENOSPC) == ErrorKind::environment);
  CHECK(kind_of_output_error(EIO) == ErrorKind::environment);
  CHECK(kind_of_output_error(EACCES) == ErrorKind::usage);
}

}  // namespace attnprobe::test::cell_log_test
