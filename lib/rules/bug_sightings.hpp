// Tests of known bugs and their outcomes. These measurements accompany the rules; `attnprobe bugs run --record` writes
// rules/cudnn/sightings.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"
#include "base/json.hpp"
#include "base/version.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

/// The outcome of a bug's experiment: the worst over its plans.
enum class Seen {
  right,             ///< every proposed plan ran with correct results
  refused,           ///< no proposal of cuDNN passes its check
  does_not_compile,  ///< a plan that passes the check does not compile
  wrong_result,
  error,    ///< a CUDA or cuDNN error while a plan ran
  hung,     ///< crash in cuDNN or in a plan
  crashed,  ///< hang of the process that asked cuDNN or ran a plan
  not_run,  ///< too little memory, no data, or no GPU: no outcome
};
ATTNPROBE_ENUM(Seen, right, refused, does_not_compile, wrong_result, error, hung, crashed, not_run)

/// One experiment on one GPU with one cuDNN.
struct BugSighting {
  std::string bug;  ///< KnownBug::id
  std::string gpu;  ///< the catalogue's id, "h200"; otherwise the name
  bool simulated = false;
  std::string cudnn;   ///< "9.19.0"
  std::string driver;  ///< the driver's CUDA version, "13.0"; "" for a simulated GPU
  std::string date;    ///< "2026-11-23"
  Seen seen = Seen::not_run;
  std::string what;  ///< "engine 2 KERNEL_CFG=7: O: 3 of 4096 elements are wrong, …"; "" if all results are right
};

ATTNPROBE_JSON(BugSighting, bug, gpu, simulated, cudnn, driver, date, seen, what)

/// Whether the outcome shows the bug.
bool is_seen(Seen seen);

/// The built-in sightings, in the order of the file.
const std::vector<BugSighting>& bug_sightings();

/// Parses a file of sightings. Throws Error(usage) naming file, place, value and what is allowed.
std::vector<BugSighting> parse_sightings(std::string_view text, const std::string& file);

/// Merges `added` into `before`: a new sighting replaces an older one of the same bug, GPU and cuDNN. Sorted by bug,
/// GPU and version.
std::vector<BugSighting> merged(std::vector<BugSighting> before, const std::vector<BugSighting>& added);

/// The file's content, one sighting per line.
std::string sightings_text(const std::vector<BugSighting>& sightings);

/// Whether the bug may affect any problem on that cuDNN and GPU; either may be unknown. Other conditions count as met.
bool may_apply(const Json& when, std::optional<CudnnVersion> cudnn, std::optional<int> sm);

/// The versions that a condition names, in words: "9.19.0 to before 9.26.0", "every version".
std::string versions_text(const Json& when);

}  // namespace attnprobe::rules
