#include "machine/python_extras.hpp"

#include <algorithm>
#include <array>

namespace attnprobe::machine {
namespace {

struct Extra {
  const char* name;
  // As in pyproject.toml, checked by a test; cuDNN comes first.
  std::array<std::pair<const char*, const char*>, 3> requirements;
};
constexpr std::array<Extra, 2> extras{{
    {"cu13", {{{"nvidia-cudnn-cu13", ">=9,<10"}, {"nvidia-cublas", ">=13,<14"}, {"nvidia-cuda-nvrtc", ">=13,<14"}}}},
    {"cu12",
     {{{"nvidia-cudnn-cu12", ">=9,<10"}, {"nvidia-cublas-cu12", ">=12,<13"}, {"nvidia-cuda-nvrtc-cu12", ">=12,<13"}}}},
}};

std::string frozen(const DistInfo& info) {
  return info.name + "==" + info.version;
}

}  // namespace

std::vector<ExtraChange> extra_changes(const std::vector<DistInfo>& installed) {
  std::vector<ExtraChange> changes;
  for (const Extra& extra : extras) {
    ExtraChange change{extra.name, {}, {}, {}, ""};
    for (const auto& [package, specifier] : extra.requirements) {
      const auto found = std::find_if(installed.begin(), installed.end(),
                                      [name = package](const DistInfo& info) { return info.name == name; });
      if (found != installed.end() && satisfies(found->version, specifier)) {
        change.stays.push_back(frozen(*found));
        continue;
      }
      if (found != installed.end()) change.goes.push_back(frozen(*found));
      change.comes.push_back(std::string(package) + specifier);
      if (package != extra.requirements.front().first) continue;
      for (const DistInfo& info : installed)
        if (info.name.starts_with("nvidia-cudnn-cu") && info.name != package) change.overwritten = frozen(info);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace attnprobe::machine
