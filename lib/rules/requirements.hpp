// Version rules: the requirements of features on cuDNN and GPU, known bugs, and cudnn-frontend's refusals. All are
// built-in data: lib/rules/cudnn/requirements.json and known_bugs.json, and the framework files (framework_rules.hpp).
// Their conditions (condition.hpp) apply to a flat problem (flat_problem.hpp). Rules never decide a verdict; only cuDNN
// does. docs/how-it-works.md says how to add an entry.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/spec.hpp"
#include "base/enum_names.hpp"
#include "base/json.hpp"
#include "base/version.hpp"

namespace attnprobe::rules {

/// The evidence for a fact.
struct Source {
  std::string text;  ///< "cudnn-frontend 1.23, sdpa_support_surface.h line 342"
  std::string url;   ///< a page, or the command that shows the measurement
};
ATTNPROBE_JSON(Source, text, url)

/// A feature that the problem uses but this cuDNN or GPU lacks.
struct Requirement {
  std::string id;
  std::string feature;  ///< in plain words: "paged K/V"
  std::string needs;    ///< the parts that are not met: "cuDNN 9.5.0", "datacenter Blackwell", or both; "what no cuDNN
                        ///< has so far"
  std::string text;  ///< a sentence: "paged K/V needs cuDNN 9.5.0; this is 9.2.1", "no cuDNN so far has bprop in f32"
  Source source;
};
ATTNPROBE_JSON(Requirement, id, feature, needs, text, source)

/// A known bug that affects the problem on this cuDNN and GPU.
struct KnownBug {
  std::string id;
  std::string what;               ///< what goes wrong, and when
  std::string advice;             ///< the workaround
  std::string fixed_in;           ///< the first cuDNN without the bug; "" if unknown
  bool of_compiling = false;      ///< a kernel does not compile; a compiled first choice disproves the bug
  bool of_other_configs = false;  ///< the first choice is correct; the bug affects programs that tune over other
                                  ///< configs
  Source source;
};
ATTNPROBE_JSON(KnownBug, id, what, advice, fixed_in, of_compiling, of_other_configs, source)

/// The answer of cudnn-frontend's support surface, before it asks cuDNN.
struct FrontendAnswer {
  std::string version;   ///< of cudnn-frontend: "1.32.0", or an older requested release: "1.23"
  bool refuses = false;  ///< if false, the other members are empty
  std::string id;
  std::string status;   ///< cudnn-frontend's: GRAPH_NOT_SUPPORTED, …, or exception
  std::string message;  ///< the start of its message
  Source source;
  std::string from;   ///< the first release with the rule, "1.29"; "": the oldest known release has it
  std::string until;  ///< the last release with the rule; "": the newest known release has it
};
ATTNPROBE_JSON(FrontendAnswer, version, refuses, id, status, message, source, from, until)

/// The features that the problem requires and that this cuDNN (as from cudnnGetVersion: 91900) or GPU (compute
/// capability: 90) lacks. Precondition, here and below: the spec has no contradictions.
std::vector<Requirement> unmet_requirements(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

/// Whether a GPU of that compute capability meets the problem's GPU requirements; ignores cuDNN requirements.
bool gpu_suffices(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

/// The first cuDNN that meets all requirements of the problem on a GPU of that compute capability. None if the rules
/// name no version, or if no version meets them on that GPU.
std::optional<CudnnVersion> first_version(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

std::vector<KnownBug> known_bugs(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

/// None for patterns that cudnn-frontend lacks. Assumes that cudnn-frontend is compiled against the cuDNN that runs.
std::optional<FrontendAnswer> frontend_answer(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

// ---- data as read from the files

/// An entry's examples. Each is an object of config fields, `cudnn` ("9.14.0") and `sm`, over a base chosen by the
/// reader of the examples. Members of `unaffected` override `affected`.
struct Examples {
  Json affected;                 ///< null if no config can trigger the entry
  std::vector<Json> unaffected;  ///< not empty if `affected` is set
};

struct RequirementRule {
  Requirement entry;         ///< without `text`, which depends on the problem
  Json when;                 ///< which problems use the feature
  CudnnVersion cudnn_from;   ///< the first version with the feature; unknown: any
  CudnnVersion cudnn_below;  ///< the first version without the feature again; unknown: none
  bool never = false;        ///< no version has the feature
  std::string instead;       ///< what to use then, a sentence; "" if some version has it
  bool is_plural = false;    ///< "grouped heads need"
  std::string needs_cudnn,
      needs_gpu;  ///< in words: "cuDNN 9.9.0 or newer, but older than 9.26.1", "Hopper or newer"; ""
  Json sm;        ///< condition on the flat problem; null: any GPU
  Examples examples;
};

/// The symptom of a known bug.
enum class BugShows { wrong_results, crash, hang, not_compiled, refused };

struct KnownBugRule {
  KnownBug entry;
  std::vector<BugShows> shows;  ///< not empty; wrong results by default
  std::string
      experiment;  ///< command-line options that show the bug on affected versions: "--pass bprop --heads 8 …"; "":
                   ///< unknown
  std::string only_if;  ///< a condition that no config states, on data or memory: "if all scores are …"; "": none
  Json when;
  Examples examples;
};

/// Each throws Error(internal) naming file, entry and problem: for an unknown or missing member, key, operator or
/// value, or a duplicate id.
std::vector<RequirementRule> parse_requirements(std::string_view text);
std::vector<KnownBugRule> parse_known_bugs(std::string_view text);

/// The built-in rules.
const std::vector<RequirementRule>& requirement_rules();
const std::vector<KnownBugRule>& known_bug_rules();

/// Whether the bug's condition names the key "sm", "head_dim_qk", …
bool depends_on(const KnownBugRule& bug, std::string_view key);

/// Null for an unknown id.
const KnownBugRule* find_known_bug(std::string_view id);

}  // namespace attnprobe::rules

namespace attnprobe {
template <>
struct EnumNames<rules::BugShows> {
  static constexpr std::array<std::pair<rules::BugShows, std::string_view>, 5> table{{
      {rules::BugShows::wrong_results, "wrong_results"},
      {rules::BugShows::crash, "crash"},
      {rules::BugShows::hang, "hang"},
      {rules::BugShows::not_compiled, "not_compiled"},
      {rules::BugShows::refused, "refused"},
  }};
};
}  // namespace attnprobe
