#include "diagnose/conflicts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"
#include "diagnose/gpu_families.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::diagnose {
namespace {

struct NamedGpu {
  std::string name;
  int sm = 0;
};

std::vector<NamedGpu> gpus_of(const TextFacts& facts) {
  std::vector<NamedGpu> gpus;
  for (const auto& id : facts.gpus)
    if (const gpu::Target* target = gpu::find(id))
      gpus.push_back({fmt::format("{} (sm_{})", target->name, target->sm), target->sm});
  for (const int sm : facts.sms)
    if (std::none_of(gpus.begin(), gpus.end(), [&](const NamedGpu& gpu) { return gpu.sm == sm; }))
      gpus.push_back({fmt::format("sm_{}", sm), sm});
  if (gpus.empty())
    for (const auto& family : facts.families) gpus.push_back({"one of " + family, gpu_family(family)->least});
  return gpus;
}

// ---- GPUs that a message demands

struct DemandedGpus {
  std::set<int> sms;     // 90: just these
  std::set<int> majors;  // 10: all of 10.x
  bool and_newer = false;

  bool takes(int sm) const {
    if (sms.count(sm) != 0 || majors.count(sm / 10) != 0) return true;
    if (!and_newer) return false;
    const int least = std::min(sms.empty() ? 10'000 : *sms.begin(), majors.empty() ? 10'000 : 10 * *majors.begin());
    return sm >= least;
  }
};

std::optional<DemandedGpus> demanded_gpus(std::string_view message) {
  static const RE2 demands(
      "\\bonly\\b|\\brequires?\\b|\\bneeds?\\b|\\bsupports? |(?:is|are) supported|\\bmust\\b|at least|>=|minimum",
      any_case());
  static const RE2 denies(
      "(?:not|n't|no longer|un) ?support|not (?:yet |currently )?(?:implemented|available|compatible)|no kernel|not compiled|cannot|fail",
      any_case());
  static const RE2 newer(
      "or (?:newer|higher|later|above|greater)|and (?:newer|higher|later|above|up)|>=|at least|minimum|\\bnewer\\b|\\d\\+|greater than or equal",
      any_case());
  static const RE2 by_dots("(?:\\bsm|capabilit(?:y|ies)|\\bCC|, ?| and | or |/)[ _=>:v]{0,4}(1?\\d)\\.([\\dx])\\b",
                           any_case());
  static const RE2 by_number("\\bsm[ _]?(\\d{2,3})[af]?\\b", any_case());
  if (!has_words(message, demands) || has_words(message, denies)) return std::nullopt;
  DemandedGpus demanded;
  demanded.and_newer = has_words(message, newer);
  re2::StringPiece rest = piece(message);
  std::string major, minor;
  while (RE2::FindAndConsume(&rest, by_dots, &major, &minor)) {
    const int number = parse_number<int>(major).value_or(0);
    if (number < 5 || number > 13) continue;
    if (minor == "x" || minor == "X")
      demanded.majors.insert(number);
    else
      demanded.sms.insert(10 * number + parse_number<int>(minor).value_or(0));
  }
  rest = piece(message);
  while (RE2::FindAndConsume(&rest, by_number, &major)) demanded.sms.insert(parse_number<int>(major).value_or(0));
  for (const GpuFamily& family : gpu_families) {
    if (!has_words(message, RE2("\\b" + std::string(family.name) + "\\b"))) continue;
    const int below = demanded.and_newer ? family.least + 1 : family.below;
    for (int sm = family.least; sm < below; ++sm) demanded.sms.insert(sm);
  }
  if (demanded.sms.empty() && demanded.majors.empty()) return std::nullopt;
  return demanded;
}

// ---- numbers that a message demands

std::optional<int64_t> number_in(std::string_view message, const RE2& pattern) {
  std::string digits;
  if (!RE2::PartialMatch(piece(message), pattern, &digits)) return std::nullopt;
  return parse_number<int64_t>(digits);
}

std::vector<int64_t> told_head_dims(const TextFacts& facts) {
  std::vector<int64_t> told;
  for (const auto* values : {&facts.head_dims_qk, &facts.head_dims_v, &facts.shape.head_dims})
    for (const int64_t value : *values)
      if (std::find(told.begin(), told.end(), value) == told.end()) told.push_back(value);
  return told;
}

std::vector<int64_t> list_in(std::string_view message) {
  static const RE2 list("head[ _-]?(?:dim|size)[^\\n]{0,80}[\\[({] ?((?:\\d{2,4}, ?){1,20}\\d{2,4}) ?[\\])}]",
                        any_case());
  std::vector<int64_t> values;
  std::string found;
  if (RE2::PartialMatch(piece(message), list, &found))
    for (const auto& word : split(found, ','))
      values.push_back(parse_number<int64_t>(std::string(trim(word))).value_or(0));
  // "assert head_size == 128 || head_size == 256"
  static const RE2 alternative("head[ _]?(?:dim|size)\\w* ?== ?(\\d{2,4})", any_case());
  re2::StringPiece rest = piece(message);
  while (values.size() < 20 && RE2::FindAndConsume(&rest, alternative, &found))
    values.push_back(parse_number<int64_t>(found).value_or(0));
  return values;
}

void add_head_dim_conflicts(std::vector<Conflict>& conflicts, std::string_view message, const TextFacts& facts) {
  static const RE2 most(
      "head[ _-]?(?:dim(?:ension)?s?|sizes?)[^.;\\n]{0,60}?(?:up to|at most|<=|less than or equal to|max(?:imum)?(?: of| is)?|not exceed|must be less than|smaller than|larger than|greater than|exceeds?|>) ?(?:the )?\\D{0,16}(\\d{2,4})",
      any_case());
  static const RE2 step(
      "head[ _-]?(?:dim(?:ension)?s?|sizes?)[^.;\\n]{0,60}?(?:multiple of|divisible by|% ?) ?(\\d{1,3})", any_case());
  const auto limit = number_in(message, most), multiple = number_in(message, step);
  const std::vector<int64_t> allowed = list_in(message);
  for (const int64_t told : told_head_dims(facts)) {
    const bool is_above = limit && told > *limit;
    const bool is_not_listed = !allowed.empty() && std::find(allowed.begin(), allowed.end(), told) == allowed.end();
    const bool is_none = multiple && *multiple > 1 && told != *multiple && told % *multiple != 0;
    if (!is_above && !is_not_listed && !is_none) continue;
    Conflict& conflict = conflicts.emplace_back();
    if (is_above)
      conflict.what =
          fmt::format("the text's head dimension, {}, is above the {} that the message allows", told, *limit);
    else if (is_not_listed)
      conflict.what = fmt::format("the text's head dimension, {}, is not among those that the message lists: {}", told,
                                  fmt::join(allowed, ", "));
    else
      conflict.what = fmt::format("the text's head dimension, {}, is not a multiple of {}: {} is the next one", told,
                                  *multiple, (told / *multiple + 1) * *multiple);
    conflict.is_final = is_above || (is_not_listed && told > *std::max_element(allowed.begin(), allowed.end()));
    return;
  }
}

}  // namespace

std::vector<Conflict> conflicts_in(std::string_view message, std::string_view named, const TextFacts& facts) {
  std::vector<Conflict> conflicts;
  const std::vector<NamedGpu> gpus = gpus_of(facts);
  if (const auto demanded = demanded_gpus(message)) {
    std::vector<std::string> others;
    for (const NamedGpu& gpu : gpus)
      if (!demanded->takes(gpu.sm)) others.push_back(gpu.name);
    if (!others.empty())
      conflicts.push_back(
          {fmt::format("the text's GPU, {}, is not among those that the message asks for", fmt::join(others, " or ")),
           true});
  }
  for (const KernelOfGpus& kernel : readings().kernels) {
    if (!has_words(named, *kernel.words)) continue;
    std::vector<std::string> others;
    for (const NamedGpu& gpu : gpus)
      if (gpu.sm < kernel.least || gpu.sm > kernel.most) others.push_back(gpu.name);
    if (!others.empty())
      conflicts.push_back(
          {fmt::format("{} is not for the text's GPU, {}: {}", kernel.name, fmt::join(others, " or "), kernel.runs_on),
           true});
  }
  add_head_dim_conflicts(conflicts, message, facts);
  return conflicts;
}

}  // namespace attnprobe::diagnose
