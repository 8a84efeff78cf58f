#include "explain/documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "attention/model_config.hpp"
#include "base/json_reader.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/words.hpp"
#include "log/log_parse.hpp"

namespace attnprobe::explain {
namespace {

constexpr size_t most_questions = 4;
constexpr size_t largest_config = size_t{1} << 20;

void add(ToldQuestion& question, const std::string& field, Json value, int64_t line) {
  question.fields.push_back({field, std::move(value), line, ""});
}

// ---- a model's config.json

std::optional<DocumentQuestion> question_of_model(const Json& whole) {
  const auto model = attention::read_model(whole);
  if (!model) return std::nullopt;
  const attention::ModelAttention& first = model->attentions.front();
  DocumentQuestion document;
  document.is = fmt::format("a model's config.json{}", model->kind.empty() ? "" : fmt::format(" ({})", model->kind));
  ToldQuestion& question = document.question;
  for (const auto& [field, value] : first.fields.items()) add(question, field, value, 1);
  add(question, "seqlen_q", first.seqlen_q, 1);
  if (first.seqlen_kv != first.seqlen_q) add(question, "seqlen_kv", first.seqlen_kv, 1);
  if (!first.mask.empty()) add(question, "mask", first.mask, 1);
  add(question, "pass", "fprop", 1);
  question.assumed = model->assumed;
  return document;
}

// ---- XLA's custom calls

struct Shape {
  std::string type;
  std::vector<int64_t> sizes;
};

// "bf16[2,1024,16,64]{3,2,1,0}" of HLO, "tensor<2x1024x16x64xbf16>" of StableHLO.
std::vector<Shape> shapes_in(std::string_view text) {
  static const RE2 hlo("\\b([a-z]\\w{1,9})\\[([\\d,]*)\\]", exact_case()),
      stable("tensor<(\\d+(?:x\\d+)*)x([a-zA-Z]\\w+)>", exact_case());
  std::vector<Shape> shapes;
  const auto take = [&](const std::string& type, const std::string& sizes, char separator) {
    Shape shape{type, {}};
    for (const auto& size : split(sizes, separator)) shape.sizes.push_back(parse_number<int64_t>(size).value_or(0));
    shapes.push_back(std::move(shape));
  };
  each_match(hlo, text, [&](const std::string* words, size_t) { take(words[1], words[2], ','); });
  if (shapes.empty())
    each_match(stable, text, [&](const std::string* words, size_t) { take(words[2], words[1], 'x'); });
  return shapes;
}

// MLIR writes quotes as \22 or \".
std::string plain_call(std::string_view call) {
  static const RE2 escaped(R"(\\22|\\")", exact_case());
  std::string plain(call);
  RE2::GlobalReplace(&plain, escaped, "\"");
  return plain;
}

// Null for a member that is missing.
Json member(const Json& object, const char* name) {
  return object.is_object() ? object.value(name, Json()) : Json();
}

// XLA writes 64-bit numbers as text.
double number_of(const Json& value, double otherwise) {
  if (value.is_string()) return parse_number<double>(value.get<std::string>()).value_or(otherwise);
  return value.is_number() ? value.get<double>() : otherwise;
}

Json backend_config(std::string_view call) {
  const size_t begin = call.find("{\"");
  if (begin == std::string_view::npos) return {};
  return member(parse_json_leniently(log::json_object_at_start(call.substr(begin))), "cudnn_fmha_backend_config");
}

std::vector<int64_t> score_sizes(const Json& config) {
  std::vector<int64_t> sizes;
  const Json list = member(member(config, "intermediate_tensor_shape"), "dimensions");
  for (size_t i = 0; list.is_array() && i < list.size(); ++i)
    sizes.push_back(static_cast<int64_t>(number_of(list[i], 0)));
  return sizes;
}

std::string bias_of(const Shape& bias, const std::vector<int64_t>& score) {
  return fmt::format("{}{}{}{}", bias.sizes[0] == score[0] ? "b" : "1", bias.sizes[1] == score[1] ? "h" : "1",
                     bias.sizes[2] == score[2] ? "s" : "1", bias.sizes[3] == score[3] ? "s" : "1");
}

// `call`: the instruction from its target on; `before`: the line up to the target.
std::optional<DocumentQuestion> question_of_call(const std::string& kind, std::string_view before,
                                                 const std::string& call, int64_t line) {
  const Json config = backend_config(call);
  const std::vector<int64_t> score = score_sizes(config);
  constexpr size_t rank = 4;
  // Operands: after operand_layout_constraints; in StableHLO the types after the attributes; otherwise inside the
  // brackets.
  const size_t constraints = call.find("operand_layout_constraints={"), types = call.find(" : (tensor<");
  std::vector<Shape> operands;
  if (constraints != std::string::npos)
    operands = shapes_in(call.substr(constraints, call.find("}, ", call.find("}}", constraints)) - constraints));
  else if (types != std::string::npos)
    operands = shapes_in(call.substr(types, call.find("->", types) - types));
  else if (const size_t opened = before.find("custom-call("); opened != std::string_view::npos)
    operands = shapes_in(before.substr(opened));
  if (score.size() != rank || operands.size() < 3) return std::nullopt;
  for (size_t i = 0; i < 3; ++i)
    if (operands[i].sizes.size() != rank) return std::nullopt;
  static constexpr std::array<std::pair<std::string_view, const char*>, 5> types_by_name = {
      {{"bf16", "bf16"}, {"f16", "f16"}, {"f32", "f32"}, {"f8e4m3fn", "fp8_e4m3"}, {"f8e5m2", "fp8_e5m2"}}};
  const auto type = std::find_if(types_by_name.begin(), types_by_name.end(), [&](const auto& one) {
    return operands.front().type == one.first || (one.first == "f8e4m3fn" && operands.front().type == "f8E4M3FN");
  });
  if (type == types_by_name.end()) return std::nullopt;
  DocumentQuestion document;
  document.is = fmt::format("XLA's custom call __cudnn$fmha{} (line {})", kind, line);
  ToldQuestion& question = document.question;
  const std::vector<int64_t>& k = operands[1].sizes;
  add(question, "batch", score[0], line);
  add(question, "heads_q", score[1], line);
  add(question, "heads_kv", k[1] == score[3] ? k[2] : k[1], line);
  add(question, "seqlen_q", score[2], line);
  add(question, "seqlen_kv", score[3], line);
  add(question, "head_dim_qk", operands[0].sizes[3], line);
  add(question, "head_dim_v", operands[2].sizes[3], line);
  add(question, "dtype", type->second, line);
  add(question, "pass", kind.find("Backward") != std::string::npos ? "bprop" : "fprop", line);
  const Json mask_word = member(config, "mask_type");
  const std::string mask_type = mask_word.is_string() ? mask_word.get<std::string>() : "";
  Json mask = Json::object();
  if (mask_type.find("CAUSAL") != std::string::npos) mask["causal"] = true;
  if (mask_type.find("PADDING") != std::string::npos) mask["padding"] = true;
  const auto window = static_cast<int64_t>(number_of(member(config, "sliding_window_length"), 0));
  if (window > 0) mask["window_left"] = window - 1;
  if (number_of(member(config, "max_seg_per_batch"), 1) > 1) {
    add(question, "layout", "thd", line);
    mask["padding"] = true;
  }
  if (!mask.empty()) add(question, "mask", std::move(mask), line);
  if (mask_type == "ALIBI") add(question, "alibi", true, line);
  const double dropout = number_of(member(config, "dropout_rate"), 0);
  if (dropout > 0) add(question, "dropout", dropout, line);
  if (kind.find("Bias") != std::string::npos && operands.size() > 3 && operands[3].sizes.size() == rank)
    add(question, "bias", bias_of(operands[3], score), line);
  if (member(config, "is_paged_attention") == true) question.assumed.emplace_back("no paged K/V, which the call has");
  return document;
}

std::vector<DocumentQuestion> questions_of_calls(std::string_view text) {
  static const RE2 target("__cudnn\\$fmha(\\w+)", exact_case());
  std::vector<DocumentQuestion> documents;
  each_match(target, text, [&](const std::string* words, size_t at) {
    const size_t begin = text.rfind('\n', at) + 1, end = std::min(text.find('\n', at), text.size());
    if (documents.size() == most_questions) return;
    if (auto one = question_of_call(words[1], text.substr(begin, at - begin), plain_call(text.substr(at, end - at)),
                                    line_at(text, at)))
      if (std::none_of(documents.begin(), documents.end(),
                       [&](const DocumentQuestion& other) { return other.question.same_as(one->question); }))
        documents.push_back(std::move(*one));
  });
  return documents;
}

}  // namespace

std::vector<DocumentQuestion> questions_of_document(std::string_view text) {
  if (text.size() <= largest_config && trim(text).starts_with('{')) {
    const Json config = parse_json_leniently(text);
    if (config.is_object())
      if (auto model = question_of_model(config)) return {std::move(*model)};
  }
  return questions_of_calls(text);
}

}  // namespace attnprobe::explain
