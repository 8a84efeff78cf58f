// attnprobe diff: the classes of changes.
#include "report/model/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::diff_test {

using namespace attnprobe::report;

namespace {

CellEngine engine(int64_t number, std::optional<double> ms = {}) {
  CellEngine result;
  result.engine = number;
  result.viable = result.works = true;
  result.modes = fmt::format("A{}", number);
  if (ms) result.figures["median_ms"] = *ms;
  if (ms) result.run = "ok";
  return result;
}

CellAnswer answer(const std::string& verdict, const std::string& reason = "", std::vector<CellEngine> engines = {}) {
  CellAnswer result;
  result.verdict = parse_enum<answer::Verdict>(verdict).value();
  result.word = answer::word_of(result.verdict);
  result.reason = reason;
  result.engines = std::move(engines);
  return result;
}

// One config on one GPU.
CellTable table(const CellAnswer& only, const std::string& cudnn = "9.14.0") {
  CellTable result;
  result.axes.configs = {"bert"};
  result.axes.targets = {{"h200", "NVIDIA H200", "simulated", "Hopper", 90}};
  result.axes.cudnns = {cudnn};
  result.configs.resize(1);
  result.answers = {only};
  result.cells = {{{0, 0, 0}, 0}};
  return result;
}

std::string change(const CellAnswer& before, const CellAnswer& after) {
  const Diff diff = diff_cells(table(before), table(after, "9.19.0"), {});
  CHECK(diff.compared == 1);
  return diff.changes.empty() ? "" : std::string(name_of(diff.changes.at(0).kind));
}

}  // namespace

TEST_CASE("each kind of change has its name", "[diff]") {
  const auto good = answer("supported", "", {engine(2)}), bad = answer("unsupported", "too large");
  CHECK(change(good, good).empty());
  CHECK(change(good, bad) == "now_no");
  CHECK(change(bad, good) == "now_yes");
  CHECK(change(bad, bad).empty());
  CHECK(change(bad, answer("unsupported", "too odd")) == "reason_changed");
  CHECK(change(good, answer("wrong_result")) == "wrong");
  CHECK(change(answer("wrong_result"), good) == "right");
  CHECK(change(good, answer("crashed")) == "lost");
  CHECK(change(answer("timeout"), good) == "recovered");
  CHECK(change(answer("timeout"), answer("crashed")).empty());
  CHECK(change(good, answer("supported", "", {engine(1)})) == "engine_changed");
  auto two = answer("supported", "", {engine(2), engine(1)});
  two.viable = 2;
  CHECK(change(good, two) == "more_engines");
  CHECK(change(two, good) == "fewer_engines");
  auto composite = good, unified = good;
  composite.pattern = "sdpa_composite";
  unified.pattern = "sdpa_unified";
  CHECK(change(composite, unified) == "graph_changed");
  // The C++ after " at: " changes between versions, and 9.23 writes the same choice with different knobs.
  CHECK(change(answer("unsupported", "too large at: a > b"), answer("unsupported", "too large at: a_ > b_")).empty());
  auto old_knobs = good, new_knobs = good, other_value = good;
  old_knobs.engines[0].knobs = "KERNEL_CFG=7";
  new_knobs.engines[0].knobs = "KERNEL_CFG=1 STREAM_K=0";
  other_value.engines[0].knobs = "KERNEL_CFG=3";
  CHECK(change(old_knobs, new_knobs).empty());
  CHECK(change(old_knobs, other_value) == "engine_changed");
}

TEST_CASE("the same engine config with different machine code is a kernel change, with its stack", "[diff]") {
  const auto with_kernel = [](const char* identity, int64_t stack) {
    auto made = answer("supported", "", {engine(2)});
    probe::PlanKernel& kernel = made.engines[0].kernels.emplace_back();
    kernel.registers = 168;
    kernel.stack_bytes = stack;
    kernel.identity = identity;
    return made;
  };
  const auto before = with_kernel("aa", 0);
  CHECK(change(before, with_kernel("aa", 0)).empty());
  CHECK(change(before, with_kernel("bb", 0)) == "kernel_changed");
  auto other = with_kernel("bb", 8);
  other.engines[0].kernels[0].registers = 255;
  other.engines[0].shared_memory_bytes = 1024;
  const KernelCounts counts = diff_cells(table(before), table(other), {}).kernels;
  CHECK(Json(counts) == Json{{"compared", 1},
                             {"changed", 1},
                             {"engine", 0},
                             {"registers", 1},
                             {"less_stack", 0},
                             {"more_stack", 1},
                             {"shared_memory", 1}});
  CHECK(contains(cells_summary(table(other)), "; 1 plan holds 1 kernel"));
  CHECK_FALSE(contains(cells_summary(table(answer("supported", "", {engine(2)}))), "kernel"));
  // A report without plans has no kernels.
  CHECK(change(before, answer("supported", "", {engine(2)})).empty());
}

TEST_CASE("a but is not a yes, and its obstacles give the reason", "[diff]") {
  const auto good = answer("supported", "", {engine(2)}), bad = answer("unsupported", "too large");
  auto but = good, other = good;
  but.word = other.word = answer::Word::but;
  but.but = {{"known_bug", "known bug: its kernel does not compile", ""}};
  other.but = {{"framework", "PyTorch refuses it", ""}};
  CHECK(change(good, but) == "yes_to_but");
  CHECK(change(bad, but) == "no_to_but");
  CHECK(change(but, good) == "now_yes");
  CHECK(change(but, bad) == "now_no");
  CHECK(change(but, but).empty());
  CHECK(change(but, other) == "reason_changed");
  CHECK(is_regression(ChangeKind::yes_to_but));
  CHECK_FALSE(is_regression(ChangeKind::no_to_but));
  const Diff diff = diff_cells(table(bad), table(but), {});
  CHECK(diff.changes.at(0).after == "but, known bug: its kernel does not compile; 0 engine configs work");
}

TEST_CASE("the heading names the cuDNN of the compared cells", "[diff]") {
  const auto good = answer("supported", "", {engine(2)}), bad = answer("unsupported", "too large");
  CellTable before = table(good, "9.28.1");
  before.axes.cudnns.push_back("9.13.1");
  before.cells.push_back({{0, 0, 1}, 0});
  const Diff diff = diff_cells(before, table(bad, "9.28.1"), {});
  const std::string text = diff_text(diff, {});
  CHECK_THAT(text, StartsWith("cuDNN 9.28.1: 1 cell in both"));
  CHECK_THAT(text, ContainsSubstring("now no (1)\n  bert on h200\n"));
  CHECK_THAT(text, ContainsSubstring("removed (1)\n  bert on h200, cuDNN 9.13.1\n"));
}

TEST_CASE("times of the fastest correct engine config differ only beyond the tolerance", "[diff]") {
  auto timed = [](double a, double b) { return answer("supported", "", {engine(2, a), engine(1, b)}); };
  CHECK(change(timed(1.0, 2.0), timed(1.04, 2.0)).empty());
  CHECK(change(timed(1.0, 2.0), timed(1.10, 2.0)) == "slower");
  CHECK(change(timed(1.0, 2.0), timed(0.80, 2.0)) == "faster");
  CHECK(change(timed(1.0, 2.0), timed(3.0, 1.0)).empty());
  auto wrong = timed(1.0, 2.0);
  wrong.engines[0].run = "wrong_result";  // speed is not compared
  wrong.engines[0].works = false;
  CHECK(change(timed(1.0, 2.0), wrong) == "slower");
}

TEST_CASE("cells missing from one report are added or removed", "[diff]") {
  auto before = table(answer("supported")), after = table(answer("supported"));
  after.axes.configs = {"gpt2"};
  const Diff diff = diff_cells(before, after, {});
  REQUIRE(diff.changes.size() == 2);
  CHECK(diff.compared == 0);
  CHECK(diff.changes[0].kind == ChangeKind::removed);
  CHECK(diff.changes[0].config == "bert");
  CHECK(diff.changes[1].kind == ChangeKind::added);
  CHECK(diff_text(diff, {}).find("removed (1)\n  bert on h200, cuDNN 9.14.0\n") != std::string::npos);
}

TEST_CASE("diff compares two reports and exits with 1 on a regression", "[diff]") {
  const TemporaryFolder folder;
  const auto report = [&](const char* name, int head_dim) {
    const std::string file = (folder.path() / name).string();
    run_attnprobe(fmt::format(
        "--name x --heads 8 --seqlen 256 --head-dim {} --target h200,t4 --quick --format json -o {}", head_dim, file));
    return file;
  };
  const std::string good = report("good.json", 64), bad = report("bad.json", 60);
  const Run worse = run_attnprobe(fmt::format("diff {} {}", good, bad));
  CHECK(worse.exit_code == 1);
  CHECK_THAT(worse.out, ContainsSubstring("cuDNN 9.19.0: 2 cells in both, 1 now no"));
  CHECK_THAT(worse.out, ContainsSubstring("\n  x on h200\n"));
  CHECK_THAT(worse.out, ContainsSubstring("is not a multiple of 8"));
  CHECK(run_attnprobe(fmt::format("diff {} {}", bad, good)).exit_code == 0);
  CHECK(run_attnprobe(fmt::format("diff {} {} --fail-on now_yes", bad, good)).exit_code == 1);
  CHECK(run_attnprobe(fmt::format("diff {} {} --fail-on none", good, bad)).exit_code == 0);
  CHECK(run_attnprobe(fmt::format("diff {} {}", good, good)).out == "cuDNN 9.19.0: 2 cells in both, nothing changed\n");
  const Json json = run_attnprobe(fmt::format("diff {} {} --format json", good, bad)).json();
  CHECK(json["counts"]["now_no"] == 1);
  CHECK(json["changes"][0]["target"] == "h200");
  CHECK_THAT(run_attnprobe(fmt::format("diff {} {} --format md", good, bad)).out, ContainsSubstring("### now no (1)"));
  CHECK_THAT(run_attnprobe(fmt::format("diff {} {} --fail-on worse", good, bad)).err,
             ContainsSubstring("--fail-on: \"worse\" is not a kind of change"));
  CHECK_THAT(run_attnprobe(fmt::format("diff {} {} --new-cudnn 9.1.0", good, bad)).err,
             ContainsSubstring("no cell has cuDNN \"9.1.0\"; allowed: \"9.19.0\""));
  CHECK_THAT(run_attnprobe(fmt::format("diff {} {} --old-cudnn 9.19 --new-cudnn 9", good, good)).out,
             ContainsSubstring("nothing changed"));
  CHECK_THAT(run_attnprobe("diff README.md " + good).err,
             ContainsSubstring("README.md: neither the cells of a matrix"));
}

TEST_CASE("a report with a value of the wrong type is refused at its location", "[diff]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    const auto file = folder.file("report.json", text);
    return usage_error([&] { load_cells(file); }).substr(folder.path().string().size() + 1);
  };
  CHECK(refusal(R"({"results": 3})") == "report.json: /results: 3 is not an array");
  CHECK(refusal(R"({"results": [4]})") == "report.json: /results/0: 4 is not an object");
  CHECK(refusal(R"({"results": [{"config": {"name": 7}}]})") == "report.json: /results/0/config/name: 7 is not text");
  CHECK(refusal(R"({"results": [{"target": {"sm": "90"}}]})") ==
        "report.json: /results/0/target/sm: \"90\" is not an integer from 0 to 2147483647");
  CHECK(refusal(R"({"results": [{}, {"met": "yes"}]})") ==
        "report.json: /results/1/met: \"yes\" is not a boolean; allowed: true, false");
  CHECK(refusal(R"({"results": [{"engine_configs": [{"engine": 1.5}]}]})") ==
        "report.json: /results/0/engine_configs/0/engine: 1.5 is not an integer");
  CHECK(refusal(R"({"results": [{"engine_configs": [{"knobs": {"A": "1"}}]}]})") ==
        "report.json: /results/0/engine_configs/0/knobs/A: \"1\" is not an integer");
  CHECK(refusal(R"({"results": [{"engine_configs": [{"time": {"median_ms": "2"}}]}]})") ==
        "report.json: /results/0/engine_configs/0/time/median_ms: \"2\" is not a number");
  CHECK(refusal(R"({"results": [{"root_cause": {"advice": "none"}}]})") ==
        "report.json: /results/0/root_cause/advice: \"none\" is not an array of texts");
  CHECK_THAT(refusal("{\n\"results\": [}"), StartsWith("report.json:2: not valid JSON: "));
  CHECK(refusal(R"({"results": [{"met": true, "met": false}]})") ==
        "report.json: /results/0/met: the key \"met\" appears twice in one object");
  CHECK_THAT(refusal("[]"), StartsWith("report.json: neither the cells of a matrix nor a report"));
}

TEST_CASE("members with a default for diff may be missing or null", "[diff]") {
  const TemporaryFolder folder;
  const auto file = folder.file("report.json", R"({"results": [{"verdict": "unsupported", "root_cause": null,
    "config": null, "engine_configs": [{"plan": null, "check": null, "workspace_bytes": null}]}]})");
  const CellTable cells = load_cells(file);
  REQUIRE(cells.cells.size() == 1);
  const CellAnswer& answer = cells.answer(cells.cells[0]);
  CHECK(answer.verdict == answer::Verdict::unsupported);
  CHECK_FALSE(answer.met);
  REQUIRE(answer.engines.size() == 1);
  CHECK(answer.engines[0].engine == -1);
}

TEST_CASE("a cell file with a value of the wrong type is refused with line and location", "[diff]") {
  const TemporaryFolder folder;
  const std::string axes = R"("title": "", "command": "", "configs": ["a"], "cudnns": ["9.19.0"], "targets":
    [{"id": "h200", "name": "H200", "sm": 90, "kind": "simulated", "architecture": "Hopper"}])";
  const auto header = [&](std::string members) {
    std::replace(members.begin(), members.end(), '\n', ' ');
    return R"({"schema": "attnprobe/cells/1", "axes": {)" + members + "}}\n";
  };
  const auto refusal = [&](const std::string& text) {
    const auto file = folder.file("cells.jsonl", text);
    return usage_error([&] { load_cells(file); }).substr(folder.path().string().size() + 1);
  };
  CHECK(load_cells(folder.file("good.jsonl", header(axes) + "{\"cell\":[0,0,0],\"met\":true}\n")).cells.size() == 1);
  CHECK(refusal(header(axes) + "{\"cell\":[0,0,0],\"met\":1}\n") ==
        "cells.jsonl:2: /met: 1 is not a boolean; allowed: true, false");
  // If a cell occurs twice, the later line applies, and the message names it.
  CHECK(
      refusal(header(axes) + "{\"cell\":[0,0,0],\"met\":true}\n{\"cell\":[0,0,0],\"modes\":[{\"viable\":\"x\"}]}\n") ==
      "cells.jsonl:3: /modes/0/viable: \"x\" is not an integer");
  CHECK_THAT(refusal(header(axes) + "{\"cell\":[0,0,0],\"met\":tru}\n"),
             StartsWith("cells.jsonl:2: {\"met\":tru} is not valid JSON: syntax error"));
  CHECK(refusal(header(axes) + "{\"cell\":[0,0,1],\"met\":true}\n") ==
        "cells.jsonl: line 2 is not a cell of this matrix");
  CHECK(refusal(header(R"("title": 3)")) == "cells.jsonl:1: /axes/title: 3 is not text");
  CHECK(refusal(header(R"("title": "")")) == "cells.jsonl:1: /axes: the key \"command\" is missing");
  CHECK(refusal(R"({"schema": "attnprobe/cells/12"})"
                "\n") ==
        "cells.jsonl:1: /schema: \"attnprobe/cells/12\" is not a known value; allowed: \"attnprobe/cells/1\" (did you "
        "mean \"attnprobe/cells/1\"?)");
}

TEST_CASE("a merge names the report with a wrong value", "[diff]") {
  const TemporaryFolder folder;
  const auto file = folder.file("report.json", R"({"results": [{"frontend": {"refuses": 0}}]})");
  CHECK(usage_error([&] { merge_cells({file}, folder.path() / "cells.jsonl", ""); }) ==
        file.string() + ": /results/0/frontend/refuses: 0 is not a boolean; allowed: true, false");
}

}  // namespace attnprobe::test::diff_test
