// torch.nn.functional.scaled_dot_product_attention, and the graphs of its cuDNN backend (MHA.cpp). They are
// cudnn-frontend's sdpa with the tensors' own strides, and causal is top-left. A mask becomes a bias, expanded to the
// batch and the lengths. Outputs have Q's order of dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "attention/fields.hpp"
#include "base/number.hpp"
#include "frameworks/calls/call_reading.hpp"
#include "importers/cudnn_frontend/import_frontend_layout.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::frameworks {
namespace {

using attention::AttentionSpec;
using attention::Strides;
using attention::TensorLayout;

// Q, K or V in four dimensions. A call with three has batch 1 (PyTorch 2.14; older releases refuse it).
struct TorchInput {
  attention::TensorShape shape;
  Strides strides{};
};

TorchInput torch_input(const CallTensor& tensor, const JsonView& place) {
  std::vector<int64_t> shape = tensor.shape, strides = tensor.strides.value_or(contiguous_strides(tensor.shape));
  if (shape.size() != 3 && shape.size() != 4)
    place.fail(
        fmt::format("a tensor of {} dimensions; allowed: 4 (batch, heads, length, head dimension), or 3 without "
                    "the batch",
                    shape.size()));
  if (shape.size() == 3) {
    strides.insert(strides.begin(), strides[0] * shape[0]);
    shape.insert(shape.begin(), 1);
  }
  return {{shape[0], shape[1], shape[2], shape[3]}, {strides[0], strides[1], strides[2], strides[3]}};
}

// The dimensions in memory order, outermost first: "bshd". PyTorch gives new tensors the same order.
std::string order_of(const TorchInput& input) {
  std::array<size_t, 4> order{0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return input.strides[a] > input.strides[b]; });
  const std::array<char, 4> letters{'b', 'h', 's', 'd'};
  std::string axes;
  for (const size_t axis : order) axes += letters[axis];
  return axes;
}

// A new tensor of that shape, in the memory order of another tensor. A layout has a name if the head dimension comes
// last.
TensorLayout dense_in_order(const TorchInput& of, const attention::TensorShape& shape) {
  const std::string order = order_of(of);
  if (attention::strides_of(order, shape)) return {order, {}};
  Strides strides{};
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t axis = std::string_view("bhsd").find(order[i]);
    strides[axis] = step;
    step = saturated_product(step, std::array{shape.batch, shape.heads, shape.seqlen, shape.head_dim}[axis]);
  }
  return {"", strides};
}

// A new tensor like this one: with the same strides if dense, otherwise with the same memory order.
TensorLayout dense_like(const TorchInput& input, const TensorLayout& layout) {
  const bool is_named = !layout.strides && attention::without_interleave(layout.axes) == layout.axes;
  return is_named ? layout : dense_in_order(input, input.shape);
}

// The strides after Tensor.expand(): 0 for a repeated axis.
Strides expanded_strides(const CallTensor& mask, const std::vector<int64_t>& strides,
                         const std::array<int64_t, 4>& to) {
  Strides expanded{};
  const size_t rank = mask.shape.size();
  for (size_t i = 4; i-- > 0;) {
    const bool is_new = i + rank < 4;
    const int64_t extent = is_new ? 1 : mask.shape[i + rank - 4];
    expanded[i] = is_new ? (i == 3 ? 1 : to[i + 1] * expanded[i + 1]) : strides[i + rank - 4];
    if (extent != to[i]) expanded[i] = 0;
  }
  return expanded;
}

bool can_expand(const CallTensor& mask, const std::array<int64_t, 4>& to) {
  const size_t rank = mask.shape.size();
  if (rank < 2 || rank > 4) return false;
  for (size_t i = 4 - rank; i < 4; ++i) {
    const int64_t extent = mask.shape[i + rank - 4];
    if (extent != 1 && extent != to[i]) return false;
  }
  return true;
}

// The strides of an elementwise result: dense, with the input's memory order of axes. A repeated axis (stride 0) keeps
// its position, as in TensorIterator's sort.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  std::vector<size_t> order(shape.size());  // innermost first
  std::iota(order.rbegin(), order.rend(), size_t{0});
  const auto belongs_further_in = [&](size_t axis, size_t than) -> std::optional<bool> {
    if (strides[axis] == 0 || strides[than] == 0) return std::nullopt;
    if (strides[axis] != strides[than]) return strides[axis] < strides[than];
    return shape[axis] < shape[than] ? std::optional(true) : std::nullopt;
  };
  for (size_t i = 1; i < order.size(); ++i)
    for (size_t at = i, inner = i; inner-- > 0;) {
      const auto swaps = belongs_further_in(order[at], order[inner]);
      if (!swaps) continue;
      if (!*swaps) break;
      std::swap(order[at], order[inner]);
      at = inner;
    }
  std::vector<int64_t> dense(shape.size());
  int64_t next = 1;
  for (const size_t axis : order) {
    dense[axis] = next;
    next *= shape[axis];
  }
  return dense;
}

// The bias for a mask; a boolean mask is first converted to Q's type.
std::optional<attention::Bias> bias_of(const CallTensor& mask, const AttentionSpec& spec, const std::string& release) {
  const bool has_heads = mask.shape.size() == 4 && mask.shape[1] != 1;
  const std::array<int64_t, 4> to{spec.batch, has_heads ? spec.heads_q : 1, spec.seqlen_q, spec.seqlen_kv};
  if (!can_expand(mask, to)) return std::nullopt;
  const bool is_boolean = mask.dtype == DataType::boolean;
  std::vector<int64_t> own = mask.strides.value_or(contiguous_strides(mask.shape));
  if (is_boolean) own = dense_strides(mask.shape, own);
  const Strides strides = expanded_strides(mask, own, to);
  attention::Bias bias;
  bias.shape = has_heads ? "bhss" : "b1ss";
  if (strides != Strides{to[1] * to[2] * to[3], to[2] * to[3], to[3], 1}) bias.strides = strides;
  // Before 2.14, PyTorch does not declare the mask's type, so cuDNN reads any mask as Q's type.
  if (mask.dtype == DataType::f32 && spec.dtype != DataType::f32 && !is_before(release, "2.14.0"))
    bias.dtype = mask.dtype;
  return bias;
}

void describe_mask(Json& keys, const CallTensor& mask, DataType q_type) {
  keys["mask_dtype"] = name_of(mask.dtype.value_or(q_type));
  const size_t rank = mask.shape.size();
  keys["mask_rank"] = rank;
  if (rank == 4) {
    keys["mask_batch"] = mask.shape[0];
    keys["mask_heads"] = mask.shape[1];
  } else {
    keys["mask_batch"] = keys["mask_heads"] = nullptr;
  }
  keys["mask_rows"] = rank >= 2 ? Json(mask.shape[rank - 2]) : Json();
  keys["mask_columns"] = mask.shape[rank - 1];
  keys["mask_last_stride"] = mask.strides.value_or(contiguous_strides(mask.shape)).back();
  keys["mask_requires_grad"] = mask.requires_grad;
}

struct Backend {
  const char* word;     // as in torch.nn.attention.SDPBackend
  const char* enabled;  // torch.backends.cuda.…(), also the key in the gate
};
constexpr std::array<Backend, 4> backends{{{"CUDNN_ATTENTION", "cudnn_sdp_enabled"},
                                           {"FLASH_ATTENTION", "flash_sdp_enabled"},
                                           {"EFFICIENT_ATTENTION", "mem_efficient_sdp_enabled"},
                                           {"MATH", "math_sdp_enabled"}}};

// The enabled backends: the process's own switches, and those in a surrounding sdpa_kernel(). Without set_priority, the
// order of its list is irrelevant.
void read_backends(JsonObject& object, Json& keys) {
  std::vector<std::string> named;
  if (const auto given = object.find_set("backend")) {
    std::vector<std::string> allowed;
    allowed.reserve(backends.size());
    for (const Backend& one : backends) allowed.emplace_back(one.word);
    for (const JsonView& one : given->json().is_array() ? given->elements() : std::vector<JsonView>{*given})
      named.push_back(one.word(allowed));
    if (named.empty()) given->fail_unless_one_of(allowed);
  }
  const auto set_priority = object.find_set("set_priority");
  const bool is_order = set_priority && set_priority->boolean();
  bool only_cudnn = true;
  for (const Backend& one : backends) {
    const auto given = object.find_set(one.enabled);
    bool enabled = !given || given->boolean();
    if (!named.empty()) enabled = std::find(named.begin(), named.end(), one.word) != named.end();
    keys[one.enabled] = enabled;
    only_cudnn = only_cudnn && enabled == (&one == &backends.front());
  }
  if (only_cudnn || (is_order && !named.empty() && named.front() == backends.front().word))
    keys[rules::names_cudnn] = true;
  keys["backend_set"] = named.size() > 1 && !is_order;
}

void set_shape(AttentionSpec& spec, const TorchInput& q, const TorchInput& k, const TorchInput& v) {
  spec.batch = q.shape.batch;
  spec.heads_q = q.shape.heads;
  spec.heads_kv = k.shape.heads;
  if (v.shape.heads != k.shape.heads) spec.heads_v = v.shape.heads;
  spec.seqlen_q = q.shape.seqlen;
  spec.seqlen_kv = k.shape.seqlen;
  spec.head_dim_qk = q.shape.head_dim;
  spec.head_dim_v = v.shape.head_dim;
}

// A jagged nested tensor: tokens back to back, with a meaningless batch stride.
void set_nested(AttentionSpec& spec, const std::vector<int64_t>& lengths) {
  const auto ragged = [](int64_t heads, int64_t head_dim) {
    return TensorLayout{"thd", Strides{attention::max_extent, head_dim, heads * head_dim, 1}};
  };
  spec.q = ragged(spec.heads_q, spec.head_dim_qk);
  spec.k = ragged(spec.heads_kv, spec.head_dim_qk);
  spec.v = ragged(heads_v(spec), spec.head_dim_v);
  spec.o = ragged(spec.heads_q, spec.head_dim_v);
  spec.mask.padding = true;
  spec.mask.seqlens_q = spec.mask.seqlens_kv = lengths;
}

void set_layouts(AttentionSpec& spec, const TorchInput& q, const TorchInput& k, const TorchInput& v) {
  const auto layouts = importers::layouts_of({q.shape, q.strides}, {k.shape, k.strides}, {v.shape, v.strides});
  spec.q = layouts[0];
  spec.k = layouts[1];
  spec.v = layouts[2];
  spec.o = dense_in_order(q, {q.shape.batch, q.shape.heads, q.shape.seqlen, v.shape.head_dim});
  spec.dq = dense_like(q, spec.q);
  spec.dk = dense_like(k, spec.k);
  spec.dv = dense_like(v, spec.v);
}

}  // namespace

FrameworkCall read_torch_call(const JsonView& place, const std::string& asked_release) {
  JsonObject object(place);
  FrameworkCall call;
  if (const auto name = object.find_set("name")) call.name = name->text();
  if (const auto own = object.find_set("torch")) call.release = own->text();
  const std::string& release = asked_release.empty() ? call.release : asked_release;
  const auto given_dtype = object.find_set("dtype");
  const DataType dtype = given_dtype ? call_type_in(*given_dtype) : DataType::bf16;
  const JsonView q_place = object.take("query"), k_place = object.take("key"), v_place = object.take("value");
  const CallTensor q = tensor_in(q_place), k = tensor_in(k_place), v = tensor_in(v_place);
  if (k.shape.size() != q.shape.size() || v.shape.size() != q.shape.size())
    place.fail(fmt::format("query, key and value have {}, {} and {} dimensions; allowed: one number", q.shape.size(),
                           k.shape.size(), v.shape.size()));
  const TorchInput q_input = torch_input(q, q_place), k_input = torch_input(k, k_place),
                   v_input = torch_input(v, v_place);
  if (k_input.shape.head_dim != q_input.shape.head_dim)
    k_place.fail(fmt::format("its head dimension is {}; allowed: the query's, {}", k_input.shape.head_dim,
                             q_input.shape.head_dim));
  if (v_input.shape.seqlen != k_input.shape.seqlen)
    v_place.fail(fmt::format("its length is {}; allowed: the key's, {}", v_input.shape.seqlen, k_input.shape.seqlen));

  AttentionSpec spec;
  spec.source = fmt::format("PyTorch's scaled_dot_product_attention, {}", place.source().name);
  spec.dtype = q.dtype.value_or(dtype);
  const bool one_dtype = k.dtype.value_or(dtype) == spec.dtype && v.dtype.value_or(dtype) == spec.dtype;
  set_shape(spec, q_input, k_input, v_input);
  set_layouts(spec, q_input, k_input, v_input);
  if (const auto nested = object.find_set("nested_lengths")) {
    const auto lengths = nested->integers();
    if (static_cast<int64_t>(lengths.size()) != spec.batch)
      nested->fail(fmt::format("{} lengths for a batch of {}", lengths.size(), spec.batch));
    set_nested(spec, lengths);
    spec.dq = spec.dk = spec.dv = {};
    call.keys["nested"] = true;
  } else {
    call.keys["nested"] = false;
  }
  bool is_causal = false;
  if (const auto given = object.find_set("is_causal")) is_causal = given->boolean();
  if (is_causal) spec.mask.window_right = 0;
  if (const auto given = object.find_set("scale")) spec.scale = given->number();
  if (const auto given = object.find_set("dropout_p")) {
    const double probability = given->number();
    if (!(probability >= 0 && probability < 1)) given->fail_out_of_range("0 to below 1");
    if (probability > 0) spec.dropout = attention::Dropout{probability, {}, {}, false};
  }
  bool enable_gqa = false;
  if (const auto given = object.find_set("enable_gqa")) enable_gqa = given->boolean();
  call.keys["enable_gqa"] = enable_gqa;
  bool mask_requires_grad = false;
  if (const auto given = object.find_set("attn_mask")) {
    if (is_causal) given->fail("PyTorch accepts attn_mask or is_causal=True, not both");
    const CallTensor mask = tensor_in(*given);
    describe_mask(call.keys, mask, spec.dtype);
    mask_requires_grad = mask.requires_grad;
    spec.bias = bias_of(mask, spec, release);
    if (!spec.bias) call.notes.emplace_back("attn_mask cannot be expanded to the scores, so the graphs omit it");
  }
  const bool grads = q.requires_grad || k.requires_grad || v.requires_grad || mask_requires_grad;
  bool grad_enabled = true;
  if (const auto given = object.find_set("grad_enabled")) grad_enabled = given->boolean();
  const bool trains = grads && grad_enabled;
  call.keys["requires_grad"] = trains;
  call.keys["query_requires_grad"] = q.requires_grad && grad_enabled;
  call.keys["one_dtype"] = one_dtype;
  call.keys["one_batch"] = k_input.shape.batch == spec.batch && v_input.shape.batch == spec.batch;
  call.keys["tensor_rank"] = q.shape.size();
  call.keys["on_cuda"] = q.device.empty() || q.device.starts_with("cuda");
  if (const auto given = object.find_set("deterministic")) call.keys["deterministic_algorithms"] = given->boolean();
  read_backends(object, call.keys);
  object.finish();
  add_passes(call, spec, trains);
  check_graphs(call, place);
  return call;
}

}  // namespace attnprobe::frameworks
