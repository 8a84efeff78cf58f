// The version rules' remarks on results, as text: warnings, notes and unmet requirements.
#pragma once

#include <string>
#include <vector>

#include "report/formats/report.hpp"
#include "rules/frontend_engines.hpp"

namespace attnprobe::report {

/// The requested frameworks' decisions, one per line, with the targets unless all share them. `results`: of one config
/// on some targets. "" if no framework was requested.
std::string framework_lines(const Results& results);

/// The obstacles, for the line of a result.
std::string obstacles_summary(const answer::Answer& result);

/// Workarounds for a framework's refusal, and facts about its call. Known bugs: only the workaround if the result's
/// line names the bug, otherwise the description too; with details also the sources of obstacles. One paragraph each,
/// with its targets unless it affects all. `results`: of one config on some targets. "" if there is nothing.
std::string warning_text(const Results& results, const TextStyle& style);

/// cudnn-frontend's own engines that support what cuDNN refuses; none for any other result.
std::vector<rules::FrontendEngine> frontend_engines_beside(const answer::Answer& result);

/// Additions to cuDNN's reason: unmet requirements, a refusal by cudnn-frontend, or a supporting engine of
/// cudnn-frontend's own. `results` are targets on which one config failed in the same way. "" if there is nothing.
std::string requirement_text(const Results& results, const TextStyle& style);

}  // namespace attnprobe::report
