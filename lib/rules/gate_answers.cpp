// A framework release's decision about a call: its rules, its order of kernels, and its cuDNN and cudnn-frontend.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/frontends.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::rules {
namespace {

std::vector<const FrameworkRule*> rules_that_hit(const FrameworkGate& gate, const std::string& release,
                                                 const Json& call) {
  const bool is_backward = call.at("pass") == "bprop";
  std::vector<const FrameworkRule*> hits;
  for (const FrameworkRule* rule : rules_in_order(gate, release)) {
    if (rule->pass == (is_backward ? "forward" : "backward")) continue;
    if (holds(rule->when, call)) hits.push_back(rule);
  }
  return hits;
}

bool is_misreading(const FrameworkRule* rule) {
  return rule->status == "wrong results";
}

// Sets the first and the last release with rules of this kind.
void date_rules(GateAnswer& answer, const ChosenGate& chosen, const Json& call, bool misreading) {
  if (chosen.release == nullptr) return;
  const auto& releases = chosen.gate->releases;
  const auto hits = [&](const GateRelease& one) {
    const auto rules = rules_that_hit(*chosen.gate, one.version, call);
    return std::any_of(rules.begin(), rules.end(),
                       [&](const FrameworkRule* rule) { return is_misreading(rule) == misreading; });
  };
  const auto own = static_cast<size_t>(chosen.release - releases.data());
  size_t first = own;
  while (first > 0 && hits(releases[first - 1])) --first;
  if (first > 0) answer.refused_since = releases[first].version;
  for (size_t later = own + 1; later < releases.size() && answer.taken_from.empty(); ++later)
    if (!hits(releases[later])) answer.taken_from = releases[later].version;
}

std::string verb_for(const std::string& status) {
  if (status == "not asked") return "does not ask cuDNN for";
  if (status == "wrong results") return "silently computes wrong results for";
  return status == "runs in another kernel" ? "uses another kernel for" : "refuses";
}

const GateText* first_that_holds(const std::vector<GateText>& texts, const Json& call) {
  const auto found = std::find_if(texts.begin(), texts.end(),
                                  [&](const GateText& one) { return one.when.is_null() || holds(one.when, call); });
  return found == texts.end() ? nullptr : &*found;
}

void note_assumptions(GateAnswer& answer, const ChosenGate& chosen, const Json& call) {
  const FrameworkGate& gate = *chosen.gate;
  const bool is_given = call.contains(names_cudnn);  // a call itself states its values
  for (const CallKey& gate_key : gate.keys)
    if (!is_given && !gate_key.advice.empty() && call.at(gate_key.key.name) != gate.base.at(gate_key.key.name))
      answer.notes.push_back(gate_key.advice);
  if (!chosen.asked.empty())
    answer.notes.push_back(fmt::format("the rules of release {} are not known; those of {} are used", chosen.asked,
                                       chosen.release->version));
  for (const GateText& one : gate.then)
    if (one.when.is_null() || holds(one.when, call)) answer.notes.push_back(one.text);
}

// No rule refuses: determines whether the framework asks cuDNN.
void add_preference(GateAnswer& answer, const ChosenGate& chosen, const Json& call) {
  const GatePreference* said = nullptr;
  bool depends = false;  // depends on GPU or cuDNN
  for (const GatePreference& one : chosen.gate->preferences) {
    if (!is_in_force(one.span, answer.release)) continue;
    said = &one;
    depends = depends || (one.first && (one.when.is_null() || one.when.contains("sm") || one.when.contains("cudnn")));
    if (!one.first || (!one.when.is_null() && !holds(one.when, call))) continue;
    answer.text = fmt::format("{} asks cuDNN{}{}", answer.title, one.why.empty() ? "" : ", ", one.why);
    answer.source = one.source;
    return;
  }
  if (said != nullptr) answer.source = said->source;
  if (call.value(names_cudnn, false)) {
    answer.text = fmt::format("{} asks cuDNN, as the call selects it", answer.title);
    return;
  }
  answer.takes = Takes::by_name;
  const std::string where = depends ? fmt::format(" on sm_{} with cuDNN {}", call.at("sm").get<int>(),
                                                  CudnnVersion::from_number(call.at("cudnn").get<int64_t>()).text())
                                    : "";
  answer.text = fmt::format("{} uses cuDNN{} only if you select it: {}", answer.title, where, answer.by_name);
}

std::string joined_with_and(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", and "));
}

// Text and answer come from the refusing rules.
void add_rules(GateAnswer& answer, const ChosenGate& chosen, const std::vector<const FrameworkRule*>& rules,
               const Json& call) {
  std::vector<std::string> what;
  for (const FrameworkRule* rule : rules) {
    what.push_back(filled(rule->what, call, CudnnVersionAs::text));
    answer.refusals.push_back({rule->id, what.back(), rule->status, filled(rule->message, call, CudnnVersionAs::number),
                               rule->change, rule->span.from, rule->span.below, rule->source});
  }
  const bool misreading = is_misreading(rules.front());
  answer.takes = misreading ? Takes::wrong : Takes::refused;
  answer.source = rules.front()->source;
  answer.text = fmt::format("{} {} {}", answer.title, verb_for(rules.front()->status), joined_with_and(what));
  date_rules(answer, chosen, call, misreading);
  if (!answer.refused_since.empty()) answer.text += fmt::format(", since {}", answer.refused_since);
}

// What runs after a silent refusal. If no kernel remains, the refusal is an exception.
void add_instead(GateAnswer& answer, const FrameworkGate& gate, const Json& call) {
  const std::string status = answer.refusals.front().status;
  const GateText* instead = first_that_holds(gate.instead, call);
  if (instead == nullptr || status == "exception" || status == "runs in another kernel") return;
  answer.instead = instead->text;
  if (!instead->raises) return;
  for (GateRefusal& refusal : answer.refusals) refusal.status = "exception";
}

// Fills in the answer except its notes.
void judge_call(GateAnswer& answer, const ChosenGate& chosen, const Json& call) {
  const FrameworkGate& gate = *chosen.gate;
  answer.framework = gate.framework;
  answer.title = title_of(chosen);
  answer.release = chosen.release == nullptr ? "" : chosen.release->version;
  if (const GateText* by_name = first_that_holds(gate.by_name, call)) answer.by_name = by_name->text;
  std::vector<std::string> lacking;
  for (const GateText& one : gate.lacks)
    if (holds(one.when, call)) lacking.push_back(one.text);
  std::vector<const FrameworkRule*> refusing, misreading;
  for (const FrameworkRule* rule : rules_that_hit(gate, answer.release, call))
    (is_misreading(rule) ? misreading : refusing).push_back(rule);
  if (!refusing.empty()) {
    add_rules(answer, chosen, refusing, call);
    add_instead(answer, gate, call);
    if (!lacking.empty()) answer.text += fmt::format("; its call has no argument for {}", joined_with_and(lacking));
  } else if (!lacking.empty()) {
    answer.takes = Takes::not_in_call;
    answer.source = gate.lacks_source;
    answer.text = fmt::format("{} has no argument for {}", answer.title, joined_with_and(lacking));
  } else {
    add_preference(answer, chosen, call);
    if (answer.takes == Takes::yes && !misreading.empty()) add_rules(answer, chosen, misreading, call);
  }
}

// The answer for a release, or a framework, without known rules.
GateAnswer unknown_answer(const ChosenGate& chosen) {
  GateAnswer answer;
  answer.framework = chosen.gate->framework;
  answer.title = title_of(chosen);
  answer.takes = Takes::unknown;
  answer.text = fmt::format("{}: its rules are not known", answer.title);
  if (!chosen.gate->unread.empty())
    answer.text += fmt::format(" ({})", chosen.gate->unread);
  else if (chosen.gate->releases.empty())
    answer.text += fmt::format("; only the current rules are, of no release (--framework {})", chosen.gate->framework);
  else
    answer.text +=
        fmt::format("; the nearest known release is {} (--framework {}=={})", chosen.gate->releases.front().version,
                    chosen.gate->framework, chosen.gate->releases.front().version);
  return answer;
}

// "2.5" is 2.5.1 or 2.5.0: if they differ, the answer states both, and the worse one counts.
void add_other_releases(GateAnswer& answer, const ChosenGate& chosen, const Json& call) {
  const auto same_rules = [](const GateRefusal& a, const GateRefusal& b) { return a.id == b.id; };
  bool differ = false;
  for (const GateRelease* other : chosen.others) {
    GateAnswer theirs;
    judge_call(theirs, {chosen.gate, other, ""}, call);
    if (theirs.takes == answer.takes && std::equal(theirs.refusals.begin(), theirs.refusals.end(),
                                                   answer.refusals.begin(), answer.refusals.end(), same_rules))
      continue;
    answer.text += fmt::format("; {}", theirs.text);
    if (answer.takes == Takes::yes) answer.takes = theirs.takes;
    differ = true;
  }
  if (differ)
    answer.notes.push_back(fmt::format("name the patch release: {} releases of {} differ here",
                                       chosen.others.size() + 1, chosen.gate->title));
}

// The last part of a pinned version is its build: "9.26.0.51".
std::optional<CudnnVersion> pinned_version(const std::string& pinned) {
  return CudnnVersion::parse(pinned);
}

// "9.26.0" from "9.26.0.51", and "9.24" for any patch; none if no single version is pinned.
std::optional<std::string> pinned_word(const std::string& pinned) {
  const auto version = pinned_version(pinned);
  if (!version) return std::nullopt;
  return std::count(pinned.begin(), pinned.end(), '.') < 2 ? version->release() : version->text();
}

// "1.22.1" counts as 1.22.
std::string known_frontend(const std::string& brought) {
  return attention::nearest_frontend(FrontendVersion::parse(brought).value().release());
}

// The outcome of the call with that cuDNN, in a few words.
std::string outcome_with(const ChosenGate& chosen, Json call, CudnnVersion cudnn) {
  call["cudnn"] = cudnn.number();
  GateAnswer answer;
  judge_call(answer, chosen, call);
  switch (answer.takes) {
    case Takes::yes:
      return "asks cuDNN";
    case Takes::by_name:
      return "uses cuDNN only if you select it";
    case Takes::refused:
      return "refuses it";
    case Takes::wrong:
      return "computes wrong results";
    case Takes::not_in_call:
    case Takes::unknown:
      break;
  }
  return "";
}

// A program with this release uses a cuDNN other than the one asked, so the outcome may differ.
void note_cudnn(GateAnswer& answer, const ChosenGate& chosen, const Json& call, CudnnVersion asked) {
  if (chosen.release == nullptr || chosen.release->cudnn.empty() || !chosen.asked.empty()) return;
  const std::string& pinned = answer.cudnn = chosen.release->cudnn;
  if (pinned.starts_with(">=")) {
    const auto least = pinned_version(pinned.substr(2));
    if (least && asked < *least)
      answer.notes.push_back(
          fmt::format("{} requires cuDNN {} or newer; asked: {}", answer.title, least->text(), asked.text()));
    return;
  }
  const auto word = pinned_word(pinned);
  if (!word || is_of_version(asked.text(), *word)) return;
  const CudnnVersion brought = *pinned_version(pinned);
  answer.notes.push_back(
      fmt::format("{} ships cuDNN {}; asked: {} (--cudnn {} asks that one)", answer.title, *word, asked.text(), *word));
  const std::string then = outcome_with(chosen, call, brought);
  if (then != outcome_with(chosen, call, asked))
    answer.text += fmt::format(" (with its own cuDNN {}, it {})", *word, then);
  else if (answer.takes == Takes::yes && asked.release() != brought.release())
    answer.text += fmt::format("; it ships cuDNN {}, but {} answers here", *word, asked.text());
}

}  // namespace

void note_frontend(GateAnswer& answer, const ChosenGate& chosen, const std::string& answered) {
  if (chosen.release == nullptr || chosen.release->frontend.empty() || !chosen.asked.empty()) return;
  const std::string& brought = answer.frontend = chosen.release->frontend;
  const std::string known = known_frontend(brought);
  std::string note =
      fmt::format("{} contains cudnn-frontend {} ({})", answer.title, brought, chosen.release->frontend_source);
  const bool is_known = is_of_version(brought, known);
  if (answered != known)
    note +=
        fmt::format("; {} answers (--frontend {} is {})", answered, known, is_known ? "that one" : "the nearest known");
  else if (!is_known)
    note += fmt::format("; {}, the nearest that attnprobe knows, answers for it", known);
  answer.notes.push_back(note);
}

std::optional<std::string> cudnn_of(const std::vector<ChosenGate>& gates) {
  std::optional<std::string> common;
  for (const ChosenGate& chosen : gates) {
    if (chosen.release == nullptr || chosen.release->cudnn.empty() || !chosen.asked.empty()) continue;
    const auto word = pinned_word(chosen.release->cudnn);
    if (!word || (common && common != word)) return std::nullopt;
    common = word;
  }
  return common;
}

GateAnswer answer_of_gate(const ChosenGate& chosen, const Json& call, CudnnVersion cudnn_version) {
  if (!chosen.is_known()) return unknown_answer(chosen);
  GateAnswer answer;
  judge_call(answer, chosen, call);
  add_other_releases(answer, chosen, call);
  note_cudnn(answer, chosen, call, cudnn_version);
  note_assumptions(answer, chosen, call);
  return answer;
}

}  // namespace attnprobe::rules
