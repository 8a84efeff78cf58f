// Reads Transformer Engine's calls from a PyTorch log. The dict of "Running with config={…}" is Python's repr, but some
// values (recipes, caches) are bare lists of "key=value". So the text is split at its keys, and only needed values are
// parsed.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "frameworks/transformer_engine/calls_reading.hpp"

namespace attnprobe::frameworks {
namespace {

using Query = TransformerEngineQuery;
using Dict = std::vector<std::pair<std::string, std::string>>;

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// The offset after the string that begins at `at`.
size_t skip_string(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// Whether a key of the dict is at `at`: a string and a colon.
bool key_at(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  if (at >= text.size() || (text[at] != '\'' && text[at] != '"')) return false;
  at = skip_string(text, at);
  return at < text.size() && text[at] == ':';
}

std::string without_line_ends(std::string_view text) {
  std::string out;
  for (const char c : trim(text))
    if (c != '\n' && c != '\r') out += c;
  return out;
}

// Splits the dict that begins at `at` ("{") into keys and raw values. Moves `at` past its end, or to npos if the end is
// missing.
Dict cut(std::string_view text, size_t& at) {
  Dict dict;
  ++at;
  while (at < text.size()) {
    while (at < text.size() && (is_space(text[at]) || text[at] == ',')) ++at;
    if (at < text.size() && text[at] == '}') {
      ++at;
      return dict;
    }
    if (!key_at(text, at)) break;
    const size_t key_end = skip_string(text, at);
    const std::string key = without_line_ends(text.substr(at + 1, key_end - at - 2));
    const size_t begin = key_end + 1;
    int depth = 0;
    for (at = begin; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '\'' || c == '"') {
        at = skip_string(text, at) - 1;
        continue;
      }
      if (depth == 0 && (c == '}' || (c == ',' && key_at(text, at + 1)))) break;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
    }
    if (at < text.size()) dict.emplace_back(key, without_line_ends(text.substr(begin, at - begin)));
  }
  at = std::string_view::npos;
  return dict;
}

// "format" of "recipe_type=DelayedScaling, margin=0, format=HYBRID, …"; "" if it is missing.
std::string attribute_of(const std::string& text, const std::string& name) {
  const size_t found = text.find(name + "=");
  if (found == std::string::npos) return "";
  const size_t begin = found + name.size() + 1;
  return text.substr(begin, text.find_first_of(",])}\n ", begin) - begin);
}

// All integers in a text: two in "(-1, 0)". For "tensor(5743, dtype=torch.int32)" the caller uses the first.
std::vector<int64_t> integers_in(const std::string& text) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < text.size();) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    const bool minus =
        text[i] == '-' && i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!digit && !minus) {
      ++i;
      continue;
    }
    size_t length = 0;
    numbers.push_back(std::stoll(text.substr(i, 18), &length));
    i += length;
  }
  return numbers;
}

// Fields that are not in the call: some of their values mean that TE's Python code decides without asking.
const std::map<std::string, std::string>& outside_fields() {
  static const std::map<std::string, std::string> fields = {
      {"context_parallel", "each rank asks about its own share of the heads or tokens; this dump has all of them"},
      {"num_splits", "any value but 1 makes TE's Python drop fused attention before it asks"},
      {"has_score_mod", "a score modifier has a separate graph, outside this call"},
      {"has_score_mod_bprop", "as has_score_mod"},
      {"NVTE_FP8_DPA_BWD", "0 makes the backward pass a separate 16-bit call"},
      {"fp8_output", "decides whether O is cast after the call"},
      {"checkpoint_core_attention", "recomputes the forward pass: the same graph again"},
      {"pad_between_seqs", "changes the values of the ragged offsets, not the graph"}};
  return fields;
}

class Dump {
 public:
  Dump(const Dict& dict, const attention::Origin& origin) {
    query_.origin = origin;
    for (const auto& [key, value] : dict) {
      raw_[key] = value;
      query_.given[key] = value;
    }
  }

  Query read() {
    query_.logged_on = fmt::format("{}, cuDNN {}, Transformer Engine {}", text("compute_capability", "a GPU not named"),
                                   text("cudnn_version", "?"), text("transformer_engine_version", "?"));
    copy_plain();
    copy_types();
    copy_mask();
    copy_bias();
    copy_layouts();
    collect_outside();
    return read_transformer_engine_fields(fields_, std::move(query_));
  }

 private:
  bool has(const std::string& key) const { return raw_.count(key) != 0 && raw_.at(key) != "None"; }

  const std::string& raw(const std::string& key) const {
    const auto found = raw_.find(key);
    if (found == raw_.end()) fail_transformer_engine(query_.origin, "", fmt::format("the dump has no '{}'", key));
    return found->second;
  }

  // A string without its quotes; other values unchanged.
  std::string text(const std::string& key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    const std::string& value = raw_.at(key);
    return value.size() >= 2 && value.front() == '\'' ? value.substr(1, value.size() - 2) : value;
  }

  bool boolean(const std::string& key) const {
    const std::string& value = raw(key);
    if (value != "True" && value != "False")
      fail_transformer_engine(query_.origin, key, fmt::format("{} is neither True nor False", value));
    return value == "True";
  }

  int64_t integer(const std::string& key) const {
    const auto numbers = integers_in(raw(key));
    if (numbers.empty()) fail_transformer_engine(query_.origin, key, fmt::format("{} is not a number", raw(key)));
    return numbers.front();
  }

  // A field derived from the dump, with the reason for its value.
  void take(const std::string& field, Json value, const std::string& why) {
    query_.defaults.push_back({field, value.is_string() ? value.get<std::string>() : value.dump(), why});
    fields_[field] = std::move(value);
  }

  void copy_plain() {
    for (const auto& [field, key] :
         {std::pair("batch_size", "batch_size"), std::pair("num_attn_heads", "num_heads"),
          std::pair("num_gqa_groups", "num_gqa_groups"), std::pair("max_seqlen_q", "max_seqlen_q"),
          std::pair("max_seqlen_kv", "max_seqlen_kv"), std::pair("head_dim_qk", "head_dim_qk"),
          std::pair("head_dim_v", "head_dim_v")})
      fields_[field] = integer(key);
    fields_["is_training"] = boolean("is_training");
    for (const char* key : {"deterministic", "cuda_graph", "return_max_logit"})
      if (has(key)) fields_[key] = boolean(key);
    const std::string dropout = text("attention_dropout", "?");
    const Json number = parse_json_leniently(dropout);
    fields_["dropout"] = number.is_number() ? number : Json(dropout);
    if (has("softmax_type")) fields_["softmax_type"] = text("softmax_type", "");
  }

  void copy_types() {
    std::string type = text("qkv_dtype", "?");
    if (type.rfind("torch.", 0) == 0) type.erase(0, 6);
    const std::string recipe_text = fp8_recipe();
    const std::string recipe = attribute_of(recipe_text, "recipe_type");
    if (recipe.empty()) {
      fields_["qkv_dtype"] = type;
      take("o_dtype", type, "that of Q");
      return;
    }
    const bool hybrid = attribute_of(recipe_text, "format") == "HYBRID";
    const std::string forward = "float8e4m3", backward = hybrid ? "float8e5m2" : "float8e4m3";
    const std::string why = fmt::format("that of {}, {}", recipe, hybrid ? "HYBRID" : "E4M3");
    const bool delayed = recipe == "DelayedScaling";
    take("qkv_dtype", forward, why);
    take("o_dtype", delayed ? forward : type, why);
    take("do_dtype", backward, why);
    take("dqkv_dtype", delayed ? backward : type, why);
    const std::map<std::string, std::string> modes = {{"MXFP8BlockScaling", "mxfp8_1d_scaling"},
                                                      {"Float8BlockScaling", "block_scaling_1d"},
                                                      {"NVFP4BlockScaling", "nvfp4_1d_scaling"}};
    const auto mode = modes.find(recipe);
    take("scaling_mode", mode == modes.end() ? "delayed_tensor_scaling" : mode->second, why);
  }

  // The recipe of FP8 attention; "" if attention is not in FP8.
  std::string fp8_recipe() const {
    if (!has("fp8") || !boolean("fp8") || text("NVTE_DPA_FP8_RECIPE", "") == "F16") return "";
    std::string meta = raw("fp8_meta");
    // A recipe for attention only comes after the model's recipe.
    const size_t local = meta.find("'local_recipes': [");
    const size_t global = meta.find("'recipe':");
    const size_t begin = local != std::string::npos ? local : global;
    if (begin == std::string::npos)
      fail_transformer_engine(query_.origin, "fp8_meta", "fp8 is True, but the dump has no recipe");
    meta = meta.substr(begin, local != std::string::npos && local < global ? global - local : std::string::npos);
    // Block recipes do not print fp8_dpa, so "fp8" decides.
    return attribute_of(meta, "fp8_dpa") == "False" ? "" : meta;
  }

  void copy_mask() {
    const std::string mask = text("attn_mask_type", "?");
    fields_["attn_mask_type"] = mask;
    if (has("window_size")) {
      const auto sides = integers_in(raw("window_size"));
      if (sides.size() != 2)
        fail_transformer_engine(query_.origin, "window_size", fmt::format("{} is not a pair", raw("window_size")));
      fields_["window_size_left"] = sides[0];
      fields_["window_size_right"] = sides[1];
    }
    if (has("bottom_right_diagonal"))
      fields_["bottom_right_diagonal"] = boolean("bottom_right_diagonal");
    else
      take("bottom_right_diagonal", mask.find("bottom_right") != std::string::npos,
           "dumps of this version lack it; concluded from the mask");
  }

  void copy_bias() {
    std::string type = text("core_attention_bias_type", "?"), shape = text("core_attention_bias_shape", "");
    if (type == "alibi" && has("alibi_slopes_shape")) {
      const bool per_sequence = integers_in(raw("alibi_slopes_shape")).size() == 2;
      type = "post_scale_bias";
      shape = per_sequence ? "bhss" : "1hss";
      take("bias_type", type, "alibi with custom slopes: TE's Python turns it into a bias");
    }
    fields_["bias_type"] = type;
    if (type == "no_bias" || type == "alibi") return;
    if (shape.size() != 4 || shape.find_first_not_of("1bhs") != std::string::npos)
      fail_transformer_engine(query_.origin, "core_attention_bias_shape",
                              fmt::format("\"{}\" is not a shape such as \"1hss\"", shape));
    const char* names[] = {"bias_batch_size", "bias_num_heads", "bias_seqlen_q", "bias_seqlen_kv"};
    const char* extents[] = {"batch_size", "num_attn_heads", "max_seqlen_q", "max_seqlen_kv"};
    for (size_t i = 0; i < 4; ++i) fields_[names[i]] = shape[i] == '1' ? Json(1) : fields_[extents[i]];
  }

  void copy_layouts() {
    const std::string layout = text("qkv_layout", "?");
    fields_["qkv_layout"] = layout;
    Query only_layout;
    only_layout.qkv_layout = layout;
    const auto known = std::find(nvte_layouts().begin(), nvte_layouts().end(), layout);
    if (known == nvte_layouts().end()) return;  // the reader reports the error
    const char* why = "TE's PyTorch layers use Q's";
    take("o_format", q_format(only_layout), why);
    if (fields_["is_training"] == true) {
      take("do_format", q_format(only_layout), why);
      take("dqkv_layout", layout, why);
    }
    if (paged(only_layout)) copy_cache();
  }

  void copy_cache() {
    const std::string cache = raw("inference_params");
    const std::string size = attribute_of(cache, "page_size"), total = attribute_of(cache, "total_pages");
    if (integers_in(size).empty() || integers_in(total).empty())
      fail_transformer_engine(query_.origin, "inference_params",
                              fmt::format("{} lacks page_size or total_pages", cache));
    const int64_t tokens = integers_in(size).front();
    const int64_t longest = fields_["max_seqlen_kv"].get<int64_t>();
    for (const char* field : {"page_size_k", "page_size_v"}) fields_[field] = tokens;
    for (const char* field : {"num_pages_k", "num_pages_v"}) fields_[field] = integers_in(total).front();
    for (const char* field : {"max_pages_per_seq_k", "max_pages_per_seq_v"})
      take(field, (longest + tokens - 1) / std::max<int64_t>(tokens, 1), "the pages of max_seqlen_kv tokens");
  }

  void collect_outside() {
    for (const auto& [key, why] : outside_fields()) {
      const std::string value = text(key, "");
      const bool usual = value.empty() || value == "False" || (key == "num_splits" && value == "1") ||
                         (key == "NVTE_FP8_DPA_BWD" && value == "1");
      if (!usual) query_.outside.push_back({key, value, why});
    }
  }

  Query query_;
  std::map<std::string, std::string> raw_;
  Json fields_ = Json::object();
};

}  // namespace

std::vector<TransformerEngineQuery> read_transformer_engine_dumps(std::string_view text, const std::string& file_name) {
  std::vector<Query> queries;
  std::vector<Dict> seen;
  for (size_t at = text.find(transformer_engine_dump); at != std::string_view::npos;
       at = text.find(transformer_engine_dump, at)) {
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    const attention::Origin origin{file_name, std::to_string(line)};
    at += transformer_engine_dump.size();
    if (at >= text.size() || text[at] != '{') continue;  // another program's line
    Dict dict = cut(text, at);
    if (at == std::string_view::npos)
      fail_transformer_engine(origin, "", "the dict after \"Running with config=\" does not end");
    const auto known = std::find(seen.begin(), seen.end(), dict);
    if (known != seen.end()) {
      ++queries[static_cast<size_t>(known - seen.begin())].times;
      continue;
    }
    Query query = Dump(dict, origin).read();
    query.name = fmt::format("te[{}]", queries.size());
    queries.push_back(std::move(query));
    seen.push_back(std::move(dict));
  }
  if (queries.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: no dict after any \"{}\"", file_name, transformer_engine_dump));
  if (queries.size() == 1) queries.front().name = "te";
  return queries;
}

}  // namespace attnprobe::frameworks
