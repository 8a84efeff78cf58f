#include "rules/requirements.hpp"

#include "attention/frontends.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.hpp"
#include "rules/condition.hpp"
#include "rules/flat_problem.hpp"
#include "rules/framework_rules.hpp"

namespace attnprobe::rules {
namespace {

bool version_is_met(const RequirementRule& rule, CudnnVersion version) {
  return !rule.never && version >= rule.cudnn_from && (!rule.cudnn_below.is_known() || version < rule.cudnn_below);
}

bool gpu_is_met(const RequirementRule& rule, const Json& problem) {
  return rule.sm.is_null() || holds(rule.sm, problem);
}

// The part that does not meet the requirement: the version, the GPU, or both.
std::string what_this_is(bool version_met, bool gpu_met, CudnnVersion version, int sm) {
  if (gpu_met) return version.text();
  if (version_met) return fmt::format("sm_{}", sm);
  return fmt::format("{} on sm_{}", version.text(), sm);
}

}  // namespace

std::vector<Requirement> unmet_requirements(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm) {
  const Json problem = describe_problem(spec, cudnn_version, sm);
  std::vector<Requirement> unmet;
  for (const auto& rule : requirement_rules()) {
    if (!holds(rule.when, problem)) continue;
    const bool version_met = version_is_met(rule, cudnn_version);
    const bool gpu_met = gpu_is_met(rule, problem);
    if (version_met && gpu_met) continue;
    Requirement requirement = rule.entry;
    if (!rule.never && (version_met || gpu_met)) requirement.needs = version_met ? rule.needs_gpu : rule.needs_cudnn;
    requirement.text = rule.never
                           ? fmt::format("no cuDNN so far has {}", requirement.feature)
                           : fmt::format("{} {} {}; this is {}", requirement.feature, rule.is_plural ? "need" : "needs",
                                         requirement.needs, what_this_is(version_met, gpu_met, cudnn_version, sm));
    unmet.push_back(std::move(requirement));
  }
  return unmet;
}

bool gpu_suffices(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm) {
  const Json problem = describe_problem(spec, cudnn_version, sm);
  const auto& rules = requirement_rules();
  return std::none_of(rules.begin(), rules.end(), [&](const RequirementRule& rule) {
    return !gpu_is_met(rule, problem) && holds(rule.when, problem);
  });
}

std::optional<CudnnVersion> first_version(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm) {
  const Json problem = describe_problem(spec, cudnn_version, sm);
  CudnnVersion first, lost;
  for (const auto& rule : requirement_rules()) {
    if (!holds(rule.when, problem)) continue;
    if (rule.never || !gpu_is_met(rule, problem)) return std::nullopt;
    first = std::max(first, rule.cudnn_from);
    if (rule.cudnn_below.is_known()) lost = lost.is_known() ? std::min(lost, rule.cudnn_below) : rule.cudnn_below;
  }
  if (!first.is_known() || (lost.is_known() && first >= lost)) return std::nullopt;
  return first;
}

std::vector<KnownBug> known_bugs(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm) {
  const Json problem = describe_problem(spec, cudnn_version, sm);
  std::vector<KnownBug> bugs;
  for (const auto& rule : known_bug_rules())
    if (holds(rule.when, problem)) bugs.push_back(rule.entry);
  return bugs;
}

FrontendAnswer answer_of(const FrameworkRules& rules, const FrameworkRule& rule) {
  return {rules.version, true,        rule.id,        rule.status,
          rule.message,  rule.source, rule.span.from, last_frontend_of(rule.span)};
}

namespace {

// Extends the range of releases to neighbours that also refuse the problem by any rule.
void tell_releases(FrontendAnswer& refusal, const Json& problem) {
  const auto& all = attention::frontend_releases;
  const auto refuses = [&](size_t i) {
    const auto& rules = frontend_rules(all[i]).rules;
    return std::any_of(rules.begin(), rules.end(),
                       [&](const FrameworkRule& rule) { return holds(rule.when, problem); });
  };
  size_t first = 0;
  while (first + 1 < all.size() && !is_of_version(refusal.version, all[first])) ++first;
  size_t last = first;
  while (first > 0 && refuses(first - 1)) --first;
  while (last + 1 < all.size() && refuses(last + 1)) ++last;
  refusal.from = first == 0 ? "" : all[first];
  refusal.until = last + 1 == all.size() ? "" : all[last];
}

}  // namespace

std::optional<FrontendAnswer> frontend_answer(const attention::AttentionSpec& spec, CudnnVersion cudnn_version,
                                              int sm) {
  using attention::Pattern;
  const bool unified_backward = spec.pattern == Pattern::sdpa_unified && is_bprop(spec);
  if (spec.pattern == Pattern::mha || spec.pattern == Pattern::two_matmul || unified_backward) return std::nullopt;
  const Json problem = describe_problem(spec, cudnn_version, sm);
  const FrameworkRules& rules = frontend_rules(attention::frontend_release(spec, cudnn_version));
  for (const FrameworkRule& rule : rules.rules)
    if (holds(rule.when, problem)) {
      FrontendAnswer refusal = answer_of(rules, rule);
      refusal.message = filled(rule.message, problem, CudnnVersionAs::number);
      tell_releases(refusal, problem);
      return refusal;
    }
  FrontendAnswer answer;
  answer.version = rules.version;
  return answer;
}

}  // namespace attnprobe::rules
