// Asking as every way in does, command line, request and library: which cuDNN, what is compiled, what is asked beside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "campaign/campaign.hpp"
#include "campaign/chosen_libraries.hpp"
#include "campaign/suggest/ways_out.hpp"

namespace attnprobe::campaign {

/// Questions and the targets that they are for.
struct QuestionGroup {
  std::vector<Question> questions;
  std::vector<gpu::Target> targets;
};

/// How many results they will have.
size_t cells_of(const std::vector<QuestionGroup>& groups);

/// Called after each answer as OnResult, before ways out and other cuDNNs are asked; `index` counts through all groups.
using OnAnswer = std::function<void(const Answer& result, size_t index)>;

/// What is wanted.
struct Plan {
  std::vector<QuestionGroup> groups;
  std::string cudnn = {};  ///< the word for cudnn::choose_library()
  PlanOptions options = {};
  std::optional<CudnnVersion> by_rule = {};  ///< this version, which cannot be had here, is answered for by rule
  bool other_versions = true;                ///< where the walk looks further, this machine's other cuDNNs are asked
  std::optional<SuggestOptions> suggest =
      {};  ///< how ways out are looked for, where the walk looks further; none: as few results need
};

/// The one door: asks the cuDNN that the plan means; answers for each group. `on_answer` may be empty. One config on one simulated GPU
/// compiles its first choice, since a check that passes is not yet a kernel, and for one answer a plan's second is well
/// spent. A cuDNN too old to be asked about a GPU that is not there is answered for by rule. Where the walk looks further
/// (sweep_where_none), the machine's other versions of cuDNN are asked too, and what they say is kept in the usual cache.
/// Throws Error(usage) for "expect" of a GPU that there is not, and where plans are to be run and every target is
/// simulated; Error(environment) where there is no such cuDNN.
std::vector<Answers> ask(const Plan& plan, const Session& session, const OnAnswer& on_answer = {});

}  // namespace attnprobe::campaign
