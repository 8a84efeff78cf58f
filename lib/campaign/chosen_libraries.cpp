#include "campaign/chosen_libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/version.hpp"
#include "campaign/by_rule.hpp"
#include "campaign/matrix.hpp"
#include "campaign/target_run.hpp"

namespace attnprobe::campaign {
namespace {

namespace fs = std::filesystem;

// Of "9.14.0.64" the build is not known of a library; it has to be where a folder says so.
bool is_meant(const cudnn::LibraryInfo& library, const std::string& word) {
  const bool names_build = std::count(word.begin(), word.end(), '.') == 3;
  if (names_build) return library.path.find("/" + word + "/") != std::string::npos;
  return is_of_version(library.version.text(), word);
}

void tell(const OnProblem& on_problem, const std::string& problem) {
  if (on_problem) on_problem(problem);
}

std::vector<cudnn::LibraryInfo> libraries_here(const CampaignOptions& campaign, const OnProblem& on_problem) {
  return identify_all(campaign, [&](const std::string& problem) { tell(on_problem, problem); });
}

// The cuDNN of a version whose place or name says it, which none has to be loaded for.
std::optional<fs::path> library_named(const std::string& version) {
  try {
    return cudnn::choose_library(version).path;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Of all that are here, whatever the version.
constexpr const char* latest = "latest";

const cudnn::LibraryInfo& newest(const std::vector<cudnn::LibraryInfo>& here) {
  if (here.empty())
    throw Error(ErrorKind::environment,
                "--cudnn latest: no cuDNN is here; `attnprobe cudnn fetch latest` brings the newest");
  return *std::max_element(here.begin(), here.end(),
                           [](const auto& a, const auto& b) { return a.version < b.version; });
}

// Where none is named: the one that the frameworks' releases bring, or another patch of it, where that is here and can be asked about
// GPUs that are not; else the first that is found.
fs::path usual_library(const CampaignOptions& campaign) {
  const auto brought = rules::cudnn_of(campaign.frameworks);
  const char* named = std::getenv("ATTNPROBE_CUDNN");
  if (brought && (named == nullptr || *named == 0))
    if (const auto version = CudnnVersion::parse(*brought); version && *version >= first_that_simulates)
      for (const std::string& word : {*brought, version->release()})
        if (const auto library = library_named(word)) return *library;
  return cudnn::choose_library("").path;
}

// The newest of that version.
const cudnn::LibraryInfo* find_of_version(const std::vector<cudnn::LibraryInfo>& here, const std::string& word) {
  const cudnn::LibraryInfo* best = nullptr;
  for (const auto& library : here)
    if (is_meant(library, word) && (best == nullptr || library.version > best->version)) best = &library;
  return best;
}

cudnn::LibraryInfo library_of_version(const std::vector<cudnn::LibraryInfo>& here, const std::string& word) {
  if (const auto* found = find_of_version(here, word)) return *found;
  std::set<CudnnVersion> versions;
  for (const auto& library : here) versions.insert(library.version);
  std::vector<std::string> texts;
  texts.reserve(versions.size());
  for (const CudnnVersion version : versions) texts.push_back(version.text());
  throw Error(
      ErrorKind::environment,
      fmt::format("--cudnn {}: no cuDNN of that version is here (there are {}); `attnprobe cudnn fetch {}` brings it",
                  word, fmt::join(texts, ", "), word));
}

}  // namespace

std::unique_ptr<WalkCache> usual_cache(const OnProblem& on_problem) try {
  const fs::path file = default_cache_file();
  return file.empty() ? nullptr : std::make_unique<WalkCache>(file);
} catch (const Error& e) {
  tell(on_problem, e.what());
  return nullptr;
}

std::string library_path(const std::string& word, const CampaignOptions& campaign, const OnProblem& on_problem) {
  if (word == latest && !fs::exists(word)) return newest(libraries_here(campaign, on_problem)).path;
  if (word.empty()) return usual_library(campaign);
  if (!is_version(word) || fs::exists(word)) return cudnn::choose_library(word).path;
  if (const auto named = library_named(word)) return *named;
  return library_of_version(libraries_here(campaign, on_problem), word).path;
}

bool is_version_not_here(const std::string& word, const CampaignOptions& campaign, const OnProblem& on_problem) {
  if (!is_version(word) || fs::exists(word) || library_named(word)) return false;
  return find_of_version(libraries_here(campaign, on_problem), word) == nullptr;
}

std::vector<cudnn::LibraryInfo> choose_libraries(const std::vector<std::string>& words,
                                                 const std::vector<gpu::Target>& targets,
                                                 const CampaignOptions& campaign, const OnProblem& on_problem) {
  const auto is_simulated = [](const auto& target) { return target.kind == gpu::Kind::simulated; };
  const auto simulated = std::find_if(targets.begin(), targets.end(), is_simulated);
  const bool simulates = simulated != targets.end();
  const gpu::Target* next = simulates ? &*simulated : nullptr;
  std::vector<cudnn::LibraryInfo> here, chosen;
  for (const auto& word : words) {
    const auto named = is_version(word) ? library_named(word) : std::nullopt;
    const bool is_latest = word == latest && !fs::exists(word);
    if (here.empty() && (word == "all" || is_latest || (is_version(word) && !named)))
      here = libraries_here(campaign, on_problem);
    if (word == "all")
      chosen.insert(chosen.end(), here.begin(), here.end());
    else if (is_latest)
      chosen.push_back(newest(here));
    else if (named)
      chosen.push_back(identify(*named, campaign, next));
    else if (is_version(word))
      chosen.push_back(library_of_version(here, word));
    else
      chosen.push_back(identify(library_path(word, campaign), campaign, next));
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.version < b.version; });
  std::vector<cudnn::LibraryInfo> libraries;
  for (auto& library : chosen) {
    if (!libraries.empty() && libraries.back().version == library.version) continue;
    if (simulates && library.version < first_that_simulates)
      tell(
          on_problem,
          fmt::format(
              "cuDNN {} ({}) is left out: it answers for GPUs of this machine only; 9.8 is the first that does for others",
              library.version.text(), library.path));
    else
      libraries.push_back(std::move(library));
  }
  if (libraries.empty()) throw Error(ErrorKind::environment, "no cuDNN here can answer; `attnprobe doctor` says more");
  return libraries;
}

}  // namespace attnprobe::campaign
