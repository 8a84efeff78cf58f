#include "importers/cudnn_frontend/import_frontend.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "importers/cudnn_frontend/import_frontend_parts.hpp"

namespace attnprobe::importers {
namespace {

CudnnVersion backend_version_of(const FrontendPlace& place) {
  const auto version = CudnnVersion::parse(place.text());
  if (!version || version->text() != place.text()) place.wrong("\"MAJOR.MINOR.PATCH\"");
  return *version;
}

// Adds notes about settings that do not change the question to cuDNN, but affected the original program.
void note_frontend_context(const FrontendPlace& context, FrontendGraph& result) {
  if (const auto count = context.optional_integer("sm_count", -1, 1 << 20); count.value_or(-1) > 0)
    result.notes.push_back(fmt::format("the graph uses only {} multiprocessors; attnprobe's graph uses all", *count));
}

// From 1.27 ("json_version": "2.0"), tensors are an array and ports name them by uid. Restores the earlier form, an
// object by key.
Json with_tensors_by_key(const Json& json) {
  if (!json.contains("tensors") || !json["tensors"].is_array()) return json;
  Json by_key = Json::object();
  const JsonView tensors = FrontendPlace(json).JsonView::at("tensors");
  for (const JsonView& place : tensors.elements()) {
    Json tensor = place.json();
    const int64_t uid = place.at("uid").integer();
    tensor["uid_assigned"] = true;
    by_key[std::to_string(uid)] = std::move(tensor);
  }
  Json result = json;
  result["tensors"] = std::move(by_key);
  return result;
}

std::optional<Json> plan_in_serialization(const FrontendPlace& root) {
  if (!root.has("cudnn_backend_data")) return std::nullopt;
  const FrontendPlace place = root.at("cudnn_backend_data");
  const bool as_text = place.json().is_string();
  Json plan = as_text ? parse_json(place.text(), {place.where(), ": ", false}, {.comments = false}) : place.json();
  if (!plan.is_object()) place.wrong("a plan of cuDNN as JSON");
  return std::optional<Json>(std::in_place, std::move(plan));  // braces and plain copies would create an array
}

// graph.serialize() writes scalars under their uids; logs have them in the tensors or omit them.
void note_frontend_scalars(const FrontendPlace& root, FrontendGraph& result) {
  if (!root.has("pass_by_values") || !result.graph) return;
  const FrontendPlace values = root.at("pass_by_values");
  if (!values.json().is_object()) values.wrong("an object of values by uid");
  for (const auto& [uid, value] : values.json().items())
    for (graph::Tensor& t : result.graph->tensors)
      if (t.by_value && uid == std::to_string(t.uid)) t.value = values.at(uid).at("value").number();
}

// Damaged bytes may claim any nesting and size; real graphs have little of both.
class UbjsonGuard : public nlohmann::json_sax<Json> {
 public:
  explicit UbjsonGuard(size_t bytes) : bytes_(bytes) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override {
    if (++keys_ <= most_keys) return true;
    wrong = fmt::format("it has more than {} keys", most_keys);
    return false;
  }
  bool start_object(size_t elements) override { return enter(elements); }
  bool start_array(size_t elements) override { return enter(elements); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    wrong = fmt::format("damaged at byte {}", position);
    return false;
  }

  std::string wrong;

 private:
  static constexpr size_t deepest = 64, most_keys = 20'000;  // each key is compared with all other keys of its object

  bool enter(size_t elements) {
    constexpr auto unknown = static_cast<size_t>(-1);
    if (elements != unknown && elements > bytes_) {
      wrong = fmt::format("it claims {} elements in {} bytes", elements, bytes_);
      return false;
    }
    if (++depth_ <= deepest) return true;
    wrong = fmt::format("it is nested deeper than {}", deepest);
    return false;
  }
  bool leave() {
    --depth_;
    return true;
  }

  size_t bytes_, depth_ = 0, keys_ = 0;
};

}  // namespace

bool is_frontend_json(const Json& json) {
  return json.is_object() && json.contains("context") && json.contains("nodes");
}

FrontendGraph import_frontend_json(const Json& json) {
  if (!is_frontend_json(json))
    throw Error(ErrorKind::usage, "cudnn-frontend's JSON: not an object with the keys \"context\" and \"nodes\"");
  const Json by_key = with_tensors_by_key(json);
  const FrontendDocument document(by_key);
  const FrontendPlace& root = document.root();
  FrontendGraph result;
  if (root.has("cudnn_backend_version")) result.cudnn_version = backend_version_of(root.at("cudnn_backend_version"));
  result.frontend_version =
      FrontendVersion::from_number(root.optional_integer("cudnn_frontend_version", 0, 1'000'000).value_or(0));
  result.name = root.at("context").text_or("name", "");
  result.stored_plan = plan_in_serialization(root);
  for (size_t i = 0; i < document.node_count(); ++i) result.tags.push_back(document.node(i).at("tag").text());
  note_frontend_context(root.at("context"), result);

  const auto attention = std::find_if(result.tags.begin(), result.tags.end(), is_attention_tag);
  if (attention != result.tags.end()) {
    const auto index = static_cast<size_t>(attention - result.tags.begin());
    result.spec = read_frontend_attention(document, index, result);
    if (result.name.empty()) result.name = document.node(index).text_or("name", "");
    result.spec->name = result.name;
    for (size_t i = 0; i < result.tags.size(); ++i)
      if (i != index && !(result.tags[i] == "ROPE" && result.spec->rope))
        result.notes.push_back(fmt::format("node {} ({}) is in the same graph and is left out", i, result.tags[i]));
    return result;
  }
  const auto other = std::find_if_not(result.tags.begin(), result.tags.end(), is_primitive_tag);
  if (result.tags.empty()) {
    result.notes.emplace_back("the graph has no nodes");
  } else if (other != result.tags.end()) {
    result.notes.push_back(fmt::format("no attention: node {} is {}", other - result.tags.begin(), *other));
  } else {
    result.graph = read_frontend_operations(document, result);
    note_frontend_scalars(root, result);
  }
  return result;
}

bool is_frontend_serialization(std::string_view bytes) {
  // An object, then the type of its size or of its first key's length.
  return bytes.size() > 1 && bytes[0] == '{' && std::string_view("iUIlL#$").find(bytes[1]) != std::string_view::npos;
}

Json read_frontend_serialization(std::string_view bytes) {
  UbjsonGuard guard(bytes.size());
  const bool sound = is_frontend_serialization(bytes) &&
                     Json::sax_parse(bytes.begin(), bytes.end(), &guard, Json::input_format_t::ubjson);
  if (!sound)
    throw Error(ErrorKind::usage, fmt::format("a serialized graph of cudnn-frontend (UBJSON): {}",
                                              guard.wrong.empty() ? "it does not begin like one" : guard.wrong));
  return Json::from_ubjson(bytes.begin(), bytes.end());
}

}  // namespace attnprobe::importers
