#include "frameworks/calls/python_arithmetic.hpp"

#include <cmath>

#include "frameworks/calls/python_tensors.hpp"

namespace attnprobe::frameworks {
namespace {

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
  if (a.is_number_integer() && b.is_number_integer() && sign != "/") {
    const auto x = a.get<int64_t>(), y = b.get<int64_t>();
    int64_t result = 0;
    if (sign == "+" && !__builtin_add_overflow(x, y, &result)) return result;
    if (sign == "-" && !__builtin_sub_overflow(x, y, &result)) return result;
    if (sign == "*" && !__builtin_mul_overflow(x, y, &result)) return result;
    if (sign == "//" && y > 0) return x / y;
    if (sign == "%" && y > 0) return x % y;
    if (sign == "**" && y >= 0 && y < 40) {
      result = 1;
      for (int64_t i = 0; i < y; ++i)
        if (__builtin_mul_overflow(result, x, &result)) return unknown_value();
      return result;
    }
    if (sign == "<<" && x >= 0 && x < 1024 && y >= 0 && y < 40) return x << y;
    if (sign != "**") return unknown_value();
  }
  const auto x = a.get<double>(), y = b.get<double>();
  if (sign == "+") return x + y;
  if (sign == "-") return x - y;
  if (sign == "*") return x * y;
  if (sign == "/" && y != 0) return x / y;
  if (sign == "**") return std::pow(x, y);
  return unknown_value();
}

}  // namespace attnprobe::frameworks
