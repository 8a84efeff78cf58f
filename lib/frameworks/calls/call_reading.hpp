// What the readers of calls share. Internal to lib/frameworks/calls.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/data_type.hpp"
#include "base/json_reader.hpp"
#include "frameworks/calls/framework_calls.hpp"

namespace attnprobe::frameworks {

/// One call; its name is "" where it has none of its own. Precondition: the call has a "dtype", or each of its inputs.
/// `asked_release`: whose graphs are built; "": the call's own, else the newest.
FrameworkCall read_torch_call(const JsonView& place, const std::string& asked_release);
FrameworkCall read_jax_call(const JsonView& place, const std::string& asked_release);

/// Whether a release ("2.11.0+cu130"; "" is the newest) is before another.
bool is_before(const std::string& release, const std::string& other);

/// A tensor of a call.
struct CallTensor {
  std::vector<int64_t> shape;
  std::optional<std::vector<int64_t>> strides;  ///< in elements; none: contiguous
  std::optional<DataType> dtype;                ///< its own
  bool requires_grad = false;
  std::string device;  ///< "cuda:0"; "" where it was not said
};

/// {"shape": […], "strides": […], "dtype": "bfloat16", "requires_grad": true, "device": "cuda:0"}, or the shape alone.
CallTensor tensor_in(const JsonView& place);

/// Strides of a contiguous tensor.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);

/// A name such as torch.bfloat16, float16, bool.
DataType call_type_in(const JsonView& place);

/// Throws where a graph that was built of the call contradicts itself.
void check_graphs(const FrameworkCall& call, const JsonView& place);

/// Forward, and backward where `trains`. The backward graph may still differ.
void add_passes(FrameworkCall& call, const attention::AttentionSpec& forward, bool trains);

}  // namespace attnprobe::frameworks
