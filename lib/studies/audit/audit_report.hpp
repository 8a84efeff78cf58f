// The text of an audit (studies/audit/audit.hpp).
#pragma once

#include <string>

#include "report/formats/report.hpp"
#include "studies/audit/audit.hpp"

namespace attnprobe::studies {

/// A one-line summary: "41 findings over 6 frameworks in 9,216 cells: …".
std::string audit_summary(const Audit& audit);

std::string audit_text(const Audit& audit, const report::TextStyle& style);

/// The form of the site's audit page; `command`: the command that was run.
std::string audit_markdown(const Audit& audit, const std::string& command);

}  // namespace attnprobe::studies
