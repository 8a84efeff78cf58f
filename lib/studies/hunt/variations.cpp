#include "studies/hunt/variations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attnprobe::hunt {
namespace {

using Fields = std::vector<std::string>;

// Trial values of a field, simplest first; null: without the field.
struct Values {
  const char* field;
  const char* values;
};
constexpr Values features[] = {
    {"pass", R"(["fprop", "fprop_train", "bprop"])"},
    {"dtype", R"(["f16", "bf16", "f32", "fp8_e4m3"])"},
    {"mask", R"([null, "causal", "causal_bottom_right", "padding", "padding_causal", {"window_left": 64},
                 {"window_left": 64, "window_right": 0}, {"window_left": 64, "window_right": 64}, {"window_right": 64}])"},
    {"layout", R"([null, "bhsd", "sbhd", "bs3hd", "thd", "thd_bshd_bshd"])"},
    {"o_layout", R"([null, "bhsd"])"},
    {"do_layout", R"([null, "bhsd"])"},
    {"dqkv_layout", R"([null, "bhsd"])"},
    {"o_dtype", R"([null, "bf16", "f32"])"},
    {"bias", R"([null, "11ss", "bhss", {"shape": "11ss", "grad": true}])"},
    {"alibi", "[null, true]"},
    {"softcap", "[null, 30]"},
    {"score_mod", R"([null, "relu"])"},
    {"sink", "[null, true]"},
    {"block_mask", "[null, true]"},
    {"dropout", R"([null, 0.5, {"probability": 0.5, "form": "mask"}])"},
    {"deterministic", "[null, true]"},
    {"stats", "[null, true]"},
    {"max_logit", "[null, true]"},
    {"sum_exp", "[null, true]"},
    {"paged", R"([null, {"block_size": 64}])"},
    {"cu_seqlens", R"([null, "both"])"},
    {"ragged_stats", "[null, false]"},
    {"ragged_unit", R"([null, "token"])"},
    {"ragged_offsets", R"([null, "i64"])"},
    {"stats_layout", R"([null, "bshd"])"},
    {"stats_log2", "[null, true]"},
    {"ordered_dq", "[null, true]"},
    {"scale", "[null, 0.125]"},
    {"max_total_seqlen_q", "[null]"},
    {"max_total_seqlen_kv", "[null]"},
};

constexpr std::array<int64_t, 12> lengths{1, 2, 16, 33, 64, 65, 128, 129, 256, 300, 512, 1025};
constexpr std::array<int64_t, 11> head_dims{8, 16, 32, 64, 72, 96, 128, 136, 192, 200, 256};
constexpr std::array<int64_t, 4> heads{1, 2, 3, 8};

struct Sizes {
  Fields fields;  // set together
  std::vector<int64_t> values;
};
std::vector<Sizes> sizes() {
  const std::vector<int64_t> length(lengths.begin(), lengths.end()), dim(head_dims.begin(), head_dims.end()),
      head(heads.begin(), heads.end());
  return {{{"batch"}, {1, 2, 3}},  {{"heads_q", "heads_kv"}, head},      {{"heads_q"}, head},
          {{"heads_kv"}, {1}},     {{"seqlen_q", "seqlen_kv"}, length},  {{"seqlen_q"}, length},
          {{"seqlen_kv"}, length}, {{"head_dim_qk", "head_dim_v"}, dim}, {{"head_dim_qk"}, dim},
          {{"head_dim_v"}, dim}};
}

// The config fields behind a key of the flat problem.
Fields fields_of_key(const std::string& key) {
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), key) != names.end();
  };
  if (is({"decode", "longer_keys"})) return {"seqlen_q", "seqlen_kv"};
  if (is({"gqa", "heads_v"})) return {"heads_q", "heads_kv", "heads_v"};
  if (is({"fp8", "fp8_scaling", "dtype", "o_dtype", "do_dtype", "dqkv_dtype"}))
    return {"dtype", "fp8", "o_dtype", "do_dtype", "dqkv_dtype"};
  if (is({"contiguous_head_dim", "aligned_strides", "bshd", "compact_bshd", "ragged", "interleaved_ragged",
          "misaligned_tensor"}))
    return {"layout", "o_layout", "do_layout", "dqkv_layout", "mask", "paged", "batch"};
  if (is({"causal", "window_left", "window_right", "bottom_right", "padding", "empty_kv"})) return {"mask"};
  if (key == "max_total_seqlen") return {"max_total_seqlen_q", "max_total_seqlen_kv"};
  if (key.starts_with("bias")) return {"bias"};
  if (is({"modifier", "score_mod", "score_mod_grad", "softcap"})) return {"score_mod", "softcap"};
  if (key.starts_with("dropout")) return {"dropout"};
  if (is({"paged", "paged_alone", "page_tokens", "packed_table"})) return {"paged", "layout", "mask"};
  if (is({"stats", "stats_dtype", "packed_stats"})) return {"stats", "stats_layout", "stats_dtype"};
  return {key};
}

void take(Json& into, const Json& from, const Fields& names) {
  for (const auto& name : names) {
    into.erase(name);
    if (from.contains(name)) into[name] = from[name];
  }
}

// The fields of both sides of a comparison between sizes.
Fields fields_of(const Literal& literal) {
  Fields names = fields_of_key(literal.key);
  if (!literal.wanted.is_object()) return names;
  for (const auto& [operation, operand] : literal.wanted.items())
    if (operand.is_string() && operation != "in") names.push_back(operand.get<std::string>());
  return names;
}

}  // namespace

std::vector<Variation> variations_of(const Json& fields) {
  std::vector<Variation> found;
  const auto add = [&](std::string what, Json changed, bool is_simpler) {
    if (changed != fields) found.push_back({std::move(what), std::move(changed), is_simpler});
  };
  for (const auto& [field, text] : features) {
    for (const Json& value : Json::parse(text)) {
      Json changed = fields;
      if (value.is_null())
        changed.erase(field);
      else
        changed[field] = value;
      add(value.is_null() ? fmt::format("without {}", field) : fmt::format("{} {}", field, value.dump()),
          std::move(changed), value.is_null());
    }
    if (!fields.contains(field) || !fields[field].is_object()) continue;
    for (const auto& [member, ignored] : fields[field].items()) {
      Json changed = fields;
      changed[field].erase(member);
      add(fmt::format("{} without {}", field, member), std::move(changed), true);
    }
  }
  for (const auto& [names, values] : sizes())
    for (const int64_t value : values) {
      Json changed = fields;
      bool is_smaller = true;
      for (const auto& name : names) {
        is_smaller = is_smaller && value <= fields.value(name, int64_t{1});
        changed[name] = value;
      }
      add(fmt::format("{} {}", fmt::join(names, ", "), value), std::move(changed), is_smaller);
    }
  return found;
}

std::vector<Variation> halfway(const Json& fields, const std::string& size, int64_t failing, int64_t right) {
  const int64_t gap = std::abs(failing - right);
  if (gap < 2) return {};
  std::vector<Variation> found;
  const int64_t middle = std::min(failing, right) + gap / 2, round = middle / 8 * 8;
  for (const int64_t value : {middle, round}) {
    if (value == failing || value == right || (value == middle && gap > 16 && value != round)) continue;
    Json changed = fields;
    changed[size] = value;
    found.push_back({fmt::format("{} {}", size, value), std::move(changed), false});
  }
  return found;
}

Json moved_inside(Json random, const Json& failing, const std::vector<Literal>& broken) {
  for (const auto& literal : broken) take(random, failing, fields_of(literal));
  return random;
}

std::vector<Json> moved_outside(const Json& failing, const Json& other, const Literal& literal) {
  std::vector<Json> found;
  Json changed = failing;
  take(changed, other, fields_of(literal));
  found.push_back(std::move(changed));
  if (!literal.wanted.is_object() || !failing.contains(literal.key)) return found;
  const auto resized = [&](int64_t value) {
    Json next = failing;
    next[literal.key] = value;
    found.push_back(std::move(next));
  };
  for (const auto& [operation, operand] : literal.wanted.items()) {
    if (!operand.is_number_integer()) continue;
    const int64_t bound = operand.get<int64_t>();
    if (operation == "min") {
      resized(bound - 1);
      resized((bound - 1) / 8 * 8);
    } else if (operation == "max") {
      resized(bound + 1);
      resized(bound / 8 * 8 + 8);
    } else if (operation == "multiple_of") {
      resized(failing[literal.key].get<int64_t>() + std::max<int64_t>(bound / 2, 1));
    } else if (operation == "not_multiple_of") {
      resized((failing[literal.key].get<int64_t>() / bound + 1) * bound);
    }
  }
  return found;
}

}  // namespace attnprobe::hunt
