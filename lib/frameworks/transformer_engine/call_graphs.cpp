// Transformer Engine's graphs as AttentionSpecs. Source: transformer_engine/common/fused_attn
// (fused_attn_f16_arbitrary_seqlen.cu, fused_attn_fp8.cu, utils.cu, config_and_params.cpp) of August 2026.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "attention/fields.hpp"
#include "base/error.hpp"
#include "frameworks/transformer_engine/calls.hpp"

namespace attnprobe::frameworks {
namespace {

using Query = TransformerEngineQuery;
using Device = TransformerEngineDevice;

constexpr std::string_view paged_prefix = "paged_kv_";

std::array<std::string, 3> axes_of(const std::string& layout) {
  const std::string_view name = layout;
  return attention::split_layout_name(name.starts_with(paged_prefix) ? name.substr(paged_prefix.size()) : name).value();
}

int64_t round_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

// TE rounds ragged batches and token counts up, so that one graph serves many calls. Between two bounds it rounds to
// powers of two, below them to the smallest of these, above them to multiples of a step (utils.cu).
int64_t bucket(int64_t value, int64_t least, int64_t largest_power, int64_t step) {
  if (value <= least) return least;
  if (value <= largest_power) return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
  return round_up(value, step);
}

// From these versions on, cudnn-frontend accepts cumulative lengths, and TE leaves the forward batch unchanged.
bool cumulative_lengths(const Query& query, const Device& device) {
  const bool dropout = query.is_training && query.dropout > 0;
  return has_fact(is_fp8(query) ? "cumulative_lengths_fp8" : "cumulative_lengths", device) && !dropout;
}

class Builder {
 public:
  Builder(const Query& query, const Device& device) : query_(query), device_(device) {}

  TransformerEngineGraphs run() {
    if (query_.q_dtype != query_.kv_dtype || query_.attn_mask_type == NvteMask::arbitrary ||
        query_.bias_type == NvteBias::pre_scale_bias || !has_scaling() || query_.q_dtype == DataType::f32)
      return {};  // refused before a graph is built
    out_.forward = forward();
    if (query_.is_training) out_.backward = backward();
    note_unseen();
    check(out_.forward);
    check(out_.backward);
    return out_;
  }

 private:
  // Whether graphs exist for this scaling.
  bool has_scaling() const {
    return query_.scaling_mode == NvteScaling::delayed_tensor_scaling ||
           (is_fp8(query_) && query_.scaling_mode == NvteScaling::mxfp8_1d_scaling);
  }

  // Checks for graphs that attnprobe's configs cannot express, such as packed Q, K and V with unequal heads.
  void check(const std::optional<attention::AttentionSpec>& spec) const {
    if (!spec) return;
    const auto found = contradictions(*spec);
    if (!found.empty())
      throw Error(ErrorKind::usage, fmt::format("{}: {}: {}: {}", query_.origin.file, query_.name, found.front().field,
                                                found.front().message));
  }

  void changed(const std::string& field, const std::string& given, const std::string& why) {
    out_.changed.push_back({field, given, why});
  }
  void unseen(const std::string& field, const std::string& given, const std::string& why) {
    out_.not_seen.push_back({field, given, why});
  }
  bool noting() const { return !out_.forward; }  // otherwise the backward graph would repeat the notes

  attention::AttentionSpec common() {
    attention::AttentionSpec spec;
    spec.source = fmt::format("Transformer Engine, {}", query_.origin.file);
    spec.heads_q = query_.num_attn_heads;
    spec.heads_kv = query_.num_gqa_groups;
    spec.head_dim_qk = query_.head_dim_qk;
    spec.head_dim_v = query_.head_dim_v;
    spec.dtype = query_.q_dtype;
    spec.o_dtype = query_.o_dtype;
    spec.scale = query_.attn_scale;
    spec.sink = query_.softmax_type != NvteSoftmax::vanilla;
    const auto axes = axes_of(query_.qkv_layout);
    spec.q = {axes[0], {}};
    spec.k = {axes[1], {}};
    spec.v = {axes[2], {}};
    spec.o = attention::TensorLayout{query_.o_format, {}};
    set_mask(spec);
    if (query_.is_training && query_.dropout > 0) spec.dropout = attention::Dropout{query_.dropout, {}, {}, false};
    return spec;
  }

  void set_mask(attention::AttentionSpec& spec) {
    spec.mask.padding = pads(query_);
    // TE passes windows to FP8 graphs only from 9.21 on.
    const bool windows = !is_fp8(query_) || has_fact("fp8_windows", device_);
    if (query_.window_size_left >= 0 && windows) spec.mask.window_left = query_.window_size_left;
    if (query_.window_size_right >= 0 && windows) spec.mask.window_right = query_.window_size_right;
    const bool causal_like = causal(query_) || causal_bottom_right(query_);
    if (causal_like) spec.mask.window_right = 0;
    const bool square = causal_bottom_right(query_) && !pads(query_) && query_.max_seqlen_q == query_.max_seqlen_kv;
    const bool bottom_right = causal_bottom_right(query_) ? !square : !causal(query_) && query_.bottom_right_diagonal;
    if (bottom_right && spec.mask.has_diagonal()) spec.mask.alignment = attention::Alignment::bottom_right;
    if (noting()) note_mask(spec, windows, square);
  }

  void note_mask(const attention::AttentionSpec& spec, bool windows, bool square) {
    if (!windows && (query_.window_size_left >= 0 || query_.window_size_right > 0))
      unseen("window_size", fmt::format("({}, {})", query_.window_size_left, query_.window_size_right),
             "Transformer Engine passes windows to FP8 graphs only from cuDNN 9.21");
    if (query_.window_size_right > 0 && spec.mask.window_right == 0 && windows)
      changed("window_size_right", std::to_string(query_.window_size_right), "becomes 0, the causal mask's");
    const std::string given = query_.bottom_right_diagonal ? "true" : "false";
    const bool in_graph = spec.mask.alignment == attention::Alignment::bottom_right;
    if (!spec.mask.has_diagonal())
      unseen("bottom_right_diagonal", given, "neither the mask nor a window has a diagonal");
    else if (in_graph != query_.bottom_right_diagonal)
      changed("bottom_right_diagonal", given,
              square ? "becomes false: with equal lengths and no padding both diagonals are the same"
                     : fmt::format("becomes {}: the mask decides", in_graph));
  }

  // Dims as passed to cuDNN: for ragged tensors, TE passes the token count of all sequences.
  void set_dims(attention::AttentionSpec& spec, bool forward) {
    spec.batch = query_.batch_size;
    spec.seqlen_q = query_.max_seqlen_q;
    spec.seqlen_kv = query_.max_seqlen_kv;
    if (!ragged_q(query_) && !ragged_kv(query_)) return;
    const bool packs = packs_tokens(device_);
    const bool cumulative = forward && cumulative_lengths(query_, device_);
    spec.ragged_offsets = cumulative ? DataType::i32 : DataType::i64;
    spec.ragged_stats = ragged_q(query_) && packs;
    if (!packs) return;
    if (!cumulative) spec.batch = bucket(query_.batch_size, 32, 512, 512);
    if (ragged_q(query_)) spec.seqlen_q = bucket(query_.num_tokens_q, 1024, 32768, 32768);
    if (ragged_kv(query_)) spec.seqlen_kv = bucket(query_.num_tokens_kv, 1024, 32768, 32768);
    const char* why = "one of the batch and token sizes for which Transformer Engine builds a ragged graph";
    // With cumulative lengths, forward and backward graphs have different batches.
    const bool backward_only = !forward && cumulative_lengths(query_, device_);
    if (spec.batch != query_.batch_size && (noting() || backward_only))
      changed("batch_size", std::to_string(query_.batch_size),
              fmt::format("{}becomes {}, {}", backward_only ? "backward, " : "", spec.batch, why));
    if (!noting()) return;
    for (const auto& [ragged, side, tokens, longest, extent] :
         {std::tuple(ragged_q(query_), "q", query_.num_tokens_q, query_.max_seqlen_q, spec.seqlen_q),
          std::tuple(ragged_kv(query_), "kv", query_.num_tokens_kv, query_.max_seqlen_kv, spec.seqlen_kv)}) {
      if (!ragged) continue;
      if (tokens != extent)
        changed(fmt::format("num_tokens_{}", side), std::to_string(tokens), fmt::format("becomes {}, {}", extent, why));
      unseen(fmt::format("max_seqlen_{}", side), std::to_string(longest),
             "a ragged graph contains the token count; each sequence's length is known only at run time");
    }
    if (cumulative)
      changed("cu_seqlens", "cumulative",
              "TE passes cumulative lengths to cuDNN 9.24 and later; the graph here has one length per sequence");
  }

  attention::AttentionSpec forward() {
    attention::AttentionSpec spec = common();
    spec.name = fmt::format("{}.forward", query_.name);
    // TE always requests the softmax statistics, even for inference.
    spec.pass = query_.is_training ? attention::Pass::fprop_train : attention::Pass::fprop;
    spec.stats = true;
    spec.max_logit = query_.return_max_logit;
    set_dims(spec, true);
    set_bias(spec, false);
    if (is_fp8(query_)) spec.fp8 = scaling(query_.o_dtype);
    if (paged(query_)) set_pages(spec);
    note_layouts();
    return spec;
  }

  attention::AttentionSpec backward() {
    attention::AttentionSpec spec = common();
    spec.name = fmt::format("{}.backward", query_.name);
    spec.pass = attention::Pass::bprop;
    spec.do_dtype = query_.do_dtype;
    spec.dqkv_dtype = query_.dqkv_dtype;
    spec.d_o = attention::TensorLayout{query_.do_format, {}};
    const auto axes = axes_of(query_.dqkv_layout);
    spec.dq = attention::TensorLayout{axes[0], {}};
    spec.dk = attention::TensorLayout{axes[1], {}};
    spec.dv = attention::TensorLayout{axes[2], {}};
    spec.deterministic = query_.deterministic;
    set_dims(spec, false);
    set_bias(spec, true);
    if (is_fp8(query_)) spec.fp8 = scaling(query_.dqkv_dtype);
    if (packs_tokens(device_) && ragged_q(query_)) spec.max_total_seqlen_q = spec.seqlen_q;
    if (packs_tokens(device_) && ragged_kv(query_)) spec.max_total_seqlen_kv = spec.seqlen_kv;
    if (paged(query_))
      changed("qkv_layout", query_.qkv_layout,
              "in the backward pass, K and V are dense tensors of max_seqlen_kv: no backward graph has page tables");
    return spec;
  }

  // An FP8 output (forward) or gradient (backward) implies scales from earlier steps.
  attention::Fp8Scaling scaling(DataType result) const {
    if (query_.scaling_mode == NvteScaling::mxfp8_1d_scaling) return attention::Fp8Scaling::mxfp8;
    const bool fp8 = is_fp8(result);
    return fp8 ? attention::Fp8Scaling::delayed : attention::Fp8Scaling::current;
  }

  void set_bias(attention::AttentionSpec& spec, bool backward) {
    if (is_fp8(query_)) {
      if (query_.bias_type != NvteBias::no_bias && !backward)
        unseen("bias_type", std::string(name_of(query_.bias_type)), "Transformer Engine's FP8 graphs have none");
      return;
    }
    spec.alibi = query_.bias_type == NvteBias::alibi;
    if (query_.bias_type != NvteBias::post_scale_bias) return;
    const std::array<int64_t, 4> whole{query_.batch_size, query_.num_attn_heads, query_.max_seqlen_q,
                                       query_.max_seqlen_kv};
    const char* fields[] = {"bias_batch_size", "bias_num_heads", "bias_seqlen_q", "bias_seqlen_kv"};
    std::string shape = "bhss";
    for (size_t i = 0; i < 4; ++i) {
      const int64_t extent = query_.bias_dims.at(i);
      if (extent != 1 && extent != whole.at(i))
        throw Error(ErrorKind::usage, fmt::format("{}: {}: {}: {} is neither 1 nor the axis, {}", query_.origin.file,
                                                  query_.name, fields[i], extent, whole.at(i)));
      if (extent == 1) shape[i] = '1';
    }
    if (!backward && (spec.seqlen_q != whole[2] || spec.seqlen_kv != whole[3]))
      changed("bias_seqlen_q", std::to_string(query_.bias_dims[2]),
              "the bias of the graph here has the ragged graph's token counts");
    // TE requests no gradient for the one shape for which cuDNN has none.
    spec.bias.emplace();
    spec.bias->shape = shape;
    spec.bias->grad = backward && !shape.starts_with("111");
  }

  void set_pages(attention::AttentionSpec& spec) {
    const NvtePages& k = query_.pages_k;
    const NvtePages& v = query_.pages_v;
    if (k.page_size != v.page_size)
      throw Error(
          ErrorKind::usage,
          fmt::format("{}: {}: page_size_v: {} differs from page_size_k, {}: attnprobe's paged graphs have one page "
                      "size",
                      query_.origin.file, query_.name, v.page_size, k.page_size));
    spec.paged = attention::Paged{k.page_size, true, true, kv_format(query_), false};
    spec.k = spec.v = attention::TensorLayout{"bhsd", {}};  // layout of the loaded tensors, which are virtual
    const int64_t pages = spec.batch * pages_of(k);
    if (k.num_pages != pages || v.num_pages != pages)
      changed("num_pages", fmt::format("{} and {}", k.num_pages, v.num_pages),
              fmt::format("becomes {}, the pages of a batch, as attnprobe's containers have them", pages));
  }

  int64_t pages_of(const NvtePages& cache) const {
    return (query_.max_seqlen_kv + cache.page_size - 1) / cache.page_size;
  }

  // TE's 16-bit graphs ignore the formats: O, dO and the gradients have the layouts of Q, K and V. attnprobe's graphs
  // use the formats, with a note if they differ.
  void note_layouts() {
    if (is_fp8(query_)) {
      if (!query_.qkv_scale_inv_format.empty() && query_.qkv_scale_inv_format != q_format(query_))
        changed("qkv_scale_inv_format", query_.qkv_scale_inv_format,
                "attnprobe gives scales the layout of their tensors");
      if (!query_.do_scale_inv_format.empty() && query_.do_scale_inv_format != query_.do_format)
        changed("do_scale_inv_format", query_.do_scale_inv_format,
                "attnprobe gives scales the layout of their tensors");
      return;
    }
    const std::string why = "asked as given; Transformer Engine's 16-bit graphs derive this layout from qkv_layout";
    if (query_.o_format != q_format(query_)) changed("o_format", query_.o_format, why);
    if (!query_.is_training) return;
    if (query_.do_format != q_format(query_)) changed("do_format", query_.do_format, why);
    if (query_.dqkv_layout != query_.qkv_layout && !paged(query_)) changed("dqkv_layout", query_.dqkv_layout, why);
  }

  void note_unseen() {
    unseen(
        "cuda_graph", query_.cuda_graph ? "true" : "false",
        "no graph has it. Up to cuDNN 9.15.0 Transformer Engine refuses because of it: training, bshd or sbhd, no padding mask, max_seqlen_kv not a multiple of 128");
    if (!query_.is_training) {
      unseen("deterministic", query_.deterministic ? "true" : "false", "only backward graphs have it");
      if (query_.dropout > 0) unseen("dropout", fmt::format("{}", query_.dropout), "inference graphs have none");
    }
    if (!is_fp8(query_))
      unseen("scaling_mode", std::string(name_of(query_.scaling_mode)), "16-bit graphs have no scales");
    if (paged(query_) && query_.pages_k.max_pages_per_seq == pages_of(query_.pages_k) &&
        query_.pages_v.max_pages_per_seq == pages_of(query_.pages_v))
      return;
    if (paged(query_))
      changed("max_pages_per_seq",
              fmt::format("{} and {}", query_.pages_k.max_pages_per_seq, query_.pages_v.max_pages_per_seq),
              fmt::format("becomes {}, the pages of max_seqlen_kv tokens", pages_of(query_.pages_k)));
  }

  const Query& query_;
  const Device& device_;
  TransformerEngineGraphs out_;
};

}  // namespace

const std::vector<std::string>& nvte_layouts() {
  static const std::vector<std::string> layouts = {"sb3hd",
                                                   "sbh3d",
                                                   "sbhd_sb2hd",
                                                   "sbhd_sbh2d",
                                                   "sbhd_sbhd_sbhd",
                                                   "bs3hd",
                                                   "bsh3d",
                                                   "bshd_bs2hd",
                                                   "bshd_bsh2d",
                                                   "bshd_bshd_bshd",
                                                   "t3hd",
                                                   "th3d",
                                                   "thd_t2hd",
                                                   "thd_th2d",
                                                   "thd_thd_thd",
                                                   "sbhd_bshd_bshd",
                                                   "bshd_sbhd_sbhd",
                                                   "thd_bshd_bshd",
                                                   "thd_sbhd_sbhd",
                                                   "paged_kv_bshd_bshd_bshd",
                                                   "paged_kv_bshd_sbhd_sbhd",
                                                   "paged_kv_sbhd_bshd_bshd",
                                                   "paged_kv_sbhd_sbhd_sbhd",
                                                   "paged_kv_thd_bshd_bshd",
                                                   "paged_kv_thd_sbhd_sbhd",
                                                   "bhsd_bhsd_bhsd"};
  return layouts;
}

const std::vector<std::string>& nvte_formats() {
  static const std::vector<std::string> formats = {"bshd", "sbhd", "bhsd", "thd"};
  return formats;
}

std::string q_format(const TransformerEngineQuery& query) {
  return attention::without_interleave(axes_of(query.qkv_layout)[0]);
}
std::string kv_format(const TransformerEngineQuery& query) {
  return attention::without_interleave(axes_of(query.qkv_layout)[1]);
}
bool ragged_q(const TransformerEngineQuery& query) {
  return q_format(query) == "thd";
}
bool ragged_kv(const TransformerEngineQuery& query) {
  return kv_format(query) == "thd";
}
bool paged(const TransformerEngineQuery& query) {
  return std::string_view(query.qkv_layout).starts_with(paged_prefix);
}
bool pads(const TransformerEngineQuery& query) {
  return query.attn_mask_type == NvteMask::padding || query.attn_mask_type == NvteMask::padding_causal ||
         query.attn_mask_type == NvteMask::padding_causal_bottom_right;
}
bool causal(const TransformerEngineQuery& query) {
  return query.attn_mask_type == NvteMask::causal || query.attn_mask_type == NvteMask::padding_causal;
}
bool causal_bottom_right(const TransformerEngineQuery& query) {
  return query.attn_mask_type == NvteMask::causal_bottom_right ||
         query.attn_mask_type == NvteMask::padding_causal_bottom_right;
}
bool is_fp8(const TransformerEngineQuery& query) {
  return is_fp8(query.q_dtype);
}

bool packs_tokens(const TransformerEngineDevice& device) {
  return has_fact("packs_tokens", device);
}

TransformerEngineGraphs transformer_engine_graphs(const TransformerEngineQuery& query,
                                                  const TransformerEngineDevice& device) {
  return Builder(query, device).run();
}

}  // namespace attnprobe::frameworks
