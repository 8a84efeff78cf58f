// Where a known bug was looked for, and what was seen: measurements beside the rules (rules/cudnn/sightings.json, written by
// `attnprobe bugs run --record`).
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

/// What became of a bug's experiment; of several plans the worst.
enum class Seen {
  right,             ///< every plan that cuDNN proposes ran, and computes what the graph says
  refused,           ///< cuDNN proposes nothing that passes its check
  does_not_compile,  ///< a plan that passes the check is not built
  wrong_result,
  error,    ///< CUDA's or cuDNN's, while a plan ran
  hung,     ///< in cuDNN or in a plan
  crashed,  ///< the process that asked cuDNN, or that ran a plan
  not_run,  ///< too little memory, no data for it, or no GPU: nothing was seen
};
ATTNPROBE_ENUM(Seen, right, refused, does_not_compile, wrong_result, error, hung, crashed, not_run)

/// One experiment on one GPU with one cuDNN.
struct BugSighting {
  std::string bug;  ///< KnownBug::id
  std::string gpu;  ///< of the catalogue: "h200"; else its name
  bool simulated = false;
  std::string cudnn;   ///< "9.19.0"
  std::string driver;  ///< CUDA version of the driver: "13.0"; "" for a simulated GPU
  std::string date;    ///< "2026-11-23"
  Seen seen = Seen::not_run;
  std::string what;  ///< "engine 2 KERNEL_CFG=7: O: 3 of 4096 elements are wrong, …"; "" where all is right
};

ATTNPROBE_JSON(BugSighting, bug, gpu, simulated, cudnn, driver, date, seen, what)

/// Whether a bug was seen, rather than its absence or nothing.
bool is_seen(Seen seen);

/// Those that are built in, in the order of the file.
const std::vector<BugSighting>& bug_sightings();

/// Of a file in that form. Throws Error(usage) naming file, place, value and what is allowed.
std::vector<BugSighting> parse_sightings(std::string_view text, const std::string& file);

/// `added` over `before`: a sighting of the same bug, GPU and cuDNN replaces the older one. Sorted by bug, GPU and version.
std::vector<BugSighting> merged(std::vector<BugSighting> before, const std::vector<BugSighting>& added);

/// The file's content: a line each.
std::string sightings_text(const std::vector<BugSighting>& sightings);

/// Whether some problem may have the bug on that cuDNN and GPU, either of which may be left open: what a condition says of
/// anything else is taken to hold.
bool may_apply(const Json& when, std::optional<CudnnVersion> cudnn, std::optional<int> sm);

/// The versions that a condition names, in words: "9.19.0 to before 9.26.0", "every version".
std::string versions_text(const Json& when);

}  // namespace attnprobe::rules
