#include "libraries.hpp"

#include <algorithm>

#include "ask/chosen_libraries.hpp"
#include "support.hpp"

namespace attnprobe::test {

const std::vector<FoundLibrary>& libraries() {
  static const std::vector<FoundLibrary> all = [] {
    std::vector<FoundLibrary> found;
    asking::PlanOptions options;
    for (const auto& candidate : cudnn::find_libraries(""))
      found.push_back({asking::identify(candidate.path, options, {}).version, candidate.path});
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.version < b.version; });
    return found;
  }();
  return all;
}

std::vector<FoundLibrary> three_libraries() {
  std::vector<FoundLibrary> three;
  for (const FoundLibrary& library : libraries())
    if (library.path == libraries().front().path || library.path == libraries().back().path ||
        library.path == cudnn_path())
      three.push_back(library);
  return three;
}

}  // namespace attnprobe::test
