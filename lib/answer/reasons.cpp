#include "answer/reasons.hpp"

#include <algorithm>
#include <string_view>

#include "base/embedded.hpp"
#include "base/json_reader.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_reasons;
}

namespace attnprobe::answer {
namespace {

KnownReason read_reason(const JsonView& place) {
  JsonObject entry(place);
  const auto text_or_none = [&](const char* key) {
    const auto text = entry.find(key);
    return text ? text->text() : "";
  };
  KnownReason known;
  known.id = entry.take("id").text();
  known.category = entry.take("category").one_of<Category>();
  known.match = text_or_none("match");
  known.begins = text_or_none("begins");
  known.whole = text_or_none("whole");
  known.status = text_or_none("status");
  known.meaning = entry.take("meaning").text();
  known.help = text_or_none("help");
  if (const auto changes = entry.find("changes")) known.changes = changes->texts();
  known.since = text_or_none("since");
  known.until = text_or_none("until");
  known.source = text_or_none("source");
  if (const auto wrapper = entry.find("wrapper")) known.wrapper = wrapper->boolean();
  if (!known.wrapper) known.progress = static_cast<int>(entry.take("progress").integer(0, 1000));
  entry.finish();
  return known;
}

bool tells(const KnownReason& known, const log::Reason& reason) {
  return (known.status.empty() || known.status == reason.status) &&
         (known.whole.empty() || known.whole == reason.reason) && reason.reason.starts_with(known.begins) &&
         reason.reason.find(known.match) != std::string::npos;
}

}  // namespace

const std::vector<KnownReason>& known_reasons() {
  static const std::vector<KnownReason> all = [] {
    std::vector<KnownReason> reasons;
    const JsonSource source{.name = "reasons.json", .kind = ErrorKind::internal};
    const Json json = parse_json(embedded_reasons.front().text, source);
    for (const JsonView& entry : JsonView(json, source).at("reasons").elements()) reasons.push_back(read_reason(entry));
    return reasons;
  }();
  return all;
}

const KnownReason* find_reason(const log::Reason& reason) {
  for (const auto& known : known_reasons())
    if (tells(known, reason)) return &known;
  return nullptr;
}

const log::Reason* decisive_reason(const std::vector<log::Reason>& traceback) {
  if (traceback.empty()) return nullptr;
  const auto decisive = std::find_if(traceback.begin(), traceback.end(), [](const log::Reason& reason) {
    const KnownReason* known = find_reason(reason);
    return known == nullptr || !known->wrapper;
  });
  return decisive == traceback.end() ? &traceback.front() : &*decisive;
}

Category category_of_status(const std::string& status) {
  const std::pair<std::string_view, Category> categories[] = {{"_MISALIGNED", Category::alignment},
                                                              {"_BAD_PARAM", Category::invalid_graph},
                                                              {"_SHARED_MEMORY_INSUFFICIENT", Category::shared_memory},
                                                              {"_ARCH_MISMATCH", Category::arch_mismatch},
                                                              {"_GRAPH_PATTERN", Category::graph_pattern},
                                                              {"_SHAPE", Category::shape},
                                                              {"_DATA_TYPE", Category::data_type},
                                                              {"_LAYOUT", Category::layout},
                                                              {"_PADDING", Category::padding},
                                                              {"_RUNTIME_PREREQUISITE_MISSING", Category::environment},
                                                              {"_INCOMPATIBLE_CUDA_DRIVER", Category::environment},
                                                              {"_INCOMPATIBLE_CUDART", Category::environment},
                                                              {"_SUBLIBRARY", Category::environment},
                                                              {"_NOT_INITIALIZED", Category::environment},
                                                              {"_COMPILATION_FAILED", Category::compilation},
                                                              {"_INTERNAL_ERROR", Category::internal_error},
                                                              {"_EXECUTION_FAILED", Category::execution}};
  for (const auto& [part, category] : categories)
    if (status.find(part) != std::string::npos) return category;
  return Category::unknown;
}

}  // namespace attnprobe::answer
