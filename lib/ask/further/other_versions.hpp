// Asks the machine's other cuDNN versions which of them supports a refused config, and since which version a config
// works.
#pragma once

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// For each config on a simulated GPU:
///  - refused: asks the newest version, then the nearest older ones. The root cause's advice gets the first version
///    that
///    supports it, with its first choice compiled, and the command that shows it.
///  - supported: asks the oldest version and, if it refuses, halves the range between. Answer::from gets the result.
/// Skips a version that cannot be loaded. Only for few results, since each version needs its own worker.
void ask_other_versions(Answers& answers, const PlanOptions& options, const Session& session);

}  // namespace attnprobe::asking
