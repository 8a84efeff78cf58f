#include "ask/chosen_libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "ask/by_rule.hpp"
#include "base/error.hpp"
#include "base/side_by_side.hpp"
#include "gpu/catalogue.hpp"
#include "worker/client.hpp"
#include "worker/pool.hpp"

namespace attnprobe::asking {

namespace fs = std::filesystem;

cudnn::LibraryInfo identify(const std::string& cudnn, const PlanOptions& options, const Session& session,
                            const gpu::Target* next) {
  if (session.cache != nullptr)
    if (auto known = session.cache->library(cudnn)) return *known;
  const bool stays = next != nullptr && session.pool != nullptr;
  const gpu::Target& target = stays ? *next : *gpu::find("h200");
  try {
    auto client =
        std::make_unique<worker::Client>(target, worker::Client::Seconds(options.timeout_seconds), session.program);
    auto library = client->open(cudnn, target);
    if (session.cache != nullptr) session.cache->store_library(cudnn, library);
    if (stays) session.pool->give(cudnn, target, {std::move(client), library});
    return library;
  } catch (const Error&) {
    if (stays) return identify(cudnn, options, session);  // the questions will report that it cannot open this GPU
    throw;
  } catch (const worker::WorkerLost& lost) {
    throw Error(ErrorKind::environment, fmt::format("{}: a worker process {} while it loaded this cuDNN ({})", cudnn,
                                                    lost.how(), lost.end.text()));
  }
}

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

std::vector<cudnn::LibraryInfo> identify_all(const PlanOptions& options, const Session& session,
                                             const OnProblem& on_problem) {
  const auto candidates = cudnn::find_libraries("");
  std::vector<std::optional<cudnn::LibraryInfo>> found(candidates.size());
  std::mutex telling;
  side_by_side(jobs_of(options), candidates.size(), [&](size_t c) {
    try {
      found[c] = identify(candidates[c].path, options, session);
    } catch (const std::exception& e) {
      const std::scoped_lock lock(telling);
      if (on_problem) on_problem(e.what());
    }
  });
  std::vector<cudnn::LibraryInfo> libraries;
  for (auto& library : found)
    if (library) libraries.push_back(std::move(*library));
  return libraries;
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
      session.tell(fmt::format("cuDNN {} ({}) is skipped: it cannot simulate GPUs; 9.8 is the first that can",
                               library.version.text(), library.path));
    else
      libraries.push_back(std::move(library));
  }
  if (libraries.empty()) throw Error(ErrorKind::environment, "no installed cuDNN can answer; see `attnprobe doctor`");
  return libraries;
}

}  // namespace attnprobe::asking
