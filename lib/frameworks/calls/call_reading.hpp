// Shared by the readers of calls. Internal to lib/frameworks/calls.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/data_type.hpp"
#include "base/json_reader.hpp"
#include "frameworks/calls/framework_calls.hpp"

namespace attnprobe::frameworks {

/// Reads one call; an unnamed call gets the name "". Precondition: the call, or each of its inputs, has a "dtype".
/// `asked_release`: the release for the graphs; "": the call's own, otherwise the newest.
FrameworkCall read_torch_call(const JsonView& place, const std::string& asked_release);
FrameworkCall read_jax_call(const JsonView& place, const std::string& asked_release);

/// Whether one release ("2.11.0+cu130"; "" is the newest) is older than another.
bool is_before(const std::string& release, const std::string& other);

/// A tensor of a call.
struct CallTensor {
  std::vector<int64_t> shape;
  std::optional<std::vector<int64_t>> strides;  ///< in elements; none: contiguous
  std::optional<DataType> dtype;                ///< its own type, if given
  bool requires_grad = false;
  std::string device;  ///< "cuda:0"; "" if not given
};

/// {"shape": […], "strides": […], "dtype": "bfloat16", "requires_grad": true, "device": "cuda:0"}, or only the shape.
CallTensor tensor_in(const JsonView& place);

/// The strides of a contiguous tensor.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);

/// A name such as torch.bfloat16, float16, bool.
DataType call_type_in(const JsonView& place);

/// Throws if a graph of the call contradicts itself.
void check_graphs(const FrameworkCall& call, const JsonView& place);

/// Adds the forward graph and, if `trains`, a backward graph, which the caller may still change.
void add_passes(FrameworkCall& call, const attention::AttentionSpec& forward, bool trains);

}  // namespace attnprobe::frameworks
