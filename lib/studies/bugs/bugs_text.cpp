#include "studies/bugs/bugs_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/printable.hpp"

namespace attnprobe::studies {
namespace {

using rules::BugSighting;

std::vector<const BugSighting*> sightings_of(const std::string& bug) {
  std::vector<const BugSighting*> found;
  for (const auto& sighting : rules::bug_sightings())
    if (sighting.bug == bug) found.push_back(&sighting);
  return found;
}

// "h100, h200: wrong_result with 9.14.0, 9.19.0; right with 9.26.1": groups GPUs with the same sightings.
std::string seen_text(const std::string& bug) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> by_gpu;
  for (const auto* sighting : sightings_of(bug)) {
    // Without a run, a plan without a seen failure counts as compiled.
    const bool compiles = sighting->simulated && sighting->seen == rules::Seen::not_run;
    by_gpu[sighting->gpu + (sighting->simulated ? " (simulated)" : "")]
          [compiles ? "compiles" : std::string(name_of(sighting->seen))]
              .push_back(sighting->cudnn);
  }
  std::vector<std::pair<std::string, std::string>> gpus_of;  // the outcome and its GPUs
  for (const auto& [gpu, by_seen] : by_gpu) {
    std::vector<std::string> words;
    for (const auto& [seen, versions] : by_seen)
      words.push_back(fmt::format("{} with {}", seen, fmt::join(versions, ", ")));
    const std::string seen = fmt::format("{}", fmt::join(words, "; "));
    const auto same =
        std::find_if(gpus_of.begin(), gpus_of.end(), [&](const auto& other) { return other.first == seen; });
    if (same == gpus_of.end())
      gpus_of.emplace_back(seen, gpu);
    else
      same->second += ", " + gpu;
  }
  std::vector<std::string> texts;
  texts.reserve(gpus_of.size());
  for (const auto& [seen, gpus] : gpus_of) texts.push_back(fmt::format("{}: {}", gpus, seen));
  return fmt::format("{}", fmt::join(texts, " | "));
}

std::string_view words_of(Agreement agreement) {
  switch (agreement) {
    case Agreement::as_known:
      return "as known";
    case Agreement::not_shown:
      return "NOT SHOWN";
    case Agreement::also_here:
      return "ALSO HERE";
    case Agreement::not_answered:
      break;
  }
  return "no answer";
}

}  // namespace

std::string bugs_text(const std::vector<ConcerningBug>& bugs, const report::TextStyle& style) {
  std::string out;
  for (const auto& [bug, reached_by] : bugs) {
    out += fmt::format("{}: cuDNN {}{}\n", bug->entry.id, rules::versions_text(bug->when),
                       bug->entry.fixed_in.empty() ? "" : fmt::format(", fixed in {}", bug->entry.fixed_in));
    out += report::wrapped(bug->entry.what, 4, style.width);
    if (!bug->entry.advice.empty()) out += report::wrapped("what to do: " + bug->entry.advice, 4, style.width);
    if (const std::string seen = seen_text(bug->entry.id); !seen.empty())
      out += report::wrapped("measured: " + seen, 4, style.width);
    for (const auto& reach : reached_by)
      out += report::wrapped(
          fmt::format("reached by: {}{}", reach.framework, reach.by_name ? ", if you select cuDNN" : ""), 4,
          style.width);
    if (!bug->experiment.empty()) out += report::wrapped("shown by: attnprobe " + bug->experiment, 4, 100'000);
  }
  out += fmt::format("\n{} known bugs\n", bugs.size());
  return printable(out);
}

Json bugs_json(const std::vector<ConcerningBug>& bugs) {
  Json list = Json::array();
  for (const auto& [bug, reached_by] : bugs) {
    Json one = bug->entry;
    one["cudnn"] = rules::versions_text(bug->when);
    one["when"] = bug->when;
    one["experiment"] = bug->experiment;
    one["sightings"] = Json::array();
    for (const auto* sighting : sightings_of(bug->entry.id)) one["sightings"].push_back(*sighting);
    one["reached_by"] = Json::array();
    for (const auto& reach : reached_by)
      one["reached_by"].push_back({{"framework", reach.framework}, {"by_name", reach.by_name}});
    list.push_back(std::move(one));
  }
  return {{"schema", "attnprobe/bugs/1"}, {"tool", report::tool_version()}, {"bugs", std::move(list)}};
}

std::string experiments_text(const std::vector<BugExperiment>& experiments, const report::TextStyle& style) {
  std::map<Agreement, size_t> counts;
  std::vector<const BugExperiment*> order;
  for (const auto& experiment : experiments) {
    ++counts[experiment.agreement];
    order.push_back(&experiment);
  }
  const auto urgency = [](const BugExperiment* e) {
    return e->agreement == Agreement::not_shown || e->agreement == Agreement::also_here ? 0 : 1;
  };
  std::stable_sort(order.begin(), order.end(), [&](auto* a, auto* b) { return urgency(a) < urgency(b); });
  std::vector<std::vector<std::string>> rows{{"", "bug", "GPU", "cuDNN", "seen"}};
  for (const auto* e : order)
    rows.push_back({std::string(words_of(e->agreement)), e->sighting.bug, e->sighting.gpu, e->sighting.cudnn,
                    std::string(name_of(e->sighting.seen))});
  std::string out = report::aligned(rows, 0) + "\n";
  for (const auto* e : order) {
    if (urgency(e) != 0) continue;
    out += fmt::format("{}: {}\n", words_of(e->agreement), e->sighting.bug);
    if (!e->sighting.what.empty()) out += report::wrapped(e->sighting.what, 4, style.width);
    out += report::wrapped(e->reproduce, 4, 100'000);
  }
  out += fmt::format(
      "{} experiments: {} as known; {} not reproduced (the entry is stale, or needs other data); {} reproduced outside the entry's range; {} without an answer (refused, or not run)\n",
      experiments.size(), counts[Agreement::as_known], counts[Agreement::not_shown], counts[Agreement::also_here],
      counts[Agreement::not_answered]);
  return printable(out);
}

Json experiments_json(const std::vector<BugExperiment>& experiments) {
  Json list = Json::array();
  for (const auto& experiment : experiments) {
    Json one = experiment.sighting;
    one["agreement"] = name_of(experiment.agreement);
    one["reproduce"] = experiment.reproduce;
    list.push_back(std::move(one));
  }
  return {
      {"schema", "attnprobe/bug-experiments/1"}, {"tool", report::tool_version()}, {"experiments", std::move(list)}};
}

}  // namespace attnprobe::studies
