// Which cuDNN a word means: --cudnn of the commands, "cudnn" of a request.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "campaign/campaign.hpp"
#include "campaign/walk_cache.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/target.hpp"

namespace attnprobe::campaign {

/// Told of what is passed over: a cuDNN that does not load, a cache that is damaged. May be empty.
using OnProblem = std::function<void(const std::string& problem)>;

/// The cache of a matrix, for what a probe asks beside its own question: which cuDNN versions are here, and what the others of
/// them say. None where the file is damaged (`on_problem` is told); none where there is no place for one.
std::unique_ptr<WalkCache> usual_cache(const OnProblem& on_problem);

/// The path of the library that a word means: a library, a folder with one, a version
/// ("9.14": the newest of it), "" for the one that the releases of campaign.frameworks bring, where it is here, else the one that the
/// loader finds. Libraries whose name or place does not tell their version are loaded to be asked. Throws Error(environment).
std::string library_path(const std::string& word, const CampaignOptions& campaign, const OnProblem& on_problem = {});

/// Whether a word names a version, and no cuDNN of that version is here.
bool is_version_not_here(const std::string& word, const CampaignOptions& campaign, const OnProblem& on_problem = {});

/// Those that the words mean, "all" being all that are here: in ascending order, each version once, without those that
/// cannot answer for a GPU that is not there. Throws Error(environment).
std::vector<cudnn::LibraryInfo> choose_libraries(const std::vector<std::string>& words,
                                                 const std::vector<gpu::Target>& targets,
                                                 const CampaignOptions& campaign, const OnProblem& on_problem = {});

}  // namespace attnprobe::campaign
