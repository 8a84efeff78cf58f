// Known bugs by whom they concern.
#pragma once

#include <string>
#include <vector>

#include "gpu/target.hpp"
#include "rules/bug_sightings.hpp"

namespace attnprobe::campaign {

/// The known bugs of these names, all of them where none is named. Throws Error(usage) for a name that is none.
std::vector<const rules::KnownBugRule*> named_bugs(const std::vector<std::string>& ids);

struct BugWords {
  std::vector<std::string> ids;                                    ///< see named_bugs()
  std::vector<std::string> cudnns;                                 ///< versions, here or not: "9.19"
  std::vector<std::string> frameworks;                             ///< whose cuDNN is meant: "torch==2.13"
  std::vector<gpu::Target> targets;                                ///< empty: any GPU
  std::string cudnn_place = "--cudnn", framework_place = "--for";  ///< how messages name them
};

/// Those that may show with one of the versions on one of the GPUs. Throws Error(usage) naming the place and the word for what is
/// no version, and for a framework of which it is not known which cuDNN it brings.
std::vector<const rules::KnownBugRule*> bugs_concerning(const BugWords& words);

}  // namespace attnprobe::campaign
