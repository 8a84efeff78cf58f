// Random configs run with many cuDNNs on one GPU: what fails unwarned, grouped by the region in which it fails.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cudnn/library_info.hpp"
#include "hunt/fence.hpp"

namespace attnprobe::hunt {

struct HuntOptions {
  uint64_t first_seed = 1;
  size_t count = 2000;  ///< random configs a cuDNN
  bool fences = true;   ///< find the regions of unwarned failures
  double seconds = 0;   ///< nothing is begun after so long; 0: no bound
  FenceOptions fence;
  campaign::PlanOptions campaign;
  campaign::Session session;
  std::vector<Trial> before;                              ///< of an earlier run, which are not asked again
  OnTrial on_trial;                                       ///< told of each random config's trial
  std::function<void(const std::string& words)> on_step;  ///< told what is done next
};

/// How one entry of the known bugs fared with one cuDNN.
struct EntryCount {
  size_t warned = 0;  ///< configs that it warns of and that ran, or did not compile
  size_t failed = 0;  ///< of them
};

/// What random configs showed of one cuDNN.
struct Census {
  std::string cudnn;
  size_t asked = 0, refused = 0, ran = 0, failed = 0, unwarned = 0;
  std::map<rules::Seen, size_t>
      failures;  ///< by kind; a first choice that alone does not compile counts as does_not_compile
  std::map<std::string, EntryCount> entries;  ///< by id of the known bug
};
Census census_of(const std::string& cudnn, const std::vector<Trial>& trials);

/// A region with the versions of the hunt in which its smallest config fails.
struct Class {
  Region region;
  std::vector<Trial> sightings;                 ///< random configs of every version that lie in it and fail
  std::map<std::string, rules::Seen> versions;  ///< by cuDNN: what becomes of the smallest config
};

struct Hunt {
  std::string gpu;
  int sm = 0;
  std::vector<Census> censuses;  ///< a cuDNN each, ascending
  std::vector<Class> classes;
  std::vector<Trial> unexplained;  ///< unwarned failures in no region
  bool is_whole = true;            ///< false: time was up, or the user stopped it
};

/// Precondition: the target is a GPU of this machine.
Hunt hunt(const gpu::Target& target, const std::vector<cudnn::LibraryInfo>& libraries, const HuntOptions& options);

}  // namespace attnprobe::hunt
