// Reads the parts that all files of frameworks share: keys, releases, sources, and entries, single or in groups. Every
// function throws Error(internal) naming file, entry and problem. Internal to lib/rules.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json_reader.hpp"
#include "rules/flat_problem.hpp"
#include "rules/framework_rule.hpp"

namespace attnprobe::rules {

std::vector<CallKey> call_keys_in(const JsonView& keys);

/// The common part of a group's entries.
struct EntryGroup {
  std::string path, function;
  Json when;  ///< null: always
};

struct FrameworkFile {
  std::string file;  ///< its name, for errors
  std::string framework = {};
  std::string version = {};             ///< the release to which line numbers belong
  std::string oldest = {};              ///< the first release of a file about several; "": spans are not limited
  std::string base_url = {}, url = {};  ///< the place of sources that are only lines
  std::vector<ProblemKey> keys = {};    ///< of its conditions and texts
  std::set<std::string> ids = {};       ///< of the entries so far

  /// Calls take(entry, group) for every entry of the list: {"id": …} or a group {"rules": […]} of such entries.
  using Take = std::function<void(JsonObject& entry, const EntryGroup& group)>;
  void entries(const JsonView& list, const Take& take);

  ReleaseSpan span(JsonObject& entry) const;
  /// The entry's "source", or the group's file with the entry's "line". Lines are those of the span's last release.
  Source source(JsonObject& entry, const EntryGroup& group, const ReleaseSpan& span) const;
  /// The entry's condition combined with its group's; null if neither has a condition.
  Json when(const EntryGroup& group, const std::optional<JsonView>& own) const;
  FrameworkRule rule(JsonObject& entry, const EntryGroup& group) const;
};

}  // namespace attnprobe::rules
