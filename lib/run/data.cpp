#include "run/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "run/fixed_values.hpp"

namespace attnprobe::run {
namespace {

using graph::OpGraph;
using graph::Role;
using graph::Tensor;
using graph::Uid;

constexpr int64_t few_keys = 512, gap_tokens = 8;
constexpr double largest_dropout_keep = 0.9;
// With scores of such queries, the largest P of a row is near 1. An amax that counts unused queries is then wrong.
constexpr double factor_of_unused = 4;
constexpr double deviation_of_bias = 0.5, factor_of_large = 8, factor_of_negative = 4;
// For rows of any length, the log-sum-exp of such scores is below -88, so f32's exponential underflows.
constexpr double far_score = -160, deviation_of_far = 0.125;

bool is_one_of(Role role, std::initializer_list<Role> roles) {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

class Planner {
 public:
  Planner(const OpGraph& graph, const RunOptions& options) : graph_(graph), options_(options), random_(options.seed) {
    for (const auto& operation : graph.operations)
      for (const auto& port : ports(operation))
        if (port.is_output) made_.insert(port.uid);
    for (const auto& operation : graph.score_operations)
      for (const auto& port : ports(operation))
        if (port.is_output) made_.insert(port.uid);
    for (const auto& t : graph.tensors)
      if (t.ragged_offset) offsets_.insert(*t.ragged_offset);
    for (const auto& operation : graph.operations) {
      if (const auto* rng = std::get_if<graph::Rng>(&operation)) keep_ = rng->probability.value_or(keep_);
      const auto* rope = std::get_if<graph::Rope>(&operation);
      if (rope == nullptr) continue;
      angles_.insert(rope->angles);
      if (is_kv(at(rope->x).role)) rotated_k_.insert(rope->y);
    }
  }

  GraphData run() {
    find_shape();
    choose_lengths();
    for (const auto& t : graph_.tensors)
      if (offsets_.count(t.uid) > 0) add(t);
    for (const auto& t : graph_.tensors)
      if (offsets_.count(t.uid) == 0 && !t.is_virtual && !t.by_value) add(t);
    share({Role::q}, {Role::k_transposed, Role::k}, {Role::v, Role::v_transposed});
    share({Role::dq}, {Role::dk}, {Role::dv});
    data_.backward = backward_;
    return std::move(data_);
  }

 private:
  const Tensor& at(Uid uid) const { return tensor(graph_, uid); }
  const Tensor* find(std::initializer_list<Role> roles) const {
    for (const Role role : roles)
      for (const auto& t : graph_.tensors)
        if (t.role == role) return &t;
    return nullptr;
  }

  // The contiguous elements of one tensor, if its strides have gaps for one or two further tensors ("bs2hd", "bsh3d");
  // otherwise 0. `parts`: the number of interleaved tensors.
  static int64_t interleaved(const Tensor& t, int64_t& parts) {
    if (t.dims.size() != 4) return 0;
    auto dims = t.dims, strides = t.strides;
    if (strides[3] > strides[2]) {
      std::swap(dims[2], dims[3]);
      std::swap(strides[2], strides[3]);
    }
    const int64_t d = dims[3], heads = dims[1] * d;
    const int64_t row = dims[0] > 1 ? std::min(strides[0], strides[2]) : strides[2];
    for (parts = 2; parts <= 3; ++parts) {
      if (strides[1] == d && row == parts * heads) return heads;
      if (strides[1] == parts * d && row == parts * heads) return d;
    }
    return 0;
  }

  // Frameworks pass interleaved tensors as pointers into one buffer. cuDNN's legacy engine relies on it: it uses the
  // first pointer for all three (measured, 9.19).
  void share(std::initializer_list<Role> q, std::initializer_list<Role> k, std::initializer_list<Role> v) {
    std::vector<const Tensor*> group{find(q), find(k), find(v)};
    if (group[1] == nullptr || group[2] == nullptr) return;
    int64_t parts = 0, parts_v = 0;
    const int64_t together = interleaved(*group[1], parts);
    if (together == 0 || interleaved(*group[2], parts_v) != together || parts_v != parts) return;
    if (parts == 2) group.erase(group.begin());
    if (group[0] == nullptr || interleaved(*group[0], parts_v) != together || parts_v != parts) return;
    for (size_t i = 1; i < group.size(); ++i)
      for (auto& d : data_.tensors)
        if (d.uid == group[i]->uid) d.shares = Sharing{group[0]->uid, static_cast<int64_t>(i) * together};
  }

  // Paged K has no length of its own. It comes from V, a mask or a bias; otherwise every block may be full.
  int64_t keys_of(const graph::SdpaForward& f) const {
    if (!f.page_table_k) return at(f.k).dims[2];
    if (!f.page_table_v) return at(f.v).dims[2];
    return f.score_input ? at(*f.score_input).dims[3] : at(*f.page_table_k).dims[2] * at(f.k).dims[2];
  }

  // Batch and lengths of Q and K, from the first matrix product or the unified operation.
  void find_shape() {
    for (const auto& operation : graph_.operations) {
      if (const auto* f = std::get_if<graph::SdpaForward>(&operation)) {
        set_shape(at(f->q).dims, keys_of(*f));
        return;
      }
      if (const auto* b = std::get_if<graph::SdpaBackward>(&operation)) {
        set_shape(at(b->q).dims, at(b->k).dims[2]);
        backward_ = true;
        return;
      }
    }
    const Tensor *q = find({Role::q}), *k = find({Role::k_transposed, Role::k});
    if (q != nullptr && k != nullptr && k->dims.size() == 4)
      set_shape(q->dims, k->role == Role::k_transposed ? k->dims[3] : k->dims[2]);
    else
      for (const auto& operation : graph_.operations)
        if (const auto* matmul = std::get_if<graph::Matmul>(&operation)) {
          set_shape(at(matmul->a).dims, at(matmul->b).dims.back());
          break;
        }
    // Only a backward graph has an output's gradient as input.
    backward_ = std::any_of(graph_.tensors.begin(), graph_.tensors.end(),
                            [&](const Tensor& t) { return t.role == Role::d_o && !t.is_virtual; });
  }
  void set_shape(const std::vector<int64_t>& q, int64_t kv) {
    if (q.size() != 4) throw Error(ErrorKind::internal, fmt::format("Q has {} dims; attention has four", q.size()));
    batch_ = q[0];
    seqlen_q_ = q[2];
    seqlen_kv_ = kv;
  }

  void choose_lengths() {
    padded_ = find({Role::seq_len_q, Role::seq_len_kv, Role::cu_seq_len_q, Role::cu_seq_len_kv}) != nullptr;
    data_.lengths = run::choose_lengths(options_, batch_, seqlen_q_, seqlen_kv_, padded_ ? &random_ : nullptr);
  }

  static bool is_kv(Role role) {
    return is_one_of(role, {Role::k, Role::k_transposed, Role::k_container, Role::k_by_sequence, Role::v,
                            Role::v_transposed, Role::v_container, Role::dk, Role::dv, Role::all_heads});
  }
  // Rotated K is as long as K.
  bool is_kv(const Tensor& t) const { return is_kv(t.role) || rotated_k_.count(t.uid) > 0; }
  static bool is_scratch(Role role) { return is_one_of(role, {Role::dq_sum, Role::softmax_sum, Role::all_heads}); }
  static bool is_page_table(Role role) { return is_one_of(role, {Role::page_table_k, Role::page_table_v}); }

  void add(const Tensor& t) {
    TensorData d;
    d.uid = t.uid;
    d.reordered = t.reordering == graph::Reordering::F16x16;
    d.mask_dump = t.role == Role::dropout_mask && made_.count(t.uid) > 0;
    d.elements = extent(t);
    if (is_scratch(t.role)) d.use = Use::scratch;
    if (made_.count(t.uid) > 0 && d.use != Use::scratch) d.use = Use::output;
    const bool has_rows = t.dims.size() == 4 && (padded_ || t.ragged_offset);
    const bool by_row = has_rows && !is_page_table(t.role) && !is_one_of(t.role, {Role::d_bias, Role::dropout_mask});
    d.sequence_axis = t.strides.size() == 4 && t.dims.size() == 4 ? static_cast<int>(token_axis(t)) : 2;
    const int64_t length = t.dims.size() == 4 ? t.dims[static_cast<size_t>(d.sequence_axis)] : 0;
    if (by_row && t.dims[0] == batch_ && d.use == Use::output && length == (is_kv(t) ? seqlen_kv_ : seqlen_q_) &&
        length > 1)
      d.rows = is_kv(t) ? data_.lengths.kv : data_.lengths.q;
    if (d.use == Use::input) fill(t, d);
    data_.tensors.push_back(std::move(d));
  }

  // Elements from the first to the last. Scratch memory is as large as in cudnn-frontend: for every token of the
  // longest batch, with four bytes per element for any type.
  int64_t extent(const Tensor& t) const {
    if (t.ragged_offset && is_scratch(t.role)) {
      const int64_t tokens = batch_ * ((is_kv(t.role) ? seqlen_kv_ : seqlen_q_) + gap());
      const int64_t elements = is_by_head(t) ? t.dims[1] * t.strides[1] : tokens * t.strides[2];
      return elements * 4 / element_size(t.data_type);
    }
    if (t.ragged_offset)
      for (const auto& d : data_.tensors)
        if (d.uid == *t.ragged_offset) return ragged_extent(t, d.integers.back() * t.ragged_multiplier.value_or(1));
    int64_t last = 0;
    for (size_t i = 0; i < t.dims.size(); ++i) last += (t.dims[i] - 1) * t.strides[i];
    if (t.reordering == graph::Reordering::F16x16) {
      constexpr int64_t tile = 16;
      int64_t whole = t.dims[0] * t.dims[1];
      for (size_t i = 2; i < 4; ++i) whole *= (t.dims[i] + tile - 1) / tile * tile;
      return std::max(last + 1, whole);
    }
    return last + 1;
  }

  // K and V may be transposed, even for one token.
  static size_t token_axis(const Tensor& t) {
    const bool is_transposed = is_one_of(t.role, {Role::k_transposed, Role::v_transposed});
    return is_transposed || (t.dims[3] > 1 && t.strides[3] > t.strides[2]) ? 3 : 2;
  }
  static int64_t token_stride(const Tensor& t) { return t.strides[token_axis(t)]; }
  static bool is_by_head(const Tensor& t) { return t.dims[1] > 1 && t.strides[1] > token_stride(t); }

  // `tokens`: elements from the first token of a head to the end of its last token.
  static int64_t ragged_extent(const Tensor& t, int64_t tokens) {
    const bool by_head = is_by_head(t);
    const int64_t stride = by_head ? t.strides[1] : token_stride(t);
    const int64_t taken = by_head ? tokens : t.dims[1] > 1 ? t.dims[1] * t.strides[1] : 0;
    if (taken > stride)
      throw Error(ErrorKind::usage,
                  fmt::format("{} of {} (uid {}) overlap: their stride is {}, and the {} take {} elements",
                              by_head ? "heads" : "tokens", t.name.empty() ? "a ragged tensor" : t.name, t.uid, stride,
                              by_head ? "tokens of all sequences" : "heads", taken));
    if (!by_head) return tokens;
    return (t.dims[1] - 1) * t.strides[1] + tokens;
  }

  void integers(TensorData& d, const std::vector<int32_t>& values) { d.integers.assign(values.begin(), values.end()); }

  // The tokens before each sequence, times the elements per token, in the unit of the tensor's offsets.
  void offsets_of(Uid uid, TensorData& d) {
    for (const auto& t : graph_.tensors) {
      if (t.ragged_offset != uid) continue;
      if (is_page_table(t.role)) {
        // Packed: each sequence's pages follow those of the previous one.
        d.integers.assign(1, 0);
        const int64_t pages = t.dims[2];
        const int64_t block = (seqlen_kv_ + pages - 1) / pages;
        for (const int32_t n : data_.lengths.kv) d.integers.push_back(d.integers.back() + (n + block - 1) / block);
        return;
      }
      const int64_t token = token_stride(t), unit = t.ragged_multiplier.value_or(1);
      if (unit < 1 || token % unit != 0)
        throw Error(
            ErrorKind::usage,
            fmt::format(
                "ragged offsets of {} (uid {}) count {} elements as one, and a token has {}: no offset can express the start of a sequence",
                t.name.empty() ? "a tensor" : t.name, t.uid, unit, token));
      d.integers = prefix_sums(is_kv(t.role) ? data_.lengths.kv : data_.lengths.q);
      for (size_t i = 0; i < d.integers.size(); ++i) d.integers[i] += static_cast<int64_t>(i) * gap();
      for (int64_t& tokens : d.integers) tokens *= token / unit;
      check_offsets(uid, d.integers.back());
      return;
    }
  }

  // Number of unused tokens after each ragged sequence.
  int64_t gap() const { return options_.data == DataRegime::gaps ? gap_tokens : 0; }

  // An overflow would also distort the reference.
  void check_offsets(Uid uid, int64_t last) const {
    for (const auto& t : graph_.tensors)
      if (t.uid == uid && t.data_type == DataType::i32 && last > std::numeric_limits<int32_t>::max())
        throw Error(ErrorKind::usage,
                    fmt::format("a ragged offset of {} does not fit in the 32 bits of its tensor (uid {})", last, uid));
  }

  void page_table(const Tensor& t, TensorData& d) {
    // Blocks in random order, as in a long-running server.
    const Tensor* container = find({t.role == Role::page_table_k ? Role::k_container : Role::v_container});
    std::vector<int64_t> blocks(static_cast<size_t>(container == nullptr ? d.elements : container->dims[0]));
    std::iota(blocks.begin(), blocks.end(), 0);
    // The same order for K and V, as in real caches; another order would also work.
    std::mt19937_64 order(options_.seed);
    std::shuffle(blocks.begin(), blocks.end(), order);
    for (int64_t i = 0; i < d.elements; ++i) d.integers.push_back(blocks[static_cast<size_t>(i) % blocks.size()]);
  }

  void fill(const Tensor& t, TensorData& d) {
    d.fill.seed = random_();
    d.fill.group = 1;
    auto constant = [&](double value) {
      d.fill.kind = kernels::fill_constant;
      d.fill.a = value;
    };
    auto normal = [&](double deviation) {
      d.fill.kind = kernels::fill_normal;
      d.fill.b = deviation;
    };
    auto chance = [&](double probability) {
      d.fill.kind = kernels::fill_chance;
      d.fill.a = 1;
      d.fill.b = options_.data == DataRegime::mask_all_true ? 1 : probability;
    };
    const Role role = t.role;
    if (offsets_.count(t.uid) > 0) return offsets_of(t.uid, d);
    if (role == Role::seq_len_q) return integers(d, data_.lengths.q);
    if (role == Role::seq_len_kv) return integers(d, data_.lengths.kv);
    if (is_one_of(role, {Role::cu_seq_len_q, Role::cu_seq_len_kv})) {
      d.integers = prefix_sums(role == Role::cu_seq_len_q ? data_.lengths.q : data_.lengths.kv);
      return;
    }
    if (is_page_table(role)) return page_table(t, d);
    if (role == Role::seed) return d.integers.assign(1, 123456789);
    if (role == Role::offset) return d.integers.assign(1, 5);
    if (is_one_of(role, {Role::documents_q, Role::documents_kv})) {
      d.integers = document_ids(d.elements);
      return;
    }
    if (role == Role::alibi_slopes) {
      d.reals = alibi_slopes(t.dims[1]);
      return;
    }
    if (angles_.count(t.uid) > 0) return angles(t, d);
    if (backward_ && is_one_of(role, {Role::stats, Role::o})) d.derived = true;
    if (t.data_type == DataType::fp8_e8m0) return constant(1);
    if (role == Role::mask) return chance(0.8);
    if (role == Role::dropout_mask) return chance(keep_);
    if (role == Role::block_mask) {
      constexpr double all_bits = 255, some_bits = 0b01010111;
      return constant(options_.data == DataRegime::mask_all_true ? all_bits : some_bits);
    }
    if (role == Role::bias) return normal(options_.data == DataRegime::mask_all_true ? 0 : deviation_of_bias);
    if (role == Role::scores && backward_) return constant(1.0 / static_cast<double>(seqlen_kv_));
    if (role == Role::scale && d.elements == 1) return constant(1 / std::sqrt(static_cast<double>(head_dim())));
    if (role == Role::scale_dp && seqlen_kv_ < few_keys) return constant(scale_of_d_p_of_few);
    if (role == Role::descale_dp && seqlen_kv_ < few_keys) return constant(1 / scale_of_d_p_of_few);
    if (d.elements == 1) return constant(factor_of(role, keep_));
    values(role, d);
    const bool is_amax_checked = is_fp8(t.data_type) && !backward_;
    if (role == Role::q && is_amax_checked && padded_ && !t.ragged_offset) d.fill.factor_of_unused = factor_of_unused;
  }

  // Laid out by the tensor's strides, with 0 in gaps.
  static void angles(const Tensor& t, TensorData& d) {
    const int64_t tokens = t.dims[0], dim = t.dims[3];
    const std::vector<double> packed = rope_angles(tokens, dim);
    d.reals.assign(static_cast<size_t>(d.elements), 0);
    for (int64_t s = 0; s < tokens; ++s)
      for (int64_t i = 0; i < dim; ++i)
        d.reals[static_cast<size_t>(s * t.strides[0] + i * t.strides[3])] = packed[static_cast<size_t>(s * dim + i)];
  }

  // Q, K, V, dO and all others.
  void values(Role role, TensorData& d) {
    d.fill.kind = kernels::fill_normal;
    d.fill.b = 1;
    const bool is_q = is_one_of(role, {Role::q, Role::q_by_sequence});
    const bool is_k = is_one_of(role, {Role::k, Role::k_transposed, Role::k_container, Role::k_by_sequence});
    if (options_.data == DataRegime::integers) d.fill.kind = kernels::fill_integers;
    if (options_.data == DataRegime::large) d.fill.b = factor_of_large;
    if (options_.data == DataRegime::negative_scores && (is_q || is_k)) {
      d.fill.kind = kernels::fill_magnitude;
      d.fill.a = is_q ? 1 : -factor_of_negative;
    }
    if (options_.data == DataRegime::far_negative && (is_q || is_k)) {
      d.fill.a = is_q ? 1 : far_score / (static_cast<double>(head_dim()) * scale());
      d.fill.b = deviation_of_far * std::abs(d.fill.a);
    }
  }

  // The scale of the scores, if known.
  double scale() const {
    const Tensor* t = find({Role::scale});
    return t != nullptr && t->value ? *t->value : 1 / std::sqrt(static_cast<double>(head_dim()));
  }

  int64_t head_dim() const {
    const Tensor* q = find({Role::q});
    return q == nullptr ? 64 : q->dims[3];
  }

  const OpGraph& graph_;
  const RunOptions& options_;
  std::mt19937_64 random_;
  std::set<Uid> made_, offsets_, angles_, rotated_k_;
  int64_t batch_ = 1, seqlen_q_ = 1, seqlen_kv_ = 1;
  double keep_ = largest_dropout_keep;
  bool backward_ = false, padded_ = false;
  GraphData data_;
};

}  // namespace

Lengths choose_lengths(const RunOptions& options, int64_t batch, int64_t seqlen_q, int64_t seqlen_kv,
                       std::mt19937_64* random) {
  const auto of_side = [&](const std::vector<int64_t>& given, int64_t longest, const char* name) {
    std::vector<int32_t> all(static_cast<size_t>(batch), static_cast<int32_t>(longest));
    if (!given.empty()) {
      if (given.size() != all.size() || *std::max_element(given.begin(), given.end()) > longest)
        throw Error(ErrorKind::usage, fmt::format("{}: {} lengths of at most {} expected", name, batch, longest));
      std::transform(given.begin(), given.end(), all.begin(), [](int64_t n) { return static_cast<int32_t>(n); });
    } else if (random != nullptr) {
      for (size_t i = 1; i < all.size(); ++i)
        all[i] = static_cast<int32_t>(1 + (*random)() % static_cast<uint64_t>(longest));
    }
    return all;
  };
  Lengths lengths;
  lengths.kv = of_side(options.seqlens_kv, seqlen_kv, "seqlens_kv");
  // Self-attention has the same lengths on both sides.
  const bool is_same = seqlen_q == seqlen_kv && options.seqlens_q.empty();
  lengths.q = is_same ? lengths.kv : of_side(options.seqlens_q, seqlen_q, "seqlens_q");
  return lengths;
}

GraphData plan_data(const OpGraph& graph, const RunOptions& options) {
  return Planner(graph, options).run();
}

}  // namespace attnprobe::run
