// The workload that a program's log shows.
#pragma once

#include "replay/replay.hpp"
#include "studies/plans/workload.hpp"

namespace attnprobe::plans {

/// The attention graphs of a log that were not refused, each once, since frameworks keep a plan for each distinct
/// graph. A shape counts as often as it was executed. Graphs that are exactly a config's vary in length.
Workload workload_of(const replay::Replay& replay);

/// The plans of its attention graphs, and how long they took.
BuiltPlans built_plans(const replay::Replay& replay);

}  // namespace attnprobe::plans
