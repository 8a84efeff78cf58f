#include "service/limits_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask/chosen_libraries.hpp"
#include "attention/read_configs.hpp"
#include "studies/limits/limits_text.hpp"
#include "studies/limits/question_words.hpp"

namespace attnprobe::service {
namespace {

// A single config may omit the varied fields and a shape; several configs must be complete.
void read_config(const std::optional<JsonView>& config, const JsonView& params, limits::QuestionWords& words) {
  const bool is_single = !config || (config->json().is_object() && !config->json().contains("configs"));
  if (!is_single) {
    words.configs = attention::read_configs(*config);
    return;
  }
  if (config)
    for (const auto& [field, value] : config->json().items()) words.overrides.push_back({field, value});
  words.read = [place = config.value_or(params)](const std::vector<attention::Override>& overrides) {
    Json whole = Json::object();
    for (const auto& one : overrides) whole[one.field] = one.value;
    return attention::read_configs(place.with(whole));
  };
}

// A value as for an option: single, or an array for a repeated option.
std::vector<std::string> option_words(const std::optional<JsonView>& value) {
  if (!value) return {};
  return value->json().is_string() ? std::vector{value->text()} : value->texts();
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

std::vector<std::string> target_ids(const std::vector<gpu::Target>& targets) {
  std::vector<std::string> ids;
  ids.reserve(targets.size());
  for (const auto& target : targets) ids.push_back(target.file.empty() ? target.id : target.file);
  return ids;
}

}  // namespace

Json answer_limits(const JsonView& params, const Means& means) {
  asking::PlanOptions options;
  JsonObject object(params);
  const std::string place = params.where();
  limits::QuestionWords words;
  words.fields_place = place + "/field";
  words.vary_place = place + "/vary";
  words.by_place = place + "/by";
  words.fields = option_words(object.take("field"));
  words.vary = option_words(object.find_set("vary"));
  read_config(object.find_set("config"), params, words);
  if (const auto by = object.find_set("by")) words.shown = by->one_of<limits::Shown>();
  words.times = words.shown == limits::Shown::time;
  auto versions = words_of(object.find_set("cudnn"));
  const std::string cudnn = joined(versions);
  if (versions.empty()) versions.emplace_back();
  read_how(object, options);
  options.frameworks = gates_of(object, "");
  const auto target = object.find_set("target");
  object.finish();
  words.frameworks = options.frameworks;
  limits::Question question = limits::read_question(words);
  static const Json representative = "representative";
  question.targets =
      targets_of(target.value_or(params.with(representative)), options.timeout_seconds, means.session.program);
  const auto slots = take_slots(options, means, any_number);
  std::vector<std::string> warnings;
  const asking::Session session = telling(means.session, warnings);
  question.cudnns = asking::choose_libraries(versions, question.targets, options, session);
  const auto found = limits::find_limits(question, options, session);
  Json answer = limits::limits_json(question, found,
                                    limits::command_text(words, {.files = {},
                                                                 .target = joined(target_ids(question.targets)),
                                                                 .cudnn = cudnn,
                                                                 .frameworks = rules::words_of(options.frameworks)}));
  if (!warnings.empty()) answer["warnings"] = warnings;
  return answer;
}

}  // namespace attnprobe::service
