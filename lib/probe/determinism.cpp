#include "probe/determinism.hpp"

#include <algorithm>

namespace attnprobe::probe {
namespace {

using attention::AttentionSpec;

// Measured on an H100 and an H200 with cuDNN 9.19.0: docs/results/README.md.
bool is_measured_to_vary(const AttentionSpec& spec, const build::BuildContext& context,
                         const EngineConfigFindings& config) {
  const auto kernel = config.knobs.find("KERNEL_CFG");
  const bool splits_keys = config.engine == 8 && kernel != config.knobs.end() && kernel->second == 35;
  constexpr CudnnVersion first{9, 19, 0}, first_other{9, 20, 0};
  const CudnnVersion version = context.cudnn_version;
  return splits_keys && spec.seqlen_q == 1 && context.sm == 90 && version >= first && version < first_other;
}

std::string of_backward(const AttentionSpec& spec, const EngineConfigFindings* config) {
  if (spec.sink) return "the gradient of the sink is summed in an order that varies";
  const bool is_straight = (spec.deterministic && !spec.ordered_dq) || (spec.bias && spec.bias->grad);
  if (is_straight && spec.pattern != attention::Pattern::mha) return "";
  if (spec.deterministic && spec.ordered_dq) {
    // The graph is the default graph, but cudnn-frontend selects the engine config that sums in order.
    const bool is_named =
        config == nullptr || std::find(config->modes.begin(), config->modes.end(), "FRONTEND") != config->modes.end();
    return is_named ? "" : "only the engine config that cudnn-frontend names for ordered_dq sums dQ in a fixed order";
  }
  if (spec.pattern == attention::Pattern::mha) return "no form of this graph requests a fixed summation order";
  return "the graph does not request the deterministic form, so the backward pass sums dQ in a varying order";
}

}  // namespace

std::string varying_sums(const AttentionSpec& spec, const build::BuildContext& context,
                         const EngineConfigFindings* config) {
  const bool chooses = spec.pattern == attention::Pattern::sdpa;
  const AttentionSpec built = chooses ? build::choose_as_frontend(spec, context).spec : spec;
  if (is_bprop(built)) return of_backward(built, config);
  if (config != nullptr && is_measured_to_vary(built, context, *config))
    return "its results differed from run to run on an H100";
  return "";
}

std::string advice_on_order(const AttentionSpec& spec) {
  if (!is_bprop(spec) || spec.deterministic || spec.sink || spec.pattern == attention::Pattern::mha) return "";
  return "Request the deterministic form of the backward pass: --deterministic true, or \"deterministic\": true in a config.";
}

}  // namespace attnprobe::probe
