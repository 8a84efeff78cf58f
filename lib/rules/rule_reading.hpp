// Reading the files of lib/rules, with every member checked: a slip in the data must not pass in silence. Every function
// throws Error(internal) naming file, entry and what is wrong. Internal to lib/rules.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/version.hpp"
#include "rules/flat_problem.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

[[noreturn]] void bad_entry(const std::string& where, const std::string& what);

/// The text of a file of lib/rules that is built in: "cudnn/requirements.json".
std::string_view embedded_file(std::string_view name);

/// Refuses a member that is twice in one object: JSON lets the later one replace the earlier, which would drop half a
/// condition.
Json parse_unique(std::string_view text, const std::string& file);

/// Every required member is there and no other than these.
void check_members(const Json& entry, const std::vector<std::string>& required,
                   const std::vector<std::string>& optional, const std::string& where);

std::string text_of(const Json& entry, const std::string& name, const std::string& where);
/// Not known where the member is absent; a version is written "9.14.0" in full.
CudnnVersion version_of(const Json& entry, const std::string& name, const std::string& where);
Source source_of(const Json& entry, const std::string& where);
Examples examples_of(const Json& entry, const std::string& where);
Json condition_of(const Json& entry, const std::string& where, const std::vector<ProblemKey>& keys = problem_keys());

/// The entries of a list, each with its place for messages. Their ids join `ids`, in which none may be yet.
std::vector<std::pair<std::string, Json>> entries_of(const Json& list, const std::string& file,
                                                     std::set<std::string>& ids);

}  // namespace attnprobe::rules
