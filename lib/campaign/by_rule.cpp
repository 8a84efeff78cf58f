#include "campaign/by_rule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "campaign/reproduce.hpp"
#include "probe/determinism.hpp"

namespace attnprobe::campaign {
namespace {

// `varying`: why it is not deterministic, as was demanded; else "".
diagnose::RootCause cause_of(const Result& result, const std::string& varying) {
  diagnose::RootCause cause;
  if (!varying.empty()) {
    cause.category = diagnose::Category::constraint;
    cause.reason = varying;
    cause.in_general = probe::advice_on_order(result.config.spec);
  } else if (!result.requirements.empty()) {
    const rules::Requirement& first = result.requirements.front();
    const bool is_version = first.needs.find("cuDNN") != std::string::npos;
    cause.category = is_version ? diagnose::Category::version : diagnose::Category::arch_mismatch;
    cause.reason = first.text;
    cause.in_general = fmt::format("Use {}.", first.needs);
  } else {
    cause.category = diagnose::Category::version;
    cause.reason = result.frontend->message;
  }
  cause.explanation = fmt::format(
      "By rule: cuDNN {} was not asked, since a cuDNN before {} answers for no GPU that is not there. What is said here was read in "
      "the source that is named.",
      result.cudnn_version.text(), first_that_simulates.text());
  return cause;
}

Result answer(const Question& question, const gpu::Target& target, CudnnVersion version,
              const CampaignOptions& options) {
  Result result;
  static_cast<Question&>(result) = question;
  result.target = target;
  result.cudnn_version = version;
  result.by_rule = true;
  result.verdict = Verdict::supported;
  if (question.has_spec()) {
    result.graph = build::build_graph(question.config.spec, {version, target.sm});
    add_version_rules(result);
    add_frameworks(result, options.frameworks);
  }
  const bool is_refused = !result.requirements.empty() || (result.frontend && result.frontend->refuses);
  const bool must_not_vary = options.constraints.deterministic && question.has_spec() && !is_refused;
  const std::string varying =
      must_not_vary ? probe::varying_sums(question.config.spec, {version, target.sm}, nullptr) : "";
  if (is_refused || !varying.empty()) {
    result.verdict = Verdict::unsupported;
    result.root_cause = cause_of(result, varying);
  }
  weigh(result);
  result.reproduce = reproduce_command(question_command(question, options), target, version.text());
  return result;
}

}  // namespace

std::optional<CudnnVersion> version_by_rule(const std::string& word, const std::vector<gpu::Target>& targets) {
  const auto version = CudnnVersion::parse(word);
  const bool is_old = version && version->is_known() && *version < first_that_simulates;
  const auto is_simulated = [](const gpu::Target& target) { return target.kind == gpu::Kind::simulated; };
  return is_old && std::all_of(targets.begin(), targets.end(), is_simulated) ? version : std::nullopt;
}

CampaignResult answer_by_rule(const std::vector<Question>& questions, const std::vector<gpu::Target>& targets,
                              CudnnVersion version, const CampaignOptions& options, const OnResult& on_result) {
  CampaignResult campaign;
  campaign.results.reserve(questions.size() * targets.size());
  if (options.constraints.max_workspace_bytes || !options.constraints.notes.empty())
    throw Error(ErrorKind::usage,
                fmt::format("--cudnn {}: the rules know neither workspaces nor notes of engine configs, which "
                            "--max-workspace and --require-note ask for; a cuDNN from {} can be asked",
                            version.text(), first_that_simulates.text()));
  for (const auto& question : questions) {
    if (!question.has_spec())
      throw Error(ErrorKind::usage,
                  fmt::format("--cudnn {}: the rules know attention configs, not graphs such as {}; a "
                              "cuDNN from {} can be asked",
                              version.text(), question.given->description, first_that_simulates.text()));
    for (const auto& target : targets) {
      campaign.results.push_back(answer(question, target, version, options));
      if (on_result) on_result(campaign.results.back(), campaign.results.size() - 1, campaign.results.size());
    }
  }
  return campaign;
}

}  // namespace attnprobe::campaign
