#include "plain_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

namespace attnprobe::test {
namespace {

using attention::AttentionSpec;
using attention::ScoreModifierKind;
using graph::OpGraph;
using graph::Tensor;
using I = int64_t;

constexpr double infinity = std::numeric_limits<double>::infinity();

class Plain {
 public:
  Plain(const AttentionSpec& spec, const OpGraph& graph, const std::map<graph::Uid, void*>& pointers,
        const run::Lengths& lengths, const Keep& keep)
      : s_(spec), graph_(graph), pointers_(pointers), lengths_(lengths), keep_(keep) {}

  void run() {
    const I hq = s_.heads_q, sq = s_.seqlen_q, skv = s_.seqlen_kv;
    keep_probability_ =
        s_.dropout ? (s_.dropout->form == attention::DropoutForm::mask ? 0.9 : 1 - s_.dropout->probability) : 1;
    for (const auto& [name, value] : {std::pair<const char*, double*>{"amax S", &amax_s_}, {"amax O", &amax_o_}})
      *value = 0, (void)name;
    d_q_.assign(size(s_.batch, hq, sq, s_.head_dim_qk), 0);
    d_k_.assign(size(s_.batch, s_.heads_kv, skv, s_.head_dim_qk), 0);
    d_v_.assign(size(s_.batch, heads_v(s_), skv, s_.head_dim_v), 0);
    d_sink_.assign(static_cast<size_t>(hq), 0);
    d_bias_.assign(size(s_.batch, hq, sq, skv), 0);
    for (I b = 0; b < s_.batch; ++b)
      for (I h = 0; h < hq; ++h)
        for (I i = 0; i < rows(b); ++i) row(b, h, i);
    scalar("amax S", amax_s_);
    scalar("amax O", amax_o_);
    scalar("amax dP", amax_d_p_);
    if (is_bprop(s_)) write_gradients();
  }

 private:
  static size_t size(I a, I b, I c, I d) { return static_cast<size_t>(a * b * c * d); }
  I rows(I b) const { return lengths_.q[static_cast<size_t>(b)]; }
  I columns(I b) const { return lengths_.kv[static_cast<size_t>(b)]; }

  // A tensor in memory, or a by-value scalar.
  struct Found {
    bool exists = false;
    run::View view{};
    std::optional<double> value;
  };
  const Found& find(const std::string& name) const {
    const auto [it, is_new] = found_.try_emplace(name);
    if (!is_new) return it->second;
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
  double get(const std::string& name, I b, I h, I i, I d) const {
    const Found& t = find(name);
    if (!t.exists) throw std::runtime_error("no tensor " + name);
    return read(t, b, h, i, d);
  }
  double factor(const std::string& name) const {
    const Found& t = find(name);
    return t.exists ? read(t, 0, 0, 0, 0) : 1;
  }
  void put(const std::string& name, I b, I h, I i, I d, double value) const {
    const Found& t = find(name);
    if (t.exists) run::kernels::store(t.view, {{b, h, i, d}}, value);
  }
  void scalar(const char* name, double value) const { put(name, 0, 0, 0, 0, value); }

  // K or V: plain, as its transpose, or in pages.
  double token(const std::string& name, I b, I h, I j, I d) const {
    if (const Found& plain = find(name); plain.exists) return read(plain, b, h, j, d);
    if (const Found& turned = find(name + "^T"); turned.exists) return read(turned, b, h, d, j);
    const I block = s_.paged->block_size;
    const auto page = static_cast<I>(get("page table of " + name, b, 0, j / block, 0));
    return get(name + " container", page, h, j % block, d);
  }

  double modified(double x, I b, I h, I i, I j) const {
    if (s_.score_mod) {
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
        case ScoreModifierKind::relu:
          x = std::max(x, 0.0);
          break;
        case ScoreModifierKind::tanh:
          x = std::tanh(x);
          break;
        case ScoreModifierKind::sigmoid:
          x = 1 / (1 + std::exp(-x));
          break;
        case ScoreModifierKind::gelu:
          x = x * 0.5 * std::erfc(-x / std::sqrt(2.0));
          break;
        case ScoreModifierKind::swish:
          x = x / (1 + std::exp(-x));
          break;
        case ScoreModifierKind::abs:
          x = std::abs(x);
          break;
        case ScoreModifierKind::sin:
          x = std::sin(x);
          break;
        case ScoreModifierKind::exp:
          x = std::exp(x);
          break;
        case ScoreModifierKind::pow:
          x = x * x;
          break;
        case ScoreModifierKind::max:
          x = std::max(x, 0.0);
          break;
        default:
          throw NotPlain("plain attention has not this modifier");
      }
    }
    return s_.softcap ? *s_.softcap * std::tanh(x / *s_.softcap) : x;
  }

  // The derivative of modified() at x, by differences: nothing of the graph's own formulas.
  double modified_slope(double x, I b, I h, I i, I j) const {
    constexpr double step = 1e-5;
    const double above = modified(x + step, b, h, i, j), below = modified(x - step, b, h, i, j);
    return std::isinf(above) ? 0 : (above - below) / (2 * step);
  }

  bool visible(I b, I i, I j) const {
    if (j >= columns(b)) return false;
    I diagonal = i;
    if (s_.mask.alignment == attention::Alignment::bottom_right)
      diagonal += s_.mask.padding ? columns(b) - rows(b) : s_.seqlen_kv - s_.seqlen_q;
    if (s_.mask.window_right && j > diagonal + *s_.mask.window_right) return false;
    return !s_.mask.window_left || j >= diagonal - *s_.mask.window_left;
  }

  double slope_of_head(I h) const {
    I n = 1;
    while (2 * n <= s_.heads_q) n *= 2;
    const double first = std::pow(2.0, -8.0 / static_cast<double>(n));
    return h < n ? std::pow(first, static_cast<double>(h + 1))
                 : std::pow(std::sqrt(first), static_cast<double>(2 * (h - n) + 1));
  }

  double bias(const char* name, I b, I h, I i, I j) const { return get(name, b, h, i, j); }

  bool keeps(I b, I h, I i, I j) const {
    if (!s_.dropout) return true;
    if (s_.dropout->form == attention::DropoutForm::mask) return get("dropout mask", b, h, i, j) != 0;
    const bool kept = keep_(b, h, i, j);
    if (s_.dropout->dump) put("dropout mask", b, h, i, j, kept ? 1 : 0);
    return kept;
  }

  void row(I b, I h, I i) {
    const I skv = s_.seqlen_kv, hk = h * s_.heads_kv / s_.heads_q, hv = h * heads_v(s_) / s_.heads_q;
    const bool scaled = s_.pattern != attention::Pattern::two_matmul && s_.scale_form != attention::ScaleForm::none;
    const double scale = scaled ? scale_of(s_) : 1;
    const auto n = static_cast<size_t>(skv);
    std::vector<double> raw(n), x(n, -infinity), p(n), dropped(n);
    for (I j = 0; j < columns(b); ++j) {
      double dot = 0;
      for (I d = 0; d < s_.head_dim_qk; ++d) dot += get("Q", b, h, i, d) * token("K", b, hk, j, d);
      dot *= scale * factor("descale Q") * factor("descale K");
      raw[static_cast<size_t>(j)] = dot;
      double score = modified(dot, b, h, i, j);
      if (s_.bias) score += bias("bias", b, h, i, j);
      if (s_.alibi) score += static_cast<double>(j - i) * slope_of_head(h);
      if (visible(b, i, j)) x[static_cast<size_t>(j)] = score;
    }
    double most = *std::max_element(x.begin(), x.end());
    const double sink = s_.sink ? get("sink", 0, h, 0, 0) : -infinity;
    most = std::max(most, sink);
    double sum = std::isinf(most) ? 0 : std::exp(sink - most);
    const bool softmax = s_.softmax && s_.pattern != attention::Pattern::two_matmul;
    for (size_t j = 0; j < n; ++j) {
      p[j] = !softmax ? (std::isinf(x[j]) ? 0 : x[j]) : std::isinf(x[j]) ? 0 : std::exp(x[j] - most);
      if (softmax) sum += p[j];
    }
    for (size_t j = 0; j < n; ++j) {
      if (softmax && sum > 0) p[j] /= sum;
      const bool kept = keeps(b, h, i, static_cast<I>(j));
      dropped[j] = kept ? p[j] / keep_probability_ : 0;
      amax_s_ = std::max(amax_s_, dropped[j]);
    }
    const double stats = most + std::log(sum);
    if (!is_bprop(s_)) {
      put("Stats", b, h, i, 0, stats);
      for (const char* name : {"Max", "row_max"}) put(name, b, h, i, 0, most);
      for (const char* name : {"Sum_exp", "row_sum"}) put(name, b, h, i, 0, sum);
      for (I d = 0; d < s_.head_dim_v; ++d) {
        const double o = value(dropped, b, hv, d);
        amax_o_ = std::max(amax_o_, std::abs(o));
        put("O", b, h, i, d, o * factor("scale O"));
      }
      return;
    }
    gradients(b, h, i, raw, p, dropped, sink, stats, scale);
  }

  double value(const std::vector<double>& p, I b, I hv, I d) const {
    double sum = 0;
    for (I j = 0; j < columns(b); ++j) sum += p[static_cast<size_t>(j)] * token("V", b, hv, j, d);
    return sum * factor("descale V");
  }

  void gradients(I b, I h, I i, const std::vector<double>& raw, const std::vector<double>& p,
                 const std::vector<double>& dropped, double sink, double stats, double scale) {
    const I hk = h * s_.heads_kv / s_.heads_q, hv = h * heads_v(s_) / s_.heads_q;
    const I hq = s_.heads_q, sq = s_.seqlen_q, skv = s_.seqlen_kv, dqk = s_.head_dim_qk, dv = s_.head_dim_v;
    double sum = 0;
    for (I d = 0; d < dv; ++d) sum += d_o(b, h, i, d) * value(dropped, b, hv, d);
    if (s_.sink) d_sink_[static_cast<size_t>(h)] -= std::exp(sink - stats) * sum;
    for (I j = 0; j < columns(b); ++j) {
      const auto jj = static_cast<size_t>(j);
      double d_p = 0;
      for (I d = 0; d < dv; ++d) {
        d_p += d_o(b, h, i, d) * token("V", b, hv, j, d) * factor("descale V");
        d_v_[static_cast<size_t>(((b * heads_v(s_) + hv) * skv + j) * dv + d)] += dropped[jj] * d_o(b, h, i, d);
      }
      const bool kept = keeps(b, h, i, j);
      double d_s = p[jj] * ((kept ? d_p / keep_probability_ : 0) - sum);
      d_bias_[static_cast<size_t>(((b * hq + h) * sq + i) * skv + j)] = d_s;
      if (p[jj] != 0 && (s_.softcap || (s_.score_mod && s_.score_mod->grad)))
        d_s *= modified_slope(raw[jj], b, h, i, j);
      d_s *= scale;
      amax_d_p_ = std::max(amax_d_p_, std::abs(d_s));
      for (I d = 0; d < dqk; ++d) {
        d_q_[static_cast<size_t>(((b * hq + h) * sq + i) * dqk + d)] +=
            d_s * token("K", b, hk, j, d) * factor("descale K");
        d_k_[static_cast<size_t>(((b * s_.heads_kv + hk) * skv + j) * dqk + d)] +=
            d_s * get("Q", b, h, i, d) * factor("descale Q");
      }
    }
  }
  double d_o(I b, I h, I i, I d) const { return get("dO", b, h, i, d) * factor("descale dO"); }

  void write_gradients() const {
    auto all = [&](const char* name, const std::vector<double>& values, I heads, I length, I depth, bool kv) {
      const double by = factor((std::string("scale ") + name).c_str());
      double amax = 0;
      for (I b = 0; b < s_.batch; ++b)
        for (I h = 0; h < heads; ++h)
          for (I i = 0; i < (kv ? columns(b) : rows(b)); ++i)
            for (I d = 0; d < depth; ++d) {
              const double x = values[static_cast<size_t>(((b * heads + h) * length + i) * depth + d)];
              amax = std::max(amax, std::abs(x));
              put(name, b, h, i, d, x * by);
            }
      scalar((std::string("amax ") + name).c_str(), amax);
    };
    all("dQ", d_q_, s_.heads_q, s_.seqlen_q, s_.head_dim_qk, false);
    all("dK", d_k_, s_.heads_kv, s_.seqlen_kv, s_.head_dim_qk, true);
    all("dV", d_v_, heads_v(s_), s_.seqlen_kv, s_.head_dim_v, true);
    for (I h = 0; h < s_.heads_q; ++h) put("dSink", 0, h, 0, 0, d_sink_[static_cast<size_t>(h)]);
    if (!find("dBias").exists) return;
    const run::View v = find("dBias").view;
    std::map<std::array<I, 4>, double> sums;
    for (I b = 0; b < s_.batch; ++b)
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
  mutable std::map<std::string, Found> found_;
  double keep_probability_ = 1, amax_s_ = 0, amax_o_ = 0, amax_d_p_ = 0;
  std::vector<double> d_q_, d_k_, d_v_, d_sink_, d_bias_;
};

}  // namespace

void plain_attention(const AttentionSpec& spec, const OpGraph& graph, const std::map<graph::Uid, void*>& pointers,
                     const run::Lengths& lengths, const Keep& keep) {
  Plain(spec, graph, pointers, lengths, keep).run();
}

}  // namespace attnprobe::test
