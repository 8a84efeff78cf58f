// Combines the answers of rules and cuDNN into an answer for a text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ask/by_rule.hpp"
#include "attention/config.hpp"
#include "base/text.hpp"
#include "explain/choice.hpp"
#include "explain/readings.hpp"
#include "explain/text_answer.hpp"
#include "explain/words.hpp"
#include "rules/bug_sightings.hpp"

namespace attnprobe::explain {
namespace {

// "…, known bug: X" of rules: the bug and its workaround.
BugInText bug_in_text(const rules::KnownBug& bug, const std::string& why, bool is_strong) {
  BugInText found{.id = bug.id, .what = bug.what, .advice = bug.advice, .why = why, .is_strong = is_strong};
  if (const rules::KnownBugRule* rule = rules::find_known_bug(bug.id)) {
    found.versions = rules::versions_text(rule->when);
    found.experiment = rule->experiment;
    found.only_if = rule->only_if;
  }
  return found;
}

// Whether the call reaches cuDNN if the program selects it.
bool is_free(const answer::Answer& result) {
  return result.usable == answer::Usable::yes ||
         (result.usable == answer::Usable::but && result.requirements.empty() &&
          std::all_of(result.but.begin(), result.but.end(),
                      [](const answer::Obstacle& one) { return one.kind == answer::ObstacleKind::framework; }) &&
          std::none_of(result.frameworks.begin(), result.frameworks.end(), is_kept_off));
}

// Whether the message's call reaches that layer according to every answer. Prose may leave out what a gate refuses.
bool contradicts(const Asked& asked, const Refusal& message, const TextFacts& facts) {
  if (facts.has_several_gpus || !asked.untold.empty() || !asked.depends_on.empty() || !asked.unread.empty() ||
      asked.has_cases || facts.has_several_cudnns || message.layer < Layer::cudnn_engine ||
      cudnns_told(facts).empty() || !is_free(asked.result))
    return false;
  if (message.layer == Layer::framework) return asked.is_whole_call && !asked.result.frameworks.empty();
  return !asked.result.by_rule && !asked.is_other_cudnn;
}

// The same message may be of several rules and releases; the gate's answer knows which one refuses the call.
void tell_rule(Refusal& message, const Refusal& same, const answer::Answer& result) {
  if (result.frameworks.empty() || result.frameworks.front().refusals.empty()) return;
  const std::string& words = result.frameworks.front().refusals.front().message;
  const std::string_view begin = trim(std::string_view(words).substr(0, words.find_first_of("{0123456789")));
  constexpr size_t telling = 12;
  const auto has_words_of_it = [&](const std::string& line) { return line.find(begin) != std::string::npos; };
  if (begin.size() < telling ||
      (!has_words_of_it(message.line) && std::ranges::none_of(message.causes, has_words_of_it)))
    return;
  if (has_words_of_it(message.line)) {
    message.id = same.id;
    message.causes.clear();
  }
  message.means = same.headline + ".";
  message.next = same.next;
  message.help = same.help;
}

// The refusal established by the text's own words; null: none.
Refusal* message_of(TextAnswer& answer) {
  const auto found = std::find_if(answer.refusals.begin(), answer.refusals.end(), [](const Refusal& one) {
    return one.kind == MessageKind::refusal || one.kind == MessageKind::reading;
  });
  return found == answer.refusals.end() ? nullptr : &*found;
}

// Whether the text names what the bug depends on; otherwise every text would have it.
bool names_place_of(const rules::KnownBug& bug, const TextFacts& facts) {
  if (!facts.is_placed() && facts.has_error) return false;
  const rules::KnownBugRule* rule = rules::find_known_bug(bug.id);
  return rule != nullptr && (!facts.target().empty() || !rules::depends_on(*rule, "sm")) &&
         (!cudnns_told(facts).empty() || !rules::depends_on(*rule, "cudnn"));
}

// Whether every cuDNN of the text that fails has the bug: "9.24.1 still gives Inf" disproves one that ends before it.
bool has_each_cudnn(const rules::KnownBug& bug, const Asked& asked, const TextFacts& facts) {
  for (const std::string& named : facts.failing_cudnns)
    if (const auto version = asking::named_version(named))
      if (std::ranges::none_of(rules::known_bugs(asked.result.config.spec, *version, asked.result.target.sm),
                               [&](const auto& one) { return one.id == bug.id; }))
        return false;
  return true;
}

// Known bugs with these symptoms; bugs of this exact call first.
void add_bugs(TextAnswer& answer, const Asked& asked, const TextFacts& facts) {
  if (facts.is_same_elsewhere || (facts.runs_another && must_be_selected(asked))) return;
  for (const auto& bug : asked.bugs) {
    if (!names_place_of(bug, facts) || !has_each_cudnn(bug, asked, facts)) continue;
    const bool concerns = std::any_of(asked.result.warnings.begin(), asked.result.warnings.end(),
                                      [&](const auto& one) { return one.id == bug.id; });
    if (concerns || answer.bugs.size() < 2)
      answer.bugs.push_back(bug_in_text(bug, "the shape, GPU and versions in the text", concerns));
  }
  std::ranges::stable_sort(answer.bugs, std::less(),
                           [](const BugInText& bug) { return std::pair(!bug.is_strong, !bug.only_if.empty()); });
}

// Whether a message tells of a normal event.
bool has_note(const TextAnswer& answer) {
  return std::ranges::any_of(answer.refusals, [](const Refusal& one) { return one.kind == MessageKind::note; });
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

// Whether the same rule as in the message refuses, with the message's numbers: few facts are enough then.
bool refuses_as(const Refusal& message, const answer::Answer& result) {
  static const RE2 number("\\d+");
  return std::ranges::any_of(result.frameworks, [&](const rules::GateAnswer& gate) {
    bool is_same = std::ranges::any_of(gate.refusals, [&](const rules::GateRefusal& refusal) {
      return message.id == gate.framework + ":" + refusal.id;
    });
    each_match(number, message.means, [&](const std::string* found, size_t) {
      is_same = is_same && gate.text.find(found[0]) != std::string::npos;
    });
    return is_same;
  });
}

void add_question(TextAnswer& answer, const ToldQuestion& question, std::string_view page, const TextFacts& facts,
                  const AskWith& with) {
  const bool asks = !question.fields.empty() && (facts.speaks_of_cudnn || !question.framework.empty());
  const bool asks_gpu = (facts.speaks_of_cudnn || question.framework.starts_with("transformer-engine")) &&
                        !facts.target().empty() && facts.trouble != Trouble::none;
  if (!facts.speaks_of_attention || !(asks || asks_gpu)) return;
  if (facts.has_many_questions || (facts.is_mended && !facts.asks)) return;
  const auto sizes = std::count_if(question.fields.begin(), question.fields.end(),
                                   [](const ToldField& one) { return one.value.is_number(); });
  const Refusal* message = message_of(answer);
  // The machine's, whatever the call.
  if (message != nullptr && message->layer == Layer::environment && message->says_why) return;
  // Wrong numbers, a crash or a hang: known bugs of that cuDNN on that GPU may fit, whatever the sizes.
  const bool is_symptom = message != nullptr && message->layer == Layer::execution && !facts.target().empty() &&
                          !cudnns_told(facts).empty();
  // Of a bare status, cuDNN's refusal of this GPU may be the cause, whatever the sizes.
  const bool is_refused_there =
      message != nullptr && !message->says_why && !facts.target().empty() && !facts.versions.empty();
  // The message is sufficient; the question would consist mostly of assumptions. Of a gate, the GPU and release decide.
  const bool is_placed_gate = message != nullptr && !facts.target().empty() &&
                              ((message->layer == Layer::framework && !facts.frameworks.empty()) ||
                               (message->layer == Layer::cudnn_frontend && !facts.versions.empty()));
  const int64_t needed = message != nullptr && message->says_why && !is_placed_gate ? 2 : 1;
  const bool is_enough = message == nullptr || is_symptom || is_refused_there || sizes >= needed;
  if (!is_enough && !is_placed_gate) return;
  auto asked = ask(question, facts, with);
  if (!asked || (!is_enough && !refuses_as(*message, asked->result))) return;
  // A release that runs no call on cuDNN answers only a text that wants cuDNN.
  const auto& gates = asked->result.frameworks;
  const bool is_for_all = !gates.empty() && refuses_any_call(gates.front());
  if (is_for_all && !is_failure(facts.trouble) && (has_note(answer) || !facts.is_on_cudnn)) return;
  // A set of kernels has no order.
  asked->is_selected = !question.call.contains("backend_set") &&
                       (!facts.kernels.empty() || names_setting(page, asked->result.frameworks));
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
      facts.speaks_of_attention && facts.other_operations.empty()) {
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
  Refusal* message = message_of(answer);
  const bool is_execution = message != nullptr && message == &answer.refusals.front() &&
                            message->layer == Layer::execution && message->kind == MessageKind::refusal;
  // A bug of this very call comes before a problem that its words resemble.
  if (message != nullptr && message->kind == MessageKind::reading && message->headline.starts_with("possible") &&
      is_failure(facts.trouble) && asked.is_established) {
    add_bugs(answer, asked, facts);
    if (!answer.bugs.empty() && answer.bugs.front().is_strong) {
      Refusal bug = possible_bug(answer.bugs.front());
      bug.first_line = line;
      bug.times = 1;
      answer.refusals.insert(answer.refusals.begin(), std::move(bug));
      return;
    }
    answer.bugs.clear();
  }
  if (message != nullptr && !is_execution && message->says_why) {
    // A plan that did not compile may be a known bug.
    if (message->layer == Layer::plan_compilation) add_bugs(answer, asked, facts);
    const auto same = refusal_of(asked, message->layer);
    // A call that is accepted as far as it was read adds nothing to a message that says why.
    if (!same && answer.bugs.empty()) answer.asked = answer.command = "";
    if (same && message->layer == Layer::framework && asked.is_established && !asked.is_release_assumed)
      tell_rule(*message, *same, asked.result);
    if (!same || message->layer != Layer::cudnn_frontend) return;
    // cuDNN itself lacks it there, which explains the limit.
    if (!asked.result.requirements.empty() && message->causes.empty()) {
      message->causes = {asked.result.requirements.front().text};
      if (!same->next.empty()) message->next = same->next;
    }
    if (asked.lifted_by.is_known()) message->next = lifting_cudnn(asked);
    return;
  }
  std::optional<Refusal> found;
  if (message != nullptr && !is_execution) {
    // The gate's own refusal does not reach cuDNN: another call failed.
    const auto& gates = asked.result.frameworks;
    if (message->layer < Layer::framework && asked.by_rules_of.empty() && !facts.frameworks.empty() && !gates.empty() &&
        gates.front().takes == rules::Takes::refused) {
      answer.missing = fmt::format("the call that failed: {} refuses the one in the text, so it does not reach cuDNN",
                                   gates.front().title);
      answer.command.clear();
      return;
    }
    if (asked.is_established) found = refusal_of(asked, message->layer);
    if (!found && contradicts(asked, *message, facts)) found = contradicted(asked, *message);
    if (!found) {
      if (!asked.depends_on.empty()) answer.missing = asked.depends_on;
      return;
    }
    if (found->layer == message->layer && found->id != "accepted") found->means = message->means;
    static_cast<Place&>(*found) = *message;
  } else {
    const bool may_be_refused = facts.may_be_refused();
    // A gate that refuses it with every cuDNN is the answer itself.
    const bool is_of_gate = asked.first.size() == 1 && !asked.first.front().version.is_known() &&
                            std::ranges::any_of(asked.result.frameworks, is_kept_off);
    if (!asked.first.empty() && message == nullptr && may_be_refused && facts.other_gpus.empty() && !asked.is_partial &&
        !is_of_gate && (facts.asks_version || asked.is_established || is_told(asked)))
      found = asked.first.size() == 1 ? first_version(asked) : first_versions(asked);
    add_bugs(answer, asked, facts);
    if (found) {
      // A question about versions.
    } else if (is_failure(facts.trouble) || facts.trouble == Trouble::varies) {
      // A rule of the release, such as a bias that cuDNN reads in another type, comes before cuDNN's own bugs.
      const bool is_misread = !asked.result.frameworks.empty() && asked.is_established &&
                              asked.result.frameworks.front().takes == rules::Takes::wrong;
      if (is_misread && facts.trouble == Trouble::wrong) found = refusal_of(asked);
      if (!found && !answer.bugs.empty() && answer.bugs.front().is_strong) found = possible_bug(answer.bugs.front());
      if (!found) found = not_involved(asked, facts);
    } else if (facts.trouble == Trouble::memory && asked.is_established && asked.untold.empty() &&
               !facts.frameworks.empty() && std::ranges::any_of(asked.result.frameworks, is_kept_off)) {
      found = refusal_of(asked);  // another kernel runs, which may need the memory
    } else if (facts.trouble == Trouble::compile_time) {
      found = plans_of(asked, facts);
      if (!asked.untold.empty()) answer.asked = answer.command = "";
    } else if (message == nullptr && asked.is_established &&
               (facts.other_operations.empty() || facts.asks_support || facts.runs_another)) {
      // A refusal of mostly assumed values answers only a text that speaks of a refusal.
      if (!may_be_refused)
        found = not_involved(asked, facts);
      else if (facts.asks ? !facts.asks_elsewhere || facts.trouble == Trouble::refused || facts.runs_another
                          : facts.trouble == Trouble::refused || is_told(asked))
        found = refusal_of(asked);
      // A message of a refusal has another cause than a bug of calls that are accepted.
      const bool is_of_bug = !asked.bugs.empty() || (facts.asks && answer.refusals.empty());
      if (!found && is_of_bug && may_be_refused && is_told(asked)) found = warning_of(asked);
    }
    const bool is_general =
        facts.asks_support && facts.trouble == Trouble::question && !facts.target().empty() && asked.is_plain;
    const bool asks_it = facts.asks && !facts.asks_other;
    // "Still flash, not cuDNN": whatever the sizes, cuDNN must be selected.
    const bool needs_selection = must_be_selected(asked);
    const bool is_not_selected = (facts.runs_another || facts.asks_choice) && facts.speaks_of_cudnn &&
                                 !facts.target().empty() && needs_selection;
    // Whether cuDNN runs is decided by the framework's order, which add_choice() tells.
    const bool is_of_order = facts.asks_choice && !asked.result.frameworks.empty() && !needs_selection;
    const bool is_whole = !is_of_order && !asked.is_partial && !facts.is_unreleased && !facts.has_several_cudnns &&
                          (!facts.has_several_gpus || !asked.also_on.empty()) && facts.other_gpus.empty() &&
                          (facts.other_operations.empty() || facts.asks_support);
    // An error that no message explains has a cause that was not found.
    if (!found && message == nullptr && is_whole && !has_note(answer) && !facts.has_error &&
        (is_told(asked) || is_general || is_not_selected) && asked.depends_on.empty() && is_free(asked.result) &&
        may_be_refused &&
        (asks_it || is_not_selected ||
         (facts.trouble == Trouble::slow && asked.untold.size() <= 1 && facts.other_operations.empty())))
      found = accepted(asked, facts);
    if (!found) {
      if (message == nullptr && !is_established(answer))
        answer.missing = !asked.unread.empty() && facts.asks
                             ? fmt::format("the meaning of \"{}\" (attnprobe help fields lists what can be asked)",
                                           fmt::join(asked.unread, "\", \""))
                         : !asked.depends_on.empty() ? asked.depends_on
                         : asked.untold.empty()      ? "a cuDNN log of the failing call"
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
    const bool is_refused = result.usable == answer::Usable::no || (result.frontend && result.frontend->refuses);
    if (refused == nullptr && is_refused) refused = &result;
    others += fmt::format("{}{}: {}", others.empty() ? "" : ", ", result.target.id, name_of(answer::word_of(result)));
  }
  if (results.empty()) return;
  answer.asked = fmt::format("cuDNN {} (simulated, support check): {}", results.front().cudnn_version.text(), others);
  const answer::Answer& shown = refused != nullptr ? *refused : results.front();
  if (attention::has_config(shown.config.spec)) answer.command = shown.reproduce;
  if (refused == nullptr) return;
  Asked asked;
  asked.result = *refused;
  if (auto refusal = refusal_of(asked)) {
    refusal->times = 1;
    answer.refusals.insert(answer.refusals.begin(), std::move(*refusal));
    answer.missing.clear();
  }
}

}  // namespace attnprobe::explain
