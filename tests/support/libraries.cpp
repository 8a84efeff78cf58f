#include "libraries.hpp"

#include <algorithm>

#include "campaign/matrix.hpp"
#include "support.hpp"

namespace attnprobe::test {

const std::vector<Library>& libraries() {
  static const std::vector<Library> all = [] {
    std::vector<Library> found;
    campaign::CampaignOptions options;
    options.cudnn = cudnn_path();
    for (const auto& candidate : cudnn::find_libraries(""))
      found.push_back({campaign::identify(candidate.path, options).version, candidate.path});
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.version < b.version; });
    return found;
  }();
  return all;
}

std::vector<Library> three_libraries() {
  std::vector<Library> three;
  for (const Library& library : libraries())
    if (library.path == libraries().front().path || library.path == libraries().back().path ||
        library.path == cudnn_path())
      three.push_back(library);
  return three;
}

}  // namespace attnprobe::test
