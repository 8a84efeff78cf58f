#include "rules/gate_demands.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attnprobe::rules {
namespace {

const FrameworkGate* gate_of(std::string_view framework) {
  for (const FrameworkGate& gate : framework_gates())
    if (gate.framework == framework) return &gate;
  return nullptr;
}

// The cuDNN at which a condition such as "cudnn": {"min": 91900, "max": 92500} stops holding (or, negated, starts).
// Unknown if a newer version changes nothing for `cudnn`.
CudnnVersion change_above(const Json& bounds, CudnnVersion cudnn, bool negated) {
  const auto bound = [&](const char* key, int64_t beyond) {
    return bounds.contains(key) ? CudnnVersion::from_number(bounds[key].get<int64_t>() + beyond) : CudnnVersion();
  };
  const CudnnVersion from = std::max(bound("min", 0), bound("above", 1));
  if (negated) return cudnn < from ? from : CudnnVersion();
  const CudnnVersion below = std::max(bound("below", 0), bound("max", 1));
  return cudnn >= from && cudnn < below ? below : CudnnVersion();
}

// The newest such cuDNN in a whole condition.
CudnnVersion wanted_cudnn(const Json& condition, CudnnVersion cudnn, bool negated) {
  CudnnVersion wanted;
  if (condition.is_array())
    for (const Json& part : condition) wanted = std::max(wanted, wanted_cudnn(part, cudnn, negated));
  if (!condition.is_object()) return wanted;
  for (const auto& [key, value] : condition.items())
    if (key == "cudnn" && value.is_object())
      wanted = std::max(wanted, change_above(value, cudnn, negated));
    else
      wanted = std::max(wanted, wanted_cudnn(value, cudnn, negated != (key == "not")));
  return wanted;
}

}  // namespace

const GateRelease* gate_release(std::string_view framework, std::string_view version) {
  const FrameworkGate* gate = gate_of(framework);
  if (gate == nullptr) return nullptr;
  const std::string_view release = version.substr(0, version.find('+'));
  for (const GateRelease& one : gate->releases)
    if (one.version == release) return &one;
  return nullptr;
}

std::string release_words(std::string_view framework, std::string_view version) {
  const GateRelease* release = gate_release(framework, version);
  if (release == nullptr || release->frontend.empty()) return std::string(version);
  return fmt::format("{}, compiled with cudnn-frontend {}", version, release->frontend);
}

std::vector<GateDemand> gate_demands(std::string_view framework, std::string_view version, CudnnVersion cudnn) {
  std::vector<GateDemand> demands;
  const GateRelease* release = gate_release(framework, version);
  if (release == nullptr || !cudnn.is_known()) return demands;
  for (const FrameworkRule* rule : rules_in_order(*gate_of(framework), release->version)) {
    const CudnnVersion from = wanted_cudnn(rule->when, cudnn, false);
    if (from.is_known()) demands.push_back({rule->id, from, rule->message, rule->change});
  }
  std::stable_sort(demands.begin(), demands.end(), [](const auto& a, const auto& b) { return a.from > b.from; });
  return demands;
}

}  // namespace attnprobe::rules
