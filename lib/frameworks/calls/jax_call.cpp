// jax.nn.dot_product_attention, and the graphs that XLA builds for its custom call. They are composite graphs with
// (batch, length, heads, head dimension) in memory. Bias and mask together are one bias in Q's type, with an output for
// its gradient if a bias was given. The backward graph masks padded scores after it subtracts the statistics.
#include <fmt/format.h>

#include <algorithm>

#include "frameworks/calls/call_reading.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::frameworks {
namespace {

using attention::AttentionSpec;

// Batch, length, heads, head dimension; a tensor with three dimensions has batch 1.
attention::TensorShape jax_shape(const CallTensor& tensor, const JsonView& place) {
  std::vector<int64_t> shape = tensor.shape;
  if (shape.size() != 3 && shape.size() != 4)
    place.fail(
        fmt::format("an array of {} dimensions; allowed: 4 (batch, length, heads, head dimension), or 3 without "
                    "the batch",
                    shape.size()));
  if (shape.size() == 3) shape.insert(shape.begin(), 1);
  if (tensor.strides) place.fail("a JAX array has no strides");
  return {shape[0], shape[2], shape[1], shape[3]};
}

// Bias or mask in four dimensions: batch, heads, queries, keys.
std::array<int64_t, 4> scores_shape(const CallTensor& tensor, const JsonView& place) {
  if (tensor.shape.size() > 4) place.fail("an array of more than four dimensions; allowed: up to 4");
  std::array<int64_t, 4> shape{1, 1, 1, 1};
  std::copy_backward(tensor.shape.begin(), tensor.shape.end(), shape.end());
  return shape;
}

std::array<int64_t, 4> broadcast(const std::array<int64_t, 4>& a, const std::array<int64_t, 4>& b) {
  std::array<int64_t, 4> both{};
  for (size_t i = 0; i < both.size(); ++i) both[i] = std::max(a[i], b[i]);
  return both;
}

std::optional<attention::Bias> bias_of_scores(const std::array<int64_t, 4>& shape, const AttentionSpec& spec) {
  const std::array<int64_t, 4> whole{spec.batch, spec.heads_q, spec.seqlen_q, spec.seqlen_kv};
  attention::Bias bias;
  bias.shape.clear();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (shape[i] != whole[i] && shape[i] != 1) return std::nullopt;
    bias.shape += shape[i] == whole[i] ? "bhss"[i] : '1';
  }
  return bias;
}

// true, or the lengths.
bool lengths_in(JsonObject& object, const char* key, const AttentionSpec& spec, std::vector<int64_t>& lengths) {
  const auto given = object.find_set(key);
  if (!given) return false;
  if (given->json().is_boolean()) return given->boolean();
  lengths = given->integers();
  if (static_cast<int64_t>(lengths.size()) != spec.batch)
    given->fail(fmt::format("{} lengths for a batch of {}", lengths.size(), spec.batch));
  return true;
}

// The type of the sum of the bias and the converted mask.
DataType promoted(DataType a, DataType b) {
  return a == b ? a : DataType::f32;
}

struct LocalWindow {
  int64_t left = 0, right = 0;
};

std::optional<LocalWindow> window_in(JsonObject& object) {
  const auto given = object.find_set("local_window_size");
  if (!given) return std::nullopt;
  if (!given->json().is_array()) {
    const int64_t both = given->integer(0, attention::max_extent);
    return LocalWindow{both, both};
  }
  const auto sides = given->elements();
  if (sides.size() != 2) given->fail_unless_it_is("a number, or two of them: left and right");
  return LocalWindow{sides[0].integer(0, attention::max_extent), sides[1].integer(0, attention::max_extent)};
}

}  // namespace

FrameworkCall read_jax_call(const JsonView& place, const std::string& asked_release) {
  JsonObject object(place);
  FrameworkCall call;
  if (const auto name = object.find_set("name")) call.name = name->text();
  if (const auto own = object.find_set("jax")) call.release = own->text();
  const std::string& release = asked_release.empty() ? call.release : asked_release;
  const auto given_dtype = object.find_set("dtype");
  const DataType dtype = given_dtype ? call_type_in(*given_dtype) : DataType::bf16;
  const JsonView q_place = object.take("query"), k_place = object.take("key"), v_place = object.take("value");
  const CallTensor q = tensor_in(q_place), k = tensor_in(k_place), v = tensor_in(v_place);
  const auto q_shape = jax_shape(q, q_place), k_shape = jax_shape(k, k_place), v_shape = jax_shape(v, v_place);
  // The checks of jax.nn, which apply to every implementation.
  if (k_shape.batch != q_shape.batch || k_shape.head_dim != q_shape.head_dim)
    k_place.fail(fmt::format("batch {} and head dimension {}; allowed: the query's, {} and {}", k_shape.batch,
                             k_shape.head_dim, q_shape.batch, q_shape.head_dim));
  if (v.shape != k.shape) v_place.fail("its shape differs from the key's; JAX requires the same");
  const DataType q_type = q.dtype.value_or(dtype);
  if (k.dtype.value_or(dtype) != q_type || v.dtype.value_or(dtype) != q_type)
    place.fail("query, key and value have several types; allowed: one");

  AttentionSpec spec;
  spec.source = fmt::format("JAX's dot_product_attention, {}", place.source().name);
  spec.pattern = attention::Pattern::sdpa_composite;
  spec.dtype = q_type;
  spec.batch = q_shape.batch;
  spec.heads_q = q_shape.heads;
  spec.heads_kv = k_shape.heads;
  spec.seqlen_q = q_shape.seqlen;
  spec.seqlen_kv = k_shape.seqlen;
  spec.head_dim_qk = q_shape.head_dim;
  spec.head_dim_v = v_shape.head_dim;
  bool is_causal = false;
  if (const auto given = object.find_set("is_causal")) is_causal = given->boolean();
  if (is_causal) spec.mask.window_right = 0;
  if (const auto given = object.find_set("scale")) spec.scale = given->number();
  const bool has_q_lengths = lengths_in(object, "query_seq_lengths", spec, spec.mask.seqlens_q);
  const bool has_kv_lengths = lengths_in(object, "key_value_seq_lengths", spec, spec.mask.seqlens_kv);
  spec.mask.padding = has_q_lengths || has_kv_lengths;  // jax.nn fills in the missing lengths
  if (const auto window = window_in(object)) {
    spec.mask.window_left = window->left;
    call.keys["window_length"] = window->left + 1;
    call.keys["local_window_right"] = window->right;
  }
  const bool trains_inputs = q.requires_grad || k.requires_grad || v.requires_grad;
  bool trains = trains_inputs;
  if (const auto given = object.find_set("grad")) trains = trains || given->boolean();
  call.keys["bias_requires_grad"] = false;  // a mask also becomes a bias; JAX has no rule against its gradient
  std::optional<std::array<int64_t, 4>> added;
  std::optional<DataType> added_type;
  bool has_bias = false;
  for (const char* key : {"bias", "mask"}) {
    const auto given = object.find_set(key);
    if (!given) continue;
    const CallTensor tensor = tensor_in(*given);
    const bool is_mask = std::string_view(key) == "mask";
    if (is_mask && tensor.dtype.value_or(DataType::boolean) != DataType::boolean)
      given->fail("a mask that is not bool; JAX requires bool");
    has_bias = has_bias || !is_mask;
    const auto shape = scores_shape(tensor, *given);
    if (!is_mask) {
      call.keys["bias_requires_grad"] = tensor.requires_grad;
      call.keys["bias_batch"] = shape[0];
      call.keys["bias_heads"] = shape[1];
    }
    added = added ? broadcast(*added, shape) : shape;
    const DataType type = is_mask ? q_type : tensor.dtype.value_or(q_type);
    added_type = added_type ? promoted(*added_type, type) : type;
    trains = trains || tensor.requires_grad;
  }
  if (added) {
    call.keys["mask_rows"] = (*added)[2];
    call.keys["mask_columns"] = (*added)[3];
    call.keys["mask_dtype"] = name_of(*added_type);
    spec.bias = bias_of_scores(*added, spec);
    // Before JAX 0.8.1, XLA did not declare the bias's type, so cuDNN reads any bias as Q's type.
    if (spec.bias && *added_type != q_type && !is_before(release, "0.8.1")) spec.bias->dtype = added_type;
    if (!spec.bias) call.notes.emplace_back("bias and mask do not broadcast to the scores, so the graphs omit them");
  }
  call.keys["requires_grad"] = trains;
  if (const auto given = object.find_set("implementation"))
    if (given->word({"cudnn", "xla"}) == "cudnn") call.keys[rules::names_cudnn] = true;
  object.finish();
  add_passes(call, spec, trains);
  if (trains) {
    AttentionSpec& backward = call.graphs.back();
    backward.mask.padding_after_stats = spec.mask.padding;
    // Callers cannot use the gradient of a boolean mask, but JAX before 0.11.1 computes it.
    if (backward.bias) {
      backward.bias->grad = has_bias || is_before(release, "0.11.1");
      // XLA declares the type of the bias, but not of dBias. cuDNN refuses an f32 dBias, but accepts JAX's call (H100,
      // JAX 0.11.2).
      if (backward.bias->grad && backward.bias->dtype) backward.bias->grad_dtype = backward.dtype;
    }
  }
  check_graphs(call, place);
  return call;
}

}  // namespace attnprobe::frameworks
