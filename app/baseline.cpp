#include "baseline.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "ask.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "exit_code.hpp"
#include "output.hpp"
#include "report/formats/baseline_report.hpp"

namespace attnprobe::app {
namespace {

namespace fs = std::filesystem;

std::string or_usual(const std::string& asked) {
  return asked.empty() ? "the usual options" : "\"" + asked + "\"";
}

// --update replaces only a baseline, no other file.
report::BaselineLock before_update(const std::string& file) try {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  return report::read_lock(file);
} catch (const Error& e) {
  if (!report::is_lock(file)) throw;
  spdlog::warn("{}; it is rewritten", e.what());
  return {};
}

report::BaselineLock before_check(const std::string& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw Error(ErrorKind::usage, fmt::format("--baseline {}: the file does not exist; --update writes it", file));
  return report::read_lock(file);
}

}  // namespace

void add_baseline_options(CLI::App& command, BaselineOptions& options) {
  const std::string group = "Baseline";
  auto* baseline = command.add_option(
      "--baseline", options.file,
      "lock file to commit, one line per cell. Exit code 0 if no answer got worse since the lock file; --out is optional");
  baseline->group(group);
  command.add_flag("--update", options.update, "rewrite the baseline")->needs(baseline)->group(group);
  command
      .add_option("--report", options.reports,
                  "report of the regressions, FORMAT=FILE with junit or md (a step summary); repeatable")
      ->needs(baseline)
      ->group(group);
}

Baseline::Baseline(BaselineOptions options, std::string asked, const std::vector<std::string>& inputs)
    : options_(std::move(options)), asked_(std::move(asked)) {
  std::vector<NamedFile> outputs, read;
  for (const std::string& word : options_.reports) {
    const size_t equals = word.find('=');
    const std::string form = word.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == word.size() || (form != "junit" && form != "md"))
      throw Error(ErrorKind::usage,
                  fmt::format("--report: \"{}\" is not FORMAT=FILE; allowed formats: \"junit\", \"md\"", word));
    reports_.push_back({form, word.substr(equals + 1)});
    outputs.push_back({"--report " + word, reports_.back().file});
  }
  for (const std::string& input : inputs) read.push_back({"FILE", input});
  (options_.update ? outputs : read).push_back({"--baseline " + options_.file, options_.file});
  check_outputs(outputs, read);
  for (const NamedFile& output : outputs) OutputFile{output.path};
  before_ = options_.update ? before_update(options_.file) : before_check(options_.file);
  if (!options_.update && before_.options != asked_)
    throw Error(ErrorKind::usage, fmt::format("{}: it was made with {}, this run uses {}; --update rewrites it",
                                              options_.file, or_usual(before_.options), or_usual(asked_)));
}

int Baseline::finish(const report::CellTable& table, const std::vector<bool>& has_expectation,
                     const std::string& folder) const {
  report::BaselineReport report{options_.file, &table, report::compare(before_, table), {}};
  size_t unasked = 0;
  for (const report::Cell& cell : table.cells) {
    const report::CellAnswer& answer = table.answer(cell);
    unasked += answer.environment_broken ? 1 : 0;
    if (has_expectation[cell.place.config] && !answer.met && !answer.environment_broken) report.missed.push_back(&cell);
  }
  bool is_written = false;
  // In a first lock file, everything is new.
  if (!before_.cells.empty() || !report.missed.empty()) print_text(baseline_text(report, terminal_style(false)));
  if (options_.update && unasked == 0) {
    const report::BaselineLock now = report::lock_of(table, asked_);
    OutputFile(options_.file).replace(text_of(now));
    print_text(fmt::format("{}: {} written\n", options_.file, counted(static_cast<int64_t>(now.cells.size()), "cell")));
    // Accepted changes are not reported again.
    report.comparison.changes.clear();
    is_written = true;
  } else if (options_.update) {
    spdlog::error("{} is unchanged: {} have no answer", options_.file, counted(static_cast<int64_t>(unasked), "cell"));
  }
  for (const Report& each : reports_)
    write_data(each.file, each.form == "md" ? baseline_markdown(report) : baseline_junit(report));
  if (!folder.empty()) {
    OutputFile(fs::path(folder) / "report.md").replace(baseline_markdown(report));
    OutputFile(fs::path(folder) / "report.xml").replace(baseline_junit(report));
  }
  // --update writes all answers, even worse ones.
  if (is_written) return all_met;
  const auto failures = baseline_failures(report);
  return exit_code(table, [&](const report::Cell& cell) { return failures.count(&cell) != 0; });
}

}  // namespace attnprobe::app
