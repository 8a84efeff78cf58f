#include "studies/audit/audit_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "report/formats/markdown_text.hpp"

namespace attnprobe::studies {
namespace {

constexpr AuditKind audit_kinds[] = {AuditKind::refuses_what_works, AuditKind::lets_through,
                                     AuditKind::lets_through_a_bug};

std::string_view heading(AuditKind kind) {
  switch (kind) {
    case AuditKind::refuses_what_works:
      return "rejects, although cuDNN supports it";
    case AuditKind::lets_through:
      return "accepts, although it is refused later";
    default:
      return "accepts, despite a known bug";
  }
}

std::string_view in_short(AuditKind kind) {
  switch (kind) {
    case AuditKind::refuses_what_works:
      return "unnecessarily rejected";
    case AuditKind::lets_through:
      return "wrongly accepted: refused later";
    default:
      return "wrongly accepted: a known bug";
  }
}

std::string where(const AuditRow& row) {
  return fmt::format("{} with cuDNN {} ({} cells)", fmt::join(row.targets, ", "), fmt::join(row.cudnns, ", "),
                     with_commas(row.cells));
}

std::string proof(const AuditRow& row) {
  if (row.kind != AuditKind::refuses_what_works) return "";
  return fmt::format("{} on {} compiled{}", row.engine, row.target.id, row.since.empty() ? "" : "; " + row.since);
}

std::vector<const AuditRow*> rows_of(const Audit& audit, const std::string& framework, AuditKind kind) {
  std::vector<const AuditRow*> rows;
  for (const auto& row : audit.rows())
    if (row.framework == framework && row.kind == kind) rows.push_back(&row);
  return rows;
}

std::vector<std::string> frameworks_of(const Audit& audit) {
  std::vector<std::string> names;
  for (const auto& row : audit.rows())
    if (std::find(names.begin(), names.end(), row.framework) == names.end()) names.push_back(row.framework);
  return names;
}

}  // namespace

std::string audit_summary(const Audit& audit) {
  const std::string unanswered =
      audit.unanswered() == 0 ? "" : fmt::format("; {} more got no answer", with_commas(audit.unanswered()));
  if (audit.rows().empty())
    return fmt::format("nothing found in {} cell{}{}", with_commas(audit.cells()), audit.cells() == 1 ? "" : "s",
                       unanswered);
  std::string text = fmt::format("{} over {} in {} cells", counted(std::ssize(audit.rows()), "finding"),
                                 counted(std::ssize(frameworks_of(audit)), "framework"), with_commas(audit.cells()));
  const char* between = ": ";
  for (const AuditKind kind : audit_kinds) {
    const auto count =
        std::count_if(audit.rows().begin(), audit.rows().end(), [&](const auto& row) { return row.kind == kind; });
    if (count == 0) continue;
    text += fmt::format("{}{} {}", between, count, in_short(kind));
    between = "; ";
  }
  return text + unanswered;
}

std::string audit_text(const Audit& audit, const report::TextStyle& style) {
  std::string text = audit_summary(audit) + "\n";
  for (const auto& framework : frameworks_of(audit))
    for (const AuditKind kind : audit_kinds) {
      const auto rows = rows_of(audit, framework, kind);
      if (rows.empty()) continue;
      text += fmt::format("\n{} {}\n", rows.front()->title, heading(kind));
      for (const AuditRow* row : rows) {
        text += report::wrapped(
            fmt::format(
                "{}{}", row->what,
                row->rule.empty() ? "" : " [" + linked_id(row->framework + ":" + row->rule, style.colour) + "]"),
            2, style.width);
        text += report::wrapped(where(*row), 4, style.width);
        if (!row->taken_values.empty())
          text += report::wrapped(fmt::format("cuDNN supports {}", fmt::join(row->taken_values, ", ")), 4, style.width);
        for (const auto& proposal : row->proposals)
          text += report::wrapped("the rule could refuse " + text_of(proposal), 4, style.width);
        if (!proof(*row).empty()) text += report::wrapped(proof(*row), 4, style.width);
        if (!row->source.empty()) text += report::wrapped(row->source, 4, style.width);
        text += "    " + row->reproduce + "\n";
      }
    }
  return text;
}

std::string audit_markdown(const studies::Audit& audit, const std::string& command) {
  std::string text = fmt::format("# Frameworks' gates against cuDNN's answers\n\n**{}.**\n\n{}\n\n",
                                 audit_summary(audit), report::markdown_code(command));
  text +=
      "Simulated GPUs; the first choice of each smallest shape that a gate refuses was compiled. A rule counts only if it refuses by itself and without another obstacle (known bug, requirement, cudnn-frontend).\n";
  for (const auto& framework : frameworks_of(audit))
    for (const AuditKind kind : audit_kinds) {
      const auto rows = rows_of(audit, framework, kind);
      if (rows.empty()) continue;
      text +=
          fmt::format("\n## {} {}\n\n| what | where | rule or source | smallest shape |\n| --- | --- | --- | --- |\n",
                      rows.front()->title, heading(kind));
      for (const AuditRow* row : rows) {
        std::string what = report::markdown_text(row->what);
        if (!row->rule.empty()) what += " (" + report::markdown_code(row->rule) + ")";
        if (!row->taken_values.empty()) what += fmt::format("; cuDNN supports {}", fmt::join(row->taken_values, ", "));
        for (const auto& proposal : row->proposals) what += "; the rule could refuse " + text_of(proposal);
        text += fmt::format("| {} | {} | {} | {}{} |\n", what, where(*row), report::markdown_text(row->source),
                            proof(*row).empty() ? "" : proof(*row) + ": ", report::markdown_code(row->reproduce));
      }
    }
  return text;
}

}  // namespace attnprobe::studies
