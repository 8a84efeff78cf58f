// Known bugs and their sightings, for people and machines.
#pragma once

#include <string>
#include <vector>

#include "campaign/bug_experiments.hpp"
#include "campaign/concerning_bugs.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// A known bug, and the frameworks that can meet it, where some were asked for.
struct ConcerningBug {
  const rules::KnownBugRule* rule = nullptr;
  std::vector<campaign::Reach> reached_by = {};
};

/// Each bug with its versions, what it is, what to do, and where it was seen and was not.
std::string bugs_text(const std::vector<ConcerningBug>& bugs, const TextStyle& style);

/// Schema "attnprobe/bugs/1".
Json bugs_json(const std::vector<ConcerningBug>& bugs);

/// One experiment that was made.
struct BugExperiment {
  rules::BugSighting sighting;
  campaign::Agreement agreement;
  std::string reproduce;
};

/// A line each, those that contradict their entry first, and a summary.
std::string experiments_text(const std::vector<BugExperiment>& experiments, const TextStyle& style);

/// Schema "attnprobe/bug-experiments/1".
Json experiments_json(const std::vector<BugExperiment>& experiments);

}  // namespace attnprobe::report
