// What the other cuDNN versions of this machine say: which one takes what was refused, and from which one on a config works.
#pragma once

#include "campaign/plan.hpp"

namespace attnprobe::campaign {

/// For each config on a simulated GPU:
///  - refused: the newest, then the nearest older ones are asked; the root cause's advice gets the first version that takes it, its first
///    choice compiled, with the command that shows it;
///  - taken: the oldest is asked, and where it refuses, those between by halving; Answer::from gets what they said.
/// A version that cannot be loaded is passed over. Only where there are few results, since each version costs the start of a worker.
void ask_other_versions(Answers& campaign, const PlanOptions& options, const Session& session);

}  // namespace attnprobe::campaign
