// Runs random configs with many cuDNNs on one GPU, and groups unexpected failures by region.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cudnn/library_info.hpp"
#include "studies/hunt/fence.hpp"

namespace attnprobe::hunt {

struct HuntOptions {
  uint64_t first_seed = 1;
  size_t count = 2000;  ///< random configs per cuDNN
  bool fences = true;   ///< also finds the regions of unexpected failures
  double seconds = 0;   ///< starts nothing after that time; 0: unlimited
  FenceOptions fence;
  asking::PlanOptions how;
  asking::Session session;
  std::vector<Trial> before;                              ///< trials of an earlier run, which are not repeated
  OnTrial on_trial;                                       ///< called with each random config's trial
  std::function<void(const std::string& words)> on_step;  ///< called before each step
};

/// The record of one known-bug entry with one cuDNN.
struct EntryCount {
  size_t warned = 0;  ///< configs that the entry warns about and that ran or did not compile
  size_t failed = 0;  ///< failing configs among them
};

/// The results of random configs with one cuDNN.
struct Census {
  std::string cudnn;
  size_t asked = 0, refused = 0, ran = 0, failed = 0, unwarned = 0;
  std::map<rules::Seen, size_t> failures;  ///< by kind; does_not_compile also if only the first choice does not compile
  std::map<std::string, EntryCount> entries;  ///< by id of the known bug
};
Census census_of(const std::string& cudnn, const std::vector<Trial>& trials);

/// A region, with the versions of the hunt in which its smallest config fails.
struct Class {
  Region region;
  std::vector<Trial> sightings;                 ///< failing random configs in the region, of all versions
  std::map<std::string, rules::Seen> versions;  ///< by cuDNN: the outcome of the smallest config
};

struct Hunt {
  std::string gpu;
  int sm = 0;
  std::vector<Census> censuses;  ///< one per cuDNN, ascending
  std::vector<Class> classes;
  std::vector<Trial> unexplained;  ///< unexpected failures outside all regions
  bool is_whole = true;            ///< false: stopped by time or by the user
};

/// Precondition: the target is a GPU of this machine.
Hunt hunt(const gpu::Target& target, const std::vector<cudnn::LibraryInfo>& libraries, const HuntOptions& options);

}  // namespace attnprobe::hunt
