#include "worker/sanitizer_log.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.hpp"

namespace attnprobe::worker {
namespace {

using probe::SanitizerError;
using probe::SanitizerFindings;
using probe::SanitizerStatus;

void count(SanitizerFindings& findings, const std::string& what, const std::string& kernel) {
  for (auto& known : findings.found)
    if (known.what == what && known.kernel == kernel) {
      ++known.count;
      return;
    }
  findings.found.push_back({what, kernel, 1});
}

std::string_view as_view(const re2::StringPiece& piece) {
  return {piece.data(), piece.size()};
}

}  // namespace

// A report begins with a separate line; its details are indented:
//   ========= Invalid __global__ read of size 16 bytes
//   =========     at kernel_name(float *)+0x1a0 in file.cu:7
//   ========= Error: Race reported between Write access at kernel_name+0x90 and Read access at … [4 hazards]
//   ========= ERROR SUMMARY: 12 errors   or   ========= RACECHECK SUMMARY: 4 hazards displayed (4 errors, 0 warnings)
SanitizerFindings read_sanitizer_log(std::string_view log) {
  static const RE2 line_of_tool("^=========(?: ?)(.*)$"), error_summary("^ERROR SUMMARY: (\\d+) errors?"),
      race_summary("^RACECHECK SUMMARY: \\d+ hazards? displayed \\((\\d+) errors?, (\\d+) warnings?\\)"),
      place("^\\s+at (.+?)\\+0x[0-9a-f]+(?: in .*)?$"), race("^(?:Error|Warning): (.*?) access at (.+?)\\+0x[0-9a-f]+"),
      other("^(COMPUTE-SANITIZER|LEAK SUMMARY|Error: process didn't terminate|Target application|No attachable)");
  SanitizerFindings findings;
  bool has_summary = false;
  std::optional<std::string> open;  // a report without its kernel so far
  const auto close = [&](const std::string& kernel) {
    if (open) count(findings, *open, kernel);
    open.reset();
  };
  for (const auto& line : split(std::string(log), '\n')) {
    re2::StringPiece rest, what, kernel;
    if (!RE2::FullMatch(line, line_of_tool, &rest)) continue;
    if (RE2::PartialMatch(rest, place, &kernel)) {
      close(std::string(as_view(kernel)));
    } else if (rest.empty() || rest[0] == ' ') {
      continue;
    } else if (RE2::PartialMatch(rest, error_summary, &findings.errors) ||
               RE2::PartialMatch(rest, race_summary, &findings.errors, &findings.warnings)) {
      close("");
      has_summary = true;
    } else if (RE2::PartialMatch(rest, race, &what, &kernel)) {
      close("");
      count(findings, std::string(as_view(what)) + " access", std::string(as_view(kernel)));
    } else if (!RE2::PartialMatch(rest, other)) {
      close("");
      open = std::string(as_view(rest));
    }
  }
  close("");
  std::stable_sort(findings.found.begin(), findings.found.end(),
                   [](const SanitizerError& a, const SanitizerError& b) { return a.count > b.count; });
  if (has_summary) findings.status = findings.errors > 0 ? SanitizerStatus::errors : SanitizerStatus::clean;
  return findings;
}

}  // namespace attnprobe::worker
