// The ids in a site's answers, each with an anchor and its meaning.
#include <fmt/format.h>

#include <algorithm>

#include "answer/reasons.hpp"
#include "rules/requirements.hpp"
#include "site/html.hpp"
#include "site/site.hpp"

namespace attnprobe::site {
namespace {

struct Meaning {
  std::string text, fix, source;
};

Meaning meaning_of(const std::string& id) {
  const auto& reasons = answer::known_reasons();
  if (const auto reason = std::ranges::find(reasons, id, &answer::KnownReason::id); reason != reasons.end())
    return {"A reason of cuDNN's. " + reason->meaning, reason->help, reason->source};
  if (const auto* bug = rules::find_known_bug(id))
    return {"A known bug of cuDNN. " + bug->entry.what, bug->entry.advice, bug->entry.source.text};
  for (const auto& rule : rules::requirement_rules())
    if (rule.entry.id == id)
      return {fmt::format("A requirement: {} needs {}.", rule.entry.feature, rule.entry.needs), "",
              rule.entry.source.text};
  return {};
}

std::string paragraph(const char* label, const std::string& text) {
  return text.empty() ? "" : fmt::format("<p>{}{}</p>\n", label, escaped_html(text));
}

}  // namespace

std::string reason_id(const report::CellAnswer& answer) {
  const auto* reason = answer::find_reason({answer.status, answer.reason});
  return reason == nullptr ? "" : reason->id;
}

std::string ids_page(const Axes& axes, const std::set<std::string>& ids) {
  std::string entries;
  for (const std::string& id : ids) {
    if (id.empty()) continue;
    const auto [text, fix, source] = meaning_of(id);
    entries +=
        fmt::format("<section id=\"{0}\"><h2><a href=\"#{0}\">{0}</a></h2>\n{1}{2}{3}</section>\n", escaped_html(id),
                    paragraph("", text), paragraph("What to do: ", fix), paragraph("Source: ", source));
  }
  const std::string body = fmt::format(
      "<main>\n<h1>Ids</h1>\n<p class=\"lead\">Reasons, requirements and known bugs that the answers name. "
      "<code>attnprobe explain ID</code> prints the same.</p>\n{}</main>",
      entries);
  return page(axes, "", "Ids", body);
}

}  // namespace attnprobe::site
