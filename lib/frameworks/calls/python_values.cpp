#include "frameworks/calls/python_values.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
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

constexpr double beyond_whole = 9.2e18;  // no int64_t
constexpr size_t deepest_value = 16, text_of_one = 64;

uint64_t size_below(const PythonValue& value, size_t depth) {
  if (value.is_string()) return 1 + value.get_ref<const std::string&>().size() / text_of_one;
  if (!value.is_structured()) return 1;
  uint64_t size = 1 + value.size();
  if (depth == deepest_value) return largest_value + size;
  for (const auto& one : value) {
    if (size > largest_value) break;
    size += size_below(one, depth + 1);
  }
  return size;
}

using Sizes = std::vector<int64_t>;

constexpr std::string_view makers =
    "|randn|rand|empty|empty_strided|zeros|ones|full|normal|uniform|randint|truncated_normal|ShapeDtypeStruct|bernoulli|";
// Methods that return a tensor of the same shape.
constexpr std::string_view keepers =
    "|cuda|cpu|contiguous|detach|clone|requires_grad_|tril|triu|fill_|normal_|uniform_|zero_|masked_fill|masked_fill_|mul|div"
    "|add|sub|mul_|div_|add_|abs|exp|sigmoid|clamp|copy|block_until_ready|asarray|array|device_put|retain_grad|pin_memory"
    "|nan_to_num|softmax|";

bool is_one_of(std::string_view words, const std::string& name) {
  return words.find("|" + name + "|") != std::string_view::npos;
}

// The target type of a cast such as half(); "" for other methods.
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

// The argument at this position or with one of these names; null: neither.
Json argument(const PythonArguments& given, size_t at, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (given.named.contains(name)) return given.named[name];
  return given.values.size() > at ? given.values[at] : Json();
}

// The axis that an argument means; negative values count from the end.
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

PythonValue reordered(const PythonValue& tensor, const std::vector<size_t>& order) {
  PythonValue result = tensor;
  const Json strides = tensor.value("strides", Json(contiguous_strides(tensor["shape"].get<Sizes>())));
  result["strides"] = strides;
  for (size_t i = 0; i < order.size(); ++i) {
    result["shape"][i] = tensor["shape"][order[i]];
    result["strides"][i] = strides[order[i]];
  }
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
  if (order.size() != rank) return std::nullopt;
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
  PythonValue tensor = tensor_of(*shape, dtype_word(given.named.value("dtype", Json())).value_or(dtype));
  if (name == "empty_strided")
    if (const auto strides = sizes_of(argument(given, 1, {"stride"})); strides && strides->size() == shape->size())
      tensor["strides"] = *strides;
  if (const Json device = given.named.value("device", Json()); device.is_string()) tensor["device"] = device;
  if (given.named.contains("requires_grad")) tensor["requires_grad"] = given.named["requires_grad"] == Json(true);
  return tensor;
}

std::optional<PythonValue> number_function(const std::string& name, const Json& values) {
  if (name == "len" && values.size() == 1 && values[0].is_array()) return values[0].size();
  if (name == "float" && values.size() == 1 && values[0].is_string()) return values[0];
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](const Json& v) { return v.is_number(); }))
    return std::nullopt;
  const auto real = values[0].get<double>();
  if (name == "int" && std::abs(real) < beyond_whole) return static_cast<int64_t>(real);
  if (name == "float") return real;
  if (name == "sqrt") return std::sqrt(real);
  if (name == "rsqrt") return 1 / std::sqrt(real);
  if (name == "max") return *std::max_element(values.begin(), values.end());
  if (name == "min") return *std::min_element(values.begin(), values.end());
  if (name != "range") return std::nullopt;
  constexpr size_t most = 64;
  const double end = values[values.size() > 1 ? 1 : 0].get<double>(),
               step = values.size() > 2 ? values[2].get<double>() : 1;
  Json list = Json::array();
  for (double i = values.size() > 1 ? real : 0; i < end && step > 0 && std::abs(i) < beyond_whole && list.size() < most;
       i += step)
    list.push_back(static_cast<int64_t>(i));
  return list;
}

}  // namespace

uint64_t size_of_value(const PythonValue& value) {
  return size_below(value, 0);
}

PythonValue repeated_list(const PythonValue& list, int64_t count) {
  const uint64_t size = size_of_value(list);
  if (count > static_cast<int64_t>(largest_value / size)) return unknown_value();
  PythonValue repeated = Json::array();
  for (int64_t i = 0; i < count; ++i) repeated.insert(repeated.end(), list.begin(), list.end());
  return repeated;
}

PythonValue arithmetic(const std::string& sign, const PythonValue& a, const PythonValue& b) {
  if (is_tensor_value(a) || is_tensor_value(b)) return broadcast_values(a, b);
  if (a.is_array() && b.is_array() && sign == "+") {
    PythonValue joined = a;
    joined.insert(joined.end(), b.begin(), b.end());
    return joined;
  }
  if ((a.is_array() || b.is_array()) && sign == "*") {
    const PythonValue& list = a.is_array() ? a : b;
    const PythonValue& count = a.is_array() ? b : a;
    return count.is_number_integer() ? repeated_list(list, count.get<int64_t>()) : unknown_value();
  }
  if (!a.is_number() || !b.is_number()) return unknown_value();
  const bool is_whole = a.is_number_integer() && b.is_number_integer();
  const auto x = a.get<long double>(), y = b.get<long double>();  // which can represent every int64_t
  long double result = std::numeric_limits<long double>::quiet_NaN();
  if (sign == "+") result = x + y;
  if (sign == "-") result = x - y;
  if (sign == "*") result = x * y;
  if (sign == "/" && y != 0) return static_cast<double>(x / y);
  if (sign == "**" && (y >= 0 || !is_whole)) result = std::pow(x, y);
  if (sign == "//" && is_whole && y > 0) result = std::floor(x / y);
  if (sign == "%" && is_whole && y > 0) result = x - y * std::floor(x / y);
  if (sign == "<<" && is_whole && y >= 0 && y < 64) result = std::ldexp(x, static_cast<int>(y));
  if (!is_whole) return std::isnan(result) ? unknown_value() : PythonValue(static_cast<double>(result));
  return std::abs(result) < beyond_whole ? PythonValue(static_cast<int64_t>(result)) : unknown_value();
}

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
  if (name == "arange" && !values.empty() && whole(values.back()))
    return tensor_of({*whole(values.back())}, dtype_word(given.named.value("dtype", Json())).value_or("int64"));
  if (!values.empty() && is_tensor_value(values[0])) {
    if (name.ends_with("_like")) {
      PythonValue like = reshaped(values[0], values[0]["shape"].get<Sizes>());
      like.erase("requires_grad");
      if (const auto dtype = dtype_word(given.named.value("dtype", Json()))) like["dtype"] = *dtype;
      return like;
    }
    if (name == "Parameter") {
      PythonValue parameter = values[0];
      parameter["requires_grad"] = given.named.value("requires_grad", Json(true)) == Json(true);
      return parameter;
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
