#include "explain/explained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "answer/reasons.hpp"
#include "attention/frontends.hpp"
#include "base/error.hpp"
#include "base/notebook.hpp"
#include "explain/text_calls.hpp"
#include "report/formats/report.hpp"
#include "rules/framework_rules.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::explain {
namespace {

// The description of an id.
struct Meaning {
  std::string what, fix, source;
  std::vector<std::string> causes = {};
  std::string example = {}, seen = {};
};

std::string in_lines(const std::string& id, const Meaning& meaning, size_t width) {
  constexpr size_t indent = 10;
  std::string text = id + "\n" + report::wrapped(meaning.what, 2, width);
  for (const auto& cause : meaning.causes) text += report::wrapped("- " + cause, 2, width);
  for (const auto& [head, part] : {std::pair("fix", &meaning.fix), std::pair("example", &meaning.example),
                                   std::pair("seen", &meaning.seen), std::pair("source", &meaning.source)})
    if (!part->empty())
      text += report::wrapped(*part, indent, width).replace(0, indent, fmt::format("  {:<{}}", head, indent - 2));
  return text;
}

std::optional<Meaning> meaning_of(const std::string& id) {
  for (const answer::KnownReason& reason : answer::known_reasons())
    if (reason.id == id) return Meaning{"a reason of cuDNN's. " + reason.meaning, reason.help, reason.source, {}};
  const auto of_message = [&](const Message& message) {
    Meaning meaning{fmt::format("a message of {}. {}", message.who, message.means), message.next, message.source, {}};
    for (const auto& cause : message.causes) meaning.causes.push_back(cause.text);
    meaning.example = message.example;
    const auto dated = std::ranges::find_if(message.versions, [](const auto& one) { return !one.empty(); });
    if (dated != message.versions.end()) meaning.seen = *dated;
    return meaning;
  };
  for (const auto* list : {&messages(), &reports()})
    for (const Message& message : *list)
      if (message.id == id && message.rule == nullptr) return of_message(message);
  for (const rules::RequirementRule& rule : rules::requirement_rules())
    if (rule.entry.id == id)
      return Meaning{rule.never ? fmt::format("a requirement: no cuDNN so far has {}.", rule.entry.feature)
                                : fmt::format("a requirement: {} needs {}.", rule.entry.feature, rule.entry.needs),
                     "",
                     rule.entry.source.text,
                     {}};
  if (const rules::KnownBugRule* rule = rules::find_known_bug(id))
    return Meaning{"a known bug of cuDNN. " + rule->entry.what, rule->entry.advice, rule->entry.source.text, {}};
  // The newest release first: older checks are in the rules of their own releases.
  const auto& releases = attention::frontend_releases;
  for (auto release = releases.rbegin(); id.starts_with("cudnn-frontend:") && release != releases.rend(); ++release)
    for (const rules::FrameworkRule& rule : rules::frontend_rules(*release).rules)
      if ("cudnn-frontend:" + rule.id == id)
        return Meaning{
            fmt::format("a check of cudnn-frontend: {}", without_values(rule.message)), "", rule.source.text, {}};
  for (const rules::FrameworkGate& gate : rules::framework_gates())
    for (const rules::FrameworkRule& rule : gate.rules)
      if (gate.framework + ":" + rule.id == id)
        return Meaning{
            fmt::format("a rule of {}: it refuses {} ({}).", gate.title, without_values(rule.what), rule.status),
            rule.change,
            rule.source.text,
            {}};
  // Gates that use one message for several reasons.
  for (const Message& message : messages())
    if (message.id == id) return of_message(message);
  return std::nullopt;
}

// A notebook is read as the text of its cells, other files unchanged.
void give_shown(const replay::GiveText& give, const std::function<void(std::string_view)>& take, std::string* problem) {
  constexpr size_t most_bytes = size_t{64} << 20, telling = 64;
  std::string held;
  bool holds = true;
  give(
      [&](std::string_view bytes) {
        if (!holds) return take(bytes);
        held += bytes;
        holds = held.size() <= most_bytes && (held.size() < telling || may_be_notebook(held));
        if (!holds) take(std::exchange(held, {}));
      },
      problem);
  const std::string cells = text_of_notebook(held);
  if (const std::string& shown = cells.empty() ? held : cells; !shown.empty()) take(shown);
}

}  // namespace

bool Explained::is_established() const {
  return calls_answer || !replay.graphs.empty() || explain::is_established(answer);
}

bool shows_graphs(const replay::Replay& replay) {
  return std::any_of(replay.graphs.begin(), replay.graphs.end(),
                     [](const auto& graph) { return graph.logged.imported.has_value(); });
}

Explained explain(const std::string& name, const std::string& called, const replay::GiveText& give,
                  const AskWith& with) {
  constexpr size_t most_source = size_t{4} << 20;
  MessageFinder finder;
  std::string source;
  const auto give_both = [&](const std::function<void(std::string_view)>& take, std::string* problem) {
    give_shown(
        give,
        [&](std::string_view bytes) {
          finder.feed(bytes);
          source += bytes.substr(0, most_source - std::min(most_source, source.size()));
          take(bytes);
        },
        problem);
  };
  Explained explained;
  std::optional<Error> broken;  // a broken graph document may still contain messages
  try {
    explained.replay = replay::read_replay_of(name, give_both);
  } catch (const Error& e) {
    explained.replay.file = name;
    explained.replay.problem = e.what();
    broken = e;
  }
  const TextFindings findings = finder.finish();
  explained.is_of_cudnn = findings.facts.speaks_of_cudnn;
  // Engine configs that the heuristics rejected on the way to one that runs.
  const bool is_part = std::ranges::none_of(explained.replay.graphs,
                                            [](const auto& graph) { return graph.logged.imported.has_value(); });
  if (findings.facts.works && !findings.facts.has_error && is_part) explained.replay.graphs.clear();
  explained.answer = answer_of(findings, shows_graphs(explained.replay));
  const std::vector<DocumentQuestion> documents =
      explained.replay.graphs.empty() ? questions_of_document(source) : std::vector<DocumentQuestion>();
  const std::vector<AnsweredCall> calls = answer_calls(source, findings.facts, explained.answer, with);
  for (const AnsweredCall& one : calls) explained.calls.push_back(one.call);
  explained.calls_answer = std::ranges::any_of(explained.calls, [&](const TextCall& call) {
    return !call.is_accepted() || findings.facts.trouble == Trouble::none ||
           findings.facts.trouble == Trouble::question;
  });
  const bool was_asked = std::any_of(
      explained.replay.graphs.begin(), explained.replay.graphs.end(),
      [](const auto& graph) { return graph.logged.refused() || !graph.logged.imported || !graph.is_frontend; });
  if (!explained.replay.graphs.empty() && !was_asked)
    add_asked_graph(explained.answer, explained.replay, findings.facts, with);
  else if (!documents.empty())
    add_asked_document(explained.answer, documents, findings.facts, with);
  else if (explained.replay.graphs.empty() && calls.empty())
    add_asked(explained.answer, findings, with);
  else if (explained.replay.graphs.empty() && !explained.answer.refusals.empty()) {
    auto found = std::find_if(calls.begin(), calls.end(), [](const auto& one) { return !one.call.is_taken; });
    if (found == calls.end())
      found = std::find_if(calls.begin(), calls.end(), [](const auto& one) { return !one.asked.bugs.empty(); });
    const AnsweredCall& failing = found == calls.end() ? calls.front() : *found;
    add_answer(explained.answer, findings.facts, failing.asked, failing.call.line);
  }
  if (explained.is_established()) return explained;
  if (broken) throw Error(*broken);
  if (explained.replay.history.has_entries() && !findings.facts.works)
    throw Error(ErrorKind::usage, replay::why_no_graph(explained.replay));
  const TextFacts& facts = findings.facts;
  explained.is_of_attention = facts.speaks_of_attention || facts.speaks_of_cudnn || !explained.answer.refusals.empty();
  // Typed words may be the name of a missing file.
  if (!explained.is_of_attention && name == typed_text)
    throw Error(ErrorKind::usage, fmt::format("{}: nothing known: no attention-related message found", called));
  return explained;
}

bool is_id(const std::string& id) {
  return meaning_of(id).has_value();
}

std::string explain_id(const std::string& id, size_t width) {
  const auto meaning = meaning_of(id);
  return meaning ? in_lines(id, *meaning, width) : "";
}

}  // namespace attnprobe::explain
