// Known bugs and their sightings, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "report/formats/report.hpp"
#include "studies/bugs/bug_experiments.hpp"
#include "studies/bugs/concerning_bugs.hpp"

namespace attnprobe::studies {

/// A known bug, and the requested frameworks that can trigger it.
struct ConcerningBug {
  const rules::KnownBugRule* rule = nullptr;
  std::vector<Reach> reached_by = {};
};

/// Each bug with its versions, description, workaround and sightings.
std::string bugs_text(const std::vector<ConcerningBug>& bugs, const report::TextStyle& style);

/// Schema "attnprobe/bugs/1".
Json bugs_json(const std::vector<ConcerningBug>& bugs);

/// One executed experiment.
struct BugExperiment {
  rules::BugSighting sighting;
  Agreement agreement;
  std::string reproduce;
};

/// One line each, contradictions of their entry first, and a summary.
std::string experiments_text(const std::vector<BugExperiment>& experiments, const report::TextStyle& style);

/// Schema "attnprobe/bug-experiments/1".
Json experiments_json(const std::vector<BugExperiment>& experiments);

}  // namespace attnprobe::studies
