// An audit for people: campaign/audit.hpp.
#pragma once

#include <string>

#include "campaign/audit.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// What the whole says in a line: "41 findings over 6 frameworks in 9,216 cells: …".
std::string audit_summary(const campaign::Audit& audit);

std::string audit_text(const campaign::Audit& audit, const TextStyle& style);

/// docs/audit.md's form; `command`: what was run.
std::string audit_markdown(const campaign::Audit& audit, const std::string& command);

}  // namespace attnprobe::report
