#include "report_files.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/model/errata.hpp"

namespace attnprobe::app {

const report::Format& format_called(const std::string& name, const char* option) {
  if (const auto* format = report::find_format(name)) return *format;
  throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a format; allowed: {}", option, name,
                                            quoted_list(report::format_names())));
}

ReportFiles::ReportFiles(const AskOptions& options) {
  const auto add_report = [&](const report::Format& format, const std::string& path) {
    OutputFile file(path);
    const bool is_live = !file.is_stream();
    files_.push_back({std::move(file), [&format](const auto& document) { return render(format, document); }, is_live});
  };
  for (const auto& word : options.reports) {
    const size_t equals = word.find('=');
    const report::Format* format = report::find_format(word.substr(0, equals));
    if (equals == std::string::npos || equals + 1 == word.size() || format == nullptr)
      throw Error(ErrorKind::usage, fmt::format("--report: \"{}\" is not FORMAT=FILE; allowed formats: {}", word,
                                                quoted_list(report::format_names())));
    add_report(*format, word.substr(equals + 1));
  }
  if (!options.output.empty()) add_report(format_called(options.format, "--format"), options.output);
  const auto errata = [](const report::Document& document) {
    return json_text(report::errata(document.results()), 2) + "\n";
  };
  if (!options.errata.empty()) files_.push_back({OutputFile(options.errata), errata});
}

void ReportFiles::add(const answer::Answer& result, size_t index) {
  results_[index] = &result;
  const auto begin = Clock::now();
  if (begin < next_write_) return;
  report::Document so_far;
  so_far.groups.emplace_back();
  for (const auto* each : results_)
    if (each != nullptr) so_far.groups.back().push_back(each);
  for (auto& report : files_) {
    if (!report.is_live || report.has_failed) continue;
    try {
      report.file.replace(report.render(so_far));
    } catch (const Error& e) {
      report.has_failed = true;
      spdlog::warn("{}; attnprobe tries again at the end", e.what());
    }
  }
  // Files are always rewritten completely, which takes seconds for ten thousand results, so rewriting may use at most a
  // tenth of the time.
  constexpr int share = 10;
  const auto end = Clock::now();
  next_write_ = end + std::max<Clock::duration>(std::chrono::seconds(1), (share - 1) * (end - begin));
}

std::exception_ptr ReportFiles::finish(const report::Document& document, const std::function<void()>& before_streams) {
  std::exception_ptr failure;
  const auto write = [&](bool streams) {
    for (const auto& report : files_) try {
        if (report.file.is_stream() == streams) report.file.replace(report.render(document));
      } catch (const Error&) {
        if (!failure) failure = std::current_exception();
      }
  };
  write(false);
  before_streams();
  write(true);
  return failure;
}

}  // namespace attnprobe::app
