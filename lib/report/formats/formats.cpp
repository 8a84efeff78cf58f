#include "report/formats/format.hpp"

#include <fmt/format.h>

#include <future>

#include "base/error.hpp"
#include "base/output_file.hpp"

namespace attnprobe::report {

// One per file of this folder.
extern const Format table_format, json_format, jsonl_format, csv_format, junit_format, markdown_format, html_format;

const std::vector<Format>& formats() {
  static const std::vector<Format> all{table_format, json_format,     jsonl_format, csv_format,
                                       junit_format, markdown_format, html_format};
  return all;
}

Results Document::results() const {
  Results all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return names;
}

std::string format_help() {
  std::string text;
  for (const Format& format : formats())
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", format.name, format.what);
  return text;
}

const Format* find_format(std::string_view name) {
  for (const Format& format : formats())
    if (format.name == name) return &format;
  return nullptr;
}

std::string render(const Format& format, const Document& document) {
  if (format.of_results != nullptr) return format.of_results(document);
  const Json report = report_json(document.results(), document.library);
  return format.of_cells(cells_of_report(JsonView(report, {.name = "report", .kind = ErrorKind::internal})));
}

void write_matrix_reports(const std::filesystem::path& folder, const CellLog& log, const CellTable& table) {
  // In parallel: each file is a whole document.
  std::vector<std::future<void>> files;
  for (const Format& format : formats()) {
    if (format.matrix_file.empty()) continue;
    files.push_back(std::async(std::launch::async, [&, file = folder / format.matrix_file] {
      if (format.of_log != nullptr)
        OutputFile(file).replace([&](std::ostream& out) { format.of_log(log, out); });
      else
        OutputFile(file).replace(format.of_cells(table));
    }));
  }
  for (auto& file : files) file.get();
}

}  // namespace attnprobe::report
