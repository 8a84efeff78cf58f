// The committed baseline: its file, damage to it, and what counts as worse.
#include "report/model/baseline.hpp"

#include <fmt/format.h>

#include "catch.hpp"
#include "report/formats/baseline_report.hpp"
#include "support.hpp"

namespace attnprobe::test::baseline_test {

using namespace attnprobe::report;

namespace {

constexpr const char* head = "# attnprobe baseline 1: config gpu cudnn answer first-engine why\n";

CellAnswer yes(int64_t engine) {
  CellAnswer answer;
  answer.verdict = answer::Verdict::supported;
  answer.word = answer::Word::yes;
  answer.engines.resize(2);
  answer.engines[0].engine = 99;  // refused
  answer.engines[1].engine = engine;
  answer.engines[1].viable = true;
  return answer;
}

CellAnswer but(int64_t engine, const std::string& kind) {
  CellAnswer answer = yes(engine);
  answer.word = answer::Word::but;
  answer.but = {{kind, "in the way", ""}};
  return answer;
}

CellAnswer no(const std::string& category, answer::Verdict verdict = answer::Verdict::unsupported) {
  CellAnswer answer;
  answer.verdict = verdict;
  answer.word = answer::Word::no;
  answer.category = category;
  answer.reason = "too | large";
  return answer;
}

// One config on one GPU, or on several with the same answer.
CellTable table(const CellAnswer& answer, const std::string& config = "bert", const std::string& cudnn = "9.19.0") {
  CellTable result;
  result.axes.configs = {config};
  result.axes.targets = {{"h200", "NVIDIA H200", "simulated", "Hopper", 90}};
  result.axes.cudnns = {cudnn};
  result.configs.resize(1);
  result.answers = {answer};
  result.cells = {{{0, 0, 0}, 0}};
  return result;
}

std::string step(const CellAnswer& before, const CellAnswer& after) {
  const CellTable now = table(after);
  const LockComparison found = compare(lock_of(table(before), ""), now);
  CHECK(found.compared == 1);
  if (found.changes.empty()) return "";
  const LockStep kind = found.changes.at(0).step;
  return kind == LockStep::worse ? "worse" : kind == LockStep::better ? "better" : "changed";
}

}  // namespace

TEST_CASE("each cell is one line, and a lock file round-trips", "[baseline]") {
  CHECK(text_of(lock_of(table(yes(10)), "")) == std::string(head) + "bert h200 9.19.0 yes 10\n");
  CHECK(text_of(lock_of(table(but(1, "framework")), "--framework torch==2.11")) ==
        std::string(head) + "# asked with: --framework torch==2.11\nbert h200 9.19.0 but 1 framework\n");
  CHECK(text_of(lock_of(table(no("head_dim")), "")) == std::string(head) + "bert h200 9.19.0 no - head_dim\n");
  CHECK(text_of(lock_of(table(no("engine_bug", answer::Verdict::crashed)), "")) ==
        std::string(head) + "bert h200 9.19.0 crashed - engine_bug\n");
  const TemporaryFolder folder;
  for (const char* name : {"bert", "a b", "-", "#1", "\"", "größe", "line\nbreak", "\xe2\x80\xae", "x[seqlen=8]"}) {
    const BaselineLock lock = lock_of(table(but(3, "known_bug"), name), "--mode A");
    const std::string text = text_of(lock);
    INFO(text);
    CHECK(std::count(text.begin(), text.end(), '\n') == 3);
    const BaselineLock read = read_lock(folder.file("a.lock", text));
    CHECK(read.options == "--mode A");
    CHECK(read.cells == lock.cells);
  }
}

TEST_CASE("lines are sorted by config, GPU and version, for any order of cells", "[baseline]") {
  CellTable cells;
  cells.axes.configs = {"b", "a"};
  cells.axes.targets = {{"t4", "", "", "", 75}, {"h200", "", "", "", 90}};
  cells.axes.cudnns = {"9.10.0", "9.8.0"};
  cells.configs.resize(2);
  cells.answers = {yes(1)};
  for (size_t config : {0U, 1U})
    for (size_t target : {0U, 1U})
      for (size_t cudnn : {0U, 1U}) cells.cells.push_back({{config, target, cudnn}, 0});
  CHECK(text_of(lock_of(cells, "")) == std::string(head) +
                                           "a h200 9.8.0 yes 1\na h200 9.10.0 yes 1\na t4 9.8.0 yes 1\n"
                                           "a t4 9.10.0 yes 1\nb h200 9.8.0 yes 1\nb h200 9.10.0 yes 1\n"
                                           "b t4 9.8.0 yes 1\nb t4 9.10.0 yes 1\n");
}

TEST_CASE("150 cells fit in 10 kB, at 60 bytes per cell", "[baseline]") {
  CellTable cells;
  cells.axes.configs = {"bert-large-train-512",   "llama3-70b-prefill-8k",  "llama3-70b-decode",
                        "mistral-7b-window-4096", "deepseek-v3-prefill",    "gemma-7b-train-backward",
                        "sdxl-self-4096",         "whisper-large-v3-cross", "t5-bias-512",
                        "gpt2-train-1024"};
  for (const char* id : {"h100", "b200", "l40s", "rtx4090", "rtx-pro-6000"})
    cells.axes.targets.push_back({id, "", "", "", 0});
  cells.axes.cudnns = {"9.14.0", "9.19.0", "9.28.1"};
  cells.configs.resize(10);
  cells.answers = {yes(10), no("shared_memory"), but(8, "outside_heuristics")};
  for (size_t i = 0; i < 150; ++i) cells.cells.push_back({{i % 10, i / 10 % 5, i / 50}, i % 3});
  const std::string text = text_of(lock_of(cells, ""));
  CHECK(text.size() < 10'000);
  CHECK(text.size() - std::string(head).size() <= size_t{150} * 60);
}

TEST_CASE("an answer further from yes is worse, and another engine or reason is a change", "[baseline]") {
  const CellAnswer error = no("", answer::Verdict::error), crashed = no("", answer::Verdict::crashed),
                   wrong = no("", answer::Verdict::wrong_result);
  CHECK(step(yes(1), yes(1)).empty());
  CHECK(step(yes(1), yes(2)) == "changed");
  CHECK(step(yes(1), but(1, "framework")) == "worse");
  CHECK(step(but(1, "framework"), but(1, "known_bug")) == "changed");
  CHECK(step(but(1, "framework"), no("head_dim")) == "worse");
  CHECK(step(no("head_dim"), no("shared_memory")) == "changed");
  CHECK(step(no("head_dim"), no("", answer::Verdict::invalid_graph)) == "changed");
  CHECK(step(no("head_dim"), crashed) == "worse");
  CHECK(step(crashed, no("head_dim")) == "better");
  CHECK(step(error, crashed) == "changed");
  CHECK(step(crashed, wrong) == "worse");
  CHECK(step(wrong, yes(1)) == "better");
  CHECK(step(no("head_dim"), yes(1)) == "better");
}

TEST_CASE("cells on only one side are new or not asked, and single versions are paired", "[baseline]") {
  const CellTable other = table(yes(1), "gpt2"), newer = table(no("head_dim"), "bert", "9.28.1");
  const BaselineLock lock = lock_of(table(yes(1)), "");
  const LockComparison found = compare(lock, other);
  REQUIRE(found.changes.size() == 2);
  CHECK(found.compared == 0);
  CHECK(found.changes[0].step == LockStep::fresh);
  CHECK(found.changes[1].step == LockStep::unasked);
  CHECK(found.changes[1].before->config == "bert");
  const LockComparison across = compare(lock, newer);
  CHECK(across.compared == 1);
  CHECK(across.count(LockStep::worse) == 1);
  // Another shard's cell.
  CellTable part = table(yes(1));
  part.cells.clear();
  CHECK(compare(lock, part).changes.empty());
  // Cells that failed because of the machine do not count as asked.
  CellAnswer broken = no("");
  broken.environment_broken = true;
  const CellTable unasked = table(broken);
  CHECK(compare(lock, unasked).changes.empty());
  CHECK(lock_of(unasked, "").cells.empty());
}

TEST_CASE("a damaged lock file is refused with line, value and allowed values", "[baseline]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    const auto file = folder.file("a.lock", text);
    return usage_error([&] { read_lock(file); }).substr(folder.path().string().size() + 1);
  };
  const std::string good = "bert h200 9.19.0 yes 10\n";
  CHECK_THAT(refusal(""), StartsWith("a.lock:1: \"\" is not how a baseline begins; allowed: \"# attnprobe baseline 1"));
  CHECK_THAT(refusal("{}\n"), StartsWith("a.lock:1: \"{}\" is not how a baseline begins"));
  CHECK_THAT(refusal("# attnprobe baseline 2: x\n"), StartsWith("a.lock:1: \"# attnprobe baseline 2: x\" is not"));
  CHECK(refusal(head + good + good) ==
        "a.lock:3: \"bert h200 9.19.0 yes 10\" is in line 2 too; allowed: each cell once");
  CHECK(refusal(head + good + "gpt2 h200 9.x yes 10\n") ==
        "a.lock:3: \"9.x\" is not a cuDNN version; allowed: versions as 9.19.0");
  CHECK(refusal(std::string(head) + "bert h200 9.19.0 maybe 10\n") ==
        "a.lock:2: \"maybe\" is not an answer; allowed: \"yes\", \"but\", \"no\", \"invalid_graph\", \"error\", "
        "\"crashed\", \"timeout\", \"wrong_result\"");
  CHECK(refusal(std::string(head) + "bert h200 9.19.0 yes ten\n") ==
        "a.lock:2: \"ten\" is not a first engine; allowed: a whole number, or -");
  const std::string columns =
      "; allowed: a line \"config gpu cudnn answer first-engine why\", words with one blank between them";
  CHECK(refusal(std::string(head) + "bert h200 9.19.0\n") ==
        "a.lock:2: \"bert h200 9.19.0\" is not a whole line" + columns);
  CHECK(refusal(std::string(head) + "\n") == "a.lock:2: \"\" is not a whole line" + columns);
  CHECK(refusal(std::string(head) + "bert  h200 9.19.0 yes 1\n") ==
        "a.lock:2: \"bert  h200 9.19.0 yes 1\" is not a line of a baseline" + columns);
  CHECK(refusal(std::string(head) + "bert h200 9.19.0 yes 1 x y\n") ==
        "a.lock:2: \"bert h200 9.19.0 yes 1 x y\" is not a cell" + columns);
  CHECK(refusal(std::string(head) + "\"bert h200 9.19.0 yes 1\n") ==
        "a.lock:2: \"\"bert h200 9.19.0 yes 1\" is not a config's name; allowed: text in quotes as JSON has it");
  CHECK(refusal(head + good + "<<<<<<< HEAD\n") ==
        "a.lock:3: \"<<<<<<< HEAD\" is not a cell; allowed: a file without merge conflicts; --update writes a new one");
}

TEST_CASE("a lock file edited on Windows is read", "[baseline]") {
  const TemporaryFolder folder;
  std::string text = "\xef\xbb\xbf" + std::string(head) + "# asked with: --mode A\nbert h200 9.19.0 yes 10\n";
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  const auto file = folder.file("a.lock", text);
  CHECK(is_lock(file));
  const BaselineLock lock = read_lock(file);
  CHECK(lock.options == "--mode A");
  REQUIRE(lock.cells.size() == 1);
  CHECK(lock.cells[0].engine == 10);
  CHECK(lock.cells[0].line == 3);
  CHECK_FALSE(is_lock(folder.file("b.lock", "\xef\xbb\xbf")));
}

TEST_CASE("reports list worse answers with their line in the lock file and cuDNN's reason", "[baseline]") {
  const CellTable now = table(no("head_dim"));
  BaselineLock lock = lock_of(table(yes(10)), "");
  lock.cells[0].line = 7;
  BaselineReport report{"attention.lock", &now, compare(lock, now), {}};
  CHECK(baseline_headline(report) == "attention.lock: 1 cell compared: 1 worse");
  CHECK(baseline_text(report, {}) ==
        "attention.lock: 1 cell compared: 1 worse\n\nworse (1)\n  bert on h200, cuDNN 9.19.0\n"
        "      was: yes, engine 10 (attention.lock:7)\n      is: no: head_dim: too | large\n");
  CHECK_THAT(baseline_markdown(report),
             ContainsSubstring("### Got worse (1)\n\n| config | GPU | cuDNN | was | is | reason | workaround |\n") &&
                 ContainsSubstring(
                     "| bert | h200 | 9.19.0 | yes, engine 10 (attention.lock:7) | no: head_dim | too \\| large |"));
  CHECK_THAT(baseline_junit(report),
             ContainsSubstring("tests=\"1\" failures=\"1\"") &&
                 ContainsSubstring("message=\"no: head_dim, was yes, engine 10 (attention.lock:7): too | large\""));
  const CellTable good = table(yes(2));
  report = {"attention.lock", &good, compare(lock, good), {}};
  CHECK(baseline_markdown(report) ==
        "## attnprobe: attention.lock: 1 cell compared: nothing got worse; 1 changed\n\n"
        "No failure: 1 changed. `--update` writes today's answers into attention.lock.\n");
  CHECK_THAT(baseline_junit(report), ContainsSubstring("tests=\"1\" failures=\"0\""));
}

}  // namespace attnprobe::test::baseline_test
