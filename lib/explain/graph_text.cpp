#include "explain/graph_text.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"

namespace attnprobe::explain {
namespace {

using replay::Explanation;
using replay::ReplayedGraph;
using report::TextStyle;
using report::wrapped;

std::string on_what(const replay::LoggedGraph& logged) {
  std::string text;
  if (logged.cudnn_version.is_known()) text += " by cuDNN " + logged.cudnn_version.text();
  if (!logged.device.empty())
    text += " on " + logged.device;
  else if (logged.sm != 0)
    text += fmt::format(" on sm_{}", logged.sm);
  return text;
}

std::string list_of(const std::vector<std::string>& engines) {
  constexpr size_t most = 6;
  std::string text;
  for (size_t i = 0; i < engines.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + engines[i];
  if (engines.size() > most) text += fmt::format(" and {} more", engines.size() - most);
  return text;
}

// cuDNN's "CUDNN_STATUS_X: text".
std::string words_of(const std::string& status, const std::string& reason) {
  return status + (status.empty() || reason.empty() ? "" : ": ") + reason;
}

void add_paragraph(std::string& out, const std::string& head, const std::string& text, const TextStyle& style) {
  if (text.empty()) return;
  out += "   " + head + "\n" + wrapped(text, 5, style.width);
}

void add_cause(std::string& out, const Explanation& explanation, const TextStyle& style) {
  const answer::RootCause& cause = *explanation.cause;
  std::string head = fmt::format("root cause: {}", name_of(cause.category));
  if (cause.engine) head += fmt::format(" (engine {} came furthest)", *cause.engine);
  out += "   " + (style.colour ? coloured(head, "1") : head) + "\n";
  add_paragraph(out, "cuDNN says", words_of(cause.status, cause.reason), style);
  add_paragraph(out, "in plain words", style.details ? cause.explanation : beginning_of(cause.explanation), style);
  for (const auto& requirement : explanation.requirements)
    add_paragraph(out, "what it needs", fmt::format("{} ({})", requirement.text, requirement.source.text), style);
  add_paragraph(out, "what to do", cause.in_general, style);
}

void add_reasons(std::string& out, const Explanation& explanation, const TextStyle& style) {
  if (explanation.reasons.empty()) return;
  out +=
      explanation.works ? "   these engine configs were rejected\n" : "   every engine's reason, the furthest first\n";
  for (const auto& group : explanation.reasons) {
    out += wrapped(fmt::format("- {}: {}", name_of(group.category), list_of(group.engines)), 5, style.width);
    if (explanation.cause && group.status == explanation.cause->status && group.reason == explanation.cause->reason) {
      out += wrapped("the root cause above", 9, style.width);
      continue;
    }
    out += wrapped(words_of(group.status, group.reason), 9, style.width);
    out +=
        wrapped(group.is_known ? group.meaning : "(unknown: not in attnprobe's catalogue of reasons)", 9, style.width);
  }
}

void add_graph(std::string& out, const ReplayedGraph& graph, const TextStyle& style) {
  const Explanation explanation = replay::explain(graph.logged, graph.recognised);
  const char* verdict = explanation.works     ? "works"
                        : explanation.refused ? "REFUSED"
                                              : "made; the log shows no query about it";
  out += fmt::format("\n{}. {}\n", graph.number,
                     graph.recognised.description.empty() ? graph.logged.problem : graph.recognised.description);
  out += fmt::format("   {}{}{}\n", verdict, on_what(graph.logged),
                     graph.logged.first_line > 0 ? fmt::format(" (line {})", graph.logged.first_line) : "");
  if (explanation.works) {
    if (!explanation.viable.empty())
      out += wrapped(fmt::format("viable: {}", list_of(explanation.viable)), 3, style.width);
    if (style.details) add_reasons(out, explanation, style);
  } else if (explanation.refused) {
    add_cause(out, explanation, style);
    add_reasons(out, explanation, style);
  }
  for (const auto& bug : explanation.known_bugs)
    add_paragraph(out, "known bug", fmt::format("{} {} ({})", bug.what, bug.advice, bug.source.text), style);
  if (explanation.frontend && explanation.frontend->refuses)
    add_paragraph(out, "cudnn-frontend",
                  fmt::format("version {} refuses it before it asks cuDNN: {}", explanation.frontend->version,
                              explanation.frontend->message),
                  style);
}

}  // namespace

std::string beginning_of(const std::string& text) {
  size_t end = 0;
  while (end < text.size()) {
    const size_t next = std::min(text.find(". ", end), text.size());
    if (end > 0 && next > most_said) return text.substr(0, end - 1);
    end = next + 2;
  }
  return text;
}

std::string graph_text(const ReplayedGraph& graph, const TextStyle& style) {
  std::string out;
  add_graph(out, graph, style);
  return out.substr(1);
}

}  // namespace attnprobe::explain
