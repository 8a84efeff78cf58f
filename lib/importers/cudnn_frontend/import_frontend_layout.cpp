#include "importers/cudnn_frontend/import_frontend_layout.hpp"

namespace attnprobe::importers {
namespace {

using attention::TensorLayout;

bool same_shape(const StridedTensor& a, const StridedTensor& b) {
  return a.shape.batch == b.shape.batch && a.shape.heads == b.shape.heads && a.shape.seqlen == b.shape.seqlen &&
         a.shape.head_dim == b.shape.head_dim;
}

// Axes with `digit` tensors interleaved (0: none), most common first.
std::vector<std::string> axes_names(bool ragged, char digit) {
  std::vector<std::string> names;
  const std::vector<std::string> orders =
      ragged ? std::vector<std::string>{"thd"}
             : std::vector<std::string>{"bshd", "bhsd", "sbhd", "shbd", "hbsd", "hsbd"};
  for (const auto& order : orders) {
    if (digit == 0) names.push_back(order);
    // A digit before all axes changes no stride; after all axes it is the last axis.
    for (size_t place = order.size() - 1; digit != 0 && place-- > 1;)
      names.push_back(order.substr(0, place) + digit + order.substr(place));
    if (digit != 0) names.push_back(order.substr(0, order.size() - 1) + digit + "d");
  }
  return names;
}

// The first name that matches all of `tensors`.
template <size_t N>
std::optional<std::string> common_name(const std::array<StridedTensor, N>& tensors, char digit) {
  for (const StridedTensor& t : tensors)
    if (t.ragged != tensors[0].ragged || (digit != 0 && !same_shape(t, tensors[0]))) return std::nullopt;
  for (const auto& name : axes_names(tensors[0].ragged, digit)) {
    bool all = true;
    for (const StridedTensor& t : tensors) all = all && attention::strides_of(name, t.shape) == t.strides;
    if (all) return name;
  }
  return std::nullopt;
}

}  // namespace

TensorLayout layout_of(const StridedTensor& tensor) {
  if (const auto name = common_name(std::array{tensor}, 0)) return {*name, {}};
  return {tensor.ragged ? "thd" : "", tensor.strides};
}

std::array<TensorLayout, 3> layouts_of(const StridedTensor& q, const StridedTensor& k, const StridedTensor& v) {
  std::array<TensorLayout, 3> single{layout_of(q), layout_of(k), layout_of(v)};
  if (!single[0].strides && !single[1].strides && !single[2].strides) {
    // One name for all three, if extents of 1 allow several.
    if (const auto name = common_name(std::array{q, k, v}, 0)) single.fill({*name, {}});
    return single;
  }
  if (const auto name = common_name(std::array{q, k, v}, '3')) {
    single.fill({*name, {}});
  } else if (!single[0].strides) {
    if (const auto both = common_name(std::array{k, v}, '2')) single[1] = single[2] = {*both, {}};
  }
  return single;
}

bool has_layout(const StridedTensor& tensor, const TensorLayout& layout) {
  if (tensor.ragged != layout.ragged()) return false;
  return layout.strides ? *layout.strides == tensor.strides
                        : attention::strides_of(layout.axes, tensor.shape) == tensor.strides;
}

}  // namespace attnprobe::importers
