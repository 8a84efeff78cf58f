// The list of formats, the rows of measurements, and the schema that stands beside its writer.
#include "report/formats/format.hpp"

#include <set>

#include "catch.hpp"
#include "report/formats/run_text.hpp"
#include "support.hpp"

namespace attnprobe::test::formats_test {

using namespace attnprobe::report;

namespace {

campaign::Result timed_result() {
  campaign::Result result;
  result.verdict = campaign::Verdict::supported;
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

TEST_CASE("Every format is listed by --help, and writes what it is asked for", "[formats]") {
  const std::string help = run_attnprobe("probe --help").out;
  std::set<std::string_view> names, files;
  const campaign::Result result = timed_result();
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

TEST_CASE("A measurement reaches JSON, schema, text, CSV and page by its row", "[formats]") {
  const campaign::Result result = timed_result();
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

TEST_CASE("The schema names every member that a result has, and none that it has not", "[formats]") {
  const campaign::Result result = timed_result();
  const Json json = to_json(result), definitions = report_schema()["$defs"];
  const auto keys = [](const Json& object) {
    std::set<std::string> names;
    for (const auto& [key, value] : object.items()) names.insert(key);
    return names;
  };
  auto expected = keys(definitions["result"]["properties"]);
  for (const char* absent : {"given", "crash", "log", "by_rule", "from", "frameworks", "frontend_engines", "ways_out"})
    expected.erase(absent);
  CHECK(keys(json) == expected);
  for (const auto& [what, part] :
       {std::pair("run", json["engine_configs"][0]["run"]), std::pair("time", json["engine_configs"][0]["time"]),
        std::pair("engine_config", json["engine_configs"][0])})
    CHECK(keys(part) == keys(definitions[what]["properties"]));
  CHECK(definitions["run"]["properties"]["status"]["enum"] == names_of<probe::RunStatus>());
}

}  // namespace attnprobe::test::formats_test
