// The list of formats, the rows of measurements, and the schema for them.
#include "report/formats/format.hpp"

#include <fmt/format.h>

#include <set>

#include "browser.hpp"
#include "catch.hpp"
#include "matrix_folder.hpp"
#include "report/formats/run_text.hpp"
#include "support.hpp"

namespace attnprobe::test::formats_test {

using namespace attnprobe::report;

namespace {

answer::Answer timed_result() {
  answer::Answer result;
  result.verdict = answer::Verdict::supported;
  result.target.id = "h200";
  result.target.name = "the h200 of a test";
  probe::EngineConfigFindings config;
  config.engine = 2;
  config.check.supported = true;
  config.run.emplace();
  config.run->status = probe::RunStatus::ok;
  config.time.emplace();
  double value = 1;
  for (const Measurement& measured : measurements()) *config.time.*measured.value = value++;
  result.findings.engine_configs = {config};
  return result;
}

}  // namespace

TEST_CASE("Every format is listed by --help and writes its output", "[formats]") {
  const std::string help = run_attnprobe("probe --help").out;
  std::set<std::string_view> names, files;
  const answer::Answer result = timed_result();
  Document document;
  document.groups = {{&result}};
  for (const Format& format : formats()) {
    INFO(format.name);
    CHECK(names.insert(format.name).second);
    CHECK((format.matrix_file.empty() || files.insert(format.matrix_file).second));
    CHECK((format.of_results != nullptr) != (format.of_cells != nullptr));
    CHECK_THAT(help, ContainsSubstring(std::string(format.name) + ":"));
    CHECK_THAT(render(format, document), ContainsSubstring("h200"));
    CHECK(find_format(format.name)->name == format.name);
  }
  CHECK(find_format("docx") == nullptr);
  const Run wrong = run_attnprobe("--heads 8 --seqlen 256 --head-dim 64 --target h200 --report docx=x");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("\"docx=x\" is not FORMAT=FILE; allowed formats: \"table\", \"json\""));
}

TEST_CASE("A measurement's table row adds it to JSON, schema, text, CSV and page", "[formats]") {
  const answer::Answer result = timed_result();
  const auto& config = result.findings.engine_configs.at(0);
  const Json time = to_json(result)["engine_configs"][0]["time"];
  const Json schema = report_schema()["$defs"]["time"];
  Document document;
  document.groups = {{&result}};
  const std::string csv = render(*find_format("csv"), document), page = render(*find_format("html"), document);
  double value = 1;
  for (const Measurement& measured : measurements()) {
    const std::string key(measured.key);
    INFO(key);
    CHECK(time[key] == value++);
    CHECK(schema["properties"].contains(key));
    CHECK((csv.find("," + key + ",") != std::string::npos) == measured.in_csv);
    if (!measured.in_page.empty())
      CHECK_THAT(page,
                 ContainsSubstring("\"" + std::string(measured.in_page) + "\":" + std::to_string(int(value - 1))));
  }
  CHECK_THAT(time_cell(config), StartsWith("1 ms +-200.0%, hot 3 ms, CUDA graph 4 ms, "));
}

TEST_CASE("The schema names exactly the members of a result", "[formats]") {
  const answer::Answer result = timed_result();
  const Json json = to_json(result), definitions = report_schema()["$defs"];
  const auto keys = [](const Json& object) {
    std::set<std::string> names;
    for (const auto& [key, value] : object.items()) names.insert(key);
    return names;
  };
  auto expected = keys(definitions["result"]["properties"]);
  for (const char* absent :
       {"given", "crash", "gpu_ms", "log", "by_rule", "from", "frameworks", "frontend_engines", "ways_out"})
    expected.erase(absent);
  CHECK(keys(json) == expected);
  for (const auto& [what, part] :
       {std::pair("run", json["engine_configs"][0]["run"]), std::pair("time", json["engine_configs"][0]["time"]),
        std::pair("engine_config", json["engine_configs"][0])})
    CHECK(keys(part) == keys(definitions[what]["properties"]));
  CHECK(definitions["run"]["properties"]["status"]["enum"] == names_of<probe::RunStatus>());
}

namespace {

// Cells with every kind of message for readers.
CellTable told_table() {
  CellTable table;
  table.axes.configs = {"plain", "odd"};
  table.axes.targets = {{"h200", "an H200", "simulated", "Hopper", 90}, {"t4", "a T4", "simulated", "Turing", 75}};
  table.axes.cudnns = {"9.14.0", "9.19.0"};
  for (const char* name : {"plain", "odd"})
    table.configs.push_back({name, "summary", "sdpa", "fprop", "f16", "", "attnprobe", Json::object()});
  CellAnswer yes, but, no;
  for (CellAnswer* answer : {&yes, &but, &no}) answer->met = true;
  yes.verdict = but.verdict = answer::Verdict::supported;
  no.verdict = answer::Verdict::unsupported;
  yes.word = answer::Word::yes;
  but.word = answer::Word::but;
  no.word = answer::Word::no;
  yes.viable = 7;
  yes.notes = {{"known_bug", "wrong gradients. Take 9.21", "release notes"}};
  but.but = {{"framework", "PyTorch refuses dropout", "sdp_utils.cpp"}};
  but.frameworks = {{"PyTorch", "refused", "PyTorch refuses dropout", "flash runs", {"set dropout to 0"}, {}}};
  no.category = "head_dim";
  no.reason = "not a multiple of 8";
  no.advice = {"head_dim 104: supported here, by engine 8\nattnprobe --head-dim 104", "second", "third"};
  table.answers = {yes, but, no};
  // plain: no, no; yes on the H200 from 9.19. odd: but on the H200, no on the T4.
  table.cells = {{{0, 0, 0}, 2}, {{0, 0, 1}, 0}, {{0, 1, 0}, 2}, {{0, 1, 1}, 2},
                 {{1, 0, 0}, 1}, {{1, 0, 1}, 1}, {{1, 1, 0}, 2}, {{1, 1, 1}, 2}};
  table.target_words = {"h200", "t4"};
  table.cudnn_words = table.axes.cudnns;
  return table;
}

}  // namespace

TEST_CASE("Markdown has answers, warnings, gates, first versions, and workarounds", "[formats]") {
  const std::string report = find_format("md")->of_cells(told_table());
  INFO(report);
  CHECK_THAT(report, ContainsSubstring("| plain | 9.19.0: h200 | yes ⚠ | no |"));
  CHECK_THAT(report, ContainsSubstring("| odd | never | but | no |"));
  CHECK_THAT(report, ContainsSubstring("| PyTorch refuses dropout | sdp_utils.cpp | 2 |"));
  CHECK_THAT(report, ContainsSubstring("| wrong gradients. Take 9.21 | release notes | 1 |"));
  CHECK_THAT(report, ContainsSubstring("| PyTorch refuses dropout | flash runs | set dropout to 0 | 2 |"));
  CHECK_THAT(report, ContainsSubstring("| odd | h200 | 9.19.0 | but | PyTorch refuses dropout | set dropout to 0 |"));
  CHECK_THAT(report, ContainsSubstring("| plain | t4 | 9.19.0 | no | head_dim: not a multiple of 8 | head_dim 104: "
                                       "supported here, by engine 8; second |"));
  CHECK_FALSE(contains(report, "third"));
  CHECK_FALSE(contains(report, "7"));  // engine counts are for the page
  CHECK_FALSE(contains(report, "left out"));
}

TEST_CASE("Markdown of a large matrix reports what it omits", "[formats]") {
  CellTable table = told_table();
  table.cells.clear();
  table.configs.clear();
  table.axes.configs.clear();
  for (size_t c = 0; c < 150; ++c) {
    table.axes.configs.push_back(fmt::format("config {}", c));
    table.configs.push_back({table.axes.configs.back(), "", "sdpa", "fprop", "f16", "", "", Json::object()});
    table.cells.push_back({{c, 0, 1}, 2});
  }
  const std::string report = find_format("md")->of_cells(table);
  CHECK_THAT(report, ContainsSubstring("… 50 more rows are omitted; the page of this matrix shows all"));
  CHECK(report.size() < (1 << 20));
}

TEST_CASE("A page restores its view from the address, counts, transposes, saves and shows workarounds",
          "[page][browser][slow]") {
  const MatrixFolder folder(R"({
    "targets": ["h200", "l40s", "t4"], "framework": "torch==2.15.0",
    "defaults": {"heads": 8, "seqlen": 256, "expect": "any"},
    "configs": [{"name": "plain", "head_dim": [64, 100], "pass": ["fprop", "bprop"]},
                {"name": "dropout", "head_dim": 64, "dropout": 0.1, "mask": "causal"}]})");
  REQUIRE(folder.run("out", "--no-cache --suggest").exit_code == 0);
  const std::string invented = folder.path("invented.html");
  check_in_browser(
      fmt::format("tests/report/check_page.py {} && tests/report/make_matrix_data.py {} --configs 100 "
                  "--targets 12 --versions 3 && tests/report/check_page.py {}",
                  folder.path("out/index.html"), invented, invented));
}

}  // namespace attnprobe::test::formats_test
