// Rules of frameworks above cuDNN: which calls they refuse before asking cuDNN, and how their graphs depend on
// versions. The data is in lib/rules/<framework>/<version>.json. A file may also cover earlier releases ("oldest"); its
// entries then have ranges. A new file is built in automatically and found by its name. docs/how-it-works.md describes
// the format.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"
#include "rules/flat_problem.hpp"
#include "rules/framework_rule.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

/// A feature that prevents the unified operation.
struct FormNeed {
  std::string id;
  std::string feature;      ///< "a block mask"
  CudnnVersion cudnn_from;  ///< the first cuDNN with which the framework allows it; unknown: never
  Source source;
  Json when;
  Examples examples;
  ReleaseSpan span;
};

/// How the framework wires its graphs, from some version on or for some problems.
struct FrameworkFact {
  std::string id;
  std::string what;          ///< text after "; "
  CudnnVersion cudnn_from;   ///< unknown: every version
  CudnnVersion cudnn_below;  ///< first version to which it no longer applies; unknown: none
  Json when;                 ///< null: always
  Source source;

  bool holds_from(CudnnVersion version) const;
};

/// An engine config that the framework builds itself, without a heuristic.
struct ForcedConfigRule {
  std::string id;
  Json when;
  int64_t engine = 0;
  std::map<std::string, int64_t> knobs;  ///< by cuDNN's names, without "CUDNN_KNOB_TYPE_"
  Source source;
};

struct FrameworkRules {
  std::string framework;             ///< name of its folder: "cudnn-frontend"
  std::string version;               ///< "1.32.0"; for an older release, that release: "1.23"
  std::string oldest;                ///< the first release that the file covers, "1.23"; "": only its own version
  std::vector<ProblemKey> keys;      ///< the keys of its conditions: a problem's, or the file's own
  std::vector<FrameworkRule> rules;  ///< in the framework's order
  std::vector<FormNeed> unified;     ///< also in the framework's order
  std::vector<FrameworkFact> facts;
  std::vector<ForcedConfigRule> forced_configs;  ///< the first entry whose condition holds applies

  /// Throws Error(internal) for an unknown id.
  const FrameworkFact& fact(std::string_view id) const;
  /// Null for an unknown id.
  const FrameworkFact* find_fact(std::string_view id) const;
};

/// The rules of a release: "" is the newest, "1.23" also 1.23.0. Read once, at the first call. Throws Error(internal) if
/// there are none, or with file, entry and problem.
const FrameworkRules& framework_rules(std::string_view framework, std::string_view version = "");

/// The rules of a release of cudnn-frontend, "1.23"; by default the newest that attnprobe knows.
const FrameworkRules& frontend_rules(const std::optional<std::string>& release = {});

/// cudnn-frontend's answer if this rule of `rules` refuses.
FrontendAnswer answer_of(const FrameworkRules& rules, const FrameworkRule& rule);

/// Whether only the Python package refuses, because it was compiled for a newer cuDNN than the loaded one. Programs
/// compiled for their own cuDNN are not affected.
bool is_of_package(const FrontendAnswer& answer);

/// The rules that refuse, in order. `problem`: a flat object with every key of `rules`.
std::vector<const FrameworkRule*> refusals_of(const FrameworkRules& rules, const Json& problem);

/// `file`: "cudnn-frontend/1.32.json". Returns the entries for `release`, or everything ("all"). Throws Error(internal)
/// as above.
FrameworkRules parse_framework_rules(std::string_view text, const std::string& file, std::string_view release = "all");

}  // namespace attnprobe::rules
