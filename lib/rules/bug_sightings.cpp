#include "rules/bug_sightings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe::rules {
namespace {

auto key_of(const BugSighting& sighting) {
  const auto version = CudnnVersion::parse(sighting.cudnn);
  return std::tuple(sighting.bug, sighting.gpu, sighting.simulated, version ? version->number() : 0);
}

std::string version_word(const Json& number) {
  return CudnnVersion::from_number(number.get<int64_t>()).text();
}

std::string range_words(const Json& range) {
  if (range.is_number()) return version_word(range);
  if (const auto in = range.find("in"); in != range.end()) {
    std::vector<std::string> versions;
    for (const Json& each : *in) versions.push_back(version_word(each));
    return fmt::format("{}", fmt::join(versions, ", "));
  }
  const auto get = [&](const char* key) { return range.contains(key) ? version_word(range[key]) : ""; };
  const std::string from = get("min"), to = get("max"), below = get("below");
  std::string words = from.empty() ? "" : "from " + from;
  if (!to.empty()) words += fmt::format("{}to {}", words.empty() ? "" : " ", to);
  if (!below.empty()) words += fmt::format("{}before {}", words.empty() ? "" : " ", below);
  return words;
}

}  // namespace

bool is_seen(Seen seen) {
  return seen != Seen::right && seen != Seen::refused && seen != Seen::not_run;
}

std::vector<BugSighting> parse_sightings(std::string_view text, const std::string& file) {
  JsonSource source;
  source.name = file;
  const Json json = parse_json(text, source);
  JsonObject object(JsonView(json, source));
  object.find("comment");
  std::vector<BugSighting> sightings;
  for (const JsonView& element : object.take("sightings").elements()) {
    JsonObject entry(element);
    BugSighting sighting;
    sighting.bug = entry.take("bug").text();
    sighting.gpu = entry.take("gpu").text();
    sighting.simulated = entry.take("simulated").boolean();
    sighting.cudnn = entry.take("cudnn").text();
    sighting.driver = entry.take("driver").text();
    sighting.date = entry.take("date").text();
    sighting.seen = entry.take("seen").one_of<Seen>();
    sighting.what = entry.take("what").text();
    entry.finish();
    sightings.push_back(std::move(sighting));
  }
  object.finish();
  return sightings;
}

const std::vector<BugSighting>& bug_sightings() {
  static const auto sightings = parse_sightings(embedded_file("cudnn/sightings.json"), "cudnn/sightings.json");
  return sightings;
}

std::vector<BugSighting> merged(std::vector<BugSighting> before, const std::vector<BugSighting>& added) {
  std::map<decltype(key_of(before.front())), BugSighting> all;
  for (auto& sighting : before) all.insert_or_assign(key_of(sighting), std::move(sighting));
  for (const auto& sighting : added) all.insert_or_assign(key_of(sighting), sighting);
  std::vector<BugSighting> sorted;
  sorted.reserve(all.size());
  for (auto& [key, sighting] : all) sorted.push_back(std::move(sighting));
  return sorted;
}

std::string sightings_text(const std::vector<BugSighting>& sightings) {
  std::string lines;
  for (const auto& sighting : sightings)
    lines += fmt::format("{}\n    {}", lines.empty() ? "" : ",", json_text(Json(sighting)));
  return fmt::format(
      "{{\n  \"comment\": \"Experiments with known bugs and their outcomes: written by `attnprobe bugs run "
      "--record`.\",\n  \"sightings\": [{}\n  ]\n}}\n",
      lines);
}

bool may_apply(const Json& when, std::optional<CudnnVersion> cudnn, std::optional<int> sm) {
  if (when.is_null()) return true;
  for (const auto& [key, condition] : when.items()) {
    const auto may = [&](const Json& part) { return may_apply(part, cudnn, sm); };
    if (key == "all" && !std::all_of(condition.begin(), condition.end(), may)) return false;
    if (key == "any" && std::none_of(condition.begin(), condition.end(), may)) return false;
    if (key == "cudnn" && cudnn && !holds({{key, condition}}, {{key, cudnn->number()}})) return false;
    if (key == "sm" && sm && !holds({{key, condition}}, {{key, *sm}})) return false;
  }
  return true;
}

std::string versions_text(const Json& when) {
  std::vector<std::string> words;
  if (const auto range = when.find("cudnn"); range != when.end()) words.push_back(range_words(*range));
  if (const auto any = when.find("any"); any != when.end())
    for (const Json& alternative : *any)
      if (alternative.contains("cudnn")) words.push_back(range_words(alternative["cudnn"]));
  return words.empty() ? "every version" : fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace attnprobe::rules
