#include "probe/plan_kernels.hpp"

#include <cereal/external/base64.hpp>

#include "base/json_reader.hpp"
#include "probe/cubin.hpp"
#include "probe/occupancy.hpp"

namespace attnprobe::probe {
namespace {

std::string text_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

std::vector<PlanKernel> plan_kernels(const std::string& plan_json, std::optional<int64_t> dynamic_shared_memory_bytes) {
  const Json plan = parse_json_leniently(plan_json);
  const Json::json_pointer place("/engine/payload/kernels");
  if (!plan.is_object() || !plan.contains(place)) return {};
  std::vector<PlanKernel> kernels;
  for (const Json& launched : plan.at(place)) {
    if (!launched.is_object()) continue;
    PlanKernel kernel;
    kernel.name = text_at(launched, "kernelName");
    const auto read = kernels_of_cubin(cereal::base64::decode(text_at(launched, "cubin")));
    if (const auto it = read.find(kernel.name); it != read.end()) kernel = it->second;
    if (dynamic_shared_memory_bytes && plan.contains("GPUProfile"))
      kernel.blocks_per_sm = blocks_per_sm(kernel, *dynamic_shared_memory_bytes, plan["GPUProfile"]);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::string identity_of(const std::vector<PlanKernel>& kernels) {
  std::string identity;
  for (const PlanKernel& kernel : kernels) identity += (identity.empty() ? "" : "+") + kernel.identity;
  return identity;
}

}  // namespace attnprobe::probe
