#include "diagnose/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/json.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_reasons;
}

namespace attnprobe::diagnose {
namespace {

KnownReason read_reason(const Json& entry) {
  KnownReason known;
  known.id = entry.at("id");
  const auto category = parse_enum<Category>(entry.at("category").get<std::string>());
  if (!category)
    throw Error(ErrorKind::internal,
                fmt::format("reasons.json: {}: {} is not a category", known.id, entry.at("category").dump()));
  known.category = *category;
  known.match = entry.value("match", "");
  known.begins = entry.value("begins", "");
  known.whole = entry.value("whole", "");
  known.status = entry.value("status", "");
  known.meaning = entry.at("meaning");
  known.help = entry.value("help", "");
  known.since = entry.value("since", "");
  known.until = entry.value("until", "");
  known.source = entry.value("source", "");
  known.wrapper = entry.value("wrapper", false);
  known.progress = known.wrapper ? 0 : entry.at("progress").get<int>();
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
    const Json json = Json::parse(embedded_reasons.front().text);
    for (const Json& entry : json.at("reasons")) reasons.push_back(read_reason(entry));
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

}  // namespace attnprobe::diagnose
