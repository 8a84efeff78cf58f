#include "told_by_graph.hpp"

#include <algorithm>
#include <map>

#include "attention/fields.hpp"
#include "build/frontend_wiring.hpp"
#include "build/softmax.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::test {
namespace {

using namespace attention;

bool has_rows(const AttentionSpec& s) {
  return is_bprop(s) || wants_stats(s) || s.max_logit || s.sum_exp;
}

void drop_values(AttentionSpec& s) {
  s.name = s.source = "";
  s.expect = {};
  s.frontend.reset();
  s.scale.reset();
  if (s.softcap) s.softcap = 1;
  s.mask.seqlens_q.clear();
  s.mask.seqlens_kv.clear();
  if (s.mask.window_left) s.mask.window_left = 1;
  if (s.mask.window_right.value_or(0) > 0) s.mask.window_right = 1;
  if (s.max_total_seqlen_q) s.max_total_seqlen_q = 1;
  if (s.max_total_seqlen_kv) s.max_total_seqlen_kv = 1;
}

void drop_mask(AttentionSpec& s) {
  if (s.pattern == Pattern::sdpa_unified && s.paged) s.mask.padding = true;
  const bool lengths = s.mask.padding || s.paged;
  if (!s.mask.window_right && (!s.mask.window_left || !lengths)) s.mask.alignment = Alignment::top_left;
}

void drop_features(AttentionSpec& s, const build::BuildContext& context) {
  const bool legacy_backward = s.pattern == Pattern::mha && is_bprop(s);
  if (s.bias) {
    const auto dims = bias_dims(s);
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] == 1) s.bias->shape[i] = '1';
    s.bias->dtype = s.bias->dtype.value_or(s.dtype);
    if (!is_bprop(s)) s.bias->grad = false;
    if (legacy_backward && !s.bias->grad) s.bias.reset();
  }
  if (s.score_mod && (!is_bprop(s) || s.score_mod->kind == ScoreModifierKind::relative_position))
    s.score_mod->grad = true;
  // The same operations, unless another operation is between modifier and mask.
  if (s.score_mod && s.score_mod->kind == ScoreModifierKind::causal && !is_bprop(s) &&
      s.pattern == Pattern::sdpa_composite && context.cudnn_version < build::frontend_wiring().single_operations &&
      !s.softcap && !s.bias && !s.alibi && !s.mask.padding && !s.mask.window_right) {
    s.score_mod.reset();
    s.mask.window_right = 0;
    s.mask.alignment = Alignment::top_left;
  }
  if (s.dropout && s.dropout->form == DropoutForm::mask) s.dropout = Dropout{0.5, DropoutForm::mask, {}, false};
  if (s.dropout && s.dropout->form == DropoutForm::philox) s.dropout->seed = seed_form(s);
  if (legacy_backward) s.dropout.reset();
  if (s.pattern != Pattern::sdpa_unified) s.block_mask = false;  // builders of other patterns omit it
  if (s.heads_q == 1 && s.score_mod && s.score_mod->kind == ScoreModifierKind::head_factor &&
      s.scale_form == ScaleForm::none) {
    s.score_mod.reset();
    s.scale_form = ScaleForm::tensor;
  }
}

void drop_outputs(AttentionSpec& s) {
  const bool legacy = s.pattern == Pattern::mha;
  if (s.pass == Pass::fprop && (wants_stats(s) || (legacy && s.dropout))) s.pass = Pass::fprop_train;
  if (legacy && !s.softmax && !s.dropout && !is_bprop(s)) s.pass = Pass::fprop;
  s.stats.reset();
  if (is_bprop(s)) s.max_logit = s.sum_exp = false;
  // The ordered sum has the same graph as the sum in any order.
  if (s.ordered_dq) s.deterministic = s.ordered_dq = false;
  const bool bias_gradient = s.bias && s.bias->grad;
  if (!is_bprop(s) || bias_gradient || is_fp8(s) || s.pattern != Pattern::sdpa_composite) s.deterministic = false;
  if (is_fp8(s)) s.fp8 = fp8_scaling(s);
}

void drop_ragged(AttentionSpec& s) {
  if (!s.q.ragged() || !has_rows(s)) s.ragged_stats = true;
  const bool composite_backward = is_bprop(s) && !is_fp8(s) && s.pattern == Pattern::sdpa_composite;
  const bool straight = s.deterministic || (s.bias && s.bias->grad);
  if (!composite_backward || !s.q.ragged() || (!s.ragged_stats && straight)) s.max_total_seqlen_q.reset();
  const bool sums_k = s.heads_q != s.heads_kv && s.k.ragged(), sums_v = s.heads_q != heads_v(s) && s.v.ragged();
  if (!composite_backward || (!sums_k && !sums_v)) s.max_total_seqlen_kv.reset();
}

Json strides_json(const Strides& strides, bool ragged) {
  return {{"strides", strides}, {"ragged", ragged}};
}

}  // namespace

Json told_by_graph(AttentionSpec s, const build::BuildContext& context) {
  if (s.pattern == Pattern::sdpa) s = build::choose_as_frontend(s, context).spec;
  drop_values(s);
  drop_mask(s);
  drop_features(s, context);
  drop_outputs(s);
  drop_ragged(s);
  const bool paged_k = s.paged && s.paged->k, paged_v = s.paged && s.paged->v;
  const bool score_shaped =
      s.max_logit || s.sum_exp || s.sink || s.softcap || s.score_mod || s.bias || s.alibi || s.mask.has_diagonal() ||
      (s.dropout && s.dropout->dump) ||
      (s.pass == Pass::fprop_train && context.cudnn_version >= build::frontend_wiring().single_operations);
  if (paged_k && paged_v && s.pattern == Pattern::sdpa_unified && !score_shaped)
    s.seqlen_kv = (s.seqlen_kv + s.paged->block_size - 1) / s.paged->block_size * s.paged->block_size;
  Json json = to_json(s);
  for (const char* key : {"layout", "o_layout", "do_layout", "dqkv_layout"}) json.erase(key);
  json["q"] = strides_json(q_strides(s), s.q.ragged());
  if (!paged_k) json["k"] = strides_json(k_strides(s), s.k.ragged());
  if (!paged_v) json["v"] = strides_json(v_strides(s), s.v.ragged());
  if (s.pattern == Pattern::mha && is_bprop(s))
    json.erase("o_dtype");
  else
    json["o"] = strides_json(o_strides(s), output_layout(s).ragged());
  if (is_bprop(s)) json["gradients"] = {d_o_strides(s), dq_strides(s), dk_strides(s), dv_strides(s)};
  if (s.paged) {
    const int64_t heads = s.paged->k ? s.heads_kv : heads_v(s), d = s.paged->k ? s.head_dim_qk : s.head_dim_v;
    const int64_t block = s.paged->block_size, blocks = s.batch * ((s.seqlen_kv + block - 1) / block);
    json["paged"]["layout"] = *strides_of(s.paged->layout, {blocks, heads, block, d});
  }
  return json;
}

graph::OpGraph disguised(graph::OpGraph g, uint64_t seed, bool keep_values) {
  std::mt19937_64 engine(seed);
  std::vector<graph::Uid> uids(g.tensors.size());
  for (size_t i = 0; i < uids.size(); ++i) uids[i] = static_cast<graph::Uid>(1000 + 7 * i);
  std::shuffle(uids.begin(), uids.end(), engine);
  std::map<graph::Uid, graph::Uid> renumbered;
  for (size_t i = 0; i < uids.size(); ++i) renumbered[g.tensors[i].uid] = uids[i];
  for (auto& t : g.tensors) {
    t.uid = renumbered.at(t.uid);
    t.name.clear();
    t.role = graph::Role::none;
    if (!keep_values) t.value.reset();
    if (t.ragged_offset) t.ragged_offset = renumbered.at(*t.ragged_offset);
  }
  auto renumber = [&](const char*, auto& uid, auto...) {
    if constexpr (std::is_same_v<std::decay_t<decltype(uid)>, graph::Uid>) {
      uid = renumbered.at(uid);
    } else if (uid) {
      uid = renumbered.at(*uid);
    }
  };
  for (auto* list : {&g.operations, &g.score_operations}) {
    for (auto& operation : *list) std::visit([&](auto& op) { graph::for_each_port(op, renumber); }, operation);
    std::shuffle(list->begin(), list->end(), engine);
  }
  std::shuffle(g.tensors.begin(), g.tensors.end(), engine);
  return g;
}

}  // namespace attnprobe::test
