// cudnn-frontend's choice between the composite graph and the unified SDPA operation, and its silent changes to
// backward graphs. lib/rules/cudnn-frontend has the versions as data.
#include <fmt/format.h>

#include "attention/frontends.hpp"
#include "build/build.hpp"
#include "build/frontend_wiring.hpp"
#include "rules/condition.hpp"
#include "rules/flat_problem.hpp"

namespace attnprobe::build {
namespace {

using attention::AttentionSpec;
using attention::Pattern;

// Features that no composite graph can express. These use the unified operation, even if cuDNN is too old for it.
bool only_unified(const AttentionSpec& spec) {
  return spec.cu_seqlens || spec.ragged_unit == attention::RaggedUnit::token || (spec.rope && spec.rope->k);
}

// Why the graph cannot use the unified operation; none if it can.
std::optional<std::string> why_composite(const AttentionSpec& spec, const BuildContext& context) {
  if (only_unified(spec)) return std::nullopt;
  const CudnnVersion unified = frontend_wiring().unified;
  if (context.cudnn_version < unified)
    return fmt::format("composite: the unified SDPA operation needs cuDNN {}", unified.short_text());
  const Json problem = rules::describe_problem(spec, context.cudnn_version, context.sm);
  const std::string release = frontend_release(spec, context.cudnn_version);
  for (const rules::FormNeed& need : rules::frontend_rules(release).unified) {
    const bool never = !need.cudnn_from.is_known();
    if ((!never && context.cudnn_version >= need.cudnn_from) || !rules::holds(need.when, problem)) continue;
    if (never) return fmt::format("composite: the unified form of cudnn-frontend {} has no {}", release, need.feature);
    return fmt::format("composite: the unified SDPA operation supports {} only from cuDNN {}", need.feature,
                       need.cudnn_from.short_text());
  }
  return std::nullopt;
}

FrontendChoice forward(AttentionSpec spec, const BuildContext& context) {
  const auto why = why_composite(spec, context);
  spec.pattern = why ? Pattern::sdpa_composite : Pattern::sdpa_unified;
  return {spec, why.value_or("unified: cudnn-frontend uses the unified SDPA operation if it can"), {}};
}

FrontendChoice backward(AttentionSpec spec, const BuildContext& context) {
  const std::string release = frontend_release(spec, context.cudnn_version);
  const rules::FrameworkRules& rules = rules::frontend_rules(release);
  const Json problem = rules::describe_problem(spec, context.cudnn_version, context.sm);
  FrontendChoice made;
  made.choice = fmt::format("composite: cudnn-frontend {} has no other backward form", release);
  bool orders_dq = false;
  for (const rules::ForcedConfigRule& rule : rules.forced_configs) {
    if (!rules::holds(rule.when, problem)) continue;
    made.forced = ForcedConfig{rule.engine, rule.knobs};
    made.choice += "; it builds one engine config here and asks no heuristic (mode FRONTEND)";
    orders_dq = rule.id == "forced_ordered_dq";
    break;
  }
  if (spec.ordered_dq && !orders_dq) {
    spec.ordered_dq = false;
    made.choice += "; it orders the sums of dQ only on Hopper, from cuDNN 9.25 and its own release 1.27 on";
  }
  spec.pattern = Pattern::sdpa_composite;
  if (const auto& fact = rules.fact("adds_padding"); rules::holds(fact.when, problem)) {
    spec.mask.padding = true;
    made.choice += "; " + fact.what;
  }
  // Not a change to the question: cudnn-frontend wires every such graph this way.
  if (const auto* fact = rules.find_fact("padding_after_stats"); fact && rules::holds(fact->when, problem))
    spec.mask.padding_after_stats = spec.mask.padding_after_stats || spec.mask.padding;
  if (const auto* fact = rules.find_fact("d256_deterministic");
      fact && rules::holds(fact->when, problem) && !spec.deterministic) {
    spec.deterministic = true;
    made.choice += "; " + fact->what;
  }
  if (const auto& fact = rules.fact("drops_token_counts"); rules::holds(fact.when, problem)) {
    spec.max_total_seqlen_q = spec.max_total_seqlen_kv = std::nullopt;
    made.choice += "; " + fact.what;
  }
  made.spec = std::move(spec);
  return made;
}

}  // namespace

FrontendChoice choose_as_frontend(const AttentionSpec& spec, const BuildContext& context) {
  FrontendChoice made = is_bprop(spec) ? backward(spec, context) : forward(spec, context);
  const std::string release = frontend_release(spec, context.cudnn_version);
  if (!spec.frontend && release != attention::frontend_releases.back())
    made.choice +=
        fmt::format("; as cudnn-frontend {} builds it, because backward graphs of newer releases fail before cuDNN {}",
                    release, attention::newest_frontend_from.short_text());
  return made;
}

}  // namespace attnprobe::build
