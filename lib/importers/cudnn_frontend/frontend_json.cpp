#include "importers/cudnn_frontend/frontend_json.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::importers {
namespace {

// cudnn-frontend's names of DataType_t (cudnn_frontend_utils.h), limited to those in operation graphs.
constexpr std::pair<std::string_view, DataType> frontend_type_names[] = {
    {"HALF", DataType::f16},          {"BFLOAT16", DataType::bf16},
    {"FLOAT", DataType::f32},         {"DOUBLE", DataType::f64},
    {"INT8", DataType::i8},           {"UINT8", DataType::u8},
    {"INT32", DataType::i32},         {"INT64", DataType::i64},
    {"BOOLEAN", DataType::boolean},   {"FP8_E4M3", DataType::fp8_e4m3},
    {"FP8_E5M2", DataType::fp8_e5m2}, {"FP8_E8M0", DataType::fp8_e8m0},
    {"FP4_E2M1", DataType::fp4_e2m1}, {"BYTE_BOOLEAN", DataType::byte_boolean},
};

// Converts through the shortest decimal: a plain conversion would produce 0.10000000149011612.
double shortest_decimal(float value) {
  char text[32];
  const auto written = std::to_chars(std::begin(text), std::end(text), value);
  double result = value;  // infinities and NaN are unchanged
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

void FrontendPlace::wrong(const std::string& allowed) const {
  fail(fmt::format("{} is not allowed; allowed: {}", shown(), allowed));
}

bool FrontendPlace::has(const std::string& key) const {
  const auto found = find(key);
  return found && !found->json().is_null();
}

FrontendPlace FrontendPlace::at(const std::string& key) const {
  if (!json().is_object()) wrong(fmt::format("an object with the key \"{}\"", key));
  if (!has(key)) fail(fmt::format("the key \"{}\" is missing or null", key));
  return JsonView::at(key);
}

FrontendPlace FrontendPlace::at(size_t index) const {
  if (!json().is_array() || index >= json().size()) wrong(fmt::format("an array of more than {}", index));
  return JsonView::at(index);
}

double FrontendPlace::number() const {
  if (json().is_number()) return json().get<double>();
  const auto value = json().is_string() ? float_of_bits(json().get<std::string>()) : std::nullopt;
  if (!value) wrong("a number, or the eight hexadecimal digits of a float's bits");
  return *value;
}

std::vector<int64_t> FrontendPlace::integers(int64_t low) const {
  constexpr size_t most = 8;  // CUDNN_DIM_MAX
  if (!json().is_array() || json().size() > most) wrong(fmt::format("an array of at most {} integers", most));
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < json().size(); ++i) numbers.push_back(at(i).integer(low));
  return numbers;
}

DataType FrontendPlace::data_type() const {
  std::vector<std::string> names;
  for (const auto& [name, type] : frontend_type_names) {
    if (json() == name) return type;
    names.emplace_back(name);
  }
  fail_unless_one_of(names);
}

std::optional<double> FrontendPlace::optional_number(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  return at(key).number();
}

std::optional<DataType> FrontendPlace::optional_data_type(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  return at(key).data_type();
}

FrontendDocument::FrontendDocument(const Json& json) : root_(json) {
  const FrontendPlace context = root_.at("context");
  context_ = {context.optional_data_type("io_data_type"), context.optional_data_type("intermediate_data_type"),
              context.optional_data_type("compute_data_type")};
  const FrontendPlace nodes = root_.at("nodes");
  if (!nodes.json().is_array()) nodes.wrong("an array of nodes");
}

std::map<std::string, std::string> FrontendDocument::ports(const FrontendPlace& node,
                                                           const std::string& direction) const {
  std::map<std::string, std::string> keys;
  if (!node.has(direction)) return keys;
  const FrontendPlace ports = node.at(direction);
  if (!ports.json().is_object()) ports.wrong("an object of tensors by port");
  for (const auto& [port, reference] : ports.json().items()) {
    if (reference.is_null()) continue;
    const FrontendPlace place = ports.at(port);
    const std::string key = reference.is_number_integer() ? std::to_string(place.integer()) : place.text();
    if (!root_.has("tensors") || !root_.at("tensors").has(key)) place.wrong("a key of /tensors");
    keys[port] = key;
  }
  return keys;
}

namespace {

// {"value": …} of a scalar, or the list of a tensor's contents in cudnn-frontend's reproducer.
void read_value(const FrontendPlace& place, FrontendTensor& t) {
  if (!place.json().is_array()) {
    t.value = place.at("value").number();
    return;
  }
  for (size_t i = 0; i < place.json().size(); ++i) t.host_values.push_back(place.at(i).number());
  if (t.by_value && t.host_values.size() == 1) t.value = t.host_values.front();
}

}  // namespace

FrontendTensor FrontendDocument::tensor(const std::string& key) const {
  const FrontendPlace json = root_.at("tensors").at(key);
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
  if (json.has("pass_by_value")) read_value(json.at("pass_by_value"), t);
  if (json.has("reordering_type")) t.reordering = json.at("reordering_type").one_of<graph::Reordering>();
  t.ragged = json.has("ragged_offset_uid") || json.has("ragged_offset_name");
  if (json.has("ragged_offset_uid")) t.ragged_uid = json.at("ragged_offset_uid").integer();
  t.ragged_multiplier = json.optional_integer("ragged_offset_multiplier", 1).value_or(1);
  t.ragged_name = json.text_or("ragged_offset_name", "");
  return t;
}

std::vector<std::string> FrontendDocument::tensor_keys() const {
  std::vector<std::string> keys;
  if (!root_.has("tensors") || !root_.at("tensors").json().is_object()) return keys;
  for (const auto& [key, value] : root_.at("tensors").json().items()) keys.push_back(key);
  return keys;
}

std::optional<DataType> FrontendDocument::type_of(const FrontendTensor& tensor) const {
  if (tensor.data_type) return tensor.data_type;
  return tensor.is_virtual ? context_.intermediate : context_.io;
}

}  // namespace attnprobe::importers
