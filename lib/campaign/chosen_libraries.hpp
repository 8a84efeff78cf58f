// Which cuDNN a word means: --cudnn of the commands, "cudnn" of a request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "campaign/plan.hpp"
#include "campaign/walk_cache.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/target.hpp"

namespace attnprobe::campaign {

/// The cache of a matrix, for what a probe asks beside its own question: which cuDNN versions are here, and what the others of
/// them say. None where the file is damaged (`on_problem` is told); none where there is no place for one.
std::unique_ptr<WalkCache> usual_cache(const OnProblem& on_problem);

/// The path of the library that a word means: as cudnn::choose_library(), but "" is the one that the frameworks' releases bring, or
/// another patch of it, where that is here and can be asked about GPUs that are not. Throws Error(environment).
std::filesystem::path library_path(const std::string& word, const std::vector<rules::ChosenGate>& frameworks);

/// What the cuDNN at that path is, from the cache of the session or by loading it in a worker, which then waits in the pool of
/// the session, if there is one, for questions about `next`, a simulated GPU. Throws Error(environment) naming the path
/// where it does not load.
cudnn::LibraryInfo identify(const std::string& cudnn, const PlanOptions& options, const Session& session,
                            const gpu::Target* next = nullptr);

/// Every cuDNN of this machine (cudnn::find_libraries), identified by as many workers as the options allow, in the order of the
/// search. `on_problem` is told of one that does not load.
std::vector<cudnn::LibraryInfo> identify_all(const PlanOptions& options, const Session& session,
                                             const OnProblem& on_problem);

/// Those that the words mean, "all" being all that are here: in ascending order, each version once, without those that
/// cannot answer for a GPU that is not there. Throws Error(environment).
std::vector<cudnn::LibraryInfo> choose_libraries(const std::vector<std::string>& words,
                                                 const std::vector<gpu::Target>& targets, const PlanOptions& options,
                                                 const Session& session = {});

}  // namespace attnprobe::campaign
