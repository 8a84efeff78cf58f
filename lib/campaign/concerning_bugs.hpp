// Known bugs by whom they concern.
#pragma once

#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "base/version.hpp"
#include "gpu/target.hpp"
#include "rules/bug_sightings.hpp"
#include "rules/framework_gates.hpp"

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

/// The words for `--for` of a file or environment (pinned_packages.hpp): the frameworks whose gates are known, as
/// "torch==2.9.1", and the cuDNN that it pins, "9.10.2.21"; "" where it pins none.
struct PinnedWords {
  std::vector<std::string> frameworks;
  std::string cudnn;
};
/// Throws Error(usage) where it pins neither.
PinnedWords pinned_words(const std::string& path);

/// Those that may show with one of the versions on one of the GPUs. Throws Error(usage) naming the place and the word for what is
/// no version, and for a framework of which it is not known which cuDNN it brings.
std::vector<const rules::KnownBugRule*> bugs_concerning(const BugWords& words);
/// The versions that the words mean: those of `cudnns`, else those that the frameworks bring. Throws likewise.
std::vector<CudnnVersion> versions_of(const BugWords& words);

/// Whether a framework gets a bug's experiment to cuDNN.
struct Reach {
  std::string framework;  ///< "PyTorch 2.9.1"
  bool by_name = false;   ///< only where the program names cuDNN
};

/// The frameworks that bring `spec` to that cuDNN on a GPU of that compute capability, by their gates; none where its types, pattern or
/// dropout mask are those of no framework.
std::vector<Reach> reach_of(const attention::AttentionSpec& spec, const std::vector<rules::ChosenGate>& frameworks,
                            CudnnVersion cudnn, int sm);

}  // namespace attnprobe::campaign
