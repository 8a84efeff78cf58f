#include "rules/framework_releases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.hpp"
#include "base/json_reader.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_rules;
}

namespace attnprobe::rules {
namespace {

std::optional<Json> release_file(std::string_view framework) {
  const std::string name = fmt::format("frameworks/{}.json", framework);
  for (const auto& [file, text] : embedded_rules)
    if (file == name) return parse_json(text, {.name = name, .kind = ErrorKind::internal});
  return std::nullopt;
}

std::string without_local_part(std::string_view version) {
  return std::string(version.substr(0, version.find('+')));
}

std::string text_of(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

// The cuDNN at which one condition, "cudnn": {"min": 91900, "max": 92500}, stops to hold (or, negated, begins to): not
// known where a newer one changes nothing for `cudnn`.
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

bool holds_in(const Json& rule, const std::string& version) {
  const std::string from = text_of(rule, "from"), below = text_of(rule, "below");
  const auto numbers = version_numbers(version);
  return (from.empty() || numbers >= version_numbers(from)) && (below.empty() || numbers < version_numbers(below));
}

}  // namespace

std::optional<FrameworkRelease> framework_release(std::string_view framework, std::string_view version) {
  const auto file = release_file(framework);
  if (!file) return std::nullopt;
  for (const Json& release : (*file)["releases"])
    if (text_of(release, "version") == without_local_part(version))
      return FrameworkRelease{text_of(release, "version"), text_of(release, "cudnn"), text_of(release, "package")};
  return std::nullopt;
}

std::vector<GateDemand> gate_demands(std::string_view framework, std::string_view version, CudnnVersion cudnn) {
  std::vector<GateDemand> demands;
  const auto file = release_file(framework);
  const std::string release = without_local_part(version);
  if (!file || !cudnn.is_known() || !framework_release(framework, version)) return demands;
  for (const Json& rule : (*file)["rules"]) {
    if (!holds_in(rule, release)) continue;
    const CudnnVersion from = wanted_cudnn(rule["when"], cudnn, false);
    if (from.is_known())
      demands.push_back({text_of(rule, "id"), from, text_of(rule, "message"), text_of(rule, "change")});
  }
  std::stable_sort(demands.begin(), demands.end(), [](const auto& a, const auto& b) { return a.from > b.from; });
  return demands;
}

}  // namespace attnprobe::rules
