#include "frameworks/calls/python_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "base/data_type.hpp"
#include "base/enum_words.hpp"
#include "base/number.hpp"
#include "frameworks/calls/call_reading.hpp"

namespace attnprobe::frameworks {
namespace {

using Sizes = std::vector<int64_t>;

constexpr std::string_view makers =
    " randn rand empty zeros ones full normal uniform randint truncated_normal ShapeDtypeStruct bernoulli ";
// Methods that return a tensor of the same shape.
constexpr std::string_view keepers =
    " cuda cpu contiguous detach clone requires_grad_ tril triu fill_ normal_ uniform_ zero_ masked_fill masked_fill_ mul "
    "div add sub mul_ div_ add_ abs exp sigmoid clamp copy block_until_ready asarray array device_put retain_grad "
    "pin_memory nan_to_num softmax ";

bool is_one_of(std::string_view words, const std::string& name) {
  return words.find(" " + name + " ") != std::string_view::npos;
}

// The type that a method such as half() casts to; "": another method.
std::string cast_of(const std::string& name) {
  if (name == "half") return "float16";
  if (name == "float") return "float32";
  if (name == "double") return "float64";
  if (name == "logical_not") return "bool";
  return name == "bfloat16" || name == "bool" ? name : "";
}

std::optional<int64_t> whole(const Json& value) {
  return value.is_number_integer() ? std::optional(value.get<int64_t>()) : std::nullopt;
}

std::optional<Sizes> sizes_of(const Json& list) {
  const auto is_whole = [](const Json& one) { return one.is_number_integer(); };
  if (!list.is_array() || list.empty() || !std::all_of(list.begin(), list.end(), is_whole)) return std::nullopt;
  return list.get<Sizes>();
}

// (2, 8), or 2, 8.
std::optional<Sizes> sizes_among(const Json& values) {
  return sizes_of(!values.empty() && values[0].is_array() ? values[0] : values);
}

std::optional<std::string> dtype_word(const Json& value) {
  std::string word;
  if (value.is_string()) word = value.get<std::string>();
  if (value.contains("path")) word = value["path"].get<std::string>();
  word.erase(0, word.rfind('.') + 1);
  if (word == "bool_") return "bool";
  if (const std::string type = cast_of(word); !type.empty()) return type;
  return parse_word<DataType>(word) ? std::optional(word) : std::nullopt;
}

// The argument at this place, or with one of these names; null: neither.
Json argument(const PythonArguments& given, size_t at, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (given.named.contains(name)) return given.named[name];
  return given.values.size() > at ? given.values[at] : Json();
}

// The axis that an argument counts, from the end if negative.
std::optional<size_t> axis_in(const Json& axis, size_t rank) {
  if (!axis.is_number_integer()) return std::nullopt;
  const auto at = axis.get<int64_t>(), size = static_cast<int64_t>(rank);
  return at < -size || at >= size ? std::nullopt : std::optional(static_cast<size_t>(at < 0 ? at + size : at));
}

PythonValue tensor_of(const Sizes& shape, const std::string& dtype) {
  PythonValue tensor{{"shape", shape}};
  if (!dtype.empty()) tensor["dtype"] = dtype;
  return tensor;
}

PythonValue reshaped(const PythonValue& tensor, const Sizes& shape) {
  PythonValue result = tensor;
  result["shape"] = shape;
  result.erase("strides");
  return result;
}

std::optional<PythonValue> reordered(const PythonValue& tensor, const std::vector<size_t>& order) {
  const auto shape = tensor["shape"].get<Sizes>();
  const Sizes strides = tensor.contains("strides") ? tensor["strides"].get<Sizes>() : contiguous_strides(shape);
  if (order.size() != shape.size()) return std::nullopt;
  Sizes new_shape, new_strides;
  for (const size_t axis : order) {
    if (axis >= shape.size()) return std::nullopt;
    new_shape.push_back(shape[axis]);
    new_strides.push_back(strides[axis]);
  }
  PythonValue result = tensor;
  result["shape"] = new_shape;
  result["strides"] = new_strides;
  return result;
}

// transpose(1, 2), and JAX's transpose(0, 2, 1, 3) and transpose((0, 2, 1, 3))
std::optional<PythonValue> transposed(const PythonValue& tensor, const PythonArguments& given, bool swaps) {
  const size_t rank = tensor["shape"].size();
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  if (swaps) {
    const auto a = axis_in(argument(given, 0, {"dim0"}), rank), b = axis_in(argument(given, 1, {"dim1"}), rank);
    if (!a || !b) return std::nullopt;
    std::swap(order[*a], order[*b]);
    return reordered(tensor, order);
  }
  const Json axes = argument(given, 0, {"dims", "axes"});
  order.clear();
  for (const Json& one : axes.is_array() ? axes : given.values) {
    const auto axis = axis_in(one, rank);
    if (!axis) return std::nullopt;
    order.push_back(*axis);
  }
  return reordered(tensor, order);
}

std::optional<PythonValue> viewed(const PythonValue& tensor, const Json& values) {
  auto shape = sizes_among(values);
  if (!shape) return std::nullopt;
  const auto old = tensor["shape"].get<Sizes>();
  const auto product = [](const Sizes& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, saturated_product);
  };
  const auto open = std::find(shape->begin(), shape->end(), -1);
  if (open != shape->end()) {
    const int64_t rest = -product(*shape);
    if (rest <= 0 || product(old) % rest != 0) return std::nullopt;
    *open = product(old) / rest;
  }
  return product(*shape) == product(old) ? std::optional(reshaped(tensor, *shape)) : std::nullopt;
}

// Parts along an axis: chunk(3, dim=-1), split(size, dim), unbind(dim).
std::optional<PythonValue> parts(const PythonValue& tensor, const std::string& name, const PythonArguments& given) {
  constexpr int64_t most_parts = 64;
  auto shape = tensor["shape"].get<Sizes>();
  const bool unbinds = name == "unbind";
  const Json dim = argument(given, unbinds ? 0 : 1, {"dim", "axis"});
  const auto axis = axis_in(dim.is_null() ? Json(0) : dim, shape.size());
  if (!axis) return std::nullopt;
  const int64_t extent = shape[*axis];
  int64_t count = extent;
  if (unbinds) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  } else {
    const int64_t asked = whole(argument(given, 0, {"chunks", "split_size", "split_size_or_sections"})).value_or(0);
    if (asked <= 0 || extent <= 0) return std::nullopt;
    count = name == "chunk" ? asked : (extent - 1) / asked + 1;
    if (extent % count != 0) return std::nullopt;
    shape[*axis] = extent / count;
  }
  if (count > most_parts || shape.empty()) return std::nullopt;
  return Json(static_cast<size_t>(count), reshaped(tensor, shape));
}

std::optional<PythonValue> make(const std::string& name, const PythonArguments& given, const std::string& otherwise) {
  std::string dtype = name == "randint" ? "int64" : otherwise;
  std::optional<Sizes> shape;
  Json loose = Json::array();
  for (const Json& value : given.values) {
    if (value.is_array() && !shape)
      shape = sizes_of(value);
    else if (value.is_number_integer() && name != "full" && name != "randint")
      loose.push_back(value);
    else if (const auto word = dtype_word(value))
      dtype = *word;
  }
  for (const char* key : {"size", "shape"})
    if (given.named.contains(key)) shape = sizes_of(given.named[key]);
  const auto is_size_or_type = [](const Json& value) { return whole(value) || dtype_word(value); };
  if (!shape && std::all_of(given.values.begin(), given.values.end(), is_size_or_type)) shape = sizes_of(loose);
  if (!shape) return std::nullopt;
  if (given.named.contains("dtype")) dtype = dtype_word(given.named["dtype"]).value_or(dtype);
  PythonValue tensor = tensor_of(*shape, dtype);
  if (given.named.contains("device") && given.named["device"].is_string()) tensor["device"] = given.named["device"];
  if (given.named.contains("requires_grad")) tensor["requires_grad"] = given.named["requires_grad"] == Json(true);
  return tensor;
}

std::optional<PythonValue> number_function(const std::string& name, const Json& values) {
  if (name == "len" && values.size() == 1 && values[0].is_array()) return values[0].size();
  if (name == "float" && values.size() == 1) {
    if (values[0].is_number()) return values[0].get<double>();
    return values[0].is_string() ? std::optional<PythonValue>(values[0]) : std::nullopt;
  }
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](const Json& v) { return v.is_number(); }))
    return std::nullopt;
  if (name == "int") {
    constexpr double beyond = 9.2e18;
    const auto real = values[0].get<double>();
    return std::abs(real) < beyond ? std::optional<PythonValue>(static_cast<int64_t>(real)) : std::nullopt;
  }
  if (name == "sqrt") return std::sqrt(values[0].get<double>());
  if (name == "rsqrt") return 1 / std::sqrt(values[0].get<double>());
  if (name == "max") return *std::max_element(values.begin(), values.end());
  if (name == "min") return *std::min_element(values.begin(), values.end());
  if (name != "range") return std::nullopt;
  constexpr int64_t most = 64;
  const int64_t begin = values.size() > 1 ? whole(values[0]).value_or(0) : 0;
  const int64_t end = whole(values[values.size() > 1 ? 1 : 0]).value_or(0);
  const int64_t step = values.size() > 2 ? whole(values[2]).value_or(1) : 1;
  Json list = Json::array();
  if (step <= 0) return std::nullopt;
  for (int64_t i = begin; i < end && static_cast<int64_t>(list.size()) < most;) {
    list.push_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return list;
}

}  // namespace

PythonValue unknown_value() {
  return {{"unknown", true}};
}

bool is_known(const PythonValue& value) {
  return !value.is_object() || (!value.contains("unknown") && !value.contains("path"));
}

bool is_tensor_value(const PythonValue& value) {
  return value.is_object() && value.contains("shape");
}

std::optional<PythonValue> call_function(const std::string& name, const PythonArguments& given,
                                         const std::string& default_dtype) {
  const Json& values = given.values;
  if (is_one_of(makers, name)) return make(name, given, default_dtype);
  if (name == "arange" && !values.empty() && whole(values.back())) return tensor_of({*whole(values.back())}, "int64");
  if (!values.empty() && is_tensor_value(values[0])) {
    if (name.ends_with("_like")) {
      PythonValue like = reshaped(values[0], values[0]["shape"].get<Sizes>());
      like.erase("requires_grad");
      if (given.named.contains("dtype"))
        if (const auto dtype = dtype_word(given.named["dtype"])) like["dtype"] = *dtype;
      return like;
    }
    PythonArguments rest = given;
    rest.values.erase(rest.values.begin());
    return call_method(values[0], name, rest);
  }
  return number_function(name, values);
}

std::optional<PythonValue> call_method(const PythonValue& tensor, const std::string& name,
                                       const PythonArguments& given) {
  auto shape = tensor["shape"].get<Sizes>();
  const Json& values = given.values;
  PythonValue result = tensor;
  if (const std::string type = cast_of(name); !type.empty()) {
    result["dtype"] = type;
    return result;
  }
  if (is_one_of(keepers, name)) {
    if (name == "requires_grad_") result["requires_grad"] = values.empty() || values[0] == Json(true);
    if (name == "contiguous") result.erase("strides");
    if (name == "detach") result.erase("requires_grad");
    return result;
  }
  if (name == "to" || name == "astype" || name == "type" || name == "view_as") {
    for (const Json& value : values)
      if (const auto dtype = dtype_word(value)) result["dtype"] = *dtype;
    if (const auto dtype = dtype_word(given.named.value("dtype", Json()))) result["dtype"] = *dtype;
    return result;
  }
  if (name == "transpose" || name == "swapaxes")
    return transposed(tensor, given, values.size() != 1 && (values.size() != shape.size() || shape.size() == 2));
  if (name == "permute") return transposed(tensor, given, false);
  if (name == "view" || name == "reshape") return viewed(tensor, values);
  if (name == "chunk" || name == "split" || name == "unbind") return parts(tensor, name, given);
  const Json dim = argument(given, name == "repeat_interleave" ? 1 : 0, {"dim", "axis"});
  if (name == "size") {
    if (dim.is_null()) return shape;
    const auto axis = axis_in(dim, shape.size());
    return axis ? std::optional<PythonValue>(shape[*axis]) : std::nullopt;
  }
  if (name == "unsqueeze" || name == "expand_dims") {
    const auto axis = axis_in(dim, shape.size() + 1);
    if (!axis) return std::nullopt;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
    return reshaped(tensor, shape);
  }
  if (name == "repeat_interleave") {
    const auto axis = axis_in(dim, shape.size());
    const auto times = whole(argument(given, 0, {"repeats"}));
    if (!axis || !times) return std::nullopt;
    shape[*axis] = saturated_product(shape[*axis], *times);
    return reshaped(tensor, shape);
  }
  if (name != "expand" && name != "broadcast_to" && name != "repeat") return std::nullopt;
  auto to = sizes_among(values);
  if (!to || to->size() < shape.size()) return std::nullopt;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t& size = (*to)[to->size() - shape.size() + i];
    if (name == "repeat")
      size = saturated_product(size, shape[i]);
    else if (size == -1)
      size = shape[i];
  }
  return reshaped(tensor, *to);
}

PythonValue subscript_tensor(const PythonValue& tensor, const Json& indices) {
  const auto shape = tensor["shape"].get<Sizes>();
  Sizes left;
  size_t axis = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Json& index = indices[i];
    if (index.is_null()) {
      left.push_back(1);
      continue;
    }
    if (index == Json("...")) {
      const size_t after = indices.size() - 1 - i;
      while (axis + after < shape.size()) left.push_back(shape[axis++]);
      continue;
    }
    if (axis >= shape.size() || !(index == Json(":") || index.is_number_integer())) return unknown_value();
    if (index == Json(":")) left.push_back(shape[axis]);
    ++axis;
  }
  left.insert(left.end(), shape.begin() + static_cast<std::ptrdiff_t>(std::min(axis, shape.size())), shape.end());
  return left.empty() ? unknown_value() : reshaped(tensor, left);
}

PythonValue parts_of(const PythonValue& tensor) {
  return parts(tensor, "unbind", {}).value_or(unknown_value());
}

PythonValue broadcast_values(const PythonValue& a, const PythonValue& b) {
  if (!is_tensor_value(a)) return b;
  if (!is_tensor_value(b)) return a;
  auto longer = a["shape"].get<Sizes>(), shorter = b["shape"].get<Sizes>();
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = longer[longer.size() - shorter.size() + i];
    size = std::max(size, shorter[i]);
  }
  return longer == a["shape"].get<Sizes>() ? a : reshaped(a, longer);
}

}  // namespace attnprobe::frameworks
