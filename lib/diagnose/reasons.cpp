#include "attnprobe/diagnose/reasons.hpp"

#include <string_view>

#include "attnprobe/json.hpp"

namespace attnprobe {
extern const std::vector<std::pair<std::string_view, std::string_view>> embedded_reasons;
}

namespace attnprobe::diagnose {

const std::vector<KnownReason>& known_reasons() {
  static const std::vector<KnownReason> all = [] {
    std::vector<KnownReason> reasons;
    const Json json = Json::parse(embedded_reasons.front().second);
    for (const Json& entry : json.at("reasons"))
      reasons.push_back({entry.at("category"), entry.value("match", ""), entry.value("status", ""),
                         entry.at("meaning"), entry.value("help", ""), entry.at("progress").get<int>()});
    return reasons;
  }();
  return all;
}

const KnownReason* find_reason(const cudnn::Reason& reason) {
  for (const auto& known : known_reasons()) {
    if (!known.status.empty() && known.status != reason.status) continue;
    if (!known.match.empty() && reason.reason.find(known.match) == std::string::npos) continue;
    return &known;
  }
  return nullptr;
}

std::string category_of_status(const std::string& status) {
  const std::pair<std::string_view, std::string_view> categories[] = {
      {"_BAD_PARAM", "invalid_graph"},
      {"_SHARED_MEMORY_INSUFFICIENT", "shared_memory"},
      {"_ARCH_MISMATCH", "architecture"},
      {"_GRAPH_PATTERN", "graph_pattern"},
      {"_SHAPE", "shape"},
      {"_DATA_TYPE", "data_type"},
      {"_LAYOUT", "layout"},
      {"_PADDING", "padding"},
      {"_RUNTIME_PREREQUISITE_MISSING", "environment"},
      {"_INCOMPATIBLE_CUDA_DRIVER", "environment"},
      {"_INCOMPATIBLE_CUDART", "environment"},
      {"_SUBLIBRARY", "environment"},
      {"_NOT_INITIALIZED", "environment"},
      {"_COMPILATION_FAILED", "compilation"},
      {"_INTERNAL_ERROR", "internal_error"},
      {"_EXECUTION_FAILED", "execution"}};
  for (const auto& [part, category] : categories)
    if (status.find(part) != std::string::npos) return std::string(category);
  return "unknown";
}

}  // namespace attnprobe::diagnose
