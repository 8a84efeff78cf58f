// What frameworks above cuDNN do by themselves: which calls they refuse before they ask it, and how the graphs that they
// show it depend on versions. Data, a file a framework: lib/rules/<framework>/<version>.json, which may hold the
// releases before it too ("oldest"), an entry then saying from and until which it holds. A new file is built in by
// itself and found by its name. docs/how-it-works.md has the format.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"
#include "rules/flat_problem.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

/// The releases that have an entry, "1.25" to "1.26"; "": since the oldest, until the newest that the file knows.
struct Releases {
  std::string from, until;
};

/// A check that the framework makes before it asks cuDNN.
struct FrameworkRule {
  std::string id;
  std::string pass;     ///< "forward" or "backward" where a call asks for both and only one of them is refused; else ""
  std::string status;   ///< the framework's own: "GRAPH_NOT_SUPPORTED", "exception"; "" where it has none
  std::string message;  ///< how the framework's message begins, or why it refuses; "{key}" stands for a key's value
  Source source;
  Json when;
  Examples examples;
  Releases releases;
  bool of_package = false;  ///< see is_of_package()
};

/// Something that keeps a graph from the unified operation.
struct FormNeed {
  std::string id;
  std::string feature;      ///< "a block mask"
  CudnnVersion cudnn_from;  ///< the first cuDNN with which the framework takes it; not known: it never does
  Source source;
  Json when;
  Examples examples;
  Releases releases;
};

/// How the framework's graphs are wired, from a version on or in some problems.
struct FrameworkFact {
  std::string id;
  std::string what;          ///< in words that can follow "; "
  CudnnVersion cudnn_from;   ///< not known: every version
  CudnnVersion cudnn_below;  ///< the first version that it does not hold for any more; not known: none
  Json when;                 ///< null: always
  Source source;

  bool holds_from(CudnnVersion version) const;
};

/// An engine config that the framework builds itself, without asking a heuristic.
struct ForcedConfigRule {
  std::string id;
  Json when;
  int64_t engine = 0;
  std::map<std::string, int64_t> knobs;  ///< by cuDNN's names, without "CUDNN_KNOB_TYPE_"
  Source source;
};

struct FrameworkRules {
  std::string framework;                ///< its folder: "cudnn-frontend"
  std::string version;                  ///< "1.32.0"; of rules for an older release that one: "1.23"
  std::string oldest;                   ///< the first release that the file knows, "1.23"; "": its version alone
  std::vector<ProblemKey> keys;         ///< what its conditions may speak of: a problem's keys, or the file's own
  std::vector<FrameworkRule> refusals;  ///< in the framework's order
  std::vector<FormNeed> unified;        ///< likewise
  std::vector<FrameworkFact> facts;
  std::vector<ForcedConfigRule> forced_configs;  ///< the first that holds is meant

  /// Throws Error(internal) if there is none of that id.
  const FrameworkFact& fact(std::string_view id) const;
  /// Null if there is none of that id.
  const FrameworkFact* find_fact(std::string_view id) const;
};

/// Of all files that are built in: framework, and version as the file's name has it ("1.23").
struct FrameworkVersion {
  std::string framework, version;
};
const std::vector<FrameworkVersion>& framework_versions();

/// The newest that the word means: "" any, "1.23" 1.23.0 too; of a file that knows several releases what holds for that
/// one. Read once, at the first call for it. Throws Error(internal) if there is none, or naming file, entry and what is
/// wrong in it.
const FrameworkRules& framework_rules(std::string_view framework, std::string_view version = "");

/// Those of a release of cudnn-frontend, "1.23"; without one those of the newest that attnprobe knows.
const FrameworkRules& frontend_rules(const std::optional<std::string>& release = {});

/// What cudnn-frontend says where this one of `rules` holds.
FrontendAnswer answer_of(const FrameworkRules& rules, const FrameworkRule& rule);

/// Whether the Python package alone refuses, since it is compiled for a newer cuDNN than the one that runs; programs that are
/// compiled for theirs get past that.
bool is_of_package(const FrontendAnswer& answer);

/// The rules that refuse, in their order. `problem`: a flat object with every key of `rules`.
std::vector<const FrameworkRule*> refusals_of(const FrameworkRules& rules, const Json& problem);

/// The rule's message for this problem, its "{key}"s replaced.
std::string message_for(const FrameworkRule& rule, const Json& problem);

/// `file`: "cudnn-frontend/1.32.json"; of it what holds for `release`, or everything ("all"). Throws Error(internal) as
/// above.
FrameworkRules parse_framework_rules(std::string_view text, const std::string& file, std::string_view release = "all");

}  // namespace attnprobe::rules
