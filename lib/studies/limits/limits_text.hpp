// Limits as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "report/formats/report.hpp"
#include "studies/limits/find_limits.hpp"

namespace attnprobe::limits {

/// "8–256 step 8", "64", "1–255 except multiples of 8". `usual_step`: the step of the range; a step of 1 is not
/// printed.
std::string run_text(const Run& run, int64_t usual_step = 1);

/// A config in words, without the fields that differ between rows.
std::string unvaried_words(const Question& question, const attention::AttentionSpec& spec);

/// Lines with their runs, and the reason for each end.
std::string limits_text(const Question& question, const Limits& limits, const report::TextStyle& style);

/// Schema "attnprobe/limits/1". `command` repeats the question.
Json limits_json(const Question& question, const Limits& limits, const std::string& command);

/// A map of two fields: the last of Question::vary from bottom to top, the axis from left to right. One map per line of
/// the other fields.
std::string map_text(const Question& question, const Limits& limits, const report::TextStyle& style);
std::string map_svg(const Question& question, const Limits& limits);
/// As a page, coloured by answer, engine or category, if Question::shown includes them. `command` repeats the question.
std::string map_html(const Question& question, const Limits& limits, const std::string& command);

}  // namespace attnprobe::limits
