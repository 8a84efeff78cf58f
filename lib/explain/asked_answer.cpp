// Combines the answers of rules and cuDNN into an answer for a text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "explain/choice.hpp"
#include "explain/text_answer.hpp"
#include "explain/words.hpp"
#include "rules/bug_sightings.hpp"

namespace attnprobe::explain {
namespace {

// "…, known bug: X" of rules: the bug and its workaround.
BugInText bug_in_text(const rules::KnownBug& bug, const std::string& why, bool is_strong) {
  BugInText found{bug.id, bug.what, bug.advice, "", "", why, is_strong};
  if (const rules::KnownBugRule* rule = rules::find_known_bug(bug.id)) {
    found.versions = rules::versions_text(rule->when);
    found.experiment = rule->experiment;
  }
  return found;
}

// Whether the framework's gate refuses the call.
bool is_kept_off(const rules::GateAnswer& gate) {
  return !gate.refusals.empty();
}

// Why cuDNN or its front end refuses a call that a gate refuses too; "" if they accept it.
std::string inner_refusal(const answer::Answer& result) {
  if (result.frontend && result.frontend->refuses) {
    const size_t end = result.frontend->message.find_last_not_of(". ");
    return fmt::format("cudnn-frontend {} refuses it too: {}", result.frontend->version,
                       result.frontend->message.substr(0, end + 1));
  }
  if (!result.requirements.empty()) return result.requirements.front().text;
  if (result.usable != answer::Usable::no || !result.root_cause || result.verdict == answer::Verdict::crashed)
    return "";
  return fmt::format("cuDNN {} refuses it too: {}{}", result.cudnn_version.text(), answer::short_reason(result),
                     result.from ? "; it works " + answer::text_of(*result.from) : "");
}

// The first refusing layer in the order of a call. A message from an inner layer proves that the layers outside
// `outermost` accepted the call.
std::optional<Refusal> refusal_of(const Asked& asked, Layer outermost = Layer::framework) {
  const answer::Answer& result = asked.result;
  if (outermost < Layer::cudnn_engine) return std::nullopt;
  for (const auto& gate : result.frameworks) {
    if (!is_kept_off(gate) || outermost < Layer::framework) continue;
    const rules::GateRefusal& first = gate.refusals.front();
    // A release that never asks cuDNN has no inner refusal.
    const bool is_any_call = first.what.starts_with("any call");
    // A refusal without an exception only chooses another kernel.
    Refusal refusal = reading(fmt::format("{}:{}", gate.framework, first.id), Layer::framework, gate.title,
                              gate.instead.empty() ? gate.text : fmt::format("{}; {}", gate.text, gate.instead));
    const std::string inner = is_any_call ? "" : inner_refusal(result);
    if (!inner.empty()) refusal.means = inner + ". ";
    if (!first.message.empty())
      refusal.means += fmt::format("{}'s own message for it begins \"{}\".", gate.title, trim(first.message));
    refusal.next = first.change;
    if (!gate.taken_from.empty() && inner.empty())
      refusal.help = fmt::format("{} {} does not refuse it", gate.framework, gate.taken_from);
    refusal.source = first.source.text;
    return refusal;
  }
  if (!result.requirements.empty()) {
    const rules::Requirement& first = result.requirements.front();
    Refusal refusal = reading(first.id, Layer::cudnn_engine, "cuDNN", first.text);
    // With an upper bound, newer ones do not have it.
    const bool is_newer = result.from && result.from->version > result.cudnn_version;
    refusal.next = is_newer ? fmt::format("use cuDNN {} or newer", result.from->version.text())
                            : fmt::format("use {}", first.needs);
    if (first.needs.starts_with("what no")) refusal.next = result.root_cause ? result.root_cause->in_general : "";
    refusal.source = first.source.text;
    return refusal;
  }
  if (result.frontend && result.frontend->refuses && outermost >= Layer::cudnn_frontend) {
    Refusal refusal =
        reading("cudnn-frontend:" + result.frontend->id, Layer::cudnn_frontend, "cudnn-frontend",
                fmt::format("cudnn-frontend {} refuses it: {}", result.frontend->version, result.frontend->message));
    refusal.source = result.frontend->source.text;
    return refusal;
  }
  if (result.usable == answer::Usable::no && result.root_cause) {
    if (result.verdict == answer::Verdict::crashed && !result.warnings.empty()) {
      Refusal refusal = reading(
          result.warnings.front().id, Layer::cudnn_engine, "cuDNN",
          fmt::format("cuDNN {} does not have this: {}", result.cudnn_version.text(), result.warnings.front().what));
      refusal.next = result.warnings.front().advice;
      refusal.source = result.warnings.front().source.text;
      return refusal;
    }
    Refusal refusal =
        reading(std::string(name_of(result.root_cause->category)), layer_of(result.root_cause->category), "cuDNN",
                fmt::format("cuDNN {} refuses it on {}: {}", result.cudnn_version.text(), result.target.id,
                            answer::short_reason(result)));
    refusal.means = result.root_cause->explanation;
    refusal.next = result.root_cause->in_general;
    refusal.source = result.by_rule ? "by rule" : "asked";
    return refusal;
  }
  return std::nullopt;
}

// For trouble that no refusal explains: if the release in the text keeps every call from cuDNN, that is established.
std::optional<Refusal> not_involved(const Asked& asked, const TextFacts& facts) {
  const auto& gates = asked.result.frameworks;
  if (!asked.is_established || facts.frameworks.empty() || gates.empty() || !is_kept_off(gates.front()) ||
      !gates.front().refusals.front().what.starts_with("any call"))
    return std::nullopt;
  std::optional<Refusal> refusal = refusal_of(asked);
  refusal->headline = "cuDNN is not involved: " + gates.front().text;
  refusal->means = gates.front().instead.empty() ? "" : gates.front().instead + ".";
  refusal->next = refusal->help = "";
  return refusal;
}

// Whether the question is the text's: with more assumptions, only a refusal of every variant is an answer.
bool is_told(const Asked& asked) {
  constexpr size_t most_assumed = 3;
  return asked.untold.size() + (asked.is_other_cudnn ? 1 : 0) <= most_assumed;
}

// The known bug that affects the question, if nothing refuses the question.
std::optional<Refusal> warning_of(const Asked& asked) {
  if (asked.result.warnings.empty()) return std::nullopt;
  const rules::KnownBug& bug = asked.result.warnings.front();
  Refusal refusal = reading(
      bug.id, Layer::execution, "cuDNN",
      fmt::format("cuDNN {} accepts it, but has a known bug there: {}", asked.result.cudnn_version.text(), bug.what));
  refusal.next = bug.advice;
  refusal.source = bug.source.text;
  return refusal;
}

// The cost of a new shape, or of every call.
Refusal plans_of(const Asked& asked, const TextFacts& facts) {
  if (facts.is_slow_each_call) {
    Refusal refusal = reading("plans", Layer::framework, "the program",
                              "A cuDNN plan seems to be built at each call, which takes time; nothing was refused");
    refusal.means =
        "A program that keeps its plans builds one for each new shape only. If calls of one shape stay slow, it does not keep them.";
    return refusal;
  }
  const bool is_read = !asked.plans.text.empty() && !facts.frameworks.empty();
  Refusal refusal = reading("plans", Layer::framework, is_read ? asked.result.frameworks.front().title : "the program",
                            "cuDNN builds a plan for each new shape, which takes time and memory; nothing was refused");
  if (is_read) refusal.means = fmt::format("{}: {}", asked.result.frameworks.front().title, asked.plans.text);
  refusal.next = "round the lengths up to a few sizes, with a padding mask, so that plans are used again";
  refusal.source = asked.plans.source.text;
  return refusal;
}

Refusal possible_bug(const BugInText& bug) {
  Refusal refusal =
      reading(bug.id, Layer::execution, "cuDNN",
              fmt::format("possible: a known cuDNN bug ({}) matches everything in the text", bug.versions));
  refusal.means = bug.what;
  refusal.next = bug.advice;
  refusal.source = "lib/rules/cudnn/known_bugs.json";
  return refusal;
}

// Which cuDNN an attention needs.
Refusal first_version(const Asked& asked) {
  const FirstCudnn& first = *asked.first;
  const answer::Answer& result = asked.result;
  std::string headline = !first.version.is_known() ? "No known cuDNN takes this attention"
                         : first.before.empty()
                             ? "Every known cuDNN 9 takes this attention"
                             : fmt::format("This attention needs cuDNN {} or newer", first.version.text());
  if (!first.excepted.empty()) headline += fmt::format(", except {}", fmt::join(first.excepted, ", "));
  headline += fmt::format(": {}{}on {}, by rule", first.is_forward_only ? "the forward pass " : "",
                          result.frameworks.empty() ? "" : fmt::format("with {} ", result.frameworks.front().title),
                          result.target.id);
  Refusal refusal = reading("first-cudnn", Layer::cudnn_engine, "cuDNN", headline);
  if (!first.before.empty()) refusal.means = fmt::format("{}.", first.before);
  refusal.source = "by rule";
  return refusal;
}

// If a faster choice is refused, the program uses a slower one.
void add_refused_choice(Refusal& refusal, const probe::WalkFindings& findings) {
  const probe::EngineConfigFindings* first = probe::first_working(findings);
  if (first == nullptr) return;
  for (const auto& config : findings.engine_configs) {
    const bool is_proposed = std::find(config.modes.begin(), config.modes.end(), "A") != config.modes.end();
    if (!is_proposed || probe::works(config, findings) || config.reasons.empty()) continue;
    refusal.causes.push_back(fmt::format(
        "the heuristics also propose engine {}, which is refused for this graph (\"{}\"); engine {} is the first that works",
        config.engine, config.reasons.front().reason, first->engine));
    return;
  }
}

Refusal accepted(const Asked& asked, const TextFacts& facts) {
  const answer::Answer& result = asked.result;
  const bool by_name = std::any_of(result.frameworks.begin(), result.frameworks.end(),
                                   [](const auto& gate) { return gate.takes == rules::Takes::by_name; }) &&
                       !asked.is_selected;
  const std::string supports = fmt::format("cuDNN {} supports {} on {}{}", result.cudnn_version.text(),
                                           is_told(asked) ? "this attention" : "attention of usual sizes",
                                           result.target.id, result.by_rule ? ", by rule" : "");
  Refusal refusal = reading("accepted", Layer::cudnn_engine, "cuDNN", supports);
  if (by_name && (facts.asks_choice || facts.trouble == Trouble::refused || facts.trouble == Trouble::slow)) {
    refusal.headline = result.frameworks.front().text;
    refusal.means = supports + ".";
  } else {
    refusal.means = facts.trouble == Trouble::question || facts.asks
                        ? "attnprobe found no refusal."
                        : "attnprobe found no refusal; the cause is not established.";
    if (by_name) refusal.means += fmt::format(" {}.", result.frameworks.front().text);
  }
  if (facts.trouble == Trouble::slow) add_refused_choice(refusal, result.findings);
  for (const auto& other : asked.beside) refusal.causes.push_back(other);
  refusal.source = result.by_rule ? "by rule" : "asked";
  return refusal;
}

// A refusal in a message, although cuDNN or the gate accepts the call when asked.
Refusal contradicted(const Asked& asked, const Refusal& message) {
  const answer::Answer& result = asked.result;
  const std::string who =
      message.layer == Layer::framework && !result.frameworks.empty()
          ? fmt::format("{} and cuDNN {}", result.frameworks.front().title, result.cudnn_version.text())
          : fmt::format("cuDNN {}", result.cudnn_version.text());
  Refusal refusal = reading(
      "accepted", message.layer, message.who,
      result.by_rule ? fmt::format("The known rules of {} accept this call on {}: the cause is not one of them", who,
                                   result.target.id)
                     : fmt::format("{} {} this call on {}: the cause is elsewhere", who,
                                   who.find(" and ") == std::string::npos ? "accepts" : "accept", result.target.id));
  refusal.means = fmt::format(
      "The call is supported as the text describes it, so the message has another cause. Possible: a mask, bias, dropout or stride that the text omits, another call, a cuDNN other than {}, or the machine.",
      result.cudnn_version.text());
  for (const auto& gate : result.frameworks)
    if (gate.takes == rules::Takes::by_name) refusal.means += fmt::format(" {}.", gate.text);
  refusal.next = message.next;
  refusal.source = result.by_rule ? "by rule" : "asked";
  return refusal;
}

// Whether the call reaches cuDNN if the program selects it.
bool is_free(const answer::Answer& result) {
  return result.usable == answer::Usable::yes ||
         (result.usable == answer::Usable::but && result.requirements.empty() &&
          std::all_of(result.but.begin(), result.but.end(),
                      [](const answer::Obstacle& one) { return one.kind == answer::ObstacleKind::framework; }) &&
          std::none_of(result.frameworks.begin(), result.frameworks.end(), is_kept_off));
}

// Whether the message's call reaches that layer according to every answer.
bool contradicts(const Asked& asked, const Refusal& message) {
  const answer::Answer& result = asked.result;
  if (!asked.untold.empty() || !asked.depends_on.empty() || message.layer < Layer::cudnn_engine || !is_free(result))
    return false;
  return message.layer == Layer::framework ? !result.frameworks.empty() : !result.by_rule && !asked.is_other_cudnn;
}

// The refusal established by the text's own words; null: none.
const Refusal* message_of(const TextAnswer& answer) {
  const auto found = std::find_if(answer.refusals.begin(), answer.refusals.end(), [](const Refusal& one) {
    return one.kind == MessageKind::refusal || one.kind == MessageKind::reading;
  });
  return found == answer.refusals.end() ? nullptr : &*found;
}

// Whether the text names what the bug depends on; otherwise every text would have it.
bool is_placed(const rules::KnownBug& bug, const TextFacts& facts) {
  if (!facts.is_placed() && facts.has_error) return false;
  const rules::KnownBugRule* rule = rules::find_known_bug(bug.id);
  if (rule == nullptr) return false;
  const std::string when = rule->when.dump();
  const auto depends_on = [&](const char* key) { return when.find(key) != std::string::npos; };
  return (!facts.target().empty() || !depends_on("\"sm\"")) &&
         (!cudnns_told(facts).empty() || !depends_on("\"cudnn\""));
}

// Known bugs with these symptoms; bugs of this exact call first.
void add_bugs(TextAnswer& answer, const Asked& asked, const TextFacts& facts) {
  for (const auto& bug : asked.bugs) {
    if (!is_placed(bug, facts)) continue;
    const bool concerns = std::any_of(asked.result.warnings.begin(), asked.result.warnings.end(),
                                      [&](const auto& one) { return one.id == bug.id; });
    if (concerns || answer.bugs.size() < 2)
      answer.bugs.push_back(bug_in_text(bug, "the shape, GPU and versions in the text", concerns));
  }
  std::stable_partition(answer.bugs.begin(), answer.bugs.end(), [](const BugInText& bug) { return bug.is_strong; });
}

// Whether the page has one of the settings with which a program selects cuDNN: "implementation='cudnn'".
bool names_setting(std::string_view page, const std::vector<rules::GateAnswer>& gates) {
  static const RE2 setting("([A-Za-z_.]*[A-Z_]\\w+(?:=['\"]?\\w+['\"]?)?|\\w+=['\"]\\w+['\"])");
  return std::ranges::any_of(gates, [&](const rules::GateAnswer& gate) {
    bool found = false;
    each_match(setting, gate.by_name, [&](const std::string* words, size_t) {
      constexpr size_t shortest = 10;  // "sdpa_kernel" also selects others
      found = found || (words[0].size() >= shortest && words[0] != "sdpa_kernel" &&
                        page.find(words[0]) != std::string_view::npos);
    });
    return found;
  });
}

void add_question(TextAnswer& answer, const ToldQuestion& question, std::string_view page, const TextFacts& facts,
                  const AskWith& with) {
  const bool asks = !question.fields.empty() && (facts.speaks_of_cudnn || !question.framework.empty());
  const bool asks_gpu = (facts.speaks_of_cudnn || question.framework.starts_with("transformer-engine")) &&
                        !facts.target().empty() && facts.trouble != Trouble::none;
  if (!facts.speaks_of_attention || !(asks || asks_gpu)) return;
  const auto sizes = std::count_if(question.fields.begin(), question.fields.end(),
                                   [](const ToldField& one) { return one.value.is_number(); });
  const Refusal* message = message_of(answer);
  if (message != nullptr && message->layer == Layer::environment) return;  // the machine's, whatever the call
  // Wrong numbers, a crash or a hang: known bugs of that cuDNN on that GPU may fit, whatever the sizes.
  const bool is_symptom = message != nullptr && message->layer == Layer::execution && !facts.target().empty() &&
                          !cudnns_told(facts).empty();
  // The message is sufficient; the question would consist mostly of assumptions.
  // A bare status: cuDNN may refuse this GPU, whatever the sizes.
  const bool is_placed = !facts.target().empty() && !facts.versions.empty();
  if (message != nullptr && !is_symptom && sizes < (message->says_why ? 2 : is_placed ? 0 : 1)) return;
  auto asked = ask(question, facts, with);
  if (!asked) return;
  asked->is_selected = names_setting(page, asked->result.frameworks);
  if (const std::string read = question.read_as(); !read.empty()) answer.told.insert(answer.told.begin(), read);
  add_answer(answer, facts, *asked, question.fields.empty() ? 0 : question.fields.front().line);
}

}  // namespace

std::string whom_asked(const Asked& asked) {
  const answer::Answer& result = asked.result;
  std::string text;
  for (const auto& gate : result.frameworks)
    text += fmt::format("{}'s rules{}; ", gate.title, is_kept_off(gate) ? ": no" : "");
  // Only a refusal of the call itself counts; other obstacles were reported, or are bugs or requirements of cuDNN.
  const bool is_taken = result.verdict == answer::Verdict::supported && result.requirements.empty();
  text += fmt::format("{}cuDNN {} on {}{}: {}", result.by_rule ? "the rules of " : "", result.cudnn_version.text(),
                      result.target.id, result.by_rule ? "" : " (simulated, support check)",
                      is_taken ? "yes" : name_of(answer::word_of(result)));
  if (result.frontend && result.frontend->refuses)
    text += fmt::format("; cudnn-frontend {}: no", result.frontend->version);
  if (!asked.assumed.empty()) text += fmt::format("; assumed: {}", fmt::join(asked.assumed, ", "));
  if (!asked.by_rules_of.empty()) text += "; " + asked.by_rules_of;
  return text;
}

void add_asked(TextAnswer& answer, const TextFindings& findings, const AskWith& with) {
  const TextFacts& facts = findings.facts;
  if (findings.pasted.empty() || is_hlo_without_cudnn(findings.pasted) || facts.is_about_others() ||
      is_about_another_kernel(findings.pasted) || facts.is_of_other_makers() || facts.raised.is_outside)
    return;
  const ToldQuestion question = read_question(findings.pasted, facts);
  add_question(answer, question, findings.pasted, facts, with);
  add_choice(answer, question, facts);
  // The cost of new shapes needs no question.
  if (facts.trouble == Trouble::compile_time && answer.refusals.empty() && facts.speaks_of_cudnn &&
      facts.speaks_of_attention) {
    answer.refusals.push_back(plans_of({}, facts));
    answer.refusals.front().first_line = answer.refusals.front().times = 1;
    answer.missing.clear();
  }
}

void add_asked_document(TextAnswer& answer, const std::vector<DocumentQuestion>& documents, const TextFacts& facts,
                        const AskWith& with) {
  TextFacts asking = facts;
  asking.asks = true;
  const DocumentQuestion* chosen = nullptr;
  std::optional<Asked> asked;
  for (const DocumentQuestion& document : documents) {
    auto one = ask(document.question, asking, with);
    if (!one || (asked && (asked->is_established || !one->is_established))) continue;
    asked = std::move(one);
    chosen = &document;
  }
  if (!asked) return;
  answer.told.insert(answer.told.begin(), fmt::format("{}: {}", chosen->is, chosen->question.read_as()));
  add_answer(answer, asking, *asked, chosen->question.fields.front().line);
}

void add_answer(TextAnswer& answer, const TextFacts& facts, const Asked& asked, int64_t line) {
  answer.asked = whom_asked(asked);
  answer.command = asked.command;
  const Refusal* message = message_of(answer);
  const bool is_execution = message != nullptr && message == &answer.refusals.front() &&
                            message->layer == Layer::execution && message->kind == MessageKind::refusal;
  if (message != nullptr && !is_execution && message->says_why) {
    // A call that is accepted as far as it was read adds nothing to a message that says why.
    if (!refusal_of(asked, message->layer)) answer.asked = answer.command = "";
    return;
  }
  std::optional<Refusal> found;
  if (message != nullptr && !is_execution) {
    if (asked.is_established) found = refusal_of(asked, message->layer);
    if (!found && contradicts(asked, *message)) found = contradicted(asked, *message);
    if (!found) {
      if (!asked.depends_on.empty()) answer.missing = asked.depends_on;
      return;
    }
    if (found->layer == message->layer && found->id != "accepted") found->means = message->means;
    static_cast<Place&>(*found) = *message;
  } else {
    const bool may_be_refused = facts.may_be_refused();
    if (asked.first && message == nullptr && may_be_refused &&
        (facts.asks_version || asked.is_established || is_told(asked)))
      found = first_version(asked);
    add_bugs(answer, asked, facts);
    if (found) {
      // A question about versions.
    } else if (is_failure(facts.trouble) || facts.trouble == Trouble::varies) {
      if (!answer.bugs.empty() && answer.bugs.front().is_strong) found = possible_bug(answer.bugs.front());
      if (!found) found = not_involved(asked, facts);
    } else if (facts.trouble == Trouble::compile_time) {
      found = plans_of(asked, facts);
      if (!asked.untold.empty()) answer.asked = answer.command = "";
    } else if (message == nullptr && asked.is_established) {
      // A refusal of mostly assumed values answers only a text that speaks of a refusal.
      if (!may_be_refused)
        found = not_involved(asked, facts);
      else if (facts.asks || facts.trouble == Trouble::refused || is_told(asked))
        found = refusal_of(asked);
      const bool is_refused_by_bug = facts.trouble == Trouble::refused && !asked.bugs.empty();
      if (!found && (facts.asks || is_refused_by_bug) && may_be_refused && is_told(asked)) found = warning_of(asked);
    }
    const bool is_general =
        facts.asks_support && facts.trouble == Trouble::question && !facts.target().empty() && asked.is_plain;
    const bool asks_it = facts.asks && !facts.asks_other;
    // "Still flash, not cuDNN": whatever the sizes, cuDNN must be selected.
    const bool is_not_selected = (facts.trouble == Trouble::refused || facts.asks_choice) && facts.speaks_of_cudnn &&
                                 !facts.target().empty() && !asked.is_selected &&
                                 std::ranges::any_of(asked.result.frameworks, [](const auto& gate) {
                                   return gate.takes == rules::Takes::by_name;
                                 });
    const bool is_whole = !asked.is_partial && !facts.is_unreleased;
    if (!found && message == nullptr && is_whole && (is_told(asked) || is_general || is_not_selected) &&
        asked.depends_on.empty() && is_free(asked.result) && may_be_refused &&
        (asks_it || is_not_selected || (facts.trouble == Trouble::slow && asked.untold.size() <= 1)))
      found = accepted(asked, facts);
    if (!found) {
      if (message == nullptr && !is_established(answer))
        answer.missing = !asked.depends_on.empty() ? asked.depends_on
                         : asked.untold.empty()    ? "a cuDNN log of the failing call"
                                                   : fmt::format("{}", fmt::join(asked.untold, ", "));
      if (!is_told(asked)) answer.asked = answer.command = "";  // the answer is about assumptions
      return;
    }
    found->first_line = line;
    found->times = 1;
  }
  if (!asked.result.ways_out.empty() && found->help.empty() && !found->next.starts_with("none"))
    found->help = answer::text_of(asked.result.ways_out.front());
  answer.refusals.insert(answer.refusals.begin(), std::move(*found));
  answer.missing.clear();
}

void add_asked_graph(TextAnswer& answer, const replay::Replay& replay, const TextFacts& facts, const AskWith& with) {
  const auto results = ask_graph(replay, facts, with);
  std::string others;
  const answer::Answer* refused = nullptr;
  for (const auto& result : results) {
    if (refused == nullptr && result.usable == answer::Usable::no) refused = &result;
    others += fmt::format("{}{}: {}", others.empty() ? "" : ", ", result.target.id, name_of(answer::word_of(result)));
  }
  if (results.empty()) return;
  answer.asked = fmt::format("cuDNN {} (simulated, support check): {}", results.front().cudnn_version.text(), others);
  answer.command = refused != nullptr ? refused->reproduce : results.front().reproduce;
  if (refused == nullptr) return;
  Asked asked;
  asked.result = *refused;
  if (auto refusal = refusal_of(asked)) {
    refusal->times = 1;
    answer.refusals.insert(answer.refusals.begin(), std::move(*refusal));
  }
}

}  // namespace attnprobe::explain
