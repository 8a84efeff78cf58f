// Version rules: what features need of cuDNN and GPU, bugs that are known, and what cudnn-frontend refuses by itself.
// All three are data, built into the library: lib/rules/cudnn/requirements.json and known_bugs.json, and the files of
// frameworks (framework_rules.hpp). Their conditions (condition.hpp) speak of a flat problem (flat_problem.hpp). Nothing
// here decides a verdict: that is cuDNN's. docs/how-it-works.md says how to add an entry.
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

/// Who says so.
struct Source {
  std::string text;  ///< "cudnn-frontend 1.23, sdpa_support_surface.h line 342"
  std::string url;   ///< a page, or the command that shows what was measured
};
ATTNPROBE_JSON(Source, text, url)

/// A feature that the problem uses and that this cuDNN, or this GPU, has not.
struct Requirement {
  std::string id;
  std::string feature;  ///< in plain words: "paged K/V"
  std::string needs;    ///< "cuDNN 9.5.0", "datacenter Blackwell", or both; "what no cuDNN has so far"
  std::string text;  ///< a sentence: "paged K/V needs cuDNN 9.5.0; this is 9.2.1", "no cuDNN so far has bprop in f32"
  Source source;
};
ATTNPROBE_JSON(Requirement, id, feature, needs, text, source)

/// A known bug that concerns the problem on this cuDNN and this GPU.
struct KnownBug {
  std::string id;
  std::string what;               ///< what goes wrong, and when
  std::string advice;             ///< what to do about it
  std::string fixed_in;           ///< the first cuDNN without it; "" where none is known
  bool of_compiling = false;      ///< that a kernel does not compile: a first choice that was compiled disproves it
  bool of_other_configs = false;  ///< the first choice is right: it concerns who tunes over the others
  Source source;
};
ATTNPROBE_JSON(KnownBug, id, what, advice, fixed_in, of_compiling, of_other_configs, source)

/// What cudnn-frontend's own support surface says before it asks cuDNN.
struct FrontendAnswer {
  std::string version;   ///< of cudnn-frontend: "1.32.0", or an older release that was asked for: "1.23"
  bool refuses = false;  ///< the rest is empty if not
  std::string id;
  std::string status;   ///< of cudnn-frontend: GRAPH_NOT_SUPPORTED, …, or exception
  std::string message;  ///< how its message begins
  Source source;
  std::string from;   ///< the first release that has the rule, "1.29"; "": the oldest that attnprobe knows has it
  std::string until;  ///< the last that has it; "": the newest that attnprobe knows has it
};
ATTNPROBE_JSON(FrontendAnswer, version, refuses, id, status, message, source, from, until)

/// What the problem needs and this cuDNN (as cudnnGetVersion: 91900) or GPU (compute capability: 90) lacks.
/// Precondition, here and below: the spec has no contradictions.
std::vector<Requirement> unmet_requirements(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

/// Whether a GPU of that compute capability has what the problem needs of a GPU, whatever it needs of cuDNN.
bool gpu_suffices(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

/// The first cuDNN that has everything that the problem needs, on a GPU of that compute capability. None where the rules name no
/// version for it, or where no version has it there.
std::optional<CudnnVersion> first_version(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

std::vector<KnownBug> known_bugs(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

/// None for patterns that cudnn-frontend has not. It is taken to be compiled against the cuDNN that runs.
std::optional<FrontendAnswer> frontend_answer(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

// ---- the data as it is read

/// An entry's examples. Each is an object of config fields, `cudnn` ("9.14.0") and `sm` over a base that the reader of
/// the examples chooses; members of `unaffected` lie over `affected`.
struct Examples {
  Json affected;                 ///< null where no config leads there
  std::vector<Json> unaffected;  ///< not empty where affected is there
};

struct RequirementRule {
  Requirement entry;         ///< without text, which depends on the problem
  Json when;                 ///< who uses the feature
  CudnnVersion cudnn_from;   ///< the first version that has it; not known: any
  CudnnVersion cudnn_below;  ///< the first version that lost it; not known: none
  bool never = false;        ///< no version has it
  Json sm;                   ///< condition on the flat problem; null: any GPU
  Examples examples;
};

/// How a known bug shows where it strikes.
enum class BugShows { wrong_results, crash, hang, not_compiled, refused };

struct KnownBugRule {
  KnownBug entry;
  std::vector<BugShows> shows;  ///< not empty; wrong results where the entry does not say
  std::string
      experiment;  ///< the options of a command line that shows it where it is: "--pass bprop --heads 8 …"; "": none is known
  Json when;
  Examples examples;
};

/// Each throws Error(internal) naming file, entry and what is wrong: a member, key, operator or value that is unknown,
/// one that is missing, an id that is there twice.
std::vector<RequirementRule> parse_requirements(std::string_view text);
std::vector<KnownBugRule> parse_known_bugs(std::string_view text);

/// Those that are built in.
const std::vector<RequirementRule>& requirement_rules();
const std::vector<KnownBugRule>& known_bug_rules();

/// That of an id; null for an unknown one.
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
