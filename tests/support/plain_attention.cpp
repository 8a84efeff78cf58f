#include "plain_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "plain_numbers.hpp"

namespace attnprobe::test {
namespace {

using attention::AttentionSpec;
using attention::ScoreModifierKind;
using graph::OpGraph;
using graph::Tensor;
using I = int64_t;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr I tile = 8;  // for faults that omit a tile

class Plain {
 public:
  Plain(const AttentionSpec& spec, const OpGraph& graph, const std::map<graph::Uid, void*>& pointers,
        const run::Lengths& lengths, const Keep& keep, const Slip& slip)
      : s_(spec),
        graph_(graph),
        pointers_(pointers),
        lengths_(lengths),
        keep_(keep),
        slip_(slip),
        k_(*this, s_.rope && s_.rope->k ? "rotated K" : "K"),
        v_(*this, "V") {}

  std::vector<double> run() {
    if (s_.rope && s_.rope->q) rotate("Q", s_.heads_q, s_.seqlen_q);
    if (s_.rope && s_.rope->k) rotate("K", s_.heads_kv, s_.seqlen_kv);
    row_before_.resize(static_cast<size_t>(std::max(s_.head_dim_qk, s_.head_dim_v)));
    const I hq = s_.heads_q, sq = s_.seqlen_q, skv = s_.seqlen_kv;
    keep_probability_ =
        s_.dropout ? (s_.dropout->form == attention::DropoutForm::mask ? 0.9 : 1 - s_.dropout->probability) : 1;
    d_q_.assign(size(s_.batch, hq, sq, s_.head_dim_qk), 0);
    d_k_.assign(size(s_.batch, s_.heads_kv, skv, s_.head_dim_qk), 0);
    d_v_.assign(size(s_.batch, heads_v(s_), skv, s_.head_dim_v), 0);
    d_sink_.assign(static_cast<size_t>(hq), 0);
    d_bias_.assign(size(s_.batch, hq, sq, skv), 0);
    for (I b = 0; b < s_.batch; ++b)
      for (I h = 0; h < hq; ++h)
        for (I i = 0; i < rows(b); ++i) row(b, h, i);
    scalar("amax S", amax_s_ * slip_.amax);
    scalar("amax O", amax_o_ * slip_.amax);
    scalar("amax dP", amax_d_p_);
    if (is_bprop(s_)) write_gradients();
    for (const auto& row : first_rows_) written_.insert(written_.end(), row.begin(), row.end());
    return std::move(written_);
  }

 private:
  static size_t size(I a, I b, I c, I d) { return static_cast<size_t>(a * b * c * d); }
  I rows(I b) const { return lengths_.q[static_cast<size_t>(b)]; }
  I columns(I b) const { return std::clamp(lengths_.kv[static_cast<size_t>(b)] + slip_.keys, I{0}, s_.seqlen_kv); }
  I head_of_k(I h) const { return slip_.groups_mixed ? h % s_.heads_kv : h * s_.heads_kv / s_.heads_q; }
  I head_of_v(I h) const { return slip_.groups_mixed ? h % heads_v(s_) : h * heads_v(s_) / s_.heads_q; }
  bool in_last_tile(I j, I length) const { return length > tile && j >= (length - 1) / tile * tile; }

  // Like kernels: operands of a matrix product are in its type, other numbers in f32.
  double single(double x) const { return slip_.rounds ? static_cast<double>(static_cast<float>(x)) : x; }
  double multiplied(double x) const { return slip_.rounds ? rounded(s_.dtype, x) : x; }
  double input(double x) const { return s_.dtype == DataType::f32 ? multiplied(x) : x; }

  // A tensor in memory, or a by-value scalar.
  struct Found {
    bool exists = false;
    run::View view{};
    std::optional<double> value;
  };
  const Found& find(std::string_view name) const {
    if (const auto known = found_.find(name); known != found_.end()) return known->second;
    const auto it = found_.try_emplace(std::string(name)).first;
    for (const auto& t : graph_.tensors) {
      if (t.name != name || (pointers_.count(t.uid) == 0 && !t.by_value)) continue;
      it->second.exists = true;
      if (t.by_value) {
        it->second.value = t.value.value();
        break;
      }
      run::Inputs offsets;
      if (t.ragged_offset) offsets[*t.ragged_offset].data = static_cast<char*>(pointers_.at(*t.ragged_offset));
      it->second.view = run::view_of(graph_, t, static_cast<char*>(pointers_.at(t.uid)), offsets);
      break;
    }
    return it->second;
  }
  static double read(const Found& t, I b, I h, I i, I d) {
    return t.value ? *t.value : run::kernels::load(t.view, {{b, h, i, d}});
  }
  double get(std::string_view name, I b, I h, I i, I d) const {
    const Found& t = find(name);
    if (!t.exists) throw std::runtime_error("no tensor " + std::string(name));
    return read(t, b, h, i, d);
  }
  double factor(std::string_view name) const {
    const Found& t = find(name);
    return t.exists ? read(t, 0, 0, 0, 0) : 1;
  }
  void put(std::string_view name, I b, I h, I i, I d, double value) const {
    const Found& t = find(name);
    if (!t.exists) return;
    run::kernels::store(t.view, {{b, h, i, d}}, value);
    written_.push_back(value);
  }
  void scalar(const char* name, double value) const { put(name, 0, 0, 0, 0, value); }

  // K or V: plain, transposed, or in pages.
  struct Tokens {
    explicit Tokens(const Plain& p, const std::string& name)
        : plain(p.find(name)),
          turned(p.find(name + "^T")),
          table(p.find("page table of " + name)),
          container(p.find(name + " container")) {}
    const Found &plain, &turned, &table, &container;
  };
  double token(const Tokens& t, I b, I h, I j, I d) const {
    if (t.plain.exists) return read(t.plain, b, h, j, d);
    if (t.turned.exists) return read(t.turned, b, h, d, j);
    const I block = s_.paged->block_size;
    const bool swapped = slip_.pages_swapped && &t == &k_ && b == 0 && j / block < 2 && s_.seqlen_kv > block;
    const auto page = static_cast<I>(read(t.table, b, 0, swapped ? 1 - j / block : j / block, 0));
    return read(t.container, page, h, j % block, d);
  }

  // Rotates row s of each head by the angles `s 10000^(-2 i / dim)`. Rotates element i of the last `dim` together with
  // element i + dim / 2. The attention reads the rotated tensor in memory.
  void rotate(const std::string& name, I heads, I length) const {
    const I d = s_.head_dim_qk, dim = s_.rope->dim.value_or(d), half = dim / 2;
    for (I b = 0; b < s_.batch; ++b)
      for (I h = 0; h < heads; ++h)
        for (I s = 0; s < length; ++s) {
          for (I i = 0; i < d - dim; ++i) put("rotated " + name, b, h, s, i, get(name, b, h, s, i));
          for (I i = 0; i < half; ++i) {
            const double angle =
                static_cast<double>(s) / std::pow(10000.0, 2 * static_cast<double>(i) / static_cast<double>(dim));
            const I low = d - dim + (slip_.pairs_interleaved ? 2 * i : i),
                    high = slip_.pairs_interleaved ? low + 1 : low + half;
            const double x = get(name, b, h, s, low), y = get(name, b, h, s, high);
            put("rotated " + name, b, h, s, low, x * std::cos(angle) - y * std::sin(angle));
            put("rotated " + name, b, h, s, high, y * std::cos(angle) + x * std::sin(angle));
          }
        }
  }

  double modified(double x, I b, I h, I i, I j) const {
    if (s_.score_mod && !slip_.no_score_mod) {
      switch (s_.score_mod->kind) {
        case ScoreModifierKind::causal:
          x = i >= j ? x : -infinity;
          break;
        case ScoreModifierKind::relative_position:
          x += static_cast<double>(i - j);
          break;
        case ScoreModifierKind::head_factor:
          x *= get("head factors", 0, h, 0, 0);
          break;
        case ScoreModifierKind::score_factor:
          x *= get("score factors", b, h, i, j);
          break;
        case ScoreModifierKind::mask_i32:
          x = get("mask", b, 0, i, j) != 0 ? x : -infinity;
          break;
        case ScoreModifierKind::document:
          x = i / 48 == j / 48 ? x : -infinity;
          break;
        case ScoreModifierKind::arrow:
          x = i < 16 || j < 16 || std::abs(i - j) <= 64 ? x : -infinity;
          break;
        default:
          x = activation(s_.score_mod->kind, x);
      }
    }
    return s_.softcap && !slip_.no_softcap ? *s_.softcap * std::tanh(x / *s_.softcap) : x;
  }

  // The derivative of modified() at x, by differences, independent of the graph's own formulas.
  double modified_slope(double x, I b, I h, I i, I j) const {
    constexpr double step = 1e-5;
    const double above = modified(x + step, b, h, i, j), below = modified(x - step, b, h, i, j);
    return std::isinf(above) ? 0 : (above - below) / (2 * step);
  }

  bool visible(I b, I i, I j) const {
    if (j >= columns(b) || (slip_.last_tile && in_last_tile(j, columns(b)))) return false;
    I diagonal = i;
    if (s_.mask.alignment == attention::Alignment::bottom_right && !slip_.top_left)
      diagonal += s_.mask.padding ? columns(b) - rows(b) : s_.seqlen_kv - s_.seqlen_q;
    if (s_.mask.window_right && j > diagonal + *s_.mask.window_right + slip_.right_edge) return false;
    return !s_.mask.window_left || j >= diagonal - *s_.mask.window_left + slip_.left_edge;
  }

  double slope_of_head(I h) const {
    I n = 1;
    while (2 * n <= s_.heads_q) n *= 2;
    const double first = std::pow(2.0, -8.0 / static_cast<double>(n));
    return h < n ? std::pow(first, static_cast<double>(h + 1))
                 : std::pow(std::sqrt(first), static_cast<double>(2 * (h - n) + 1));
  }

  bool keeps(I b, I h, I i, I j, I shift) const {
    if (!s_.dropout) return true;
    if (s_.dropout->form == attention::DropoutForm::mask)
      return get("dropout mask", b, h, i, (j + shift) % s_.seqlen_kv) != 0;
    if (s_.dropout->dump) put("dropout mask", b, h, i, j, keep_(b, h, i, j) ? 1 : 0);
    return keep_(b, h, i, j + shift);
  }

  void row(I b, I h, I i) {
    const I skv = s_.seqlen_kv, hk = head_of_k(h), hv = head_of_v(h);
    const I hq = slip_.heads_swapped && (h ^ 1) < s_.heads_q ? h ^ 1 : h, bk = slip_.other_batch && b > 0 ? b - 1 : b;
    const Found& q = find(s_.rope && s_.rope->q ? "rotated Q" : "Q");
    const bool scaled = s_.pattern != attention::Pattern::two_matmul && s_.scale_form != attention::ScaleForm::none;
    const double scale = (scaled ? scale_of(s_) : 1) * slip_.scale;
    const auto n = static_cast<size_t>(skv);
    std::vector<double> raw(n), x(n, -infinity), p(n), dropped(n);
    for (I j = 0; j < columns(b); ++j) {
      double dot = 0;
      for (I d = 0; d < s_.head_dim_qk - slip_.depth; ++d)
        dot += input(read(q, b, hq, i, d)) * input(token(k_, bk, hk, j, d));
      dot = single(dot * scale * factor("descale Q") * factor("descale K"));
      raw[static_cast<size_t>(j)] = dot;
      double score = modified(dot, b, h, i, j);
      if (s_.bias && !slip_.no_bias) score += get("bias", b, h, i, (j + slip_.bias_shift) % skv);
      if (s_.alibi) score += static_cast<double>(j - i) * slope_of_head(slip_.next_slope ? (h + 1) % s_.heads_q : h);
      if (visible(b, i, j)) x[static_cast<size_t>(j)] = score;
    }
    double most = *std::max_element(x.begin(), x.end());
    const double sink = s_.sink && !slip_.no_sink ? get("sink", 0, h, 0, 0) : -infinity;
    most = std::max(most, sink);
    double sum = std::isinf(most) ? 0 : std::exp(sink - most);
    const bool softmax = s_.softmax && s_.pattern != attention::Pattern::two_matmul;
    const double first_most = *std::max_element(x.begin(), x.begin() + std::min<I>(skv, tile));
    for (size_t j = 0; j < n; ++j) {
      const bool left = slip_.lost_rescale && j < tile && skv > tile;
      p[j] = !softmax           ? (std::isinf(x[j]) ? 0 : x[j])
             : std::isinf(x[j]) ? 0
                                : single(std::exp(x[j] - (left ? first_most : most)));
      if (softmax) sum += p[j];
    }
    // O is divided by the sum at the end, as in kernels.
    const double kept_scale = slip_.undropped ? 1 : 1 / keep_probability_, divisor = softmax && sum > 0 ? sum : 1;
    for (size_t j = 0; j < n; ++j) {
      // If the mask is not an output, any mask is correct.
      const bool seen = s_.dropout && (s_.dropout->dump || s_.dropout->form == attention::DropoutForm::mask);
      const bool kept = keeps(b, h, i, static_cast<I>(j), seen ? slip_.dropout_shift : 0);
      dropped[j] = kept ? multiplied(p[j] * kept_scale * factor("scale S")) / factor("scale S") / divisor : 0;
      p[j] /= divisor;
      amax_s_ = std::max(amax_s_, kept ? p[j] * kept_scale : 0);
    }
    double stats = most + std::log(sum);
    const bool off = slip_.other_maximum && i == 1 && std::isfinite(most_before_) && std::isfinite(most);
    if (off) stats += most_before_ - most;
    if (off && is_bprop(s_))
      for (auto* values : {&p, &dropped})
        for (double& value : *values) value *= std::exp(most - most_before_);
    most_before_ = most;
    if (!is_bprop(s_)) {
      put("Stats", b, h, i, 0, s_.stats_log2 && !slip_.natural_stats ? stats / std::log(2.0) : stats);
      for (const char* name : {"Max", "row_max"}) put(name, b, h, i, 0, most);
      for (const char* name : {"Sum_exp", "row_sum"}) put(name, b, h, i, 0, sum);
      for (I d = 0; d < s_.head_dim_v; ++d) {
        const double o = value(dropped, b, hv, d);
        amax_o_ = std::max(amax_o_, std::abs(o));
        put_row("O", b, h, i, d, o * (slip_.unscaled ? 1 : factor("scale O")));
      }
      return;
    }
    gradients(b, h, i, raw, p, dropped, sink, stats, scale);
  }

  // Writes a row of O or dQ, possibly to the wrong place.
  void put_row(const char* name, I b, I h, I i, I d, double value) const {
    const bool first = b == 0 && h == 0;
    if (first && slip_.stale_row && i == 2) return put(name, b, h, i, d, row_before_[static_cast<size_t>(d)]);
    if (first && i < 2 && rows(b) > 1) {
      const I to = slip_.rows_swapped ? 1 - i : i;
      first_rows_[static_cast<size_t>(to)].push_back(value);
      row_before_[static_cast<size_t>(d)] = value;
      return put(name, b, h, to, d, value);
    }
    row_before_[static_cast<size_t>(d)] = value;
    put(name, b, h, i, d, value);
  }

  double value(const std::vector<double>& p, I b, I hv, I d) const {
    double sum = 0;
    for (I j = 0; j < columns(b); ++j)
      sum += p[static_cast<size_t>(j)] * input(token(v_, b, hv, (j + slip_.value_shift) % s_.seqlen_kv, d));
    return sum * factor("descale V");
  }

  void gradients(I b, I h, I i, const std::vector<double>& raw, const std::vector<double>& p,
                 const std::vector<double>& dropped, double sink, double stats, double scale) {
    const I hk = head_of_k(h), hv = head_of_v(h);
    const bool counts = !slip_.first_of_group || h % (s_.heads_q / s_.heads_kv) == 0;
    const I hq = s_.heads_q, sq = s_.seqlen_q, skv = s_.seqlen_kv, dqk = s_.head_dim_qk, dv = s_.head_dim_v;
    const double kept_scale = slip_.undropped ? 1 : 1 / keep_probability_;
    // Here P is rounded after the division.
    auto dropped_p = [&](I j) {
      return dropped[static_cast<size_t>(j)] == 0
                 ? 0
                 : multiplied(p[static_cast<size_t>(j)] * kept_scale * factor("scale S")) / factor("scale S");
    };
    double sum = 0;
    for (I d = 0; d < dv; ++d) sum += d_o(b, h, i, d) * get("O", b, h, i, d) * factor("descale O");
    if (slip_.no_delta) sum = 0;
    if (slip_.next_delta) std::swap(sum, delta_before_);
    if (s_.sink) d_sink_[static_cast<size_t>(h)] -= std::exp(sink - stats) * sum;
    for (I j = 0; j < columns(b); ++j) {
      const auto jj = static_cast<size_t>(j);
      double d_p = 0;
      for (I d = 0; d < dv; ++d) {
        d_p += d_o(b, h, i, d) * input(token(v_, b, hv, (j + slip_.value_shift) % skv, d)) * factor("descale V");
        if (counts)
          d_v_[static_cast<size_t>(((b * heads_v(s_) + hv) * skv + j) * dv + d)] += dropped_p(j) * d_o(b, h, i, d);
      }
      const bool kept = keeps(b, h, i, j, slip_.dropout_shift);
      double d_s = single(p[jj] * ((kept ? d_p * kept_scale : 0) - sum));
      d_bias_[static_cast<size_t>(((b * hq + h) * sq + i) * skv + j)] = d_s;
      if (p[jj] != 0 && (s_.softcap || (s_.score_mod && s_.score_mod->grad)))
        d_s *= modified_slope(raw[jj], b, h, i, j);
      if (!slip_.unscaled_scores) d_s *= scale;
      amax_d_p_ = std::max(amax_d_p_, std::abs(d_s));
      d_s = multiplied(d_s * factor("scale dP")) / factor("scale dP");
      for (I d = 0; d < dqk; ++d) {
        if (!slip_.lost_keys || !in_last_tile(j, columns(b)))
          d_q_[static_cast<size_t>(((b * hq + h) * sq + i) * dqk + d)] +=
              d_s * input(token(k_, b, hk, j, d)) * factor("descale K");
        if (counts && (!slip_.lost_queries || !in_last_tile(i, rows(b))))
          d_k_[static_cast<size_t>(((b * s_.heads_kv + hk) * skv + j) * dqk + d)] +=
              d_s * input(get("Q", b, h, i, d)) * factor("descale Q");
      }
    }
  }
  double d_o(I b, I h, I i, I d) const { return input(get("dO", b, h, i, d)) * factor("descale dO"); }

  void write_gradients() const {
    auto all = [&](const char* name, const std::vector<double>& values, I heads, I length, I depth, bool kv) {
      const double by = slip_.unscaled ? 1 : factor((std::string("scale ") + name).c_str());
      double amax = 0;
      for (I b = 0; b < s_.batch; ++b)
        for (I h = 0; h < heads; ++h)
          for (I i = 0; i < (kv ? columns(b) : rows(b)); ++i)
            for (I d = 0; d < depth; ++d) {
              const double x = values[static_cast<size_t>(((b * heads + h) * length + i) * depth + d)];
              amax = std::max(amax, std::abs(x));
              if (kv)
                put(name, b, h, i, d, x * by);
              else
                put_row(name, b, h, i, d, x * by);
            }
      scalar((std::string("amax ") + name).c_str(), amax);
    };
    all("dQ", d_q_, s_.heads_q, s_.seqlen_q, s_.head_dim_qk, false);
    all("dK", d_k_, s_.heads_kv, s_.seqlen_kv, s_.head_dim_qk, true);
    all("dV", d_v_, heads_v(s_), s_.seqlen_kv, s_.head_dim_v, true);
    for (I h = 0; h < s_.heads_q; ++h)
      put("dSink", 0, h, 0, 0, d_sink_[static_cast<size_t>(h)] * (slip_.sink_turned ? -1 : 1));
    if (!find("dBias").exists) return;
    const run::View v = find("dBias").view;
    std::map<std::array<I, 4>, double> sums;
    for (I b = 0; b < (slip_.first_batch ? 1 : s_.batch); ++b)
      for (I h = 0; h < s_.heads_q; ++h)
        for (I i = 0; i < s_.seqlen_q; ++i)
          for (I j = 0; j < s_.seqlen_kv; ++j)
            sums[{b % v.dims[0], h % v.dims[1], i % v.dims[2], j % v.dims[3]}] +=
                d_bias_[static_cast<size_t>(((b * s_.heads_q + h) * s_.seqlen_q + i) * s_.seqlen_kv + j)];
    for (const auto& [at, sum] : sums) put("dBias", at[0], at[1], at[2], at[3], sum);
  }

  const AttentionSpec& s_;
  const OpGraph& graph_;
  const std::map<graph::Uid, void*>& pointers_;
  const run::Lengths& lengths_;
  const Keep& keep_;
  const Slip& slip_;
  mutable std::map<std::string, Found, std::less<>> found_;
  mutable std::vector<double> written_, row_before_;
  mutable std::array<std::vector<double>, 2> first_rows_;  // of the first head, before the fault mixes them
  double most_before_ = -infinity, delta_before_ = 0;
  const Tokens k_, v_;
  double keep_probability_ = 1, amax_s_ = 0, amax_o_ = 0, amax_d_p_ = 0;
  std::vector<double> d_q_, d_k_, d_v_, d_sink_, d_bias_;
};

}  // namespace

std::vector<double> plain_attention(const AttentionSpec& spec, const OpGraph& graph,
                                    const std::map<graph::Uid, void*>& pointers, const run::Lengths& lengths,
                                    const Keep& keep, const Slip& slip) {
  return Plain(spec, graph, pointers, lengths, keep, slip).run();
}

}  // namespace attnprobe::test
