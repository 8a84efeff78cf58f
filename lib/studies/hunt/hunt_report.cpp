#include "studies/hunt/hunt_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/text.hpp"
#include "studies/reduce/reduce.hpp"

namespace attnprobe::hunt {
namespace {

using rules::Seen;

std::string experiment_of(const Trial& trial) {
  std::string options = attention::to_options(reduce::spec_of(trial.config).value());
  if (trial.data != run::DataRegime::normal) options += fmt::format(" --data {}", name_of(trial.data));
  return options;
}

std::vector<std::string> versions_with(const Class& found, bool failing) {
  std::vector<std::string> versions;
  for (const auto& [version, seen] : found.versions)
    if (failing ? rules::is_seen(seen) : seen == Seen::right) versions.push_back(version);
  std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
    return CudnnVersion::parse(a).value() < CudnnVersion::parse(b).value();
  });
  return versions;
}

// From the first to the last failing version; the evidence shows correct versions in between.
Json cudnn_range(const Class& found) {
  const auto failing = versions_with(found, true);
  if (failing.empty()) return {};
  return {{"min", CudnnVersion::parse(failing.front()).value().number()},
          {"max", CudnnVersion::parse(failing.back()).value().number()}};
}

std::string row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

template <class Value>
std::vector<std::string> texts(const Value& values) {
  return {values.begin(), values.end()};
}

std::string failures_text(const Census& census) {
  std::vector<std::string> parts;
  for (const auto& [seen, count] : census.failures) parts.push_back(fmt::format("{} {}", count, name_of(seen)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string count_of(size_t part, size_t whole) {
  return fmt::format("{} of {}", part, whole);
}

std::string census_table(const Hunt& hunt) {
  std::string text =
      row({"cuDNN", "random configs", "refused", "compared", "first choices that fail", "of these unwarned"}) +
      row({"---", "---", "---", "---", "---", "---"});
  for (const auto& census : hunt.censuses)
    text += row({census.cudnn, std::to_string(census.asked), std::to_string(census.refused), std::to_string(census.ran),
                 failures_text(census), std::to_string(census.unwarned)});
  return text;
}

std::string entries_table(const Hunt& hunt) {
  std::string text = row({"cuDNN", "known bug", "failed of the configs that it warns of"}) + row({"---", "---", "---"});
  for (const auto& census : hunt.censuses)
    for (const auto& [id, count] : census.entries)
      text += row({census.cudnn, id, count_of(count.failed, count.warned)});
  return text;
}

std::string class_text(const Class& found, size_t number) {
  const Region& region = found.region;
  const Trial& smallest = region.smallest;
  return fmt::format(
      "### {}. {}, {}\n\n{}\n\n- Condition: `{}`\n- Smallest config: `{}`\n- {}: {}\n- Fails with {}; right with {}\n"
      "- Fresh configs: {} fail inside, {} are right inside; {} are right just outside, {} fail there{}\n- Sightings: {}\n",
      number, name_of(smallest.seen), smallest.description, smallest.message, condition_of(region.literals).dump(),
      experiment_of(smallest), smallest.engine_config,
      smallest.outputs.empty() ? "no output compared" : fmt::format("wrong: {}", fmt::join(smallest.outputs, ", ")),
      fmt::join(versions_with(found, true), ", "), fmt::join(versions_with(found, false), ", "), region.inside_failed,
      region.inside_right, region.outside_right, region.outside_failed, region.is_confirmed ? "" : " (not confirmed)",
      found.sightings.size());
}

}  // namespace

Json candidate_json(const Class& found, int sm) {
  const Region& region = found.region;
  Json when = {{"pattern", {{"in", {"sdpa", "sdpa_composite", "sdpa_unified"}}}}};
  when.update(condition_of(region.literals));
  when["cudnn"] = cudnn_range(found);
  when["sm"] = {{"min", sm / 10 * 10}, {"below", sm / 10 * 10 + 10}};
  Json versions = Json::object();
  for (const auto& [version, seen] : found.versions) versions[version] = name_of(seen);
  return {{"seen", name_of(region.smallest.seen)},
          {"when", std::move(when)},
          {"experiment", experiment_of(region.smallest)},
          {"smallest", region.smallest},
          {"versions", std::move(versions)},
          {"is_confirmed", region.is_confirmed},
          {"inside", {{"failed", region.inside_failed}, {"right", region.inside_right}}},
          {"outside", {{"right", region.outside_right}, {"failed", region.outside_failed}}},
          {"reduced_by", region.steps},
          {"failing", region.failing.size()},
          {"right", region.right.size()},
          {"sightings", found.sightings}};
}

Json to_json(const Hunt& hunt) {
  Json censuses = Json::array(), candidates = Json::array();
  for (const auto& census : hunt.censuses) {
    Json failures = Json::object(), entries = Json::object();
    for (const auto& [seen, count] : census.failures) failures[std::string(name_of(seen))] = count;
    for (const auto& [id, count] : census.entries) entries[id] = {{"warned", count.warned}, {"failed", count.failed}};
    censuses.push_back({{"cudnn", census.cudnn},
                        {"asked", census.asked},
                        {"refused", census.refused},
                        {"compared", census.ran},
                        {"failed", census.failed},
                        {"unwarned", census.unwarned},
                        {"failures", std::move(failures)},
                        {"entries", std::move(entries)}});
  }
  for (const auto& found : hunt.classes) candidates.push_back(candidate_json(found, hunt.sm));
  return {{"gpu", hunt.gpu},
          {"is_whole", hunt.is_whole},
          {"censuses", std::move(censuses)},
          {"candidates", std::move(candidates)},
          {"unexplained", hunt.unexplained}};
}

std::string page_of(const Hunt& hunt) {
  std::string text = fmt::format("# What random configs showed on {}\n\n{}{}\n## Known bugs\n\n{}\n## Regions\n\n",
                                 hunt.gpu, hunt.is_whole ? "" : "The hunt was stopped before its end.\n\n",
                                 census_table(hunt), entries_table(hunt));
  size_t number = 0;
  for (const auto& found : hunt.classes) text += class_text(found, ++number) + "\n";
  if (hunt.classes.empty()) text += "No unwarned failure has a condition.\n\n";
  text += "## Without a condition\n\n";
  for (const auto& trial : hunt.unexplained)
    text += fmt::format("- cuDNN {}, {}, data {}: {}: {}\n", trial.cudnn, trial.description, name_of(trial.data),
                        name_of(trial.seen), trial.message);
  if (hunt.unexplained.empty()) text += "None.\n";
  return text;
}

}  // namespace attnprobe::hunt
