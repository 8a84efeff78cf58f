// Ways out as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "campaign/suggest/suggested.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// Each result with its answer, its ways out, and other GPUs where it works unchanged.
std::string suggest_text(const std::vector<campaign::Suggested>& all, size_t width);

/// Schema "attnprobe/suggest/1".
Json suggest_json(const std::vector<campaign::Suggested>& all);

}  // namespace attnprobe::report
