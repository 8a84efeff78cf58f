#include "explain/explain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/input.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cudnn/library_info.hpp"
#include "explain/graph_text.hpp"
#include "replay/explanation.hpp"

namespace attnprobe::explain {
namespace {

using replay::Explanation;
using report::TextStyle;
using report::wrapped;

constexpr size_t most_lines = 15;

// The cause of the first refused graph.
std::optional<answer::RootCause> first_cause(const replay::Replay& replay) {
  for (const auto& graph : replay.graphs)
    if (graph.logged.refused()) return replay::explain(graph.logged, graph.recognised).cause;
  return std::nullopt;
}

// The text's answer without its graphs: cuDNN's log lines count only if they concern the machine.
TextAnswer besides_graphs(const Explained& explained) {
  TextAnswer text = explained.answer;
  if (!explained.replay.graphs.empty())
    std::erase_if(text.refusals,
                  [](const Refusal& refusal) { return refusal.in_log && refusal.layer != Layer::environment; });
  return text;
}

// Whether messages come first: not if a log's graphs were rebuilt, or if its reasons are from an inner layer.
bool messages_lead(const replay::Replay& replay, const TextAnswer& besides) {
  if (besides.refusals.empty()) return false;
  if (besides.refusals.front().kind == MessageKind::reading) return true;
  if (shows_graphs(replay)) return false;
  const auto cause = first_cause(replay);
  return !cause || besides.refusals.front().layer < layer_of(cause->category);
}

// Programs that read the JSON use the first refusal: that of the graph's own layer if a graph's reasons come first.
std::vector<Refusal> ordered_refusals(const Explained& explained) {
  std::vector<Refusal> refusals = explained.answer.refusals;
  const auto cause = first_cause(explained.replay);
  if (cause && !messages_lead(explained.replay, besides_graphs(explained)))
    std::stable_partition(refusals.begin(), refusals.end(),
                          [&](const Refusal& refusal) { return refusal.layer == layer_of(cause->category); });
  return refusals;
}

bool is_file(const replay::Replay& replay) {
  return replay.file != "-" && replay.file != typed_text;
}

// For a file, the command names the file, which is read again; for typed or piped text, it has the first call as JSON.
std::string call_command(const Explained& explained) {
  const TextCall& call = explained.calls.front();
  if (call.framework == "te" && !is_file(explained.replay)) return explained.answer.command;
  return fmt::format("attnprobe --{} {} --target {}", call.framework,
                     shell_word(is_file(explained.replay) ? explained.replay.file : json_text(call.asked)),
                     call.target);
}

// One command that runs as printed; "" if no command shows more.
std::string next_command(const Explained& explained) {
  const auto& refusals = explained.answer.refusals;
  if (!explained.calls.empty()) return call_command(explained);
  if (!explained.answer.command.empty()) return explained.answer.command;
  if (!refusals.empty() && refusals.front().layer == Layer::environment && refusals.front().id != "other-maker")
    return "attnprobe doctor";
  if (const auto cause = first_cause(explained.replay); cause && layer_of(cause->category) == Layer::environment)
    return "attnprobe doctor";
  if (shows_graphs(explained.replay) && is_file(explained.replay))
    return "attnprobe replay " + shell_word(explained.replay.file);
  if (!refusals.empty() && is_id(refusals.front().id)) return "attnprobe explain " + refusals.front().id;
  return "";
}

// The parts of an answer. Without -v, long parts are shortened if the whole does not fit, and then the last are left out.
class Lines {
 public:
  explicit Lines(const TextStyle& style) : style_(style) {}

  void headline(const std::string& text) {
    std::string head = wrapped(text, 0, style_.width);
    if (style_.colour) head = coloured(head.substr(0, head.size() - 1), "1") + "\n";
    raw(head);
  }

  void add(const std::string& head, const std::string& text) { add(head, text, text); }
  void add_prose(const std::string& head, const std::string& text) { add(head, text, beginning_of(text)); }
  void add_quote(const std::string& head, const std::string& place, const std::string& text) {
    const std::string brief = text.size() <= most_said ? text : std::string(whole_letters(text, 0, most_said)) + "…";
    add(head, fmt::format("{}: {}", place, text), fmt::format("{}: {}", place, brief));
  }
  void raw(const std::string& text) { parts_.push_back({text, text, true}); }

  std::string text(const std::string& next) const {
    const std::string last = next.empty() ? "" : "next: " + next + "\n";
    const size_t room = most_lines - (last.empty() ? 0 : 1);
    std::string full;
    for (const auto& part : parts_) full += part.full;
    const auto lines_of = [](const std::string& text) {
      return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    };
    if (style_.details || lines_of(full) <= room) return full + last;
    std::string shown;
    for (const auto& part : parts_) {
      if (lines_of(shown + part.brief) + 1 <= room) {
        shown += part.brief;
        continue;
      }
      size_t end = 0;
      if (part.is_list)
        for (size_t line = lines_of(shown); line + 1 < room; ++line) end = part.brief.find('\n', end) + 1;
      shown += part.brief.substr(0, end);
      break;
    }
    return shown + "  … -v shows the rest\n" + last;
  }

 private:
  static constexpr size_t indent = 11;

  void add(const std::string& head, const std::string& full, const std::string& brief) {
    if (!full.empty()) parts_.push_back({paragraph(head, full), paragraph(head, brief)});
  }

  std::string paragraph(const std::string& head, const std::string& text) const {
    std::string part = wrapped(text, indent, style_.width);
    if (!head.empty()) part.replace(0, indent, fmt::format("  {:<{}}", head, indent - 2));
    return part;
  }

  struct Part {
    std::string full, brief;
    bool is_list = false;  // may be cut after any line
  };
  TextStyle style_;
  std::vector<Part> parts_;
};

std::string place_of(const Refusal& refusal) {
  return fmt::format("line {}{}", refusal.first_line,
                     refusal.times > 1 ? fmt::format(" and {} more", refusal.times - 1) : std::string());
}

void add_read(Lines& lines, const TextAnswer& answer, const Refusal* first) {
  if (first != nullptr && !first->line.empty()) lines.add_quote("read", place_of(*first), first->line);
  std::string told;
  for (const auto& fact : answer.told) told += (told.empty() ? "" : "; ") + fact;
  lines.add(first == nullptr || first->line.empty() ? "read" : "", told);
}

void add_bugs(Lines& lines, const TextAnswer& answer, const std::string& shown) {
  for (const auto& bug : answer.bugs)
    if (bug.id != shown)
      lines.add("possible", fmt::format("known bug {} ({}): {} {}", bug.id, bug.versions, bug.what, bug.advice));
}

void add_refusal(Lines& lines, const Refusal& refusal, const TextAnswer& answer, bool details) {
  lines.add_prose("means", refusal.means);
  const bool has_strong_bug = !answer.bugs.empty() && answer.bugs.front().is_strong;
  if (has_strong_bug) add_bugs(lines, answer, refusal.id);
  for (size_t i = 0; i < refusal.causes.size() && (details || i < 2); ++i)
    lines.add(i > 0                    ? ""
              : refusal.is_cause_known ? "because"
                                       : "possible",
              (i == 0 || refusal.is_cause_known ? "" : "or ") + refusal.causes[i]);
  if (!has_strong_bug) add_bugs(lines, answer, refusal.id);
  lines.add("asked", answer.asked);
  lines.add("missing", answer.missing);
  lines.add_prose("fix", refusal.next);
  lines.add(refusal.next.empty() ? "fix" : "", refusal.help);
}

// `told`: refusals already printed.
void add_call(Lines& lines, const TextCall& call, const TextAnswer& told) {
  const bool says_so = !told.refusals.empty() && told.refusals.front().headline == call.says;
  lines.add("call",
            fmt::format("line {}: {} on {}{}{}", call.line, call.call, call.target,
                        call.target_is_named ? "" : " (the text names no GPU)", says_so ? "" : ": " + call.says));
  if (call.answered == told.asked) return;
  lines.add("asked", call.answered);
  for (const auto& assumed : call.read_as) lines.add("", assumed);
  if (!call.change.empty()) lines.add("fix", call.change);
  for (const auto& need : call.needs) lines.add("needs", need);
  for (const auto& bug : call.bugs) lines.add("possible", fmt::format("known bug (cuDNN {}): {}", call.cudnn, bug));
}

std::string graphs_text(const replay::Replay& replay, const TextStyle& style) {
  size_t refused = 0;
  for (const auto& graph : replay.graphs) refused += graph.logged.refused() ? 1 : 0;
  std::string out = fmt::format("{}: {} graph{}, {} refused\n", input_name(replay.file), replay.graphs.size(),
                                replay.graphs.size() == 1 ? "" : "s", refused);
  if (!replay.problem.empty()) out += fmt::format("  the file: {}\n", replay.problem);
  for (const auto& problem : replay.history.problems) out += wrapped(problem, 2, style.width);
  for (const auto& graph : replay.graphs) out += "\n" + graph_text(graph, style);
  for (const auto& line : replay.history.exceptions) out += wrapped(line, 3, style.width);
  return out;
}

// If a message only forwards a failure, a gate's answer to the same call is more specific.
bool call_leads(const Explained& explained) {
  const auto& refusals = explained.answer.refusals;
  return explained.calls_answer && (refusals.empty() || refusals.front().kind == MessageKind::general ||
                                    refusals.front().kind == MessageKind::note ||
                                    (refusals.front().kind == MessageKind::reading && explained.answer.asked.empty()));
}

std::string with_id(const Refusal& refusal, const TextStyle& style) {
  if (!is_id(refusal.id)) return refusal.headline;
  return fmt::format("{}  [{}]", refusal.headline, linked_id(refusal.id, style.colour));
}

}  // namespace

std::string explain_text(const Explained& explained, const TextStyle& style) {
  const replay::Replay& replay = explained.replay;
  const TextAnswer text = besides_graphs(explained);
  const std::string next = next_command(explained);
  Lines lines(style);
  if (call_leads(explained)) {
    lines.headline(explained.calls.front().says);
    for (const auto& call : explained.calls) add_call(lines, call, text);
    if (!text.refusals.empty())
      lines.add_quote("read", place_of(text.refusals.front()), text.refusals.front().line);
    else if (std::ranges::all_of(explained.calls, &TextCall::is_accepted))
      lines.add("missing", text.missing);
    return lines.text(next);
  }
  if (messages_lead(replay, text)) {
    const Refusal& first = text.refusals.front();
    lines.headline(with_id(first, style));
    add_refusal(lines, first, text, style.details);
    add_read(lines, text, &first);
    for (const auto& call : explained.calls) add_call(lines, call, text);
    if (!text.callers.empty()) lines.add("caller", fmt::format("{}", text.callers.front()));
    // Of a message whose causes are other lines, those lines are already shown.
    const bool are_causes =
        first.is_cause_known && first.causes.size() > 0 && first.causes.front().starts_with("line ");
    for (size_t i = 1; i < text.refusals.size() && i < 9 && !are_causes; ++i)
      if (text.refusals[i].first_line != first.first_line && text.refusals[i].kind != MessageKind::general)
        lines.add("also", fmt::format("{} ({}): {}", text.refusals[i].headline, place_of(text.refusals[i]),
                                      text.refusals[i].means));
    lines.add("file", replay.problem);
    if (!replay.graphs.empty()) lines.raw("\n" + graphs_text(replay, style));
    return lines.text(next);
  }
  if (!replay.graphs.empty()) {
    if (const auto cause = shows_graphs(replay) ? std::nullopt : first_cause(replay))
      lines.headline(cause->category == answer::Category::invalid_graph
                         ? "cuDNN refused a call; the log does not show for which graph"
                         : headline_of(layer_of(cause->category), "cuDNN"));
    lines.raw(graphs_text(replay, style));
    if (!shows_graphs(replay)) lines.add("log", replay::how_to_log());
    if (!text.refusals.empty())
      lines.add("also", fmt::format("{} ({})", text.refusals.front().headline, place_of(text.refusals.front())));
    return lines.text(next);
  }
  lines.headline(explained.is_of_attention ? "Not known: nothing in the text establishes who refused, or why"
                                           : "Not known: the text speaks neither of attention nor of cuDNN");
  add_read(lines, text, nullptr);
  for (const auto& call : explained.calls) add_call(lines, call, text);
  lines.add("asked", text.asked);
  add_bugs(lines, text, "");
  lines.add("missing", text.missing);
  if (explained.is_of_cudnn) lines.add("log", replay::how_to_log());
  return lines.text(next);
}

Json explain_json(const Explained& explained) {
  const replay::Replay& replay = explained.replay;
  const TextAnswer& text = explained.answer;
  Json json = {{"schema", "attnprobe/explain/1"},
               {"tool", {{"name", "attnprobe"}, {"version", report::tool_version()}}},
               {"file", replay.file},
               {"problems", replay.history.problems}};
  if (!replay.problem.empty()) json["problems"].push_back(replay.problem);
  json["graphs"] = Json::array();
  for (const auto& graph : replay.graphs) {
    const replay::LoggedGraph& logged = graph.logged;
    const Explanation explanation = replay::explain(logged, graph.recognised);
    json["graphs"].push_back({{"number", graph.number},
                              {"description", graph.recognised.description},
                              {"hash", logged.imported ? Json(logged.hash) : Json()},
                              {"line", logged.first_line},
                              {"cudnn", logged.cudnn_version.is_known() ? Json(logged.cudnn_version.text()) : Json()},
                              {"device", logged.device},
                              {"sm", logged.sm},
                              {"verdict", explanation.works     ? Json("works")
                                          : explanation.refused ? Json("refused")
                                                                : Json()},
                              {"root_cause", explanation.cause ? Json(*explanation.cause) : Json()},
                              {"reasons", explanation.reasons},
                              {"viable", explanation.viable},
                              {"requirements", explanation.requirements},
                              {"warnings", explanation.known_bugs},
                              {"frontend", explanation.frontend ? Json(*explanation.frontend) : Json()}});
  }
  json["exceptions"] = replay.history.exceptions;
  json["frontend_refusals"] = Json::array();
  for (const auto& line : replay.history.exceptions)
    if (const auto rule = replay::frontend_refusal(line)) json["frontend_refusals"].push_back(*rule);
  const auto refusals = ordered_refusals(explained);
  json["refusals"] = refusals;
  json["advice"] = !refusals.empty()          ? refusals.front().next
                   : !explained.calls.empty() ? explained.calls.front().change
                                              : "";
  json["callers"] = text.callers;
  json["bugs"] = text.bugs;
  json["own_words"] = text.own_words;
  json["told"] = text.told;
  json["calls"] = explained.calls;
  json["asked"] = text.asked;
  json["missing"] = text.missing;
  json["next"] = next_command(explained);
  return json;
}

}  // namespace attnprobe::explain
