// Reads the files of lib/rules and checks every member: an error in the data must not pass silently. Every function
// throws Error(internal) naming file, entry and problem. Internal to lib/rules.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "base/version.hpp"
#include "rules/flat_problem.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

[[noreturn]] void bad_entry(const std::string& where, const std::string& what);

/// The text of a built-in file of lib/rules: "cudnn/requirements.json".
std::string_view embedded_file(std::string_view name);

/// The root of a file's errors: all errors below it are internal and name the file.
JsonSource rule_source(const std::string& file);

/// A non-blank text.
std::string words_in(const JsonView& view);
/// Unknown if absent; versions are written in full, "9.14.0".
CudnnVersion version_in(const std::optional<JsonView>& view);
Source source_in(const JsonView& view);
Json condition_in(const JsonView& view, const std::vector<ProblemKey>& keys = problem_keys());
Examples take_examples(JsonObject& entry);

/// An entry, named "<file>, <id>" in messages. Adds its id to `ids`; refuses duplicates.
JsonObject entry_in(const JsonView& entry, const std::string& file, std::set<std::string>& ids);

/// The same for each entry of a list.
std::vector<JsonObject> entries_in(const JsonView& list, const std::string& file, std::set<std::string>& ids);

}  // namespace attnprobe::rules
