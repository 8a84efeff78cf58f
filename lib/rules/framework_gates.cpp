#include "rules/framework_gates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/frontends.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::rules {
namespace {

constexpr std::string_view digits = "0123456789";

// Normalises spellings such as "Transformer_Engine" and "CUDA.jl".
std::string plain_name(std::string_view word) {
  std::string name;
  for (const char c : trim(word)) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    name += c == '_' || c == ' ' ? '-' : is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

// Splits "torch==2.11", "torch 2.11" or "torch@2.11" into name and release.
struct AskedFramework {
  std::string name, release;
};

AskedFramework take_apart(const std::string& word) {
  const std::string text(trim(word));
  size_t at = text.find_first_of("=@");
  if (at == std::string::npos) {
    // A blank separates only if a release follows: "Transformer Engine".
    at = text.rfind(' ');
    const bool has_release = at != std::string::npos && at + 1 < text.size() &&
                             digits.find(text[text[at + 1] == 'v' ? at + 2 : at + 1]) != digits.npos;
    if (!has_release) return {plain_name(text), ""};
  }
  std::string release(trim(text.substr(
      text.find_first_not_of("=@ ", at) == std::string::npos ? text.size() : text.find_first_not_of("=@ ", at))));
  if (release.starts_with('v')) release.erase(0, 1);
  release = release.substr(0, release.find('+'));  // drops +cu130 of 2.11.0+cu130
  // 2.16.0a0, 2.16.0rc1 and 0.12.0.dev20261101 precede a release.
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
  throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is an unknown framework{}; allowed: \"all\", {}, each "
                                            "with or without a release (torch==2.11)",
                                            option, word, did_you_mean(name, all), quoted_list(names)));
}

// The newest release that the word covers. If its rules were not read, the newest read release before it, or none.
ChosenGate release_of(const FrameworkGate& gate, const std::string& release, const std::string& word,
                      const std::string& option) {
  ChosenGate chosen{&gate, gate.releases.empty() ? nullptr : &gate.releases.back(), ""};
  if (release.empty()) return chosen;
  const auto asked = release_numbers(release);
  if (!asked)
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\": \"{}\" is not a release; allowed: numbers such as 2.11.0",
                                              option, word, release));
  chosen.release = nullptr;
  for (const GateRelease& one : gate.releases) {
    if (!is_of_version(one.version, release)) continue;
    if (chosen.release != nullptr) chosen.others.push_back(chosen.release);
    chosen.release = &one;
  }
  if (!chosen.others.empty()) chosen.word = release;
  if (chosen.release != nullptr) return chosen;
  for (const GateRelease& one : gate.releases)
    if (*release_numbers(one.version) <= *asked) chosen.release = &one;
  chosen.asked = release;
  return chosen;
}

}  // namespace

std::vector<ChosenGate> choose_gates(const std::vector<std::string>& words, const std::string& option) {
  std::vector<ChosenGate> chosen;
  for (const std::string& list : words) {
    for (const std::string& word : split(list, ',')) {
      if (plain_name(word) == "all") {
        for (const FrameworkGate& gate : framework_gates())
          if (gate.unread.empty()) chosen.push_back(release_of(gate, "", word, option));
        continue;
      }
      const AskedFramework asked = take_apart(word);
      chosen.push_back(release_of(gate_named(asked.name, word, option), asked.release, word, option));
    }
  }
  for (size_t i = 0; i < chosen.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (title_of(chosen[i]) == title_of(chosen[j]))
        throw Error(ErrorKind::usage, fmt::format("{}: {} is named twice", option, title_of(chosen[i])));
  return chosen;
}

std::vector<std::string> choices_of(const ChosenGate& chosen) {
  std::vector<std::string> texts;
  if (chosen.release == nullptr) return texts;
  for (const GatePreference& one : chosen.gate->preferences)
    if (is_in_force(one.span, chosen.release->version)) texts.push_back(one.text);
  return texts;
}

const GatePlans* plans_of(const ChosenGate& chosen) {
  if (chosen.gate == nullptr || chosen.gate->plans.empty()) return nullptr;
  const auto& all = chosen.gate->plans;
  if (chosen.release == nullptr) return &all.back();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const GatePlans& plans) { return is_in_force(plans.span, chosen.release->version); });
  return found == all.end() ? nullptr : &*found;
}

std::string words_of(const std::vector<ChosenGate>& gates) {
  const auto is_newest = [](const ChosenGate& one) {
    return one.asked.empty() && one.others.empty() &&
           (one.release == nullptr || one.release == &one.gate->releases.back());
  };
  const auto known = std::count_if(framework_gates().begin(), framework_gates().end(),
                                   [](const FrameworkGate& gate) { return gate.unread.empty(); });
  if (gates.size() > 1 && gates.size() == static_cast<size_t>(known) &&
      std::all_of(gates.begin(), gates.end(), is_newest))
    return "all";
  std::string words;
  for (const ChosenGate& one : gates) {
    std::string release = !one.asked.empty() ? one.asked : one.word;
    if (release.empty() && one.release != nullptr) release = one.release->version;
    words +=
        fmt::format("{}{}{}{}", words.empty() ? "" : ",", one.gate->framework, release.empty() ? "" : "==", release);
  }
  return words;
}

std::string title_of(const ChosenGate& chosen) {
  const std::string release = chosen.release == nullptr ? "" : chosen.release->version;
  if (!chosen.asked.empty())
    return fmt::format("{} {}{}", chosen.gate->title, chosen.asked,
                       release.empty() ? "" : fmt::format(" (rules of {})", release));
  return release.empty() ? chosen.gate->title : fmt::format("{} {}", chosen.gate->title, release);
}

std::vector<const FrameworkRule*> rules_in_order(const FrameworkGate& gate, const std::string& release) {
  std::vector<const FrameworkRule*> rules;
  for (const FrameworkRule& rule : gate.rules)
    if (is_in_force(rule.span, release)) rules.push_back(&rule);
  for (const FrameworkGate::Order& order : gate.orders) {
    if (!is_in_force(order.span, release)) continue;
    const auto place = [&](const FrameworkRule* rule) {
      return std::find(order.rules.begin(), order.rules.end(), rule->id) - order.rules.begin();
    };
    std::stable_sort(rules.begin(), rules.end(),
                     [&](const FrameworkRule* a, const FrameworkRule* b) { return place(a) < place(b); });
    break;
  }
  return rules;
}

std::optional<std::string> frontend_of(const std::vector<ChosenGate>& gates) {
  std::optional<std::string> common;
  for (const ChosenGate& chosen : gates) {
    if (chosen.release == nullptr || chosen.release->frontend.empty()) continue;
    // "1.22.1" counts as 1.22.
    const std::string known = attention::nearest_frontend(FrontendVersion::parse(chosen.release->frontend)->release());
    if (common && common != known) return std::nullopt;
    common = known;
  }
  return common;
}

}  // namespace attnprobe::rules
