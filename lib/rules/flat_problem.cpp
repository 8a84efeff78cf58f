#include "rules/flat_problem.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "attention/frontends.hpp"
#include "base/version.hpp"

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

bool contiguous_head_dim(const AttentionSpec& s) {
  std::vector<attention::Strides> strides{q_strides(s), k_strides(s), v_strides(s), o_strides(s)};
  if (is_bprop(s)) {
    for (const auto& gradient : {d_o_strides(s), dq_strides(s), dk_strides(s), dv_strides(s)})
      strides.push_back(gradient);
  }
  return std::all_of(strides.begin(), strides.end(), [](const auto& of_one) { return of_one[3] == 1; });
}

int64_t frontend_number(const AttentionSpec& s) {
  return FrontendVersion::parse(s.frontend.value_or(attention::frontend_releases.back())).value().number();
}

// A tensor's sizes by batch entry, head, token and head dimension, and its strides in the same order.
struct StridedTensor {
  const char* name;
  attention::Strides sizes, strides;
  DataType type;
  bool ragged;  // its offsets lead to a sequence, in place of its batch stride
};

// Q, K, V and O, for bprop dO, dQ, dK and dV besides; a paged K or V is a pool of blocks and is left out.
std::vector<StridedTensor> strided_tensors(const AttentionSpec& s) {
  const attention::Strides q{s.batch, s.heads_q, s.seqlen_q, s.head_dim_qk};
  const attention::Strides k{s.batch, s.heads_kv, s.seqlen_kv, s.head_dim_qk};
  const attention::Strides v{s.batch, heads_v(s), s.seqlen_kv, s.head_dim_v};
  const attention::Strides o{s.batch, s.heads_q, s.seqlen_q, s.head_dim_v};
  std::vector<StridedTensor> tensors{{"Q", q, q_strides(s), s.dtype, s.q.ragged()}};
  if (!s.paged || !s.paged->k) tensors.push_back({"K", k, k_strides(s), s.dtype, s.k.ragged()});
  if (!s.paged || !s.paged->v) tensors.push_back({"V", v, v_strides(s), s.dtype, s.v.ragged()});
  tensors.push_back({"O", o, o_strides(s), output_type(s), s.q.ragged()});
  if (is_bprop(s)) {
    tensors.push_back({"dO", o, d_o_strides(s), d_output_type(s), s.q.ragged()});
    tensors.push_back({"dQ", q, dq_strides(s), gradient_type(s), s.q.ragged()});
    tensors.push_back({"dK", k, dk_strides(s), gradient_type(s), s.k.ragged()});
    tensors.push_back({"dV", v, dv_strides(s), gradient_type(s), s.v.ragged()});
  }
  return tensors;
}

// Batch, token, head, head dimension, the last of stride 1. An axis of size 1 is anywhere; where sequences are ragged, so is the
// batch. `compact`: without gaps.
bool is_bshd(const StridedTensor& tensor, bool ragged, bool compact) {
  int64_t least = 1;
  for (const size_t axis : {3U, 1U, 2U, 0U}) {
    if (tensor.sizes[axis] == 1 || (axis == 0 && ragged)) continue;
    const int64_t stride = tensor.strides[axis];
    if (axis == 3 || compact ? stride != least : stride < least) return false;
    least = stride * tensor.sizes[axis];
  }
  return true;
}

bool all_bshd(const AttentionSpec& s, bool compact) {
  const auto tensors = strided_tensors(s);
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const StridedTensor& tensor) { return is_bshd(tensor, is_ragged(s), compact); });
}

// Of strides that are stepped over; the innermost one is 1. PyTorch's nested tensors have a
// batch stride of 2147483647, and are right on an H200 with the engine that PyTorch takes (docs/running.md).
bool strides_of_16_bytes(const AttentionSpec& s) {
  constexpr int64_t bits = 128;
  const auto tensors = strided_tensors(s);
  return std::all_of(tensors.begin(), tensors.end(), [&](const StridedTensor& tensor) {
    for (const size_t axis : {0U, 1U, 2U})
      if (tensor.sizes[axis] > 1 && !(axis == 0 && tensor.ragged) &&
          tensor.strides[axis] * bits_of(tensor.type) % bits != 0)
        return false;
    return true;
  });
}

// As cudnn-frontend 1.32 checks it (misaligned_stride_dimension, node_interface.h): a stride that is no multiple of 16
// bytes, along an axis that has more than one element, the batch of a ragged tensor too. Null where every tensor is fine.
Json misaligned_tensor(const AttentionSpec& s) {
  constexpr int64_t alignment = 16;
  for (const StridedTensor& one : strided_tensors(s))
    for (size_t i = 0; i < one.sizes.size(); ++i)
      if (one.sizes[i] > 1 && one.strides[i] != 1 && one.strides[i] * element_size(one.type) % alignment != 0)
        return one.name;
  return {};
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
  all.push_back(boolean("gqa", "Q has another number of heads than K or V", [](const Context& c) {
    return c.spec.heads_q != c.spec.heads_kv || c.spec.heads_q != heads_v(c.spec);
  }));
  size("seqlen_q", "the longest query sequence", &AttentionSpec::seqlen_q);
  size("seqlen_kv", "the longest key sequence", &AttentionSpec::seqlen_kv);
  all.push_back(boolean("decode", "one query: seqlen_q is 1", [](const Context& c) { return c.spec.seqlen_q == 1; }));
  all.push_back(boolean("longer_keys", "seqlen_kv is above seqlen_q",
                        [](const Context& c) { return c.spec.seqlen_kv > c.spec.seqlen_q; }));
  size("head_dim_qk", "head dimension of Q and K", &AttentionSpec::head_dim_qk);
  size("head_dim_v", "head dimension of V and O", &AttentionSpec::head_dim_v);
}

void add_types_and_layouts(std::vector<Entry>& all) {
  using Type = std::optional<DataType>;
  all.push_back(text<DataType>("dtype", "type of Q, K and V", [](const Context& c) { return Type(c.spec.dtype); }));
  all.push_back(text<DataType>("o_dtype", "type of O", [](const Context& c) { return Type(output_type(c.spec)); }));
  all.push_back(text<DataType>("do_dtype", "type of dO; null but for bprop", [](const Context& c) {
    return is_bprop(c.spec) ? Type(d_output_type(c.spec)) : Type();
  }));
  all.push_back(text<DataType>("dqkv_dtype", "type of dQ, dK, dV; null but for bprop", [](const Context& c) {
    return is_bprop(c.spec) ? Type(gradient_type(c.spec)) : Type();
  }));
  all.push_back(boolean("fp8", "Q, K and V are fp8", [](const Context& c) { return is_fp8(c.spec); }));
  all.push_back(text<attention::Fp8Scaling>(
      "fp8_scaling", "how fp8 values get their scale; null where nothing is fp8",
      [](const Context& c) { return is_fp8(c.spec) ? std::optional(fp8_scaling(c.spec)) : std::nullopt; }));
  all.push_back(boolean("contiguous_head_dim", "the head dimension has stride 1 in every tensor",
                        [](const Context& c) { return contiguous_head_dim(c.spec); }));
  all.push_back(boolean(
      "aligned_strides",
      "every stride but that of the head dimension, and of the batch where it is ragged, is a multiple of 16 bytes",
      [](const Context& c) { return strides_of_16_bytes(c.spec); }));
  all.push_back(boolean(
      "bshd", "every tensor lies as batch, token, head, head dimension; ragged ones as token, head, head dimension",
      [](const Context& c) { return all_bshd(c.spec, false); }));
  all.push_back(
      boolean("compact_bshd", "bshd, and without gaps", [](const Context& c) { return all_bshd(c.spec, true); }));
  all.push_back(boolean("ragged", "Q, K, V or O is ragged (THD)", [](const Context& c) { return is_ragged(c.spec); }));
  all.push_back(
      text<DataType>("ragged_offsets", "type of the ragged offsets; null where nothing is ragged",
                     [](const Context& c) { return is_ragged(c.spec) ? Type(c.spec.ragged_offsets) : Type(); }));
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
                  "the first tensor with a stride that is no multiple of 16 bytes; null without one"},
                 [](const Context& c) { return misaligned_tensor(c.spec); }});
  all.push_back(text<attention::RaggedUnit>("ragged_unit", "what ragged offsets count",
                                            [](const Context& c) { return std::optional(c.spec.ragged_unit); }));
  all.push_back(text<attention::Sides>("cu_seqlens", "whose lengths are prefix sums; null: nobody's",
                                       [](const Context& c) { return c.spec.cu_seqlens; }));
  all.push_back(
      boolean("rope", "Q or K is rotated in the graph", [](const Context& c) { return c.spec.rope.has_value(); }));
  all.push_back(boolean("paged", "K or V is paged", [](const Context& c) { return c.spec.paged.has_value(); }));
  all.push_back(boolean("paged_alone", "one of K and V is paged, the other is not",
                        [](const Context& c) { return c.spec.paged && c.spec.paged->k != c.spec.paged->v; }));
  all.push_back(number("page_tokens", "tokens of a page; null where nothing is paged",
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
  all.push_back(boolean("empty_kv", "a batch entry has no keys: a length of 0 in seqlens_kv", [](const Context& c) {
    const auto& lengths = c.spec.mask.seqlens_kv;
    return std::find(lengths.begin(), lengths.end(), 0) != lengths.end();
  }));
}

void add_scores(std::vector<Entry>& all) {
  all.push_back(
      boolean("bias", "a bias is added to the scores", [](const Context& c) { return c.spec.bias.has_value(); }));
  all.push_back(
      {{"bias_shape", KeyKind::text, bias_shapes(), "shape of the bias, 1 where it is shared; null without one"},
       [](const Context& c) { return c.spec.bias ? Json(c.spec.bias->shape) : Json(); }});
  all.push_back(text<DataType>("bias_dtype", "type of the bias; null without one", [](const Context& c) {
    return c.spec.bias ? std::optional(c.spec.bias->dtype.value_or(c.spec.dtype)) : std::nullopt;
  }));
  all.push_back(
      boolean("bias_grad", "dBias is an output", [](const Context& c) { return c.spec.bias && c.spec.bias->grad; }));
  all.push_back(boolean("alibi", "ALiBi slopes", [](const Context& c) { return c.spec.alibi; }));
  all.push_back(
      boolean("softcap", "the scores are capped by tanh", [](const Context& c) { return c.spec.softcap.has_value(); }));
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
      "dropout_form", "who draws the dropout mask; null without dropout",
      [](const Context& c) { return c.spec.dropout ? std::optional(c.spec.dropout->form) : std::nullopt; }));
  all.push_back(number("dropout_probability", "of being dropped; null without dropout",
                       [](const Context& c) { return c.spec.dropout ? Json(c.spec.dropout->probability) : Json(); }));
  all.push_back(text<attention::SeedForm>(
      "dropout_seed", "form of the seed; null unless cuDNN draws the mask", [](const Context& c) {
        const auto& dropout = c.spec.dropout;
        return dropout && dropout->form == attention::DropoutForm::philox ? std::optional(seed_form(c.spec))
                                                                          : std::nullopt;
      }));
  all.push_back(boolean("dropout_dump", "the drawn dropout mask is an output",
                        [](const Context& c) { return c.spec.dropout && c.spec.dropout->dump; }));
}

void add_rest(std::vector<Entry>& all) {
  using Type = std::optional<DataType>;
  all.push_back(boolean("stats", "softmax statistics are an output",
                        [](const Context& c) { return !is_bprop(c.spec) && wants_stats(c.spec); }));
  all.push_back(text<DataType>("stats_dtype", "type of the statistics",
                               [](const Context& c) { return Type(c.spec.stats_dtype.value_or(DataType::f32)); }));
  all.push_back(boolean("packed_stats", "the statistics stand as {b, h, s, 1} without gaps", [](const Context& c) {
    const attention::Strides packed{c.spec.heads_q * c.spec.seqlen_q, c.spec.seqlen_q, 1, 1};
    return stats_strides(c.spec) == packed;
  }));
  all.push_back(
      boolean("stats_log2", "the statistics are to base 2", [](const Context& c) { return c.spec.stats_log2; }));
  all.push_back(boolean("max_logit", "row maxima are an output", [](const Context& c) { return c.spec.max_logit; }));
  all.push_back(
      boolean("sum_exp", "row sums of exponentials are an output", [](const Context& c) { return c.spec.sum_exp; }));
  all.push_back(boolean("deterministic", "bprop without atomic accumulation",
                        [](const Context& c) { return c.spec.deterministic; }));
  all.push_back(boolean("ordered_dq", "bprop sums dQ in f32 memory in a fixed order",
                        [](const Context& c) { return c.spec.ordered_dq; }));
  all.push_back(boolean("unfuse_fma", "multiply and add of the softmax apart",
                        [](const Context& c) { return c.spec.unfuse_fma; }));
  all.push_back(boolean("dynamic_shapes", "one plan for extents that change",
                        [](const Context& c) { return c.spec.dynamic_shapes; }));
  all.push_back(boolean("override_shapes", "extents may be given anew when the plan runs",
                        [](const Context& c) { return c.spec.override_shapes; }));
  all.push_back(
      number("cudnn", "version of cuDNN as a number: 91900", [](const Context& c) { return c.cudnn.number(); }));
  all.push_back(number("sm", "compute capability of the GPU: 90", [](const Context& c) { return c.sm; }));
  all.push_back(number("frontend_release",
                       "release of cudnn-frontend that pattern sdpa follows, as a number: 13200 is 1.32",
                       [](const Context& c) { return frontend_number(c.spec); }));
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
