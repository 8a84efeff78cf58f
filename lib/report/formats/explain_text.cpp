#include "report/formats/explain_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cudnn/library_info.hpp"
#include "replay/explanation.hpp"
#include "report/formats/refusal_text.hpp"

namespace attnprobe::report {
namespace {

using replay::Explanation;
using replay::ReplayedGraph;

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
  add_paragraph(out, "in plain words", cause.explanation, style);
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
                                              : "made; the log does not show that anything was asked of it";
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

void add_exceptions(std::string& out, const replay::LogHistory& history, const TextStyle& style) {
  if (history.exceptions.empty()) return;
  out += "\nsaid by the program above cuDNN\n";
  for (const auto& line : history.exceptions) {
    out += wrapped(line, 3, style.width);
    if (const auto rule = replay::frontend_refusal(line))
      out += wrapped(
          fmt::format("That is a check of cudnn-frontend's own (rule {}; {}): it refused before it asked cuDNN.",
                      rule->version, rule->id, rule->source.text),
          5, style.width);
  }
}

bool is_frontend_alone(const replay::Replay& replay) {
  const auto& lines = replay.history.exceptions;
  return replay.graphs.empty() && std::any_of(lines.begin(), lines.end(), [](const auto& line) {
           return replay::frontend_refusal(line).has_value();
         });
}

// The cause of the first graph that was refused.
std::optional<answer::RootCause> first_cause(const replay::Replay& replay) {
  for (const auto& graph : replay.graphs)
    if (graph.logged.refused()) return replay::explain(graph.logged, graph.recognised).cause;
  return std::nullopt;
}

// What to do next; "" if the log says all there is.
std::string advice_for(const replay::Replay& replay) {
  if (const auto cause = first_cause(replay);
      cause && !shows_graphs(replay) && diagnose::layer_of(cause->category) == diagnose::Layer::environment)
    return "`attnprobe doctor` shows what this machine lacks; run it where the text comes from.";
  if (is_frontend_alone(replay))
    return "cuDNN itself may take what cudnn-frontend refuses, or refuse it too: `attnprobe` with the same shape "
           "(--heads, --seqlen, --head-dim, …) asks it, and suggests the nearest shape that works.";
  if (!shows_graphs(replay)) return replay::how_to_log() + ".";
  return fmt::format("`attnprobe replay {}` asks cuDNN about these graphs again, here or for another GPU or cuDNN.",
                     replay.file == "-" ? "LOG" : shell_word(replay.file));
}

// What the text says besides the reasons of a graph: cuDNN's log lines count where they speak of the machine.
diagnose::TextAnswer besides_reasons(const replay::Replay& replay, diagnose::TextAnswer text) {
  if (!replay.graphs.empty())
    std::erase_if(text.refusals, [](const diagnose::Refusal& refusal) {
      return refusal.in_log && refusal.layer != diagnose::Layer::environment;
    });
  return text;
}

// What the graphs of a log do not say already.
diagnose::TextAnswer besides_graphs(diagnose::TextAnswer text) {
  std::erase_if(text.refusals, [](const diagnose::Refusal& refusal) {
    return refusal.kind == diagnose::SentenceKind::general || refusal.layer == diagnose::Layer::cudnn_engine ||
           refusal.layer == diagnose::Layer::cudnn_heuristics;
  });
  return text;
}

// Who leads: the sentences, unless a log's graphs were rebuilt or its reasons come from further inside.
bool sentences_lead(const replay::Replay& replay, const diagnose::TextAnswer& besides) {
  if (besides.refusals.empty() || shows_graphs(replay)) return false;
  const auto cause = first_cause(replay);
  return !cause || besides.refusals.front().layer < diagnose::layer_of(cause->category);
}

std::string next_step(const replay::Replay& replay, const diagnose::TextAnswer& besides) {
  return sentences_lead(replay, besides) ? besides.refusals.front().next : advice_for(replay);
}

// For programs the first refusal is the one that leads: of the graph's own layer, where a graph's reasons do.
std::vector<diagnose::Refusal> ordered_refusals(const replay::Replay& replay, const diagnose::TextAnswer& text) {
  std::vector<diagnose::Refusal> refusals = text.refusals;
  const auto cause = first_cause(replay);
  if (cause && !sentences_lead(replay, besides_reasons(replay, text)))
    std::stable_partition(refusals.begin(), refusals.end(), [&](const diagnose::Refusal& refusal) {
      return refusal.layer == diagnose::layer_of(cause->category);
    });
  return refusals;
}

bool has_calls_alone(const Explained& explained) {
  return !explained.calls.empty() && explained.answer.refusals.empty() && explained.replay.graphs.empty() &&
         explained.replay.history.exceptions.empty();
}

void add_call(std::string& out, const TextCall& call, const TextStyle& style) {
  out += wrapped(fmt::format("the call in line {}, by rule: {}", call.line, call.call), 2, style.width);
  for (const auto& assumed : call.read_as) out += wrapped(assumed, 4, style.width);
  out += wrapped(
      fmt::format("on {}{}: {}", call.target, call.target_is_named ? "" : " (the text names no GPU)", call.says), 4,
      style.width);
  if (!call.change.empty()) out += wrapped("what helps: " + call.change, 4, style.width);
  for (const auto& need : call.needs) out += wrapped(need, 4, style.width);
  for (const auto& bug : call.bugs)
    out += wrapped(fmt::format("known bug that concerns it (cuDNN {}): {}", call.cudnn, bug), 4, style.width);
}

// A file is read for its calls again; of what was typed, or piped, the first call is given as JSON.
std::string asking_command(const Explained& explained) {
  const TextCall& call = explained.calls.front();
  const std::string& file = explained.replay.file;
  const bool is_file = file != "-" && file != typed_text;
  return fmt::format("attnprobe --{} {} --target {}", call.framework,
                     shell_word(is_file ? file : json_text(call.asked)), call.target);
}

// Each call, and the command that asks cuDNN about the first.
std::string calls_text(const Explained& explained, const TextStyle& style) {
  std::string out;
  for (const auto& call : explained.calls) add_call(out, call, style);
  if (!explained.calls.empty()) out += wrapped("cuDNN's own answer: " + asking_command(explained), 4, style.width);
  return out;
}

// Where the text only tells of something, what a gate says of its very call is nearer.
bool call_leads(const Explained& explained) {
  const auto& refusals = explained.answer.refusals;
  return !explained.calls.empty() && !explained.calls.front().is_taken && !explained.calls.front().change.empty() &&
         !refusals.empty() && refusals.front().kind == diagnose::SentenceKind::reading &&
         (refusals.front().id == "subject" || refusals.front().id.starts_with("told-"));
}

std::string step_of_call(const Explained& explained) {
  const TextCall& call = explained.calls.front();
  return fmt::format("{} (the call in line {})", call.change, call.line);
}

std::string led_by_call(const Explained& explained, const std::string& rest, const TextStyle& style) {
  std::string head = wrapped(explained.calls.front().says, 0, style.width);
  if (style.colour) head = coloured(head.substr(0, head.size() - 1), "1") + "\n";
  return head + calls_text(explained, style) + "\n" + rest + "\n" +
         wrapped("next: " + step_of_call(explained), 0, style.width);
}

std::string graphs_text(const replay::Replay& replay, const TextStyle& style) {
  size_t refused = 0;
  for (const auto& graph : replay.graphs) refused += graph.logged.refused() ? 1 : 0;
  std::string out = fmt::format("{}: {} graph{}, {} refused\n", input_name(replay.file), replay.graphs.size(),
                                replay.graphs.size() == 1 ? "" : "s", refused);
  if (!replay.problem.empty()) out += fmt::format("  the file: {}\n", replay.problem);
  for (const auto& problem : replay.history.problems) out += wrapped(problem, 2, style.width);
  for (const auto& graph : replay.graphs) add_graph(out, graph, style);
  add_exceptions(out, replay.history, style);
  return out;
}

}  // namespace

std::string explain_text(const Explained& explained, const TextStyle& style) {
  const replay::Replay& replay = explained.replay;
  const diagnose::TextAnswer text = besides_reasons(replay, explained.answer);
  const std::string calls = calls_text(explained, style);
  if (has_calls_alone(explained))
    return "Nothing in the text says who refused; the call that its source makes, by rule\n" + calls + "\n" +
           wrapped("next: " + asking_command(explained) + " asks cuDNN itself", 0, style.width);
  const std::string next = next_step(replay, text);
  if (sentences_lead(replay, text)) {
    std::string out = refusals_text(text, style);
    for (const auto& line : replay.history.exceptions)
      if (const auto rule = replay::frontend_refusal(line))
        out +=
            wrapped(fmt::format("the rule of cudnn-frontend {}: {} ({})", rule->version, rule->id, rule->source.text),
                    2, style.width);
    if (!replay.problem.empty()) out += fmt::format("  the file: {}\n", replay.problem);
    if (!replay.graphs.empty()) out += "\n" + graphs_text(replay, style);
    if (call_leads(explained)) return led_by_call(explained, out, style);
    return out + calls + "\n" + wrapped("next: " + next, 0, style.width);
  }
  std::string out;
  const auto cause = shows_graphs(replay) ? std::nullopt : first_cause(replay);
  if (cause) out = diagnose::headline_of(diagnose::layer_of(cause->category), "cuDNN") + "\n";
  out += graphs_text(replay, style) + other_refusals_text(besides_graphs(text), 0, style);
  return out + calls + "\n" + wrapped(next, 0, style.width);
}

std::string explained_graph_text(const ReplayedGraph& graph, const TextStyle& style) {
  std::string out;
  add_graph(out, graph, style);
  return out.substr(1);
}

Json explain_json(const Explained& explained) {
  const replay::Replay& replay = explained.replay;
  const diagnose::TextAnswer& text = explained.answer;
  Json json = {{"schema", "attnprobe/explain/1"},
               {"tool", {{"name", "attnprobe"}, {"version", tool_version()}}},
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
  json["advice"] = advice_for(replay);
  json["refusals"] = ordered_refusals(replay, text);
  json["callers"] = text.callers;
  json["bugs"] = text.bugs;
  json["own_words"] = text.own_words;
  json["told"] = text.told;
  json["calls"] = explained.calls;
  json["next"] = has_calls_alone(explained) ? asking_command(explained)
                 : call_leads(explained)    ? step_of_call(explained)
                                            : next_step(replay, besides_reasons(replay, text));
  return json;
}

}  // namespace attnprobe::report
