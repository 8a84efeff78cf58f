#include "exit_code.hpp"

#include <algorithm>

namespace attnprobe::app {
namespace {

using campaign::Verdict;

// What one answer says to the exit code.
struct Outcome {
  Verdict verdict = Verdict::error;
  bool environment_broken = false;
  bool lacks_memory = false;  // of the GPU: the environment, but of this one config
  bool has_wrong_plan = false, has_lost_plan = false;
  bool met = false;
};

class Gravest {
 public:
  void add(const Outcome& outcome) {
    lacks_memory_ = lacks_memory_ || outcome.lacks_memory;
    if (outcome.environment_broken && !outcome.lacks_memory) at_least(environment_lacks);
    if (outcome.verdict == Verdict::wrong_result || outcome.has_wrong_plan) at_least(wrong_result);
    if (outcome.verdict == Verdict::crashed || outcome.verdict == Verdict::timeout || outcome.has_lost_plan)
      at_least(probe_lost);
    if (!outcome.met) at_least(not_met);
  }

  int code() const { return lacks_memory_ && code_ == not_met ? environment_lacks : code_; }

 private:
  void at_least(int candidate) {
    constexpr int gravity[] = {0, 1, 5, 4, 2, 3};  // by exit code
    if (gravity[candidate] > gravity[code_]) code_ = candidate;
  }

  int code_ = all_met;
  bool lacks_memory_ = false;
};

Outcome outcome_of(const campaign::Result& result) {
  return {result.verdict,
          result.environment_broken,
          result.environment_broken && result.root_cause && result.root_cause->category == diagnose::Category::memory,
          has_wrong_plan(result),
          has_lost_plan(result),
          met_expectation(result)};
}

Outcome outcome_of(const report::CellAnswer& answer) {
  Outcome outcome;
  outcome.verdict = parse_enum<Verdict>(answer.verdict).value_or(Verdict::error);
  outcome.environment_broken = answer.environment_broken;
  outcome.lacks_memory = answer.environment_broken && answer.category == name_of(diagnose::Category::memory);
  outcome.met = answer.met;
  for (const auto& engine : answer.engines) {
    outcome.has_wrong_plan = outcome.has_wrong_plan || engine.is_wrong;
    outcome.has_lost_plan = outcome.has_lost_plan || engine.run == "crashed" || engine.run == "timeout" ||
                            engine.run == "cuda_error" ||
                            (engine.plan == "failed" && (engine.status == "crashed" || engine.status == "timeout"));
  }
  return outcome;
}

}  // namespace

int exit_code(ErrorKind kind) {
  if (kind == ErrorKind::usage) return bad_usage;
  return kind == ErrorKind::environment ? environment_lacks : probe_lost;
}

int exit_code(const report::Results& results) {
  Gravest gravest;
  for (const campaign::Result* result : results) gravest.add(outcome_of(*result));
  return gravest.code();
}

int exit_code(const report::CellTable& table) {
  Gravest gravest;
  for (const report::CellAnswer& answer : table.answers) gravest.add(outcome_of(answer));
  return gravest.code();
}

int exit_code(const report::CellTable& table, const std::function<bool(const report::Cell& cell)>& fails) {
  Gravest gravest;
  for (const report::Cell& cell : table.cells) {
    Outcome outcome = outcome_of(table.answer(cell));
    if (!outcome.environment_broken && !fails(cell)) continue;
    outcome.met = false;
    gravest.add(outcome);
  }
  return gravest.code();
}

}  // namespace attnprobe::app
