#include "campaign/other_versions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "campaign/by_rule.hpp"
#include "campaign/matrix.hpp"

namespace attnprobe::campaign {
namespace {

constexpr size_t most_asked = 4;  // results; beyond that a matrix over versions is the better question

// Those that answer for simulated GPUs: the newer ones in ascending order, then the older ones in descending order.
std::vector<cudnn::LibraryInfo> others(const cudnn::LibraryInfo& asked, const CampaignOptions& options) {
  std::vector<cudnn::LibraryInfo> libraries;
  std::set<CudnnVersion> known{asked.version};
  for (const auto& candidate : cudnn::find_libraries("")) try {
      auto library = identify(candidate.path, options);
      if (library.version >= first_that_simulates && known.insert(library.version).second)
        libraries.push_back(std::move(library));
    } catch (const Error&) {
      continue;  // `attnprobe doctor` says what is wrong with it
    }
  std::sort(libraries.begin(), libraries.end(), [&](const auto& a, const auto& b) {
    const bool a_newer = a.version > asked.version, b_newer = b.version > asked.version;
    if (a_newer != b_newer) return a_newer;
    return a_newer ? a.version < b.version : b.version < a.version;
  });
  return libraries;
}

bool is_refused(const Result& result) {
  return result.verdict == Verdict::unsupported && result.has_spec() && result.target.kind == gpu::Kind::simulated;
}

}  // namespace

void advise_other_versions(CampaignResult& campaign, const CampaignOptions& options) {
  const auto refused = static_cast<size_t>(std::count_if(campaign.results.begin(), campaign.results.end(), is_refused));
  if (refused == 0 || refused > most_asked || !campaign.library) return;
  CampaignOptions quick = options;
  quick.walk.modes = {"A"};
  quick.walk.engines = probe::Engines::heuristic;
  quick.walk.sweep_where_none = false;
  const auto libraries = others(*campaign.library, options);
  for (Result& result : campaign.results) {
    if (!is_refused(result)) continue;
    for (const auto& library : libraries) {
      if (options.stop != nullptr && *options.stop) return;
      quick.cudnn = library.path;
      const CampaignResult other = run_campaign({result}, {result.target}, quick);
      if (other.results.empty() || other.results[0].verdict != Verdict::supported) continue;
      const Result& taken = other.results[0];
      const std::string but = taken.but.empty() ? "" : fmt::format(", but {}", taken.but.front().text);
      result.root_cause->advice.push_back(fmt::format("cuDNN {}, which is here: supported on {}{}\n{}",
                                                      library.version.text(), result.target.id, but, taken.reproduce));
      break;
    }
  }
}

}  // namespace attnprobe::campaign
