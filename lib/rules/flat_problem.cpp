#include "rules/flat_problem.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "attention/frontends.hpp"
#include "base/number.hpp"
#include "base/version.hpp"
#include "rules/geometry.hpp"

namespace attnprobe::rules {
namespace {

using attention::AttentionSpec;

struct Context {
  const AttentionSpec& spec;
  CudnnVersion cudnn;
  int sm = 0;
};
using Value = std::function<Json(const Context&)>;

struct Entry {
  ProblemKey key;
  Value value;
};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Entry boolean(const char* name, const char* help, const Value& value) {
  return {{name, KeyKind::boolean, {}, help}, value};
}
Entry number(const char* name, const char* help, const Value& value) {
  return {{name, KeyKind::number, {}, help}, value};
}
template <class E>
Entry text(const char* name, const char* help, const std::function<std::optional<E>(const Context&)>& value) {
  return {{name, KeyKind::text, names_of<E>(), help}, [value](const Context& c) {
            const std::optional<E> chosen = value(c);
            return chosen ? Json(name_of(*chosen)) : Json();
          }};
}

int64_t frontend_number(const Context& c) {
  return FrontendVersion::parse(attention::frontend_release(c.spec, c.cudnn)).value().number();
}

/// "bhss" to "1111": each axis or 1.
std::vector<std::string> bias_shapes() {
  std::vector<std::string> shapes{""};
  for (const char axis : std::string_view("bhss")) {
    std::vector<std::string> longer;
    for (const std::string& shape : shapes) longer.insert(longer.end(), {shape + axis, shape + '1'});
    shapes = std::move(longer);
  }
  return shapes;
}

bool has_stats_gaps(const AttentionSpec& s) {
  const auto strides = stats_strides(s);
  const int64_t last = (s.batch - 1) * strides[0] + (s.heads_q - 1) * strides[1] + (s.seqlen_q - 1) * strides[2];
  return last >= s.batch * s.heads_q * s.seqlen_q;
}

bool is_broadcast(const AttentionSpec& s) {
  const auto dims = bias_dims(s);
  for (size_t i = 0; s.bias->strides && i < dims.size(); ++i)
    if (dims[i] > 1 && (*s.bias->strides)[i] == 0) return true;
  return false;
}

bool has_row_gaps(const AttentionSpec& s) {
  if (!s.bias->strides) return false;
  const auto dims = bias_dims(s);
  int64_t next = 0;  // elements from a row to its nearest neighbour
  for (size_t i = 0; i < 3; ++i)
    if (const int64_t stride = (*s.bias->strides)[i]; dims[i] > 1 && stride > 0 && (next == 0 || stride < next))
      next = stride;
  return next > dims[3];
}

void add_shape(std::vector<Entry>& all) {
  auto size = [&](const char* name, const char* help, int64_t AttentionSpec::*member) {
    all.push_back(number(name, help, [member](const Context& c) { return c.spec.*member; }));
  };
  all.push_back(text<attention::Pattern>("pattern", "which operation graph was asked for",
                                         [](const Context& c) { return std::optional(c.spec.pattern); }));
  all.push_back(text<attention::Pass>("pass", "the pass", [](const Context& c) { return std::optional(c.spec.pass); }));
  size("batch", "batch entries", &AttentionSpec::batch);
  size("heads_q", "heads of Q", &AttentionSpec::heads_q);
  size("heads_kv", "heads of K", &AttentionSpec::heads_kv);
  all.push_back(number("heads_v", "heads of V", [](const Context& c) { return heads_v(c.spec); }));
  all.push_back(boolean("gqa", "Q has a different number of heads than K or V", [](const Context& c) {
    return c.spec.heads_q != c.spec.heads_kv || c.spec.heads_q != heads_v(c.spec);
  }));
  size("seqlen_q", "the longest query sequence", &AttentionSpec::seqlen_q);
  size("seqlen_kv", "the longest key sequence", &AttentionSpec::seqlen_kv);
  all.push_back(boolean("decode", "one query: seqlen_q is 1", [](const Context& c) { return c.spec.seqlen_q == 1; }));
  const auto tiles = [&](const char* name, const char* help, int64_t AttentionSpec::*seqlen) {
    all.push_back(number(name, help, [seqlen](const Context& c) {
      constexpr int64_t tile = 128;
      return saturated_product(saturated_product(c.spec.batch, c.spec.heads_q), (c.spec.*seqlen + tile - 1) / tile);
    }));
  };
  tiles("query_tiles", "tiles of 128 queries, over batch and heads of Q", &AttentionSpec::seqlen_q);
  tiles("key_tiles", "tiles of 128 keys, over batch and heads of Q", &AttentionSpec::seqlen_kv);
  all.push_back(boolean("longer_keys", "seqlen_kv is above seqlen_q",
                        [](const Context& c) { return c.spec.seqlen_kv > c.spec.seqlen_q; }));
  size("head_dim_qk", "head dimension of Q and K", &AttentionSpec::head_dim_qk);
  size("head_dim_v", "head dimension of V and O", &AttentionSpec::head_dim_v);
}

void add_types_and_layouts(std::vector<Entry>& all) {
  using Type = std::optional<DataType>;
  all.push_back(text<DataType>("dtype", "type of Q, K and V", [](const Context& c) { return Type(c.spec.dtype); }));
  all.push_back(text<DataType>("o_dtype", "type of O", [](const Context& c) { return Type(output_type(c.spec)); }));
  all.push_back(text<DataType>("do_dtype", "type of dO; null except for bprop", [](const Context& c) {
    return is_bprop(c.spec) ? Type(d_output_type(c.spec)) : Type();
  }));
  all.push_back(text<DataType>("dqkv_dtype", "type of dQ, dK, dV; null except for bprop", [](const Context& c) {
    return is_bprop(c.spec) ? Type(gradient_type(c.spec)) : Type();
  }));
  all.push_back(boolean("fp8", "Q, K and V are fp8", [](const Context& c) { return is_fp8(c.spec); }));
  all.push_back(text<attention::Fp8Scaling>(
      "fp8_scaling", "scaling of fp8 values; null without fp8",
      [](const Context& c) { return is_fp8(c.spec) ? std::optional(fp8_scaling(c.spec)) : std::nullopt; }));
  all.push_back(boolean("contiguous_head_dim", "the head dimension has stride 1 in every tensor",
                        [](const Context& c) { return contiguous_head_dim(c.spec); }));
  all.push_back(boolean("contiguous_stats", "the statistics have stride 1 after the row dimension",
                        [](const Context& c) { return stats_strides(c.spec)[3] == 1; }));
  all.push_back(boolean(
      "aligned_strides",
      "every stride but that of the head dimension, and of the batch if it is ragged, is a multiple of 16 bytes",
      [](const Context& c) { return strides_of_16_bytes(c.spec); }));
  all.push_back(boolean(
      "bshd", "every tensor has the order batch, token, head, head dimension; ragged ones token, head, head dimension",
      [](const Context& c) { return all_bshd(c.spec, false); }));
  all.push_back(
      boolean("compact_bshd", "bshd, and without gaps", [](const Context& c) { return all_bshd(c.spec, true); }));
  all.push_back(boolean("do_like_o", "dO has the strides of O; true except for bprop", [](const Context& c) {
    return !is_bprop(c.spec) || d_o_strides(c.spec) == o_strides(c.spec);
  }));
  all.push_back(boolean("ragged", "Q, K, V or O is ragged (THD)", [](const Context& c) { return is_ragged(c.spec); }));
  all.push_back(
      text<DataType>("ragged_offsets", "type of the ragged offsets; null without ragged tensors",
                     [](const Context& c) { return is_ragged(c.spec) ? Type(c.spec.ragged_offsets) : Type(); }));
  all.push_back(number("largest_offset",
                       "the largest possible ragged offset, in the unit of offsets; null without ragged tensors",
                       [](const Context& c) { return largest_offset(c.spec); }));
  all.push_back(boolean("ragged_stats", "the softmax statistics are ragged too",
                        [](const Context& c) { return c.spec.q.ragged() && c.spec.ragged_stats; }));
  all.push_back(
      boolean("interleaved_ragged", "Q, K and V of a token side by side and ragged (t3hd)",
              [](const Context& c) { return c.spec.q.ragged() && c.spec.q.axes.find('3') != std::string::npos; }));
  all.push_back(boolean("max_total_seqlen", "the number of tokens of all sequences is given", [](const Context& c) {
    return c.spec.max_total_seqlen_q.has_value() || c.spec.max_total_seqlen_kv.has_value();
  }));
  all.push_back({{"misaligned_tensor",
                  KeyKind::text,
                  {"Q", "K", "V", "O", "dO", "dQ", "dK", "dV"},
                  "the first tensor with a stride that is not a multiple of 16 bytes; null without one"},
                 [](const Context& c) { return misaligned_tensor(c.spec); }});
  all.push_back(text<attention::RaggedUnit>("ragged_unit", "unit of ragged offsets",
                                            [](const Context& c) { return std::optional(c.spec.ragged_unit); }));
  all.push_back(text<attention::Sides>("cu_seqlens", "the sides with lengths as prefix sums; null: none",
                                       [](const Context& c) { return c.spec.cu_seqlens; }));
  all.push_back(
      boolean("rope", "Q or K is rotated in the graph", [](const Context& c) { return c.spec.rope.has_value(); }));
  all.push_back(boolean("paged", "K or V is paged", [](const Context& c) { return c.spec.paged.has_value(); }));
  all.push_back(boolean("paged_k", "K is paged", [](const Context& c) { return c.spec.paged && c.spec.paged->k; }));
  all.push_back(boolean("paged_alone", "one of K and V is paged, the other is not",
                        [](const Context& c) { return c.spec.paged && c.spec.paged->k != c.spec.paged->v; }));
  all.push_back(number("page_tokens", "tokens of a page; null without paged tensors",
                       [](const Context& c) { return c.spec.paged ? Json(c.spec.paged->block_size) : Json(); }));
  all.push_back(boolean("packed_table", "the page table is ragged",
                        [](const Context& c) { return c.spec.paged && c.spec.paged->packed_table; }));
}

void add_mask(std::vector<Entry>& all) {
  all.push_back(boolean("causal", "no key after the diagonal: window_right is 0",
                        [](const Context& c) { return c.spec.mask.window_right == 0; }));
  all.push_back(number("window_left", "keys before the diagonal; null: all of them",
                       [](const Context& c) { return or_null(c.spec.mask.window_left); }));
  all.push_back(number("window_right", "keys after the diagonal; null: all of them",
                       [](const Context& c) { return or_null(c.spec.mask.window_right); }));
  all.push_back(boolean("bottom_right", "the diagonal ends at the last key",
                        [](const Context& c) { return c.spec.mask.alignment == attention::Alignment::bottom_right; }));
  all.push_back(
      boolean("padding", "sequence lengths vary (padding mask)", [](const Context& c) { return c.spec.mask.padding; }));
  const auto empty = [&](const char* name, const char* help, std::vector<int64_t> attention::Mask::*lengths) {
    all.push_back(boolean(name, help, [lengths](const Context& c) {
      const auto& of_entries = c.spec.mask.*lengths;
      return std::find(of_entries.begin(), of_entries.end(), 0) != of_entries.end();
    }));
  };
  empty("empty_q", "a batch entry has no queries: a length of 0 in seqlens_q", &attention::Mask::seqlens_q);
  empty("empty_kv", "a batch entry has no keys: a length of 0 in seqlens_kv", &attention::Mask::seqlens_kv);
  all.push_back({{"rows_without_keys",
                  KeyKind::boolean,
                  {},
                  "padding and window hide all keys of some query; null with padding without given lengths"},
                 [](const Context& c) { return rows_without_keys(c.spec); }});
  all.push_back(number("queries_over_keys",
                       "the most queries of a batch entry beyond its keys; null with padding without given lengths",
                       [](const Context& c) { return queries_over_keys(c.spec); }));
  all.push_back({{"unused_query_tile",
                  KeyKind::boolean,
                  {},
                  "a batch entry leaves 128 rows of queries, a tile, unused; null with padding without given lengths"},
                 [](const Context& c) { return unused_query_tile(c.spec); }});
  all.push_back({{"tile_without_keys",
                  KeyKind::boolean,
                  {},
                  "the window of 128 rows of queries, a tile, begins behind the keys; null with padding without given "
                  "lengths"},
                 [](const Context& c) { return tile_without_keys(c.spec); }});
  all.push_back(number("shortest_queries",
                       "the fewest queries of a batch entry; null with padding without given lengths",
                       [](const Context& c) { return shortest_queries(c.spec); }));
}

void add_scores(std::vector<Entry>& all) {
  all.push_back(
      boolean("bias", "a bias is added to the scores", [](const Context& c) { return c.spec.bias.has_value(); }));
  all.push_back(
      {{"bias_shape", KeyKind::text, bias_shapes(), "shape of the bias, with 1 for shared axes; null without one"},
       [](const Context& c) { return c.spec.bias ? Json(c.spec.bias->shape) : Json(); }});
  all.push_back(boolean("bias_broadcast", "the bias has stride 0 along an axis longer than 1",
                        [](const Context& c) { return c.spec.bias && is_broadcast(c.spec); }));
  all.push_back(boolean("bias_row_gaps", "other elements follow each row of the bias",
                        [](const Context& c) { return c.spec.bias && has_row_gaps(c.spec); }));
  all.push_back(text<DataType>("bias_dtype", "type of the bias; null without one", [](const Context& c) {
    return c.spec.bias ? std::optional(c.spec.bias->dtype.value_or(c.spec.dtype)) : std::nullopt;
  }));
  all.push_back(text<DataType>("bias_grad_dtype", "type of dBias; null without one", [](const Context& c) {
    return is_bprop(c.spec) && c.spec.bias && c.spec.bias->grad ? std::optional(bias_gradient_type(c.spec))
                                                                : std::nullopt;
  }));
  all.push_back(boolean(
      "contiguous_bias", "the bias has stride 1 along the keys; true without one",
      [](const Context& c) { return !c.spec.bias || !c.spec.bias->strides || c.spec.bias->strides->back() == 1; }));
  all.push_back(
      boolean("bias_grad", "dBias is an output", [](const Context& c) { return c.spec.bias && c.spec.bias->grad; }));
  all.push_back(boolean("alibi", "ALiBi slopes", [](const Context& c) { return c.spec.alibi; }));
  all.push_back(
      boolean("softcap", "the scores are capped by tanh", [](const Context& c) { return c.spec.softcap.has_value(); }));
  all.push_back(number("softcap_value", "the value at which the scores are capped; null without a softcap",
                       [](const Context& c) { return c.spec.softcap ? Json(*c.spec.softcap) : Json(); }));
  all.push_back(boolean("scale", "the graph scales the scores",
                        [](const Context& c) { return c.spec.scale_form != attention::ScaleForm::none; }));
  all.push_back(text<attention::ScoreModifierKind>(
      "score_mod", "the score modifier; null without one",
      [](const Context& c) { return c.spec.score_mod ? std::optional(c.spec.score_mod->kind) : std::nullopt; }));
  all.push_back(boolean("modifier", "a score modifier in cudnn-frontend's sense: score_mod or softcap",
                        [](const Context& c) { return c.spec.score_mod || c.spec.softcap; }));
  all.push_back(boolean("score_mod_grad", "bprop differentiates the score modifier", [](const Context& c) {
    return is_bprop(c.spec) && c.spec.score_mod && c.spec.score_mod->grad;
  }));
  all.push_back(boolean("sink", "an attention sink", [](const Context& c) { return c.spec.sink; }));
  all.push_back(boolean("block_mask", "a block mask", [](const Context& c) { return c.spec.block_mask; }));
  all.push_back(
      boolean("dropout", "dropout of either form", [](const Context& c) { return c.spec.dropout.has_value(); }));
  all.push_back(text<attention::DropoutForm>(
      "dropout_form", "the source of the dropout mask; null without dropout",
      [](const Context& c) { return c.spec.dropout ? std::optional(c.spec.dropout->form) : std::nullopt; }));
  all.push_back(number("dropout_probability", "probability of being dropped; null without dropout",
                       [](const Context& c) { return c.spec.dropout ? Json(c.spec.dropout->probability) : Json(); }));
  all.push_back(text<attention::SeedForm>(
      "dropout_seed", "form of the seed; null unless cuDNN generates the mask", [](const Context& c) {
        const auto& dropout = c.spec.dropout;
        return dropout && dropout->form == attention::DropoutForm::philox ? std::optional(seed_form(c.spec))
                                                                          : std::nullopt;
      }));
  all.push_back(boolean("dropout_dump", "the generated dropout mask is an output",
                        [](const Context& c) { return c.spec.dropout && c.spec.dropout->dump; }));
}

void add_rest(std::vector<Entry>& all) {
  using Type = std::optional<DataType>;
  all.push_back(boolean("stats", "softmax statistics are an output",
                        [](const Context& c) { return !is_bprop(c.spec) && wants_stats(c.spec); }));
  all.push_back(text<DataType>("stats_dtype", "type of the statistics",
                               [](const Context& c) { return Type(c.spec.stats_dtype.value_or(DataType::f32)); }));
  all.push_back(boolean("packed_stats", "the statistics are packed as {b, h, s, 1}", [](const Context& c) {
    const attention::Strides packed{c.spec.heads_q * c.spec.seqlen_q, c.spec.seqlen_q, 1, 1};
    return stats_strides(c.spec) == packed;
  }));
  all.push_back(boolean("stats_gaps", "other elements lie between the statistics",
                        [](const Context& c) { return has_stats_gaps(c.spec); }));
  all.push_back(boolean("stats_by_head", "the stride between heads of the statistics is larger than that between rows",
                        [](const Context& c) { return stats_strides(c.spec)[1] > stats_strides(c.spec)[2]; }));
  all.push_back(
      boolean("stats_log2", "the statistics are to base 2", [](const Context& c) { return c.spec.stats_log2; }));
  all.push_back(boolean("max_logit", "row maxima are an output", [](const Context& c) { return c.spec.max_logit; }));
  all.push_back(
      boolean("sum_exp", "row sums of exponentials are an output", [](const Context& c) { return c.spec.sum_exp; }));
  all.push_back(boolean("deterministic", "bprop without atomic accumulation",
                        [](const Context& c) { return c.spec.deterministic; }));
  all.push_back(boolean("ordered_dq", "bprop sums dQ in f32 memory in a fixed order",
                        [](const Context& c) { return c.spec.ordered_dq; }));
  all.push_back(boolean("unfuse_fma", "multiply and add of the softmax as separate operations",
                        [](const Context& c) { return c.spec.unfuse_fma; }));
  all.push_back(
      boolean("dynamic_shapes", "one plan for varying sizes", [](const Context& c) { return c.spec.dynamic_shapes; }));
  all.push_back(boolean("override_shapes", "sizes can change at execution",
                        [](const Context& c) { return c.spec.override_shapes; }));
  all.push_back(
      number("cudnn", "version of cuDNN as a number: 91900", [](const Context& c) { return c.cudnn.number(); }));
  all.push_back(number("sm", "compute capability of the GPU: 90", [](const Context& c) { return c.sm; }));
  all.push_back(number("frontend_release",
                       "release of cudnn-frontend that pattern sdpa follows, as a number: 13200 is 1.32",
                       frontend_number));
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> made;
    add_shape(made);
    add_types_and_layouts(made);
    add_mask(made);
    add_scores(made);
    add_rest(made);
    return made;
  }();
  return all;
}

}  // namespace

const std::vector<ProblemKey>& problem_keys() {
  static const std::vector<ProblemKey> keys = [] {
    std::vector<ProblemKey> made;
    for (const Entry& entry : entries()) made.push_back(entry.key);
    return made;
  }();
  return keys;
}

const ProblemKey* find_key(const std::vector<ProblemKey>& keys, const std::string& name) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

Json describe_problem(const AttentionSpec& spec, CudnnVersion cudnn_version, int sm) {
  Json problem = Json::object();
  const Context context{spec, cudnn_version, sm};
  for (const Entry& entry : entries()) problem[entry.key.name] = entry.value(context);
  return problem;
}

}  // namespace attnprobe::rules
