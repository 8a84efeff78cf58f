#include "ask/further/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

#include "attention/fields.hpp"

namespace attnprobe::asking {
namespace {

using attention::AttentionSpec;
using attention::Fp8Scaling;
using attention::Pattern;
using attention::SeedForm;

int64_t next_multiple(int64_t value, int64_t of) {
  return (value + of - 1) / of * of;
}

bool has_strides(const AttentionSpec& spec) {
  const auto strided = [](const auto& layout) { return layout && layout->strides; };
  return spec.q.strides || spec.k.strides || spec.v.strides || strided(spec.o) || strided(spec.d_o) ||
         strided(spec.dq) || strided(spec.dk) || strided(spec.dv);
}

void all_in(AttentionSpec& spec, const std::string& axes) {
  spec.q = spec.k = spec.v = {axes, {}};
  spec.o = spec.d_o = spec.dq = spec.dk = spec.dv = std::nullopt;
}

// Head dimensions of Q/K and V for which cuDNN has kernels: those of multi-head latent attention.
constexpr std::pair<int64_t, int64_t> uneven_head_dims[] = {{192, 128}, {576, 512}};

// Every tensor in bf16.
void to_bf16(AttentionSpec& spec) {
  spec.dtype = DataType::bf16;
  spec.o_dtype = spec.do_dtype = spec.dqkv_dtype = std::nullopt;
  spec.fp8.reset();
}

// The changes of one config, in the order in which they are added.
class Changes {
 public:
  explicit Changes(const AttentionSpec& spec) : spec_(spec) {}

  void add(bool applies, const std::string& kind, ChangeCost cost, const std::string& text,
           std::function<void(AttentionSpec&)> make) {
    if (applies) changes_.push_back({kind, cost, text, std::move(make)});
  }

  // The same computation in another form.
  void add_forms() {
    const bool legacy = spec_.pattern == Pattern::mha,
               narrow_seed = spec_.dropout && spec_.dropout->seed && *spec_.dropout->seed != SeedForm::i64;
    add(narrow_seed && !legacy, "dropout", ChangeCost::none, "dropout's seed and offset as 64-bit tensors",
        [](AttentionSpec& s) { s.dropout->seed = SeedForm::i64; });
    add(spec_.sum_exp && !spec_.max_logit, "max_logit", ChangeCost::none, "with the row maxima as an output too",
        [](AttentionSpec& s) { s.max_logit = true; });
    // cuDNN 9.19 supports backward graphs of pattern mha only with a mask. cudnn-frontend supports a bottom-right mask
    // with more queries than keys only with padding.
    add(!spec_.mask.padding && spec_.pattern != Pattern::two_matmul, "mask", ChangeCost::none,
        "with a padding mask (full lengths are allowed)", [](AttentionSpec& s) { s.mask.padding = true; });
    const bool square = spec_.seqlen_q == spec_.seqlen_kv && !spec_.mask.padding;
    const bool bottom_right = spec_.mask.has_diagonal() && spec_.mask.alignment == attention::Alignment::bottom_right;
    add(square && bottom_right, "mask", ChangeCost::none,
        "the mask aligned top-left, which is the same for equal lengths",
        [](AttentionSpec& s) { s.mask.alignment = attention::Alignment::top_left; });
    add(bottom_right && !spec_.mask.padding && spec_.seqlen_q == 1 && spec_.mask.window_right == 0, "mask",
        ChangeCost::none, "without the causal mask, which excludes no key of the last query",
        [](AttentionSpec& s) { s.mask.window_right.reset(); });
    const bool spans_all =
        spec_.mask.window_left && *spec_.mask.window_left >= spec_.seqlen_kv - 1 && spec_.seqlen_q <= spec_.seqlen_kv;
    add(spans_all, "mask", ChangeCost::none, "without the left window, which excludes no key",
        [](AttentionSpec& s) { s.mask.window_left.reset(); });
    add(spec_.pattern == Pattern::sdpa_unified || spec_.pattern == Pattern::sdpa_composite, "pattern", ChangeCost::none,
        fmt::format("pattern \"sdpa\" instead of \"{}\"", name_of(spec_.pattern)),
        [](AttentionSpec& s) { s.pattern = Pattern::sdpa; });
    add(spec_.pattern == Pattern::sdpa && !is_fp8(spec_), "pattern", ChangeCost::none,
        "the composite graph of primitive operations", [](AttentionSpec& s) { s.pattern = Pattern::sdpa_composite; });
    add(spec_.pattern == Pattern::mha, "pattern", ChangeCost::none, "pattern \"sdpa\" instead of \"mha\"",
        [](AttentionSpec& s) { s.pattern = Pattern::sdpa; });
    add(spec_.pattern == Pattern::two_matmul, "pattern", ChangeCost::computation,
        "pattern \"sdpa\" instead of \"two_matmul\" (another computation: it has the softmax between the matmuls)",
        [](AttentionSpec& s) { s.pattern = Pattern::sdpa; });
  }

  void add_layouts() {
    add(has_strides(spec_), "layout", ChangeCost::layout, "contiguous tensors in layout bshd",
        [](AttentionSpec& s) { all_in(s, "bshd"); });
    const bool plain = !has_strides(spec_) && !is_ragged(spec_);
    for (const std::string axes : {"bshd", "bhsd"})
      add(plain && spec_.q.axes != axes, "layout", ChangeCost::layout, fmt::format("Q, K and V in layout {}", axes),
          [axes](AttentionSpec& s) { all_in(s, axes); });
    const bool padded_stats = is_ragged(spec_) && spec_.ragged_stats && wants_stats(spec_);
    add(padded_stats, "stats", ChangeCost::layout, "padded statistics",
        [](AttentionSpec& s) { s.ragged_stats = false; });
    add(is_ragged(spec_), "layout", ChangeCost::padding, "padded instead of ragged tensors", [](AttentionSpec& s) {
      all_in(s, "bshd");
      s.max_total_seqlen_q = s.max_total_seqlen_kv = std::nullopt;
      s.cu_seqlens.reset();
      s.ragged_unit = attention::RaggedUnit::element;
      s.mask.padding = true;
    });
    add(spec_.paged.has_value(), "paged", ChangeCost::layout, "K and V contiguous instead of paged",
        [](AttentionSpec& s) { s.paged.reset(); });
    if (spec_.paged) {
      const auto size = static_cast<uint64_t>(spec_.paged->block_size);
      for (const int64_t better : {static_cast<int64_t>(std::bit_ceil(size)), int64_t{64}, int64_t{128}})
        add(better != spec_.paged->block_size, "paged", ChangeCost::layout, fmt::format("pages of {} tokens", better),
            [better](AttentionSpec& s) {
              if (s.paged) s.paged->block_size = better;  // another change may have made K and V contiguous
            });
    }
    add(spec_.cu_seqlens.has_value(), "cu_seqlens", ChangeCost::layout,
        "a length for each sequence instead of prefix sums", [](AttentionSpec& s) { s.cu_seqlens.reset(); });
    add(spec_.ragged_unit == attention::RaggedUnit::token, "ragged_unit", ChangeCost::layout,
        "ragged offsets in elements", [](AttentionSpec& s) { s.ragged_unit = attention::RaggedUnit::element; });
    const bool fewer_heads = spec_.heads_kv != spec_.heads_q || heads_v(spec_) != spec_.heads_q;
    add(fewer_heads && spec_.heads_kv != 0 && spec_.heads_q % spec_.heads_kv == 0 && !spec_.paged, "heads",
        ChangeCost::padding, fmt::format("K and V repeated to {} heads", spec_.heads_q), [](AttentionSpec& s) {
          s.heads_kv = s.heads_q;
          s.heads_v.reset();
        });
  }

  // Every attention engine of cuDNN requires multiples of 16 bytes for 16-bit types, or 16 elements for fp8. Other
  // kernels begin at 128 and 256.
  void add_padding() {
    if (has_strides(spec_)) return;
    std::set<std::pair<int64_t, int64_t>> tried{{spec_.head_dim_qk, spec_.head_dim_v}};
    const auto pad = [&](int64_t qk, int64_t v) {
      if (qk < spec_.head_dim_qk || v < spec_.head_dim_v || !tried.emplace(qk, v).second) return;
      add(true, "head_dim", ChangeCost::padding,
          fmt::format("head dimensions padded with zeros to {} and {}, the scale kept", qk, v),
          [qk, v](AttentionSpec& s) {
            if (s.pattern != Pattern::two_matmul) s.scale = scale_of(s);
            s.head_dim_qk = qk;
            s.head_dim_v = v;
          });
    };
    for (const int64_t of : {8, 16, 32, 64, 128})
      pad(next_multiple(spec_.head_dim_qk, of), next_multiple(spec_.head_dim_v, of));
    const int64_t both = std::max(spec_.head_dim_qk, spec_.head_dim_v);
    pad(next_multiple(both, 8), next_multiple(both, 8));
    for (const int64_t whole : {64, 128, 192, 256}) pad(whole, whole);
    for (const auto& [qk, v] : uneven_head_dims) pad(qk, v);
    if (spec_.paged || is_ragged(spec_) || spec_.bias) return;
    for (const int64_t of : {64, 128}) {
      const int64_t q = next_multiple(spec_.seqlen_q, of), kv = next_multiple(spec_.seqlen_kv, of);
      add(q != spec_.seqlen_q || kv != spec_.seqlen_kv, "seqlen", ChangeCost::padding,
          fmt::format("sequences padded to {} and {}, with a padding mask", q, kv), [q, kv](AttentionSpec& s) {
            const bool had_lengths = s.mask.padding;
            const int64_t was_q = s.seqlen_q, was_kv = s.seqlen_kv;
            s.seqlen_q = q;
            s.seqlen_kv = kv;
            s.mask.padding = true;
            if (had_lengths || s.batch > 64) return;  // in this case the lengths are those given at run time
            s.mask.seqlens_q.assign(static_cast<size_t>(s.batch), was_q);
            s.mask.seqlens_kv.assign(static_cast<size_t>(s.batch), was_kv);
          });
    }
  }

  // A bias is added after the softcap and the score modifier, so it can express masks and ALiBi.
  void add_bias_tensor() {
    if (spec_.bias || spec_.paged || is_ragged(spec_) || is_fp8(spec_) || spec_.pattern == Pattern::two_matmul) return;
    const auto as_bias = [&](bool applies, const std::string& kind, const std::string& what, const std::string& shape,
                             std::function<void(AttentionSpec&)> drop) {
      add(applies, kind, ChangeCost::padding, fmt::format("{} as a bias tensor without a gradient", what),
          [shape, drop = std::move(drop)](AttentionSpec& s) {
            s.bias.emplace().shape = shape;
            drop(s);
          });
    };
    as_bias(spec_.mask.has_diagonal() && !spec_.mask.padding, "mask", "the mask", "11ss",
            [](AttentionSpec& s) { s.mask = {}; });
    as_bias(spec_.mask.window_left && spec_.mask.window_right && !spec_.mask.padding, "mask", "the window's left end",
            "11ss", [](AttentionSpec& s) { s.mask.window_left.reset(); });
    as_bias(spec_.alibi, "alibi", "ALiBi", "1hss", [](AttentionSpec& s) { s.alibi = false; });
    as_bias(spec_.block_mask, "block_mask", "the block mask", "bhss", [](AttentionSpec& s) { s.block_mask = false; });
  }

  // Parts of V, of the batch or of the heads can be computed in separate calls.
  void add_splitting() {
    if (has_strides(spec_)) return;
    // dS = P (dO Vᵀ - D) is linear in dO and V, so every gradient but dV is the sum of the two calls'.
    struct Parts {
      int64_t count, above;
      const char *words, *calls, *part;
    };
    static constexpr Parts parts_of_v[] = {{2, 64, "two halves", "two", "half"},
                                           {4, 256, "four quarters", "four", "a quarter"}};
    const bool can_split_v = spec_.pattern != Pattern::mha && !(is_bprop(spec_) && is_fp8(spec_));
    for (const Parts& parts : parts_of_v)
      add(can_split_v && spec_.head_dim_v % parts.count == 0 && spec_.head_dim_v > parts.above, "head_dim",
          ChangeCost::splitting,
          fmt::format("V in {} of head dimension {}: {} calls, {}", parts.words, spec_.head_dim_v / parts.count,
                      parts.calls,
                      is_bprop(spec_) ? fmt::format("each has {} of dV, and their other gradients add up", parts.part)
                                      : std::string("each computes the scores")),
          [&parts](AttentionSpec& s) { s.head_dim_v /= parts.count; });
    add(spec_.batch > 1 && spec_.batch % 2 == 0, "batch", ChangeCost::splitting,
        fmt::format("two calls with half the batch, {}, each", spec_.batch / 2), [](AttentionSpec& s) {
          s.batch /= 2;
          s.mask.seqlens_q.resize(s.mask.seqlens_q.size() / 2);
          s.mask.seqlens_kv.resize(s.mask.seqlens_kv.size() / 2);
        });
    const bool even_heads = spec_.heads_q % 2 == 0 && spec_.heads_kv % 2 == 0 && heads_v(spec_) % 2 == 0;
    add(even_heads && !spec_.alibi, "heads", ChangeCost::splitting,
        fmt::format("two calls with half the heads, {} and {}, each", spec_.heads_q / 2, spec_.heads_kv / 2),
        [](AttentionSpec& s) {
          s.heads_q /= 2;
          s.heads_kv /= 2;
          if (s.heads_v) *s.heads_v /= 2;
        });
  }

  void add_types() {
    const bool mxfp8 = is_fp8(spec_) && fp8_scaling(spec_) == Fp8Scaling::mxfp8;
    add(spec_.o_dtype && *spec_.o_dtype != spec_.dtype && !mxfp8, "dtype", ChangeCost::precision,
        fmt::format("O in {}, the type of Q, K and V", name_of(spec_.dtype)), [](AttentionSpec& s) {
          s.o_dtype.reset();
          s.fp8.reset();
        });
    add(mxfp8, "dtype", ChangeCost::precision, "one scale per tensor instead of MXFP8",
        [](AttentionSpec& s) { s.fp8 = Fp8Scaling::current; });
    add(is_fp8(spec_), "dtype", ChangeCost::precision, "bf16 instead of fp8", to_bf16);
    add(spec_.dtype == DataType::f32, "dtype", ChangeCost::precision, "bf16 instead of f32", to_bf16);
    add(spec_.compute_dtype != DataType::f32, "compute_dtype", ChangeCost::none, "sums in f32",
        [](AttentionSpec& s) { s.compute_dtype = DataType::f32; });
    add(spec_.stats_log2, "stats", ChangeCost::none, "statistics to base e",
        [](AttentionSpec& s) { s.stats_log2 = false; });
    add(spec_.stats_dtype.has_value(), "stats", ChangeCost::none, "statistics in f32",
        [](AttentionSpec& s) { s.stats_dtype.reset(); });
    add(spec_.stats_layout.has_value(), "stats", ChangeCost::layout, "statistics in their usual layout",
        [](AttentionSpec& s) { s.stats_layout.reset(); });
  }

  void add_fixed_order() {
    add(is_bprop(spec_) && !spec_.deterministic, "deterministic", ChangeCost::none, "in the deterministic form",
        [](AttentionSpec& s) { s.deterministic = true; });
    add(is_bprop(spec_) && !spec_.ordered_dq, "deterministic", ChangeCost::none,
        "in the deterministic form, with ordered dQ", [](AttentionSpec& s) { s.deterministic = s.ordered_dq = true; });
  }

  void add_options() {
    const ChangeCost option = ChangeCost::option;
    add(spec_.max_logit || spec_.sum_exp, "max_logit", option, "statistics instead of row maxima and sums",
        [](AttentionSpec& s) {
          s.max_logit = s.sum_exp = false;
          s.stats = true;
        });
    add(spec_.deterministic && !spec_.ordered_dq, "deterministic", ChangeCost::none, "with ordered dQ",
        [](AttentionSpec& s) { s.ordered_dq = true; });
    add(spec_.ordered_dq, "deterministic", option, "without ordered dQ",
        [](AttentionSpec& s) { s.ordered_dq = false; });
    add(is_bprop(spec_) && spec_.deterministic, "deterministic", option, "without determinism",
        [](AttentionSpec& s) { s.deterministic = s.ordered_dq = false; });
    add(is_bprop(spec_) && spec_.bias && spec_.bias->grad, "bias", option, "without the bias gradient",
        [](AttentionSpec& s) { s.bias->grad = false; });
    add(spec_.dynamic_shapes || spec_.override_shapes, "shapes", option,
        "one graph per shape instead of shapes given at execution",
        [](AttentionSpec& s) { s.dynamic_shapes = s.override_shapes = false; });
    add(spec_.dropout && spec_.dropout->dump, "dropout", option, "without the dropout mask as an output",
        [](AttentionSpec& s) { s.dropout->dump = false; });
    add(spec_.rope.has_value(), "rope", ChangeCost::splitting, "the rotary embedding in a separate call before",
        [](AttentionSpec& s) { s.rope.reset(); });
  }

  void add_computations() {
    const ChangeCost other = ChangeCost::computation;
    const auto drop = [&](bool has, const std::string& kind, const std::string& what,
                          std::function<void(AttentionSpec&)> make) {
      add(has, kind, other, fmt::format("without {} (another computation)", what), std::move(make));
    };
    drop(spec_.softcap.has_value(), "softcap", "the softcap", [](AttentionSpec& s) { s.softcap.reset(); });
    drop(spec_.score_mod.has_value(), "score_mod", "the score modifier", [](AttentionSpec& s) { s.score_mod.reset(); });
    drop(spec_.sink, "sink", "the attention sink", [](AttentionSpec& s) { s.sink = false; });
    drop(spec_.block_mask, "block_mask", "the block mask", [](AttentionSpec& s) { s.block_mask = false; });
    drop(spec_.alibi, "alibi", "ALiBi", [](AttentionSpec& s) { s.alibi = false; });
    drop(spec_.dropout.has_value(), "dropout", "dropout", [](AttentionSpec& s) { s.dropout.reset(); });
    drop(spec_.mask.window_left.has_value(), "mask", "the sliding window's left end",
         [](AttentionSpec& s) { s.mask.window_left.reset(); });
    drop(spec_.mask.window_right && *spec_.mask.window_right > 0, "mask", "the window's right end",
         [](AttentionSpec& s) { s.mask.window_right.reset(); });
    drop(spec_.bias.has_value(), "bias", "the bias", [](AttentionSpec& s) { s.bias.reset(); });
  }

  std::vector<Change> take() {
    std::stable_sort(changes_.begin(), changes_.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
    return std::move(changes_);
  }

 private:
  const AttentionSpec& spec_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> changes_of(const AttentionSpec& spec, bool must_not_vary) {
  Changes changes(spec);
  if (must_not_vary) changes.add_fixed_order();
  changes.add_forms();
  changes.add_layouts();
  changes.add_padding();
  changes.add_bias_tensor();
  changes.add_splitting();
  changes.add_types();
  changes.add_options();
  changes.add_computations();
  return changes.take();
}

std::vector<Change> other_models(const AttentionSpec& spec) {
  if (has_strides(spec)) return {};
  const auto asked = std::pair(spec.head_dim_qk, spec.head_dim_v);
  const auto [qk, v] = asked;
  std::set<std::pair<int64_t, int64_t>> shapes{{qk, qk}, {v, v}, {qk / 8 * 8, v / 8 * 8}};
  shapes.emplace(next_multiple(qk, 8), next_multiple(v, 8));
  shapes.insert(std::begin(uneven_head_dims), std::end(uneven_head_dims));
  for (const int64_t both : {64, 80, 96, 112, 128, 160, 192, 256, 512}) shapes.emplace(both, both);
  std::erase_if(shapes, [&](const auto& shape) { return shape == asked || shape.first == 0 || shape.second == 0; });
  std::vector<std::pair<int64_t, int64_t>> nearest(shapes.rbegin(), shapes.rend());
  std::ranges::stable_sort(nearest, {}, [&](const auto& shape) {
    return std::abs(shape.first - asked.first) + std::abs(shape.second - asked.second);
  });
  std::vector<Change> models;
  models.reserve(nearest.size());
  for (const auto& [new_qk, new_v] : nearest)
    models.push_back(
        {"model", ChangeCost::model,
         new_qk == new_v ? fmt::format("head dimension {} (another model)", new_qk)
                         : fmt::format("head dimensions {} and {} (another model)", new_qk, new_v),
         [shape = std::pair(new_qk, new_v)](AttentionSpec& s) { std::tie(s.head_dim_qk, s.head_dim_v) = shape; }});
  return models;
}

std::vector<std::string> change_kinds() {
  return {"alibi",         "batch",   "bias",  "block_mask", "compute_dtype", "cu_seqlens", "cudnn",
          "deterministic", "dropout", "dtype", "head_dim",   "heads",         "layout",     "mask",
          "max_logit",     "model",   "paged", "pattern",    "ragged_unit",   "rope",       "score_mod",
          "seqlen",        "shapes",  "sink",  "softcap",    "stats",         "target"};
}

}  // namespace attnprobe::asking
