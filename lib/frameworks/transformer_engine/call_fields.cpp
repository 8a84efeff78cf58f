// Reads a call of Transformer Engine from its fields, with an error for each missing or wrong one.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "frameworks/transformer_engine/calls_reading.hpp"

namespace attnprobe::frameworks {
namespace {

using Query = TransformerEngineQuery;

struct FieldReader {
  std::string name;
  std::function<void(Query&, const JsonView&)> set;
};

constexpr const char* config_default = "the default of Transformer Engine's own config";

int64_t as_integer(const JsonView& view, int64_t least) {
  constexpr int64_t most = 2'147'483'647;
  return view.integer(least, most);
}

// Converts "NVTE_PADDING_CAUSAL_MASK", "padding_causal" and "off-by-one" to the words of attnprobe's tables.
std::string word_of(const JsonView& view, const std::string& ending = "") {
  std::string word = view.text();
  for (char& c : word) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string prefix : {"nvte_", "knvte"})
    if (word.rfind(prefix, 0) == 0) word.erase(0, prefix.size());
  if (!ending.empty() && word.size() > ending.size() && word.ends_with(ending) && word != "no" + ending)
    word.erase(word.size() - ending.size());
  return word;
}

[[noreturn]] void unknown_word(const JsonView& view, const std::string& word, const std::vector<std::string>& allowed) {
  view.fail(fmt::format("{} is not a known value; allowed: {} (NVTE_… too){}", view.shown(), quoted_list(allowed),
                        did_you_mean(word, allowed)));
}

template <class E>
E as_enum(const JsonView& view, const std::string& ending = "") {
  const std::string word = word_of(view, ending);
  if (const auto value = parse_enum<E>(word)) return *value;
  unknown_word(view, word, names_of<E>());
}

std::string as_one_of(const JsonView& view, const std::vector<std::string>& allowed) {
  std::string word = word_of(view);
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) unknown_word(view, word, allowed);
  return word;
}

// NVTEDType, under the names of TE, PyTorch or attnprobe. Excludes types that TE's attention tensors do not have.
DataType as_type(const JsonView& view) {
  static const std::vector<std::pair<std::string, DataType>> types = {
      {"float16", DataType::f16},         {"bfloat16", DataType::bf16},
      {"float32", DataType::f32},         {"float8e4m3", DataType::fp8_e4m3},
      {"float8e5m2", DataType::fp8_e5m2}, {"f16", DataType::f16},
      {"bf16", DataType::bf16},           {"f32", DataType::f32},
      {"fp8_e4m3", DataType::fp8_e4m3},   {"fp8_e5m2", DataType::fp8_e5m2}};
  const std::string word = word_of(view);
  std::vector<std::string> names;
  for (const auto& [name, type] : types) {
    if (name == word) return type;
    names.push_back(name);
  }
  unknown_word(view, word, names);
}

FieldReader boolean(const char* name, bool Query::*member) {
  return {name, [member](Query& query, const JsonView& view) { query.*member = view.boolean(); }};
}
FieldReader integer(const char* name, int64_t Query::*member, int64_t least = 1) {
  return {name, [member, least](Query& query, const JsonView& view) { query.*member = as_integer(view, least); }};
}
FieldReader type(const char* name, DataType Query::*member) {
  return {name, [member](Query& query, const JsonView& view) { query.*member = as_type(view); }};
}
FieldReader format(const char* name, std::string Query::*member) {
  return {name, [member](Query& query, const JsonView& view) { query.*member = as_one_of(view, nvte_formats()); }};
}
FieldReader layout(const char* name, std::string Query::*member) {
  return {name, [member](Query& query, const JsonView& view) { query.*member = as_one_of(view, nvte_layouts()); }};
}
FieldReader pages(const char* name, NvtePages Query::*cache, int64_t NvtePages::*member) {
  return {name, [cache, member](Query& query, const JsonView& view) { query.*cache.*member = as_integer(view, 1); }};
}
FieldReader bias_dim(const char* name, size_t axis) {
  return {name, [axis](Query& query, const JsonView& view) { query.bias_dims.at(axis) = as_integer(view, 1); }};
}

const std::vector<FieldReader>& readers() {
  static const std::vector<FieldReader> all = {
      {"name", [](Query& query, const JsonView& view) { query.name = view.text(); }},
      boolean("is_training", &Query::is_training),
      integer("batch_size", &Query::batch_size),
      {"qkv_dtype", [](Query& query, const JsonView& view) { query.q_dtype = query.kv_dtype = as_type(view); }},
      type("q_dtype", &Query::q_dtype),
      type("kv_dtype", &Query::kv_dtype),
      type("o_dtype", &Query::o_dtype),
      type("do_dtype", &Query::do_dtype),
      type("dqkv_dtype", &Query::dqkv_dtype),
      {"scaling_mode", [](Query& query, const JsonView& view) { query.scaling_mode = as_enum<NvteScaling>(view); }},
      layout("qkv_layout", &Query::qkv_layout),
      format("o_format", &Query::o_format),
      format("do_format", &Query::do_format),
      layout("dqkv_layout", &Query::dqkv_layout),
      format("qkv_scale_inv_format", &Query::qkv_scale_inv_format),
      format("do_scale_inv_format", &Query::do_scale_inv_format),
      {"bias_type", [](Query& query, const JsonView& view) { query.bias_type = as_enum<NvteBias>(view); }},
      bias_dim("bias_batch_size", 0),
      bias_dim("bias_num_heads", 1),
      bias_dim("bias_seqlen_q", 2),
      bias_dim("bias_seqlen_kv", 3),
      {"attn_mask_type",
       [](Query& query, const JsonView& view) { query.attn_mask_type = as_enum<NvteMask>(view, "_mask"); }},
      {"softmax_type",
       [](Query& query, const JsonView& view) { query.softmax_type = as_enum<NvteSoftmax>(view, "_softmax"); }},
      {"dropout",
       [](Query& query, const JsonView& view) {
         query.dropout = view.number();
         if (query.dropout < 0 || query.dropout > 1) view.fail_out_of_range("a number from 0 to 1");
       }},
      {"attn_scale", [](Query& query, const JsonView& view) { query.attn_scale = view.number(); }},
      integer("num_attn_heads", &Query::num_attn_heads),
      integer("num_gqa_groups", &Query::num_gqa_groups),
      integer("max_seqlen_q", &Query::max_seqlen_q),
      integer("max_seqlen_kv", &Query::max_seqlen_kv),
      integer("num_tokens_q", &Query::num_tokens_q),
      integer("num_tokens_kv", &Query::num_tokens_kv),
      integer("head_dim_qk", &Query::head_dim_qk),
      integer("head_dim_v", &Query::head_dim_v),
      integer("window_size_left", &Query::window_size_left, -1),
      integer("window_size_right", &Query::window_size_right, -1),
      boolean("bottom_right_diagonal", &Query::bottom_right_diagonal),
      boolean("return_max_logit", &Query::return_max_logit),
      boolean("cuda_graph", &Query::cuda_graph),
      boolean("deterministic", &Query::deterministic),
      pages("num_pages_k", &Query::pages_k, &NvtePages::num_pages),
      pages("num_pages_v", &Query::pages_v, &NvtePages::num_pages),
      pages("page_size_k", &Query::pages_k, &NvtePages::page_size),
      pages("page_size_v", &Query::pages_v, &NvtePages::page_size),
      pages("max_pages_per_seq_k", &Query::pages_k, &NvtePages::max_pages_per_seq),
      pages("max_pages_per_seq_v", &Query::pages_v, &NvtePages::max_pages_per_seq)};
  return all;
}

std::vector<std::string> reader_names() {
  std::vector<std::string> names;
  for (const auto& reader : readers()) names.push_back(reader.name);
  return names;
}

// Checks that every required field is present, and lists the values assumed for absent fields.
class Completion {
 public:
  Completion(Query& query, const Json& fields) : query_(query), fields_(fields) {}

  void run() {
    for (const char* field :
         {"is_training", "batch_size", "o_dtype", "qkv_layout", "o_format", "bias_type", "attn_mask_type", "dropout",
          "num_attn_heads", "num_gqa_groups", "max_seqlen_q", "max_seqlen_kv", "head_dim_qk", "head_dim_v"})
      require(field, "every call needs it");
    if (has("qkv_dtype") && (has("q_dtype") || has("kv_dtype")))
      fail_transformer_engine(query_.origin, "qkv_dtype", "given together with \"q_dtype\" or \"kv_dtype\"");
    if (!has("qkv_dtype"))
      for (const char* field : {"q_dtype", "kv_dtype"}) require(field, "or \"qkv_dtype\" for both");
    take("scaling_mode", "delayed_tensor_scaling", config_default);
    take("softmax_type", "vanilla", config_default);
    take("window_size_left", "-1", config_default);
    take("window_size_right", "-1", config_default);
    take("bottom_right_diagonal", "true", config_default);
    for (const char* field : {"return_max_logit", "cuda_graph", "deterministic"}) take(field, "false", config_default);
    take("attn_scale", "1/sqrt(head_dim_qk)", "a host value that no support check reads");
    if (query_.is_training) complete_training();
    if (query_.bias_type == NvteBias::post_scale_bias || query_.bias_type == NvteBias::pre_scale_bias)
      for (const char* field : {"bias_batch_size", "bias_num_heads", "bias_seqlen_q", "bias_seqlen_kv"})
        require(field, "a call with a bias tensor needs it");
    complete_tokens();
    if (paged(query_))
      for (const char* field :
           {"num_pages_k", "num_pages_v", "page_size_k", "page_size_v", "max_pages_per_seq_k", "max_pages_per_seq_v"})
        require(field, "a call with a paged cache needs it");
  }

 private:
  bool has(const char* field) const { return fields_.contains(field); }

  void require(const char* field, const char* why) const {
    if (!has(field)) fail_transformer_engine(query_.origin, "", fmt::format("\"{}\" is missing: {}", field, why));
  }

  void take(const char* field, const std::string& value, const std::string& why) {
    if (!has(field)) query_.defaults.push_back({field, value, why});
  }

  void complete_training() {
    for (const char* field : {"do_format", "dqkv_layout"}) require(field, "a training call needs it");
    for (const auto& [field, member] :
         {std::pair("do_dtype", &Query::do_dtype), std::pair("dqkv_dtype", &Query::dqkv_dtype)}) {
      if (has(field)) continue;
      if (is_fp8(query_)) require(field, "an FP8 training call needs it");
      query_.*member = query_.q_dtype;
      take(field, std::string(name_of(query_.q_dtype)),
           "Transformer Engine's 16-bit graphs have one type for all tensors");
    }
  }

  void complete_tokens() {
    const char* why =
        "batch_size times the longest sequence, as Transformer Engine fills it in for callers of the older form of "
        "the call";
    if (ragged_q(query_) && !has("num_tokens_q")) {
      query_.num_tokens_q = query_.batch_size * query_.max_seqlen_q;
      take("num_tokens_q", std::to_string(query_.num_tokens_q), why);
    }
    if (ragged_kv(query_) && !has("num_tokens_kv")) {
      query_.num_tokens_kv = query_.batch_size * query_.max_seqlen_kv;
      take("num_tokens_kv", std::to_string(query_.num_tokens_kv), why);
    }
  }

  Query& query_;
  const Json& fields_;
};

}  // namespace

std::string transformer_engine_place(const attention::Origin& origin, const std::string& field) {
  std::string where = origin.file;
  // In a log, the place is a line and fields are words; in JSON, it is a pointer that ends with the field.
  const bool in_log = !origin.pointer.empty() && origin.pointer.front() != '/';
  if (in_log)
    where += fmt::format(":{}", origin.pointer);
  else if (!origin.pointer.empty() || !field.empty())
    where += fmt::format(": {}", origin.pointer);
  if (!field.empty()) where += in_log ? fmt::format(": '{}'", field) : fmt::format("/{}", pointer_part(field));
  return where;
}

void fail_transformer_engine(const attention::Origin& origin, const std::string& field, const std::string& message) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", transformer_engine_place(origin, field), message));
}

TransformerEngineQuery read_transformer_engine_fields(const Json& fields, TransformerEngineQuery query) {
  for (const auto& [key, value] : fields.items()) {
    const auto reader = std::find_if(readers().begin(), readers().end(),
                                     [&wanted = key](const FieldReader& r) { return r.name == wanted; });
    if (reader == readers().end())
      fail_transformer_engine(
          query.origin, key,
          fmt::format("unknown field{}; allowed: {}", did_you_mean(key, reader_names()), quoted_list(reader_names())));
    reader->set(query, JsonView(value, {transformer_engine_place(query.origin, key)}));
  }
  Completion(query, fields).run();
  return query;
}

}  // namespace attnprobe::frameworks
