#include "campaign/chosen_libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "campaign/by_rule.hpp"
#include "campaign/matrix.hpp"

namespace attnprobe::campaign {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::unique_ptr<WalkCache> usual_cache(const OnProblem& on_problem) try {
  const fs::path file = default_cache_file();
  return file.empty() ? nullptr : std::make_unique<WalkCache>(file);
} catch (const Error& e) {
  if (on_problem) on_problem(e.what());
  return nullptr;
}

fs::path library_path(const std::string& word, const std::vector<rules::ChosenGate>& frameworks) {
  const char* named = std::getenv("ATTNPROBE_CUDNN");
  if (word.empty() && (named == nullptr || *named == 0))
    if (const auto brought = rules::cudnn_of(frameworks))
      if (const auto version = CudnnVersion::parse(*brought); version && *version >= first_that_simulates)
        for (const std::string& of_release : {*brought, version->release()})
          if (const auto library = cudnn::find_version(of_release)) return *library;
  return cudnn::choose_library(word).path;
}

std::vector<cudnn::LibraryInfo> choose_libraries(const std::vector<std::string>& words,
                                                 const std::vector<gpu::Target>& targets, const PlanOptions& options,
                                                 const Session& session) {
  const auto is_simulated = [](const auto& target) { return target.kind == gpu::Kind::simulated; };
  const auto simulated = std::find_if(targets.begin(), targets.end(), is_simulated);
  const bool simulates = simulated != targets.end();
  const gpu::Target* next = simulates ? &*simulated : nullptr;
  std::vector<cudnn::LibraryInfo> chosen;
  for (const auto& word : words) {
    if (word == "all")
      for (auto& library : identify_all(options, session, session.on_problem)) chosen.push_back(std::move(library));
    else
      chosen.push_back(identify(library_path(word, options.frameworks), options, session, next));
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.version < b.version; });
  std::vector<cudnn::LibraryInfo> libraries;
  for (auto& library : chosen) {
    if (!libraries.empty() && libraries.back().version == library.version) continue;
    if (simulates && library.version < first_that_simulates)
      session.tell(fmt::format(
          "cuDNN {} ({}) is left out: it answers for GPUs of this machine only; 9.8 is the first that does for others",
          library.version.text(), library.path));
    else
      libraries.push_back(std::move(library));
  }
  if (libraries.empty()) throw Error(ErrorKind::environment, "no cuDNN here can answer; `attnprobe doctor` says more");
  return libraries;
}

}  // namespace attnprobe::campaign
