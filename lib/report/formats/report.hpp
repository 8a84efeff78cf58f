// Results as JSON with its schema, and the basics of all text output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ask/plan.hpp"
#include "base/json.hpp"

namespace attnprobe::report {

/// The version of attnprobe.
std::string tool_version();

/// One entry of "results" in a report (docs: `attnprobe schema report`).
Json to_json(const answer::Answer& result);

/// Results in their fixed order, without missing ones.
using Results = std::vector<const answer::Answer*>;

/// A whole report, schema "attnprobe/report/1".
Json report_json(const Results& results, const std::optional<cudnn::LibraryInfo>& library);

/// JSON Schema (draft 2020-12) of a report.
Json report_schema();

struct TextStyle {
  bool colour = false;
  bool details = false;  ///< every engine config of every result; otherwise only if there is a single result
  size_t width = 110;    ///< width of wrapped paragraphs
};

/// Wraps `text` at spaces to lines of at most `width`, each indented by `indent` spaces.
std::string wrapped(const std::string& text, size_t indent, size_t width);

/// Rows as aligned columns, two spaces apart; the last column is not padded.
std::string aligned(const std::vector<std::vector<std::string>>& rows, size_t indent);

}  // namespace attnprobe::report
