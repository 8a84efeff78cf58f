// Extents, types and layouts from the tensors of an attention.
#include <fmt/format.h>

#include <algorithm>

#include "recognise/reading.hpp"

namespace attnprobe::recognise {
namespace {

using attention::AttentionSpec;
using attention::Strides;
using attention::TensorLayout;
using attention::TensorShape;

struct SeenLayout {
  TensorShape shape;
  Strides strides;
  bool ragged;
};

std::optional<SeenLayout> seen_layout(const graph::Tensor* t) {
  if (t == nullptr) return std::nullopt;
  SeenLayout seen{{t->dims[0], t->dims[1], t->dims[2], t->dims[3]}, {}, t->ragged_offset.has_value()};
  std::copy(t->strides.begin(), t->strides.end(), seen.strides.begin());
  return seen;
}

// Possible axes of one tensor's layout, most likely first.
const std::vector<std::string>& plain_axes(bool ragged) {
  static const std::vector<std::string> ragged_axes{"thd"};
  static const std::vector<std::string> padded_axes{"bshd", "bhsd", "sbhd", "shbd", "hbsd", "hsbd"};
  return ragged ? ragged_axes : padded_axes;
}

// The same for interleaved tensors; interleaving by token comes first.
std::vector<std::string> packed_axes(bool ragged, char digit) {
  std::vector<std::string> all;
  for (const std::string& axes : plain_axes(ragged))
    for (const char before : {'h', 'd', 's'})
      if (const auto at = axes.find(before); at != std::string::npos && at > 0)
        all.push_back(std::string(axes).insert(at, 1, digit));
  return all;
}

bool fits(const std::string& axes, const std::optional<SeenLayout>& seen) {
  if (!seen) return true;
  return (axes.front() == 't') == seen->ragged && attention::strides_of(axes, seen->shape) == seen->strides;
}

std::optional<std::string> plain_name(const SeenLayout& seen) {
  for (const std::string& axes : plain_axes(seen.ragged))
    if (fits(axes, seen)) return axes;
  return std::nullopt;
}

// A ragged tensor needs a layout name; strides that differ from a padded batch's are added.
TensorLayout layout_of(const SeenLayout& seen) {
  if (const auto axes = plain_name(seen)) return {*axes, {}};
  if (seen.ragged) return {"thd", seen.strides};
  return {"", seen.strides};
}

using ThreeLayouts = std::array<TensorLayout, 3>;

ThreeLayouts three_layouts(const std::optional<SeenLayout>& q, const std::optional<SeenLayout>& k,
                           const std::optional<SeenLayout>& v) {
  auto same = [](const std::string& a, const std::string& b) {
    return ThreeLayouts{TensorLayout{a, {}}, TensorLayout{b, {}}, TensorLayout{b, {}}};
  };
  const bool ragged = q->ragged;
  for (const auto& axes : plain_axes(ragged))
    if (fits(axes, q) && fits(axes, k) && fits(axes, v)) return same(axes, axes);
  auto alike = [](const SeenLayout& x, const SeenLayout& y) {
    return x.shape.heads == y.shape.heads && x.shape.seqlen == y.shape.seqlen && x.shape.head_dim == y.shape.head_dim &&
           x.ragged == y.ragged;
  };
  if (k && v && alike(*k, *v)) {
    if (alike(*q, *k))
      for (const auto& axes : packed_axes(ragged, '3'))
        if (fits(axes, q) && fits(axes, k) && fits(axes, v)) return same(axes, axes);
    if (const auto of_q = plain_name(*q))
      for (const auto& axes : packed_axes(k->ragged, '2'))
        if (fits(axes, k) && fits(axes, v)) return same(*of_q, axes);
  }
  ThreeLayouts layouts;
  layouts[0] = layout_of(*q);
  // A paged K or V has no layout of its own.
  const TensorLayout unseen{layouts[0].strides ? "bshd" : layouts[0].axes, {}};
  layouts[1] = k ? layout_of(*k) : unseen;
  layouts[2] = v ? layout_of(*v) : unseen;
  return layouts;
}

// Building must not overflow, even for a broken graph.
constexpr double most_elements = 1LL << 50;

bool usable(const graph::Tensor* t) {
  if (t == nullptr) return true;
  constexpr int64_t largest_stride = int64_t{1} << 40;
  auto in_range = [](const std::vector<int64_t>& values, int64_t least, int64_t most) {
    return values.size() == 4 &&
           std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least && v <= most; });
  };
  if (!in_range(t->dims, 1, attention::max_extent) || !in_range(t->strides, 0, largest_stride)) return false;
  double elements = 1;
  for (const int64_t extent : t->dims) elements *= static_cast<double>(extent);
  return elements < most_elements;
}

bool small_enough(const AttentionSpec& s) {
  constexpr double most_heads = 1LL << 20;  // factor of the strides
  const auto b = static_cast<double>(s.batch);
  const auto heads = static_cast<double>(std::max({s.heads_q, s.heads_kv, heads_v(s)}));
  const auto tokens = static_cast<double>(std::max(s.seqlen_q, s.seqlen_kv));
  const auto width = static_cast<double>(std::max({s.seqlen_q, s.seqlen_kv, s.head_dim_qk, s.head_dim_v}));
  return heads < most_heads && b * heads * tokens * width < most_elements;
}

bool read_extents(AttentionSpec& s, const AttentionPorts& p) {
  s.batch = p.q->dims[0];
  s.heads_q = p.q->dims[1];
  s.seqlen_q = p.q->dims[2];
  s.head_dim_qk = p.q->dims[3];
  s.dtype = p.q->data_type;
  const graph::Tensor* k = p.k ? &*p.k : p.container_k;
  const graph::Tensor* v = p.v ? &*p.v : p.container_v;
  if (k == nullptr || v == nullptr) return false;
  s.heads_kv = k->dims[1];
  if (v->dims[1] != s.heads_kv) s.heads_v = v->dims[1];
  s.head_dim_v = v->dims[3];
  if (p.k)
    s.seqlen_kv = p.k->dims[2];
  else if (p.v)
    s.seqlen_kv = p.v->dims[2];
  else
    s.seqlen_kv = p.seqlen_kv.value_or(0);
  return s.seqlen_kv > 0 && small_enough(s);
}

void read_paging(AttentionSpec& s, const AttentionPorts& p) {
  const graph::Tensor* container = p.container_k != nullptr ? p.container_k : p.container_v;
  if (container == nullptr) return;
  attention::Paged paged;
  paged.k = p.container_k != nullptr;
  paged.v = p.container_v != nullptr;
  const auto seen = *seen_layout(container);
  paged.block_size = seen.shape.seqlen;
  for (const char* axes : {"bhsd", "bshd", "sbhd"})
    if (attention::strides_of(axes, seen.shape) == seen.strides) {
      paged.layout = axes;
      break;
    }
  paged.packed_table = p.page_table != nullptr && p.page_table->ragged_offset.has_value();
  s.paged = paged;
}

void read_layouts(AttentionSpec& s, const AttentionPorts& p) {
  const auto q = seen_layout(p.q), k = seen_layout(p.k ? &*p.k : nullptr), v = seen_layout(p.v ? &*p.v : nullptr);
  const auto layouts = three_layouts(q, k, v);
  s.q = layouts[0];
  s.k = layouts[1];
  s.v = layouts[2];
  auto as_default = [](const SeenLayout& seen, const TensorLayout& usual) {
    if (usual.strides) return *usual.strides == seen.strides;
    return attention::strides_of(usual.axes, seen.shape) == seen.strides;
  };
  if (const auto o = seen_layout(p.o)) {
    const TensorLayout usual = output_layout(s);
    if (usual.ragged() != o->ragged || !as_default(*o, usual)) s.o = layout_of(*o);
  }
  // Gradients are ragged like their tensors; their layout is only in the strides.
  auto strides_only = [](const graph::Tensor* t, bool ragged) {
    auto seen = seen_layout(t);
    if (seen) seen->ragged = ragged;
    return seen;
  };
  if (const auto d_o = strides_only(p.d_o, false); d_o && !as_default(*d_o, output_layout(s))) s.d_o = layout_of(*d_o);
  const auto dq = strides_only(p.dq, false), dk = strides_only(p.dk, false), dv = strides_only(p.dv, false);
  if (!dq || !dk || !dv || (as_default(*dq, s.q) && as_default(*dk, s.k) && as_default(*dv, s.v))) return;
  const auto gradients = three_layouts(dq, dk, dv);
  s.dq = gradients[0];
  s.dk = gradients[1];
  s.dv = gradients[2];
}

void read_types(AttentionSpec& s, const AttentionPorts& p) {
  if (p.o != nullptr && p.o->data_type != s.dtype) s.o_dtype = p.o->data_type;
  if (p.d_o != nullptr && p.d_o->data_type != s.dtype) s.do_dtype = p.d_o->data_type;
  if (p.dq != nullptr && p.dq->data_type != output_type(s)) s.dqkv_dtype = p.dq->data_type;
}

}  // namespace

std::optional<graph::Tensor> untransposed(const graph::Tensor* t) {
  if (t == nullptr || t->dims.size() != 4 || t->strides.size() != 4) return std::nullopt;
  graph::Tensor result = *t;
  std::swap(result.dims[2], result.dims[3]);
  std::swap(result.strides[2], result.strides[3]);
  return result;
}

void read_statistics(Reading& reading, const graph::Tensor* stats, bool log2) {
  AttentionSpec& s = reading.spec;
  s.stats_log2 = log2;
  if (stats == nullptr || !usable(stats)) return;
  if (stats->data_type != DataType::f32) s.stats_dtype = stats->data_type;
  SeenLayout seen{{s.batch, s.heads_q, s.seqlen_q, 1}, {}, false};
  std::copy(stats->strides.begin(), stats->strides.end(), seen.strides.begin());
  if (seen.strides == stats_strides(s)) return;
  s.stats_layout = layout_of(seen);
}

void read_bias_gradient(AttentionSpec& spec, const graph::Tensor& d_bias) {
  if (d_bias.data_type != bias_gradient_type(spec)) spec.bias->grad_dtype = d_bias.data_type;
  spec.bias->grad = true;
}

graph::Uid before_rope(Reading& reading, const GraphView& view, graph::Uid uid, bool attention::Rope::*side) {
  const auto* op = view.producer_as<graph::Rope>(uid);
  if (op == nullptr) return uid;
  auto& rope = reading.spec.rope;
  if (!rope) rope = attention::Rope{false, false, {}};
  *rope.*side = true;
  const graph::Tensor* x = view.find(op->x);
  const bool whole = x == nullptr || x->dims.size() != 4 || op->dim.value_or(0) == x->dims[3];
  if (!whole && op->dim.value_or(0) != 0) rope->dim = op->dim;
  return op->x;
}

bool read_ports(Reading& reading, const AttentionPorts& p, const GraphView& view) {
  AttentionSpec& s = reading.spec;
  if (p.q == nullptr) return false;
  const graph::Tensor* k = p.k ? &*p.k : nullptr;
  const graph::Tensor* v = p.v ? &*p.v : nullptr;
  for (const graph::Tensor* t : {p.q, k, v, p.o, p.container_k, p.container_v, p.d_o, p.dq, p.dk, p.dv})
    if (!usable(t)) return false;
  if (!read_extents(s, p)) return false;
  read_paging(s, p);
  read_layouts(s, p);
  read_types(s, p);
  for (const graph::Tensor* t : {p.q, k, v, p.o})
    if (t != nullptr && t->ragged_offset)
      if (const graph::Tensor* offset = view.find(t->ragged_offset)) s.ragged_offsets = offset->data_type;
  for (const graph::Tensor* t : {p.q, k, v, p.o})
    if (t != nullptr && t->ragged_multiplier.value_or(1) != 1) s.ragged_unit = attention::RaggedUnit::token;
  s.ragged_shared = v != nullptr && v->ragged_offset && k != nullptr && v->ragged_offset == k->ragged_offset;
  if (s.q.ragged() && p.rows != nullptr) s.ragged_stats = p.rows->ragged_offset.has_value();
  return true;
}

}  // namespace attnprobe::recognise
