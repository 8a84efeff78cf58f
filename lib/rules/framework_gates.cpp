#include "rules/framework_gates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/frontends.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"

namespace attnprobe::rules {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr size_t release_parts = 4;  // JAX 0.12.0.1

using Numbers = std::vector<int>;

bool is_in_force(const GateSpan& span, const Numbers& release) {
  return span.first <= release && (span.end.empty() || release < span.end);  // no numbers come before all others
}

// Of a gate whose releases are not known, those that hold today.
Numbers numbers_or_newest(const std::string& release) {
  if (release.empty()) return {1'000'000};
  return *release_numbers(release);
}

// As the frameworks are written: "Transformer_Engine", "CUDA.jl".
std::string plain_name(std::string_view word) {
  std::string name;
  for (const char c : trim(word)) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    name += c == '_' || c == ' ' ? '-' : is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

// "torch==2.11", "torch 2.11", "torch@2.11" in two.
struct AskedFramework {
  std::string name, release;
};

AskedFramework take_apart(const std::string& word) {
  const std::string text(trim(word));
  size_t at = text.find_first_of("=@");
  if (at == std::string::npos) {
    // A blank parts them only where a release follows: "Transformer Engine".
    at = text.rfind(' ');
    const bool has_release = at != std::string::npos && at + 1 < text.size() &&
                             digits.find(text[text[at + 1] == 'v' ? at + 2 : at + 1]) != digits.npos;
    if (!has_release) return {plain_name(text), ""};
  }
  std::string release(trim(text.substr(
      text.find_first_not_of("=@ ", at) == std::string::npos ? text.size() : text.find_first_not_of("=@ ", at))));
  if (release.starts_with('v')) release.erase(0, 1);
  release = release.substr(0, release.find('+'));  // 2.11.0+cu130
  // 2.16.0a0, 2.16.0rc1 and 0.12.0.dev20261101 are on their way to a release.
  const size_t end = release.find_first_not_of(".0123456789");
  if (end != std::string::npos && end > 0 && release.find(".post") == std::string::npos)
    release = release.substr(0, release.find_last_of(digits, end) + 1);
  return {plain_name(text.substr(0, at)), release};
}

const FrameworkGate& gate_named(const std::string& name, const std::string& word, const std::string& option) {
  std::vector<std::string> names, all;
  for (const FrameworkGate& gate : framework_gates()) {
    names.push_back(gate.framework);
    all.push_back(gate.framework);
    for (const std::string& other : gate.names) all.push_back(plain_name(other));
    const bool is_meant = plain_name(gate.framework) == name || plain_name(gate.title) == name ||
                          std::any_of(gate.names.begin(), gate.names.end(),
                                      [&](const std::string& other) { return plain_name(other) == name; });
    if (is_meant) return gate;
  }
  throw Error(ErrorKind::usage,
              fmt::format("{}: \"{}\" is no framework whose rules are known{}; allowed: \"all\", {}, each "
                          "with a release behind it or not (torch==2.11)",
                          option, word, did_you_mean(name, all), quoted_list(names)));
}

std::string releases_text(const FrameworkGate& gate) {
  std::vector<std::string> versions;
  for (const GateRelease& release : gate.releases) versions.push_back(release.version);
  return fmt::format("{}", fmt::join(versions, ", "));
}

// The newest release that the word means; where none was read, the newest before it.
ChosenGate release_of(const FrameworkGate& gate, const std::string& release, const std::string& word,
                      const std::string& option) {
  ChosenGate chosen{&gate, gate.releases.empty() ? nullptr : &gate.releases.back(), ""};
  if (release.empty()) return chosen;
  const auto asked = release_numbers(release);
  if (!asked)
    throw Error(ErrorKind::usage,
                fmt::format("{}: \"{}\": \"{}\" is not a release; allowed: {}", option, word, release,
                            gate.releases.empty() ? "none, since none is known" : releases_text(gate)));
  if (gate.releases.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\": no release of {} is known: ask for \"{}\" alone", option,
                                              word, gate.title, gate.framework));
  chosen.release = nullptr;
  for (const GateRelease& one : gate.releases) {
    if (is_of_version(one.version, release)) chosen.release = &one;
  }
  if (chosen.release != nullptr) return chosen;
  for (const GateRelease& one : gate.releases)
    if (*release_numbers(one.version) <= *asked) chosen.release = &one;
  if (chosen.release == nullptr)
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\": the rules of {} are known from {} on; allowed: {}", option,
                                              word, gate.title, gate.releases.front().version, releases_text(gate)));
  chosen.asked = release;
  return chosen;
}

// A value in a text for people. A framework's own message has the number of a cuDNN; other texts its version.
std::string filled(const std::string& text, const Json& call, bool with_versions) {
  std::string out = text;
  for (const std::string& name : placeholders_of(text)) {
    const Json& value = call.at(name);
    std::string word = value.is_string() ? value.get<std::string>() : value.is_null() ? "none" : json_text(value);
    if (with_versions && name == "cudnn") word = CudnnVersion::from_number(value.get<int64_t>()).text();
    const std::string place = "{" + name + "}";
    out.replace(out.find(place), place.size(), word);
  }
  return out;
}

std::vector<const GateRule*> rules_that_hit(const FrameworkGate& gate, const std::string& release, const Json& call) {
  const bool is_backward = call.at("pass") == "bprop";
  std::vector<const GateRule*> hits;
  for (const GateRule* rule : rules_in_order(gate, release)) {
    if (rule->pass == (is_backward ? "forward" : "backward")) continue;
    if (holds(rule->when, call)) hits.push_back(rule);
  }
  return hits;
}

// In how many releases running up to the asked one, and in which later one no more.
void date_refusal(GateAnswer& answer, const ChosenGate& chosen, const Json& call) {
  if (chosen.release == nullptr) return;
  const auto& releases = chosen.gate->releases;
  const auto refuses = [&](const GateRelease& one) { return !rules_that_hit(*chosen.gate, one.version, call).empty(); };
  const auto own = static_cast<size_t>(chosen.release - releases.data());
  size_t first = own;
  while (first > 0 && refuses(releases[first - 1])) --first;
  if (first > 0) answer.refused_since = releases[first].version;
  for (size_t later = own + 1; later < releases.size() && answer.taken_from.empty(); ++later)
    if (!refuses(releases[later])) answer.taken_from = releases[later].version;
}

std::string verb_for(const std::string& status) {
  if (status == "not asked") return "does not ask cuDNN for";
  return status == "runs in another kernel" ? "takes another kernel for" : "refuses";
}

void note_assumptions(GateAnswer& answer, const ChosenGate& chosen, const Json& call) {
  const FrameworkGate& gate = *chosen.gate;
  const bool is_given = call.contains(names_cudnn);  // a call said what it passes
  for (const GateKey& gate_key : gate.keys)
    if (!is_given && !gate_key.advice.empty() && call.at(gate_key.key.name) != gate.base.at(gate_key.key.name))
      answer.notes.push_back(gate_key.advice);
  if (!chosen.asked.empty())
    answer.notes.push_back(fmt::format("release {} was not read: {} has the newest rules read before it", chosen.asked,
                                       chosen.release->version));
  if (!gate.then.empty()) answer.notes.push_back(gate.then);
}

// Nothing is refused: is cuDNN asked at all?
void add_preference(GateAnswer& answer, const ChosenGate& chosen, const Json& call) {
  const Numbers release = numbers_or_newest(answer.release);
  const GatePreference* said = nullptr;
  bool depends = false;
  for (const GatePreference& one : chosen.gate->preferences) {
    if (!is_in_force(one.span, release)) continue;
    said = &one;
    depends = depends || one.first;
    if (!one.first || (!one.when.is_null() && !holds(one.when, call))) continue;
    answer.text = fmt::format("{} asks cuDNN", answer.title);
    answer.source = one.source;
    return;
  }
  if (said != nullptr) answer.source = said->source;
  if (call.value(names_cudnn, false)) {
    answer.text = fmt::format("{} asks cuDNN, which the call names", answer.title);
    return;
  }
  answer.takes = Takes::by_name;
  const std::string where = depends ? fmt::format(" on sm_{} with cuDNN {}", call.at("sm").get<int>(),
                                                  CudnnVersion::from_number(call.at("cudnn").get<int64_t>()).text())
                                    : "";
  answer.text = fmt::format("{} takes cuDNN{} only where it is named: {}", answer.title, where, answer.by_name);
}

std::string joined_with_and(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", and "));
}

// Everything of the answer but its notes.
void judge_call(GateAnswer& answer, const ChosenGate& chosen, const Json& call) {
  const FrameworkGate& gate = *chosen.gate;
  answer.framework = gate.framework;
  answer.title = title_of(chosen);
  answer.release = chosen.release == nullptr ? "" : chosen.release->version;
  for (const GateText& one : gate.by_name)
    if (one.when.is_null() || holds(one.when, call)) {
      answer.by_name = one.text;
      break;
    }
  std::vector<std::string> refused, lacking;
  for (const GateRule* rule : rules_that_hit(gate, answer.release, call)) {
    answer.refusals.push_back({rule->id, filled(rule->what, call, true), rule->status,
                               filled(rule->message, call, false), rule->change, rule->span.from, rule->span.below,
                               rule->source});
    refused.push_back(answer.refusals.back().what);
  }
  for (const GateText& one : gate.lacks)
    if (holds(one.when, call)) lacking.push_back(one.text);
  if (!refused.empty()) {
    answer.takes = Takes::refused;
    answer.source = answer.refusals.front().source;
    const std::string& status = answer.refusals.front().status;
    answer.text = fmt::format("{} {} {}", answer.title, verb_for(status), joined_with_and(refused));
    if (status != "exception" && status != "runs in another kernel") answer.instead = gate.instead;
    date_refusal(answer, chosen, call);
    if (!answer.refused_since.empty()) answer.text += fmt::format(", since {}", answer.refused_since);
    if (!lacking.empty()) answer.text += fmt::format("; its call has no argument for {}", joined_with_and(lacking));
  } else if (!lacking.empty()) {
    answer.takes = Takes::not_in_call;
    answer.source = gate.lacks_source;
    answer.text = fmt::format("{} has no argument for {}", answer.title, joined_with_and(lacking));
  } else {
    add_preference(answer, chosen, call);
  }
}

// The last part of the version that a release pins is its build: "9.26.0.51".
std::optional<CudnnVersion> pinned_version(const std::string& pinned) {
  return CudnnVersion::parse(pinned);
}

// "1.22.1" is judged as 1.22.
std::string known_frontend(const std::string& brought) {
  return attention::nearest_frontend(FrontendVersion::parse(brought).value().release());
}

// What becomes of the call, in a few words, were that cuDNN the one that runs.
std::string outcome_with(const ChosenGate& chosen, Json call, CudnnVersion cudnn) {
  call["cudnn"] = cudnn.number();
  GateAnswer answer;
  judge_call(answer, chosen, call);
  switch (answer.takes) {
    case Takes::yes:
      return "asks cuDNN";
    case Takes::by_name:
      return "takes cuDNN only where it is named";
    case Takes::refused:
      return "refuses it";
    case Takes::not_in_call:
      break;
  }
  return "";
}

// A program that installed the release runs with another cuDNN than the one that is asked, and may fare differently.
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
  const auto brought = pinned_version(pinned);
  if (!brought) return;
  // "9.24" is any patch of it.
  const std::string word = std::count(pinned.begin(), pinned.end(), '.') < 2 ? brought->release() : brought->text();
  if (is_of_version(asked.text(), word)) return;
  answer.notes.push_back(
      fmt::format("{} brings cuDNN {}; asked: {} (--cudnn {} asks that one)", answer.title, word, asked.text(), word));
  const std::string then = outcome_with(chosen, call, *brought);
  if (then != outcome_with(chosen, call, asked))
    answer.text += fmt::format(" (with cuDNN {}, which it brings, it {})", word, then);
}

}  // namespace

std::optional<std::vector<int>> release_numbers(std::string_view release) {
  // "0.7.2.post1": after 0.7.2 and before 0.7.3.
  const size_t post = release.find(".post");
  const std::string_view version = release.substr(0, post);
  const std::string_view after = post == std::string_view::npos ? "0" : release.substr(post + 5);
  const bool is_good = is_version(version) && !version.starts_with('.') && !version.ends_with('.') &&
                       version.find("..") == std::string_view::npos && is_version(after) &&
                       after.find('.') == std::string_view::npos;
  if (!is_good) return std::nullopt;
  std::vector<int> numbers = version_numbers(version);
  if (numbers.size() > release_parts) return std::nullopt;
  numbers.resize(release_parts);
  numbers.push_back(version_numbers(after).front());
  return numbers;
}

std::vector<ChosenGate> choose_gates(const std::vector<std::string>& words, const std::string& option) {
  std::vector<ChosenGate> chosen;
  for (const std::string& list : words) {
    for (const std::string& word : split(list, ',')) {
      if (plain_name(word) == "all") {
        for (const FrameworkGate& gate : framework_gates()) chosen.push_back(release_of(gate, "", word, option));
        continue;
      }
      const AskedFramework asked = take_apart(word);
      chosen.push_back(release_of(gate_named(asked.name, word, option), asked.release, word, option));
    }
  }
  for (size_t i = 0; i < chosen.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (title_of(chosen[i]) == title_of(chosen[j]))
        throw Error(ErrorKind::usage, fmt::format("{}: {} is asked for twice", option, title_of(chosen[i])));
  return chosen;
}

std::string words_of(const std::vector<ChosenGate>& gates) {
  const bool are_all =
      gates.size() == framework_gates().size() && std::all_of(gates.begin(), gates.end(), [](const ChosenGate& one) {
        return one.asked.empty() && (one.release == nullptr || one.release == &one.gate->releases.back());
      });
  if (are_all && gates.size() > 1) return "all";
  std::string words;
  for (const ChosenGate& one : gates) {
    const std::string release = !one.asked.empty() ? one.asked : one.release != nullptr ? one.release->version : "";
    words +=
        fmt::format("{}{}{}{}", words.empty() ? "" : ",", one.gate->framework, release.empty() ? "" : "==", release);
  }
  return words;
}

std::string title_of(const ChosenGate& chosen) {
  const std::string release = chosen.release == nullptr ? "" : chosen.release->version;
  if (!chosen.asked.empty()) return fmt::format("{} {} (rules of {})", chosen.gate->title, chosen.asked, release);
  return release.empty() ? chosen.gate->title : fmt::format("{} {}", chosen.gate->title, release);
}

std::vector<const GateRule*> rules_in_order(const FrameworkGate& gate, const std::string& release) {
  const Numbers numbers = numbers_or_newest(release);
  std::vector<const GateRule*> rules;
  for (const GateRule& rule : gate.rules)
    if (is_in_force(rule.span, numbers)) rules.push_back(&rule);
  for (const FrameworkGate::Order& order : gate.orders) {
    if (!is_in_force(order.span, numbers)) continue;
    const auto place = [&](const GateRule* rule) {
      return std::find(order.rules.begin(), order.rules.end(), rule->id) - order.rules.begin();
    };
    std::stable_sort(rules.begin(), rules.end(),
                     [&](const GateRule* a, const GateRule* b) { return place(a) < place(b); });
    break;
  }
  return rules;
}

std::optional<std::string> frontend_of(const std::vector<ChosenGate>& gates) {
  std::optional<std::string> common;
  for (const ChosenGate& chosen : gates) {
    if (chosen.release == nullptr || chosen.release->frontend.empty()) continue;
    const std::string known = known_frontend(chosen.release->frontend);
    if (common && common != known) return std::nullopt;
    common = known;
  }
  return common;
}

void note_frontend(GateAnswer& answer, const ChosenGate& chosen, const std::string& answered) {
  if (chosen.release == nullptr || chosen.release->frontend.empty() || !chosen.asked.empty()) return;
  const std::string& brought = answer.frontend = chosen.release->frontend;
  const std::string known = known_frontend(brought);
  std::string note =
      fmt::format("{} brings cudnn-frontend {} ({})", answer.title, brought, chosen.release->frontend_source);
  const bool is_known = is_of_version(brought, known);
  if (answered != known)
    note +=
        fmt::format("; {} answers (--frontend {} is {})", answered, known, is_known ? "that one" : "the nearest known");
  else if (!is_known)
    note += fmt::format("; {}, the nearest that attnprobe knows, answers for it", known);
  answer.notes.push_back(note);
}

GateAnswer answer_of_gate(const ChosenGate& chosen, const Json& call, CudnnVersion cudnn_version) {
  GateAnswer answer;
  judge_call(answer, chosen, call);
  note_cudnn(answer, chosen, call, cudnn_version);
  note_assumptions(answer, chosen, call);
  return answer;
}

}  // namespace attnprobe::rules
