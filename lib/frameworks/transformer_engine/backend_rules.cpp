// Applies Transformer Engine's own rules and facts, lib/rules/transformer-engine, to a call.
#include <fmt/format.h>

#include "frameworks/transformer_engine/calls.hpp"
#include "rules/condition.hpp"
#include "rules/framework_rules.hpp"

namespace attnprobe::frameworks {
namespace {

const rules::FrameworkRules& own_rules() {
  static const rules::FrameworkRules& rules = rules::framework_rules("transformer-engine");
  return rules;
}

}  // namespace

Json describe_call(const TransformerEngineQuery& query, const TransformerEngineDevice& device) {
  TransformerEngineQuery gradients = query;
  gradients.qkv_layout = query.dqkv_layout;
  const auto when_training = [&](const auto& value) { return query.is_training ? Json(value()) : Json(); };
  return {{"is_training", query.is_training},
          {"fp8", is_fp8(query)},
          {"ragged_q", ragged_q(query)},
          {"ragged_kv", ragged_kv(query)},
          {"paged", paged(query)},
          {"padding", pads(query)},
          {"return_max_logit", query.return_max_logit},
          {"cuda_graph", query.cuda_graph},
          {"q_dtype", name_of(query.q_dtype)},
          {"kv_dtype", name_of(query.kv_dtype)},
          {"o_dtype", name_of(query.o_dtype)},
          {"dqkv_dtype", when_training([&] { return name_of(query.dqkv_dtype); })},
          {"q_format", q_format(query)},
          {"kv_format", kv_format(query)},
          {"dq_format", when_training([&] { return q_format(gradients); })},
          {"dkv_format", when_training([&] { return kv_format(gradients); })},
          {"attn_mask_type", name_of(query.attn_mask_type)},
          {"bias_type", name_of(query.bias_type)},
          {"softmax_type", name_of(query.softmax_type)},
          {"scaling_mode", name_of(query.scaling_mode)},
          {"max_seqlen_kv", query.max_seqlen_kv},
          {"head_dim_qk", query.head_dim_qk},
          {"head_dim_v", query.head_dim_v},
          {"cudnn", device.cudnn_version.number()},
          {"sm", device.sm}};
}

bool has_fact(std::string_view id, const TransformerEngineDevice& device) {
  const rules::FrameworkFact& fact = own_rules().fact(id);
  return fact.holds_from(device.cudnn_version) && (fact.when.is_null() || rules::holds(fact.when, {{"sm", device.sm}}));
}

std::vector<TransformerEngineRefusal> transformer_engine_refusals(const TransformerEngineQuery& query,
                                                                  const TransformerEngineDevice& device) {
  const Json call = describe_call(query, device);
  std::vector<TransformerEngineRefusal> refusals;
  for (const rules::FrameworkRule* rule : refusals_of(own_rules(), call))
    refusals.push_back({rule->pass, rules::filled(rule->message, call, rules::CudnnVersionAs::number)});
  return refusals;
}

}  // namespace attnprobe::frameworks
