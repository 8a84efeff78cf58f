#include "campaign/by_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/error.hpp"
#include "campaign/reproduce.hpp"
#include "probe/determinism.hpp"
#include "rules/condition.hpp"
#include "rules/flat_problem.hpp"

namespace attnprobe::campaign {
namespace {

// The newest of each minor version that NVIDIA's packages have had.
constexpr CudnnVersion newest_of_minor[] = {
    {8, 8, 1},  {8, 9, 7},  {9, 0, 0},  {9, 1, 1},  {9, 2, 1},  {9, 3, 0},  {9, 4, 0},  {9, 5, 1},
    {9, 6, 0},  {9, 7, 1},  {9, 8, 0},  {9, 9, 0},  {9, 10, 2}, {9, 11, 1}, {9, 12, 0}, {9, 13, 1},
    {9, 14, 0}, {9, 15, 1}, {9, 16, 0}, {9, 17, 1}, {9, 18, 1}, {9, 19, 0}, {9, 20, 0}, {9, 21, 1},
    {9, 22, 0}, {9, 23, 2}, {9, 24, 1}, {9, 25, 1}, {9, 26, 1}, {9, 27, 0}, {9, 28, 1}};

// The rule to act on: what no cuDNN has, then what the GPU lacks, then what the newest cuDNN is wanted for.
struct Decisive {
  const rules::Requirement* requirement = nullptr;
  bool never = false, of_gpu = false;
};

Decisive decisive(const Result& result) {
  const Json problem = rules::describe_problem(result.config.spec, result.cudnn_version, result.target.sm);
  Decisive found;
  std::tuple<bool, bool, CudnnVersion> heaviest;
  for (const rules::Requirement& requirement : result.requirements)
    for (const rules::RequirementRule& rule : rules::requirement_rules()) {
      if (rule.entry.id != requirement.id) continue;
      const bool of_gpu = !rule.sm.is_null() && !rules::holds(rule.sm, problem);
      const std::tuple weight(rule.never, of_gpu, rule.cudnn_from);
      if (found.requirement != nullptr && !(heaviest < weight)) continue;
      found = {&requirement, rule.never, of_gpu};
      heaviest = weight;
    }
  return found;
}

// `varying`: why it is not deterministic, as was demanded; else "".
diagnose::RootCause cause_of(const Result& result, const std::string& varying) {
  diagnose::RootCause cause;
  cause.explanation =
      fmt::format("By rule: cuDNN {} was not asked. The answer follows from the sources that are named.",
                  result.cudnn_version.text());
  if (!varying.empty()) {
    cause.category = diagnose::Category::constraint;
    cause.reason = varying;
    cause.in_general = probe::advice_on_order(result.config.spec);
    return cause;
  }
  const auto [requirement, never, of_gpu] = decisive(result);
  cause.category = of_gpu ? diagnose::Category::arch_mismatch : diagnose::Category::version;
  cause.reason = requirement->text;
  if (result.from)
    cause.in_general = fmt::format("Use cuDNN {} or newer.", result.from->version.text());
  else if (!never)
    cause.in_general = fmt::format("Use {}.", requirement->needs);
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
  const bool must_not_vary = options.constraints.deterministic && question.has_spec() && result.requirements.empty();
  const std::string varying =
      must_not_vary ? probe::varying_sums(question.config.spec, {version, target.sm}, nullptr) : "";
  if (!result.requirements.empty() || !varying.empty()) {
    result.verdict = Verdict::unsupported;
    result.root_cause = cause_of(result, varying);
  }
  weigh(result);
  result.reproduce = reproduce_command(question_command(question, options), target, version.text());
  return result;
}

}  // namespace

std::optional<CudnnVersion> named_version(const std::string& word) {
  const auto version = CudnnVersion::parse(word);
  if (!version || !version->is_known() || *version > std::end(newest_of_minor)[-1]) return std::nullopt;
  const bool names_patch = std::count(word.begin(), word.end(), '.') != 1;
  for (const CudnnVersion newest : newest_of_minor)
    if (!names_patch && is_of_version(newest.text(), word)) return newest;
  return version;
}

std::optional<CudnnVersion> version_by_rule(const std::string& word, const std::vector<gpu::Target>& targets) {
  const auto version = named_version(word);
  const bool is_old = version && *version < first_that_simulates;
  const auto is_simulated = [](const gpu::Target& target) { return target.kind == gpu::Kind::simulated; };
  return is_old && std::all_of(targets.begin(), targets.end(), is_simulated) ? version : std::nullopt;
}

std::string why_by_rule(CudnnVersion version) {
  if (version < first_that_simulates)
    return fmt::format("cuDNN {} cannot be asked about a GPU that is not there; {} is the first that can",
                       version.text(), first_that_simulates.short_text());
  return fmt::format("cuDNN {} is not here; `attnprobe cudnn fetch {}` gets it", version.text(), version.text());
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
                  fmt::format("--cudnn {}: {}. The rules know attention configs, not graphs such as {}", version.text(),
                              why_by_rule(version), question.given->description));
    for (const auto& target : targets) {
      campaign.results.push_back(answer(question, target, version, options));
      if (on_result) on_result(campaign.results.back(), campaign.results.size() - 1, campaign.results.size());
    }
  }
  return campaign;
}

}  // namespace attnprobe::campaign
