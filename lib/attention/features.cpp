#include "attention/features.hpp"

#include <fmt/format.h>

#include "attention/json_values.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

const std::vector<std::string> bias_types{"f16", "bf16", "f32"};
const std::vector<std::string> container_layouts{"bhsd", "bshd", "sbhd"};
const std::string bias_axes = "bhss";

std::string bias_shape(const Json& value) {
  std::string shape = value.is_string() ? value.get<std::string>() : "";
  bool good = shape.size() == bias_axes.size();
  for (size_t i = 0; good && i < bias_axes.size(); ++i) good = shape[i] == '1' || shape[i] == bias_axes[i];
  if (!good)
    throw FieldError(
        fmt::format("{} is not the shape of a bias; allowed: four letters, each the axis or 1: \"bhss\", \"1hss\", "
                    "\"b1ss\", \"11ss\", \"b11s\", …",
                    json_text(value)));
  return shape;
}

double probability(const Json& value) {
  const double p = number(value);
  if (p < 0 || p >= 1)
    throw FieldError(fmt::format("{} is out of range; allowed: a probability of being dropped, from 0 to below 1",
                                 json_text(value)));
  return p;
}

int64_t block_size(const Json& value) {
  return integer(value, 1, max_extent);
}

Json object_schema(const Json& properties, const std::vector<std::string>& required) {
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}, {"required", required}};
}

const Json boolean_schema = {{"type", "boolean"}};

}  // namespace

void read_scale(AttentionSpec& spec, const Json& value) {
  if (value.is_number()) {
    spec.scale = value.get<double>();
    return;
  }
  const auto form = value.is_string() ? parse_enum<ScaleForm>(value.get<std::string>()) : std::nullopt;
  if (!form) throw FieldError(json_text(value) + " is not a scale; allowed: a number, \"tensor\", \"none\"");
  spec.scale_form = *form;
}

std::optional<Bias> read_bias(const Json& value) {
  if (value == "none") return std::nullopt;
  Bias bias;
  if (!value.is_object()) {
    bias.shape = bias_shape(value);
    return bias;
  }
  only_keys(value, {"shape", "dtype", "strides", "grad"});
  at_key(value, "shape", [&](const Json& v) { bias.shape = bias_shape(v); });
  at_key(value, "dtype", [&](const Json& v) { bias.dtype = one_of<DataType>(v, bias_types); });
  at_key(value, "strides", [&](const Json& v) { bias.strides = strides(v, "batch, heads, seqlen_q, seqlen_kv"); });
  at_key(value, "grad", [&](const Json& v) { bias.grad = boolean(v); });
  return bias;
}

std::optional<ScoreModifier> read_score_mod(const Json& value) {
  if (value == "none") return std::nullopt;
  ScoreModifier modifier;
  if (!value.is_object()) {
    modifier.kind = one_of<ScoreModifierKind>(value);
    return modifier;
  }
  only_keys(value, {"kind", "grad"});
  if (!value.contains("kind")) throw FieldError("the key \"kind\" is missing");
  at_key(value, "kind", [&](const Json& v) { modifier.kind = one_of<ScoreModifierKind>(v); });
  at_key(value, "grad", [&](const Json& v) { modifier.grad = boolean(v); });
  return modifier;
}

std::optional<Dropout> read_dropout(const Json& value) {
  Dropout dropout;
  if (value.is_object()) {
    only_keys(value, {"probability", "form", "seed", "dump"});
    if (!value.contains("probability")) throw FieldError("the key \"probability\" is missing");
    at_key(value, "probability", [&](const Json& v) { dropout.probability = probability(v); });
    at_key(value, "form", [&](const Json& v) { dropout.form = one_of<DropoutForm>(v); });
    at_key(value, "seed", [&](const Json& v) { dropout.seed = one_of<SeedForm>(v); });
    at_key(value, "dump", [&](const Json& v) { dropout.dump = boolean(v); });
  } else if (value != "none") {
    dropout.probability = probability(value);
  }
  // cudnn-frontend emits nothing for a probability of 0 in the forward pass; neither do we in either.
  if (dropout.probability == 0) return std::nullopt;
  return dropout;
}

std::optional<Paged> read_paged(const Json& value) {
  if (value == "none") return std::nullopt;
  Paged paged;
  if (!value.is_object()) {
    paged.block_size = block_size(value);
    return paged;
  }
  only_keys(value, {"block_size", "k", "v", "layout", "packed_table"});
  at_key(value, "block_size", [&](const Json& v) { paged.block_size = block_size(v); });
  at_key(value, "k", [&](const Json& v) { paged.k = boolean(v); });
  at_key(value, "v", [&](const Json& v) { paged.v = boolean(v); });
  at_key(value, "packed_table", [&](const Json& v) { paged.packed_table = boolean(v); });
  at_key(value, "layout", [&](const Json& v) {
    paged.layout = text(v);
    if (std::find(container_layouts.begin(), container_layouts.end(), paged.layout) == container_layouts.end())
      not_one_of(v, container_layouts);
  });
  if (!paged.k && !paged.v) return std::nullopt;
  return paged;
}

Json to_json(const Bias& bias) {
  Json json = {{"shape", bias.shape}};
  if (bias.dtype) json["dtype"] = name_of(*bias.dtype);
  if (bias.strides) json["strides"] = *bias.strides;
  json["grad"] = bias.grad;
  return json;
}

Json to_json(const ScoreModifier& modifier) {
  return {{"kind", name_of(modifier.kind)}, {"grad", modifier.grad}};
}

Json to_json(const Dropout& dropout) {
  Json json = {{"probability", dropout.probability}, {"form", name_of(dropout.form)}};
  if (dropout.seed) json["seed"] = name_of(*dropout.seed);
  json["dump"] = dropout.dump;
  return json;
}

Json to_json(const Paged& paged) {
  return {{"block_size", paged.block_size},
          {"k", paged.k},
          {"v", paged.v},
          {"layout", paged.layout},
          {"packed_table", paged.packed_table}};
}

Json scale_schema() {
  return {{"anyOf", {{{"type", "number"}}, words_schema({"tensor", "none"})}}};
}

Json bias_schema() {
  const Json shape = {{"type", "string"}, {"pattern", "^([b1][h1][s1][s1])$"}};
  const Json shape_or_none = {{"type", "string"}, {"pattern", "^(none|[b1][h1][s1][s1])$"}};
  return {{"anyOf",
           {shape_or_none, object_schema({{"shape", shape},
                                          {"dtype", words_schema(bias_types)},
                                          {"strides", strides_schema()},
                                          {"grad", boolean_schema}},
                                         {})}}};
}

Json score_mod_schema() {
  const auto kinds = names_of<ScoreModifierKind>();
  auto words = kinds;
  words.emplace_back("none");
  return {{"anyOf",
           {words_schema(words), object_schema({{"kind", words_schema(kinds)}, {"grad", boolean_schema}}, {"kind"})}}};
}

Json dropout_schema() {
  const Json p = {{"type", "number"}, {"minimum", 0}, {"exclusiveMaximum", 1}};
  return {{"anyOf",
           {p, words_schema({"none"}),
            object_schema({{"probability", p},
                           {"form", words_schema(names_of<DropoutForm>())},
                           {"seed", words_schema(names_of<SeedForm>())},
                           {"dump", boolean_schema}},
                          {"probability"})}}};
}

Json paged_schema() {
  const Json size = {{"type", "integer"}, {"minimum", 1}, {"maximum", max_extent}};
  return {{"anyOf",
           {size, words_schema({"none"}),
            object_schema({{"block_size", size},
                           {"k", boolean_schema},
                           {"v", boolean_schema},
                           {"layout", words_schema(container_layouts)},
                           {"packed_table", boolean_schema}},
                          {})}}};
}

}  // namespace attnprobe::attention
