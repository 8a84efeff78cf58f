// What the version rules say of results, as text: warnings, notes and unmet requirements.
#pragma once

#include <string>
#include <vector>

#include "report/formats/report.hpp"
#include "rules/frontend_engines.hpp"

namespace attnprobe::report {

/// What the frameworks do that were asked for, a line each, naming the targets unless it is so on all. `results` are one
/// config on some targets. "" where none was asked for.
std::string framework_lines(const Results& results);

/// What stands in the way, for the line of a result.
std::string obstacles_summary(const answer::Answer& result);

/// What gets around a framework's refusal, and what is to know of its call. Known bugs: what gets around them where the line has named them, else the whole of it; with details also where
/// obstacles are from. One paragraph each, naming the targets that it concerns unless it concerns all. `results` are one config on some targets. "" if there is nothing.
std::string warning_text(const Results& results, const TextStyle& style);

/// Engines of cudnn-frontend's own that serve what cuDNN refuses; none for any other result.
std::vector<rules::FrontendEngine> frontend_engines_beside(const answer::Answer& result);

/// What stands beside cuDNN's reason: unmet requirements, that cudnn-frontend refuses the config too, or that it has an
/// engine of its own. `results` are targets on which one config failed alike. "" if there is nothing.
std::string requirement_text(const Results& results, const TextStyle& style);

}  // namespace attnprobe::report
