#include "importers/cudnn_frontend/frontend_json.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::importers {
namespace {

// DataType_t's names in cudnn-frontend (cudnn_frontend_utils.h), as far as operation graphs have them.
constexpr std::pair<std::string_view, DataType> frontend_type_names[] = {
    {"HALF", DataType::f16},          {"BFLOAT16", DataType::bf16},     {"FLOAT", DataType::f32},
    {"DOUBLE", DataType::f64},        {"INT8", DataType::i8},           {"UINT8", DataType::u8},
    {"INT32", DataType::i32},         {"INT64", DataType::i64},         {"BOOLEAN", DataType::boolean},
    {"FP8_E4M3", DataType::fp8_e4m3}, {"FP8_E5M2", DataType::fp8_e5m2}, {"FP8_E8M0", DataType::fp8_e8m0},
    {"FP4_E2M1", DataType::fp4_e2m1},
};

// Through the shortest decimal: a float widened as it is would read 0.10000000149011612.
double shortest_decimal(float value) {
  char text[32];
  const auto written = std::to_chars(std::begin(text), std::end(text), value);
  double result = value;  // infinities and NaN stay as they are
  std::from_chars(std::begin(text), written.ptr, result);
  return result;
}

std::optional<double> float_of_bits(const std::string& text) {
  uint32_t bits = 0;
  const char* end = text.data() + text.size();
  if (text.size() != 8) return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), end, bits, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return shortest_decimal(std::bit_cast<float>(bits));
}

}  // namespace

void JsonPlace::wrong(const std::string& allowed) const {
  std::string value = json_text(*value_);
  constexpr size_t most = 80;
  if (value.size() > most) value = value.substr(0, most) + "…";
  throw Error(ErrorKind::usage, fmt::format("cudnn-frontend's JSON: {}: {} is not allowed; allowed: {}",
                                            pointer_.empty() ? "/" : pointer_, value, allowed));
}

void JsonPlace::wrong_word(const std::vector<std::string>& allowed) const {
  wrong(quoted_list(allowed));
}

bool JsonPlace::has(const std::string& key) const {
  return value_->is_object() && value_->contains(key) && !(*value_)[key].is_null();
}

JsonPlace JsonPlace::at(const std::string& key) const {
  if (!value_->is_object()) wrong(fmt::format("an object with the key \"{}\"", key));
  if (!has(key))
    throw Error(ErrorKind::usage, fmt::format("cudnn-frontend's JSON: {}: the key \"{}\" is missing or null",
                                              pointer_.empty() ? "/" : pointer_, key));
  return {(*value_)[key], pointer_ + "/" + pointer_part(key)};
}

JsonPlace JsonPlace::at(size_t index) const {
  if (!value_->is_array() || index >= value_->size()) wrong(fmt::format("an array of more than {}", index));
  return {(*value_)[index], fmt::format("{}/{}", pointer_, index)};
}

bool JsonPlace::boolean() const {
  if (!value_->is_boolean()) wrong("true, false");
  return value_->get<bool>();
}

int64_t JsonPlace::integer(int64_t low, int64_t high) const {
  auto fail = [&] { wrong(fmt::format("an integer from {} to {}", low, high)); };
  if (!value_->is_number_integer()) fail();
  if (value_->is_number_unsigned() &&
      value_->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    fail();
  const auto number = value_->get<int64_t>();
  if (number < low || number > high) fail();
  return number;
}

std::string JsonPlace::text() const {
  if (!value_->is_string()) wrong("text");
  return value_->get<std::string>();
}

double JsonPlace::number() const {
  if (value_->is_number()) return value_->get<double>();
  const auto value = value_->is_string() ? float_of_bits(value_->get<std::string>()) : std::nullopt;
  if (!value) wrong("a number, or the eight hexadecimal digits of a float's bits");
  return *value;
}

std::vector<int64_t> JsonPlace::integers(int64_t low) const {
  constexpr size_t most = 8;  // CUDNN_DIM_MAX
  if (!value_->is_array() || value_->size() > most) wrong(fmt::format("an array of at most {} integers", most));
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < value_->size(); ++i) numbers.push_back(at(i).integer(low));
  return numbers;
}

DataType JsonPlace::data_type() const {
  std::vector<std::string> names;
  for (const auto& [name, type] : frontend_type_names) {
    if (*value_ == name) return type;
    names.emplace_back(name);
  }
  wrong_word(names);
}

bool JsonPlace::boolean_or(const std::string& key, bool otherwise) const {
  return has(key) ? at(key).boolean() : otherwise;
}

std::optional<int64_t> JsonPlace::optional_integer(const std::string& key, int64_t low, int64_t high) const {
  if (!has(key)) return std::nullopt;
  return at(key).integer(low, high);
}

std::optional<double> JsonPlace::optional_number(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  return at(key).number();
}

std::optional<DataType> JsonPlace::optional_data_type(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  return at(key).data_type();
}

std::string JsonPlace::text_or(const std::string& key, const std::string& otherwise) const {
  return has(key) ? at(key).text() : otherwise;
}

FrontendDocument::FrontendDocument(const Json& json) : root_(json, "") {
  const JsonPlace context = root_.at("context");
  context_ = {context.optional_data_type("io_data_type"), context.optional_data_type("intermediate_data_type"),
              context.optional_data_type("compute_data_type")};
  const JsonPlace nodes = root_.at("nodes");
  if (!nodes.value().is_array()) nodes.wrong("an array of nodes");
}

std::map<std::string, std::string> FrontendDocument::ports(const JsonPlace& node, const std::string& direction) const {
  std::map<std::string, std::string> keys;
  if (!node.has(direction)) return keys;
  const JsonPlace ports = node.at(direction);
  if (!ports.value().is_object()) ports.wrong("an object of tensors by port");
  for (const auto& [port, reference] : ports.value().items()) {
    if (reference.is_null()) continue;
    const JsonPlace place = ports.at(port);
    const std::string key = reference.is_number_integer() ? std::to_string(place.integer()) : place.text();
    if (!root_.has("tensors") || !root_.at("tensors").has(key)) place.wrong("a key of /tensors");
    keys[port] = key;
  }
  return keys;
}

FrontendTensor FrontendDocument::tensor(const std::string& key) const {
  const JsonPlace json = root_.at("tensors").at(key);
  FrontendTensor t;
  t.key = key;
  t.pointer = json.pointer();
  t.name = json.text_or("name", "");
  if (json.boolean_or("uid_assigned", false)) t.uid = json.at("uid").integer();
  t.data_type = json.optional_data_type("data_type");
  if (json.has("dim")) t.dims = json.at("dim").integers(1);
  if (json.has("stride")) t.strides = json.at("stride").integers(0);
  if (!t.strides.empty() && !t.dims.empty() && t.strides.size() != t.dims.size())
    json.at("stride").wrong(fmt::format("{} integers, one for each of \"dim\"", t.dims.size()));
  t.is_virtual = json.boolean_or("is_virtual", false);
  t.by_value = json.boolean_or("is_pass_by_value", false);
  if (json.has("pass_by_value")) t.value = json.at("pass_by_value").at("value").number();
  if (json.has("reordering_type")) t.reordering = json.at("reordering_type").one_of<graph::Reordering>();
  t.ragged = json.has("ragged_offset_uid") || json.has("ragged_offset_name");
  if (json.has("ragged_offset_uid")) t.ragged_uid = json.at("ragged_offset_uid").integer();
  t.ragged_name = json.text_or("ragged_offset_name", "");
  return t;
}

std::vector<std::string> FrontendDocument::tensor_keys() const {
  std::vector<std::string> keys;
  if (!root_.has("tensors") || !root_.at("tensors").value().is_object()) return keys;
  for (const auto& [key, value] : root_.at("tensors").value().items()) keys.push_back(key);
  return keys;
}

std::optional<DataType> FrontendDocument::type_of(const FrontendTensor& tensor) const {
  if (tensor.data_type) return tensor.data_type;
  return tensor.is_virtual ? context_.intermediate : context_.io;
}

}  // namespace attnprobe::importers
