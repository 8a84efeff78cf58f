// Selects known bugs by the software and GPUs that they affect.
#pragma once

#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "base/version.hpp"
#include "gpu/target.hpp"
#include "rules/bug_sightings.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::studies {

/// The known bugs with these names, or all bugs if there are no names. Throws Error(usage) for an unknown name.
std::vector<const rules::KnownBugRule*> named_bugs(const std::vector<std::string>& ids);

struct BugWords {
  std::vector<std::string> ids;                                    ///< see named_bugs()
  std::vector<std::string> cudnns;                                 ///< versions, installed or not: "9.19"
  std::vector<std::string> frameworks;                             ///< frameworks that pin a cuDNN: "torch==2.13"
  std::vector<gpu::Target> targets;                                ///< empty: any GPU
  std::string cudnn_place = "--cudnn", framework_place = "--for";  ///< names of these options in messages
};

/// The words of `--for` for a file or environment (pinned_packages.hpp). The frameworks with known gates, as
/// "torch==2.9.1", and the pinned cuDNN, "9.10.2.21"; "" if none is pinned.
struct PinnedWords {
  std::vector<std::string> frameworks;
  std::string cudnn;
};
/// Throws Error(usage) if neither a framework nor cuDNN is pinned.
PinnedWords pinned_words(const std::string& path);

/// The bugs that may occur with one of the versions on one of the GPUs. Throws Error(usage), naming the place and the
/// word, for an invalid version, and for a framework with an unknown cuDNN.
std::vector<const rules::KnownBugRule*> bugs_concerning(const BugWords& words);
/// The requested versions: those of `cudnns`, otherwise those that the frameworks pin. Throws like bugs_concerning().
std::vector<CudnnVersion> versions_of(const BugWords& words);

/// Whether a framework would pass a bug's experiment to cuDNN.
struct Reach {
  std::string framework;  ///< "PyTorch 2.9.1"
  bool by_name = false;   ///< only if the program selects cuDNN
};

/// The frameworks that pass `spec` to that cuDNN on a GPU of that compute capability, according to their gates. None if
/// the frameworks do not support its types, pattern or dropout mask.
std::vector<Reach> reach_of(const attention::AttentionSpec& spec, const std::vector<rules::ChosenGate>& frameworks,
                            CudnnVersion cudnn, int sm);

}  // namespace attnprobe::studies
