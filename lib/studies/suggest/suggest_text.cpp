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

}  // namespace

std::string suggest_text(const std::vector<Suggested>& all, size_t width) {
  std::string out;
  for (const auto& [result, gpus] : all) {
    const auto& spec = result.config.spec;
    out += fmt::format("{} on {}, cuDNN {}\n", describe(spec), result.target.id, result.cudnn_version.text());
    out += report::wrapped(suggested_answer(result), 2, width);
    size_t number = 0;
    for (const auto& way : result.ways_out) {
      std::string text =
          report::wrapped(fmt::format("{}{}", text_of(way), way.compiled ? " (compiled)" : ""), 5, width);
      const std::string mark = std::to_string(++number);
      text.replace(3 - std::min<size_t>(2, mark.size()), mark.size(), mark);
      out += text + "       " + way.reproduce + "\n";
    }
    if (result.usable != answer::Usable::yes && result.ways_out.empty())
      out += result.ways_out_unasked > 0
                 ? fmt::format("  no change was found; {} more were not tried: --most-asked\n", result.ways_out_unasked)
                 : "  no change of one or two fields makes it work\n";
    if (result.root_cause)
      for (const auto& advice : result.root_cause->advice)
        if (advice.starts_with("cuDNN ")) out += fmt::format("   - {}\n", advice.substr(0, advice.find('\n')));
    if (!gpus.empty()) out += fmt::format("   - works unchanged on {}\n", fmt::join(gpus, ", "));
    out += "\n";
  }
  out.pop_back();
  return printable(out);
}

Json suggest_json(const std::vector<Suggested>& all) {
  Json results = Json::array();
  for (const auto& [result, gpus] : all) {
    Json json = report::to_json(result);
    Json one;
    for (const char* key : {"config", "target", "cudnn", "verdict", "usable", "but", "root_cause", "ways_out"})
      if (json.contains(key)) one[key] = json[key];
    if (!one.contains("ways_out")) one["ways_out"] = Json::array();
    one["gpus"] = gpus;
    one["not_tried"] = result.ways_out_unasked;
    results.push_back(std::move(one));
  }
  return {{"schema", "attnprobe/suggest/1"}, {"tool", report::tool_version()}, {"results", std::move(results)}};
}

}  // namespace attnprobe::studies
