// The workload in a program's log.
#pragma once

#include "replay/replay.hpp"
#include "studies/plans/workload.hpp"

namespace attnprobe::plans {

/// The attention graphs of a log that were not refused, each once, because frameworks cache a plan per distinct graph.
/// A shape's count is the number of its executions. Graphs that match a config exactly can vary in length.
Workload workload_of(const replay::Replay& replay);

/// The plans of its attention graphs, and their build times.
BuiltPlans built_plans(const replay::Replay& replay);

}  // namespace attnprobe::plans
