// Ways out as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "report/formats/report.hpp"
#include "studies/suggest/suggested.hpp"

namespace attnprobe::studies {

/// Each result with its answer, its ways out, and other GPUs where it works unchanged.
std::string suggest_text(const std::vector<Suggested>& all, size_t width);

/// Schema "attnprobe/suggest/1".
Json suggest_json(const std::vector<Suggested>& all);

}  // namespace attnprobe::studies
