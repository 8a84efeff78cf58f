#include "studies/plans/logged_workload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.hpp"

namespace attnprobe::plans {
namespace {

Shape shape_of(const replay::Replay& replay, const replay::ReplayedGraph& graph) {
  answer::Question question = replay::question_of(replay, graph);
  Shape shape{question.config.spec, {}, std::move(question.given)};
  shape.spec.name = fmt::format("graph {}, {}", graph.number, graph.recognised.description);
  shape.spec.expect = {};
  if (!graph.recognised.exact) return shape;
  int64_t times = 0;
  for (const auto& run : graph.logged.executed) times += run.times;
  shape.length = {shape.spec.seqlen_kv, std::max<int64_t>(times, 1)};
  return shape;
}

}  // namespace

BuiltPlans built_plans(const replay::Replay& replay) {
  BuiltPlans built;
  for (const auto& graph : replay.graphs) {
    if (!graph.recognised.spec) continue;
    built.plans += graph.logged.plans;
    built.seconds += graph.logged.plan_seconds;
  }
  return built;
}

Workload workload_of(const replay::Replay& replay) {
  Workload workload;
  int64_t others = 0, refused = 0, unreadable = 0;
  for (const auto& graph : replay.graphs) {
    const auto& logged = graph.logged;
    if (!logged.imported) {
      ++unreadable;
    } else if (!graph.recognised.spec) {
      ++others;
    } else if (logged.refused()) {
      ++refused;
    } else {
      workload.shapes.push_back(shape_of(replay, graph));
    }
  }
  if (const BuiltPlans built = built_plans(replay); built.plans > 0) workload.built = built;
  std::stable_sort(workload.shapes.begin(), workload.shapes.end(),
                   [](const auto& a, const auto& b) { return a.length.tokens < b.length.tokens; });
  const auto note = [&](int64_t count, const char* what) {
    if (count > 0) workload.notes.push_back(fmt::format("{} left out: {}", counted(count, "graph"), what));
  };
  note(refused, "refused");
  note(others, "not attention");
  note(unreadable, "cannot be rebuilt");
  return workload;
}

}  // namespace attnprobe::plans
