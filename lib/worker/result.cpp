#include "attnprobe/worker/result.hpp"

#include <fmt/format.h>

#include "attnprobe/cudnn/status.hpp"
#include "attnprobe/target/catalogue.hpp"

namespace attnprobe::worker {
namespace {

using cudnn::StatusFamily;

Verdict verdict_of_failure(const probe::Failure& failure) {
  if (diagnose::lacks_descriptor(failure)) return Verdict::unsupported;
  switch (cudnn::family_of(failure.cudnn.status)) {
    case StatusFamily::bad_param:
      return Verdict::invalid_graph;
    case StatusFamily::not_supported:
      return Verdict::unsupported;
    default:
      return Verdict::error;
  }
}

// A mode that failed with anything but "not supported" leaves the question open.
bool a_mode_broke(const probe::WalkFindings& findings) {
  for (const auto& mode : findings.modes) {
    const StatusFamily family = cudnn::family_of(mode.status);
    if (family != StatusFamily::success && family != StatusFamily::not_supported) return true;
  }
  return false;
}

}  // namespace

void judge(Result& result) {
  const probe::WalkFindings& findings = result.findings;
  if (!findings.failure && probe::has_working_config(findings)) {
    result.verdict = Verdict::supported;
    return;
  }
  result.root_cause = diagnose::root_cause(findings);
  if (diagnose::speaks_of_environment(findings)) {
    result.verdict = Verdict::error;
    result.environment_broken = true;
  } else if (findings.failure) {
    result.verdict = verdict_of_failure(*findings.failure);
  } else {
    result.verdict = a_mode_broke(findings) ? Verdict::error : Verdict::unsupported;
  }
}

void add_version_rules(Result& result) {
  if (result.cudnn_version == 0) return;
  const auto& spec = result.config.spec;
  const bool refused = result.verdict == Verdict::unsupported || result.verdict == Verdict::invalid_graph ||
                       (result.verdict == Verdict::error && !result.environment_broken);
  if (refused)
    result.requirements = diagnose::unmet_requirements(spec, result.cudnn_version, result.target.sm);
  result.warnings = diagnose::known_bugs(spec, result.cudnn_version, result.target.sm);
  result.frontend = diagnose::frontend_answer(spec, result.cudnn_version, result.target.sm);
}

attention::ExpectedVerdict expected(const Result& result) {
  const auto& expect = result.config.spec.expect;
  const target::Target* twin = target::twin(result.target);
  for (const auto& [id, verdict] : expect.by_target)
    if (id == result.target.id || (twin != nullptr && target::find(id) == twin)) return verdict;
  return expect.otherwise;
}

bool met_expectation(const Result& result) {
  const auto wanted =
      expected(result) == attention::ExpectedVerdict::supported ? Verdict::supported : Verdict::unsupported;
  return result.verdict == wanted;
}

}  // namespace attnprobe::worker
