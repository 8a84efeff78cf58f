#include "diagnose/bugs_in_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/version.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"
#include "diagnose/text_reading.hpp"
#include "rules/bug_sightings.hpp"

namespace attnprobe::diagnose {
namespace {

// What a condition asks for by name: "sink": true, and not "sink": false or an alternative.
void add_demands(const Json& when, std::set<std::string>& demands) {
  for (const auto& [key, value] : when.items()) {
    if (key == "all") {
      for (const Json& part : value) add_demands(part, demands);
      continue;
    }
    const bool is_denied = value.is_boolean()
                               ? !value.get<bool>()
                               : value.is_object() && (value.contains("not") || value.value("set", true) == false);
    if (!is_denied && readings().features.count(key) > 0) demands.insert(key);
    if ((key == "seqlen_q" || key == "decode") && value == Json(1)) demands.insert("decode");
  }
}

// Which direction a text speaks of; none where of both or of neither.
std::optional<bool> is_backward(std::string_view text) {
  static const RE2 backward("backward|\\bbprop|grad(?:_|ient|s?\\b)|\\bd[QKV]\\b|\\btraining\\b", any_case());
  static const RE2 forward("\\bforward|fprop|inference|prefill|decod|generat", any_case());
  const bool b = has_words(text, backward), f = has_words(text, forward);
  return b == f ? std::nullopt : std::optional<bool>(b);
}

bool may_go(const Json& when, std::optional<bool> backward) {
  const auto pass = when.find("pass");
  if (!backward || pass == when.end()) return true;
  if (pass->is_string()) return (*pass == "bprop") == *backward;
  const bool not_backward = pass->is_object() && pass->value("not", "") == "bprop";
  return !(not_backward && *backward);
}

bool may_apply(const Json& when, const TextFacts& facts) {
  std::vector<std::optional<CudnnVersion>> versions;
  for (const auto& text : facts.versions.empty() ? cudnns_brought(facts) : facts.versions)
    if (const auto version = CudnnVersion::parse(text)) versions.emplace_back(version);
  // Where the text says nothing, those that people have now.
  if (versions.empty())
    versions = {CudnnVersion(9, 10, 0), CudnnVersion(9, 14, 0), CudnnVersion(9, 19, 0), CudnnVersion(9, 24, 0),
                CudnnVersion(9, 28, 0)};
  std::vector<std::optional<int>> sms;
  for (const int sm : facts.all_sms()) sms.emplace_back(sm);
  if (sms.empty()) sms.emplace_back();
  for (const auto& version : versions)
    for (const auto& sm : sms)
      if (rules::may_apply(when, version, sm)) return true;
  return false;
}

bool was_seen_to(const std::string& bug, const std::vector<rules::Seen>& effects) {
  const auto& all = rules::bug_sightings();
  return std::any_of(all.begin(), all.end(), [&](const rules::BugSighting& sighting) {
    return sighting.bug == bug && std::find(effects.begin(), effects.end(), sighting.seen) != effects.end();
  });
}

// Conditions that old cuDNNs' own pattern alone has.
bool is_legacy(const Json& when) {
  return when.value("pattern", Json()) == Json("mha");
}

struct Fit {
  const rules::KnownBugRule* bug = nullptr;
  int64_t score = 0;
  std::vector<std::string> why;
  bool by_words = false;  // the symptom's own words stand in the bug's text
};

std::optional<Fit> fit_of(const rules::KnownBugRule& bug, std::string_view text, const TextFacts& facts,
                          const std::vector<const Symptom*>& told, std::optional<bool> backward) {
  Fit fit{&bug, 0, {}, false};
  const Symptom* shows = nullptr;
  for (const Symptom* symptom : told) {
    const bool by_words = has_words(bug.entry.what, *symptom->all.front());
    if (!by_words && !was_seen_to(bug.entry.id, symptom->effects)) continue;
    const int64_t score = by_words ? 3 : 1;
    if (score <= fit.score) continue;
    shows = symptom;
    fit.score = score;
    fit.by_words = by_words;
  }
  if (shows == nullptr || is_legacy(bug.when) || !may_go(bug.when, backward) || !may_apply(bug.when, facts))
    return std::nullopt;
  fit.why.push_back(shows->id);
  std::set<std::string> demands;
  add_demands(bug.when, demands);
  for (const auto& demand : demands) {
    if (!has_words(text, *readings().features.at(demand))) return std::nullopt;
    fit.why.push_back(demand);
    fit.score += 2;
  }
  if (backward && bug.when.value("pass", Json()) == Json("bprop")) {
    fit.why.emplace_back(*backward ? "backward" : "forward");
    ++fit.score;
  }
  if (bug.when.contains("sm") && !facts.all_sms().empty()) {
    fit.why.emplace_back("the GPU");
    ++fit.score;
  }
  if (bug.when.contains("cudnn") && !facts.versions.empty()) {
    fit.why.emplace_back("the version of cuDNN");
    ++fit.score;
  }
  return fit;
}

}  // namespace

std::vector<BugInText> bugs_in_text(std::string_view text, const TextFacts& facts, size_t most) {
  constexpr int64_t least_score = 4, strong_score = 5, less_telling = 2;
  static const RE2 cudnn("cudnn", any_case());
  std::vector<BugInText> bugs;
  if (!has_words(text, cudnn)) return bugs;
  std::vector<const Symptom*> told = symptoms_in(text);
  if (!told.empty() && told.front()->effects.empty()) return bugs;  // the text is about something else
  std::erase_if(told, [](const Symptom* symptom) { return symptom->effects.empty(); });
  if (told.empty()) return bugs;
  const auto backward = is_backward(text);
  std::vector<Fit> fits;
  for (const auto& bug : rules::known_bug_rules())
    if (auto fit = fit_of(bug, text, facts, told, backward); fit && fit->score >= least_score)
      fits.push_back(std::move(*fit));
  std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.score > b.score; });
  for (const Fit& fit : fits) {
    if (bugs.size() == most || fit.score + less_telling < fits.front().score) break;
    bugs.push_back({fit.bug->entry.id, fit.bug->entry.what, fit.bug->entry.advice, rules::versions_text(fit.bug->when),
                    fit.bug->experiment, fmt::format("{}", fmt::join(fit.why, ", ")),
                    fit.by_words && fit.score >= strong_score});
  }
  return bugs;
}

}  // namespace attnprobe::diagnose
