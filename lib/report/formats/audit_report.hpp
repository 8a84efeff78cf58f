// The text of an audit (campaign/audit.hpp).
#pragma once

#include <string>

#include "campaign/audit.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// A one-line summary: "41 findings over 6 frameworks in 9,216 cells: …".
std::string audit_summary(const campaign::Audit& audit);

std::string audit_text(const campaign::Audit& audit, const TextStyle& style);

/// The form of docs/audit.md; `command`: the command that was run.
std::string audit_markdown(const campaign::Audit& audit, const std::string& command);

}  // namespace attnprobe::report
