#include "studies/limits/question_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "answer/question.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::limits {
namespace {

using attention::Override;

bool is_given(const std::vector<Override>& overrides, const std::string& field) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const auto& given) { return given.field == field; });
}

// A varied or given field, or half of one, is handled by fill_in() and the reader of configs.
std::vector<std::string> assume_shape(std::vector<Override>& overrides, const std::vector<Axis>& axes) {
  constexpr std::pair<const char*, int> usual[] = {{"heads", 8}, {"seqlen", 1024}, {"head_dim", 64}};
  std::vector<std::string> assumed;
  for (const auto& [name, value] : usual) {
    const auto is_of_it = [prefix = std::string(name)](const std::string& field) { return field.starts_with(prefix); };
    const bool is_known =
        std::any_of(axes.begin(), axes.end(), [&](const auto& axis) { return is_of_it(axis.name); }) ||
        std::any_of(overrides.begin(), overrides.end(), [&](const auto& given) { return is_of_it(given.field); });
    if (is_known) continue;
    overrides.push_back({name, value});
    assumed.push_back(fmt::format("{} {}", name, value));
  }
  return assumed;
}

// Varied fields may be missing: here they get a value that suits most others.
std::vector<Override> fill_in(const std::vector<Override>& overrides, const std::vector<Axis>& axes) {
  std::vector<Override> all;
  for (const auto& axis : axes) {
    const bool is_field = std::any_of(attention::fields().begin(), attention::fields().end(), [&](const auto& field) {
      return field.name == axis.name && field.member_of.empty();
    });
    if (is_field && !is_given(overrides, axis.name))
      all.push_back({axis.name, axis.range ? Json(std::clamp<int64_t>(64, axis.range->first, axis.range->last))
                                           : axis.values.front()});
  }
  all.insert(all.end(), overrides.begin(), overrides.end());
  return all;
}

// A map's axis has 64 numbers of the default range, unless the user named others.
void coarsen(Axis& axis) {
  constexpr int64_t points = 64;
  constexpr size_t most = 256;
  if (axis.range && axis.range_is_usual) {
    const int64_t step = std::max<int64_t>(1, axis.range->last / points);
    axis.range = attention::Range{step, points * step, step};
    axis.range_is_usual = false;
  }
  if (count_of(axis) > most)
    throw Error(ErrorKind::usage,
                fmt::format("{} has {} values; a map has at most {} per side: give a step, {}=8:512:8", axis.name,
                            count_of(axis), most, axis.name));
}

void check_vary(const Question& question, const std::vector<Override>& overrides, const std::string& place) {
  const auto check_unless_added = [&](const Axis& axis) {
    for (const auto& one : overrides)
      if (const auto* field = attention::find_field(one.field); field != nullptr && field->member_of == axis.name)
        throw Error(ErrorKind::usage,
                    fmt::format("{} adds to {}, which is varied; name its values, as {}={}",
                                attention::option_of(one.field), axis.name, axis.name, text_of(axis.values.back())));
  };
  check_unless_added(question.axis);
  for (const auto& axis : question.vary) check_unless_added(axis);
  for (const auto& axis : question.vary)
    if (axis.name == question.axis.name)
      throw Error(ErrorKind::usage, fmt::format("{} {}: this field is already varied", place, axis.name));
    else if (axis.range_is_usual)
      throw Error(ErrorKind::usage,
                  fmt::format("{} {}: give values, {}=64,128 or {}=8:64:8", place, axis.name, axis.name, axis.name));
}

}  // namespace

Question read_question(QuestionWords& words) {
  Question question;
  std::vector<Axis> axes = read_axes(words.fields, words.fields_place);
  if (axes.empty() || axes.size() > 2)
    throw Error(ErrorKind::usage,
                fmt::format("{} accepts one field, or two for a map, such as head_dim or head_dim,seqlen_kv",
                            words.fields_place));
  if (words.times && axes.size() != 2)
    throw Error(
        ErrorKind::usage,
        fmt::format("{} time colours a map, of two fields: head_dim,seqlen_kv; `attnprobe tune` times single configs",
                    words.by_place));
  question.vary = read_axes(words.vary, words.vary_place);
  question.axis = axes.front();
  if (axes.size() == 2) {
    for (auto& axis : axes) coarsen(axis);
    question.axis = axes[1];
    question.vary.push_back(axes[0]);
  }
  check_vary(question, words.overrides, words.vary_place);
  question.shown = words.shown;
  question.times = words.times;
  question.configs = words.configs;
  if (words.configs.empty()) {
    std::vector<Axis> set_later = question.vary;
    set_later.push_back(question.axis);
    question.assumed = assume_shape(words.overrides, set_later);
    const auto overrides = fill_in(words.overrides, set_later);
    question.configs = words.read ? words.read(overrides) : attention::configs_from_options(overrides);
  }
  for (auto& config : question.configs) answer::adopt_frontend(config.spec, words.frameworks);
  return question;
}

std::string command_text(const QuestionWords& words, const PlaceWords& place) {
  std::string command = fmt::format("attnprobe limits {}", shell_word(fmt::format("{}", fmt::join(words.fields, ","))));
  for (const auto& file : place.files) command += " --config " + shell_word(file);
  for (const auto& one : words.overrides) command += " " + attention::override_words(one);
  for (const auto& vary : words.vary) command += " --vary " + shell_word(vary);
  command += " --target " + shell_word(place.target);
  if (!place.cudnn.empty()) command += " --cudnn " + shell_word(place.cudnn);
  if (!place.frameworks.empty()) command += " --framework " + shell_word(place.frameworks);
  if (words.times) command += " --by time";
  return command;
}

}  // namespace attnprobe::limits
