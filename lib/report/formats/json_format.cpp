// The whole report as one JSON document, schema "attnprobe/report/1".
#include <ostream>
#include <utility>

#include "base/text.hpp"
#include "report/formats/format.hpp"

namespace attnprobe::report {
namespace {

std::string json(const Document& document) {
  Json report = report_json(document.results(), document.library);
  if (document.add_to_json) document.add_to_json(report);
  return json_text(report, 2) + "\n";
}

// Line by line, because the cells of a large matrix do not fit in memory as JSON.
void json_of_log(const CellLog& log, std::ostream& out) {
  const Json head = {{"schema", "attnprobe/report/1"},
                     {"tool", {{"name", "attnprobe"}, {"version", tool_version()}}},
                     {"matrix", log.axes()}};
  std::string text = json_text(head);
  text.back() = ',';
  out << text << "\n\"results\": [";
  const char* separator = "\n";
  log.for_each(
      [&](const asking::CellPlace&, const std::string& cell) { out << std::exchange(separator, ",\n") << cell; });
  out << "\n]}\n";
}

}  // namespace

extern const Format json_format;
const Format json_format{
    "json", "everything, for programs (`attnprobe schema report`)", "report.json", json, nullptr, json_of_log};

}  // namespace attnprobe::report
