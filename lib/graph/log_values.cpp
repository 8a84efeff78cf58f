#include "attnprobe/graph/log_values.hpp"

#include <array>

namespace attnprobe::graph {
namespace {

// cudnnDataType_t's names, without CUDNN_DATA_, by DataType.
constexpr std::array<std::pair<DataType, std::string_view>, 13> cudnn_data_types{{
    {DataType::f16, "HALF"},
    {DataType::bf16, "BFLOAT16"},
    {DataType::f32, "FLOAT"},
    {DataType::f64, "DOUBLE"},
    {DataType::i8, "INT8"},
    {DataType::u8, "UINT8"},
    {DataType::i32, "INT32"},
    {DataType::i64, "INT64"},
    {DataType::boolean, "BOOLEAN"},
    {DataType::fp8_e4m3, "FP8_E4M3"},
    {DataType::fp8_e5m2, "FP8_E5M2"},
    {DataType::fp8_e8m0, "FP8_E8M0"},
    {DataType::fp4_e2m1, "FP4_E2M1"},
}};

}  // namespace

void fail_logged(const LogNode& node, const std::string& allowed) {
  throw Error(ErrorKind::usage, fmt::format("cuDNN log: line {} of the message: {} is \"{}\"; expected {}",
                                            node.line, node.key, node.value, allowed));
}

DataType logged_type(const LogNode& node) {
  const std::string word = node.value.substr(0, node.value.find(' '));
  std::vector<std::string> names;
  for (const auto& [type, name] : cudnn_data_types) {
    names.push_back("CUDNN_DATA_" + std::string(name));
    if (word == names.back()) return type;
  }
  fail_logged(node, "one of " + quoted_list(names));
}

int64_t logged_integer(const LogNode& node) {
  if (const auto value = logged_number<int64_t>(node.value)) return *value;
  fail_logged(node, "an integer");
}

bool logged_bool(const LogNode& node) {
  if (node.value == "true") return true;
  if (node.value != "false") fail_logged(node, "true or false");
  return false;
}

std::vector<int64_t> logged_integers(const LogNode& node) {
  const std::string_view text = node.value;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') fail_logged(node, "a list as [1,2]");
  std::vector<int64_t> values;
  if (text.size() == 2) return values;
  for (const std::string& part : split(text.substr(1, text.size() - 2), ',')) {
    const auto value = logged_number<int64_t>(trim(part));
    if (!value) fail_logged(node, "a list of integers");
    values.push_back(*value);
  }
  return values;
}

}  // namespace attnprobe::graph
