// Known bugs and their sightings, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "campaign/bug_experiments.hpp"
#include "campaign/concerning_bugs.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// A known bug, and the requested frameworks that can trigger it.
struct ConcerningBug {
  const rules::KnownBugRule* rule = nullptr;
  std::vector<campaign::Reach> reached_by = {};
};

/// Each bug with its versions, description, workaround and sightings.
std::string bugs_text(const std::vector<ConcerningBug>& bugs, const TextStyle& style);

/// Schema "attnprobe/bugs/1".
Json bugs_json(const std::vector<ConcerningBug>& bugs);

/// One experiment that was run.
struct BugExperiment {
  rules::BugSighting sighting;
  campaign::Agreement agreement;
  std::string reproduce;
};

/// One line each, those that contradict their entry first, and a summary.
std::string experiments_text(const std::vector<BugExperiment>& experiments, const TextStyle& style);

/// Schema "attnprobe/bug-experiments/1".
Json experiments_json(const std::vector<BugExperiment>& experiments);

}  // namespace attnprobe::report
