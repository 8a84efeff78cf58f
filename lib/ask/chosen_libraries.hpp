// Resolves a word for cuDNN: --cudnn of the commands, "cudnn" of a request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ask/plan.hpp"
#include "ask/walk_cache.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/target.hpp"

namespace attnprobe::asking {

/// The cache of a matrix, for follow-up questions of a probe: the installed cuDNN versions and their answers. None for
/// a damaged file (then `on_problem` is called), or without a cache folder.
std::unique_ptr<WalkCache> usual_cache(const OnProblem& on_problem);

/// The path of the library that a word names, as in cudnn::choose_library(). For "": the cuDNN that the frameworks'
/// releases pin, or another patch release of it, if installed and able to simulate GPUs. Throws Error(environment).
std::filesystem::path library_path(const std::string& word, const std::vector<rules::ChosenGate>& frameworks);

/// Identifies the cuDNN at that path, from the session's cache or by loading it in a worker. The worker then waits in
/// the session's pool, if there is one, for questions about `next`, a simulated GPU. Throws Error(environment) naming
/// the path if the library does not load.
cudnn::LibraryInfo identify(const std::string& cudnn, const PlanOptions& options, const Session& session,
                            const gpu::Target* next = nullptr);

/// Every cuDNN of this machine (cudnn::find_libraries), identified by as many workers as the options allow, in the
/// order of the search. Calls `on_problem` for each library that does not load.
std::vector<cudnn::LibraryInfo> identify_all(const PlanOptions& options, const Session& session,
                                             const OnProblem& on_problem);

/// The libraries that the words name; "all" is every installed library. In ascending order, each version once, without
/// versions that cannot simulate a GPU. Throws Error(environment).
std::vector<cudnn::LibraryInfo> choose_libraries(const std::vector<std::string>& words,
                                                 const std::vector<gpu::Target>& targets, const PlanOptions& options,
                                                 const Session& session = {});

}  // namespace attnprobe::asking
