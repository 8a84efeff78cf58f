#include "explain/question_fields.hpp"

#include "attention/config.hpp"
#include "base/error.hpp"

namespace attnprobe::explain {

const std::vector<UsualField>& usual_fields() {
  static const std::vector<UsualField> usual = {{"heads_q", "the number of heads", 8, 32},
                                                {"seqlen_q", "the sequence length", 1024, 1088},
                                                {"head_dim_qk", "the head dimension", 128, 64},
                                                {"dtype", "the data type", "bf16", "f16"},
                                                {"pass", either_pass, "fprop", "bprop"}};
  return usual;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<answer::Question> question_of(Json fields, const ToldQuestion& told) try {
  constexpr int cached_keys = 4096;  // of decoding
  const auto add = [&](const char* field, const Json& value) {
    if (!fields.contains(field)) fields[field] = value;
  };
  add("heads_kv", fields["heads_q"]);
  add("head_dim_v", fields["head_dim_qk"]);
  add("seqlen_kv", fields["seqlen_q"] == 1 ? Json(cached_keys) : fields["seqlen_q"]);
  const bool is_packed = fields.contains("layout");
  if (is_packed) add("batch", 2);
  if (is_packed || fields.contains("paged")) {
    add("mask", Json::object());
    fields["mask"]["padding"] = true;
  }
  std::vector<attention::Override> overrides;
  for (const auto& [name, value] : fields.items()) overrides.push_back({name, value});
  answer::Question question;
  question.config = attention::configs_from_options(overrides).front();
  question.call = told.call;
  return question;
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace attnprobe::explain
