#include "studies/suggest/suggest_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/formats/notes.hpp"

namespace attnprobe::studies {

using answer::Answer;
using answer::Usable;

namespace {

std::string suggested_answer(const Answer& result) {
  const std::string why = result.root_cause
                              ? fmt::format("{}: {}", name_of(result.root_cause->category), short_reason(result))
                          : result.but.empty() ? ""
                                               : report::obstacles_summary(result);
  return fmt::format("{}{}{}", name_of(word_of(result)), why.empty() ? "" : ", ", why);
}

// "head dimension 128 on a100, b200; 192/128 on b200"
std::string other_models_text(const std::vector<OtherModel>& models) {
  std::string out;
  for (const auto& model : models)
    out += fmt::format("{}{}{} on {}", out.empty() ? "head dimension " : "; ", model.head_dim_qk,
                       model.head_dim_qk == model.head_dim_v ? "" : fmt::format("/{}", model.head_dim_v),
                       fmt::join(model.gpus, ", "));
  return out;
}

}  // namespace

std::string suggest_text(const std::vector<Suggested>& all, size_t width) {
  std::string out;
  for (const auto& [result, gpus, other_models] : all) {
    const auto& spec = result.config.spec;
    out += fmt::format("{} on {}, cuDNN {}\n", describe(spec), result.target.id, result.cudnn_version.text());
    out += report::wrapped(suggested_answer(result), 2, width);
    size_t number = 0;
    const auto add_ways = [&, &ways_out = result.ways_out](bool of_other_models) {
      for (const auto& way : ways_out) {
        if (is_other_model(way) != of_other_models) continue;
        std::string text =
            report::wrapped(fmt::format("{}{}", text_of(way), way.compiled ? " (compiled)" : ""), 5, width);
        const std::string mark = std::to_string(++number);
        text.replace(3 - std::min<size_t>(2, mark.size()), mark.size(), mark);
        out += text + "       " + way.reproduce + "\n";
      }
    };
    add_ways(false);
    if (result.usable != Usable::yes && std::ranges::all_of(result.ways_out, answer::is_other_model))
      out += result.ways_out_unasked > 0 ? fmt::format("  no change was found; {} more were not tried (--most-asked)\n",
                                                       result.ways_out_unasked)
                                         : "  no change of one or two fields makes this model work\n";
    if (result.root_cause)
      for (const auto& advice : result.root_cause->advice)
        if (advice.starts_with("cuDNN ")) out += fmt::format("   - {}\n", advice.substr(0, advice.find('\n')));
    if (!gpus.empty()) out += fmt::format("   - works unchanged on {}\n", fmt::join(gpus, ", "));
    add_ways(true);
    if (!other_models.empty()) {
      std::string text = report::wrapped("another model: " + other_models_text(other_models), 5, width);
      out += text.replace(3, 1, "-");
    }
    out += "\n";
  }
  out.pop_back();
  return printable(out);
}

Json suggest_json(const std::vector<Suggested>& all) {
  Json results = Json::array();
  for (const auto& [result, gpus, other_models] : all) {
    Json json = report::to_json(result);
    Json one;
    for (const char* key : {"config", "target", "cudnn", "verdict", "usable", "but", "root_cause", "ways_out"})
      if (json.contains(key)) one[key] = json[key];
    if (!one.contains("ways_out")) one["ways_out"] = Json::array();
    one["gpus"] = gpus;
    one["other_models"] = Json::array();
    for (const auto& [head_dim_qk, head_dim_v, on] : other_models)
      one["other_models"].push_back({{"head_dim_qk", head_dim_qk}, {"head_dim_v", head_dim_v}, {"gpus", on}});
    one["not_tried"] = result.ways_out_unasked;
    results.push_back(std::move(one));
  }
  return {{"schema", "attnprobe/suggest/1"}, {"tool", report::tool_version()}, {"results", std::move(results)}};
}

}  // namespace attnprobe::studies
