// Reading the files of lib/rules, with every member checked: a slip in the data must not pass in silence. Every function
// throws Error(internal) naming file, entry and what is wrong. Internal to lib/rules.
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

/// The text of a file of lib/rules that is built in: "cudnn/requirements.json".
std::string_view embedded_file(std::string_view name);

/// A file's own place: all errors below it are internal and name it.
JsonSource rule_source(const std::string& file);

/// A text that is not blank.
std::string words_in(const JsonView& view);
/// Not known where there is none; a version is written "9.14.0" in full.
CudnnVersion version_in(const std::optional<JsonView>& view);
Source source_in(const JsonView& view);
Json condition_in(const JsonView& view, const std::vector<ProblemKey>& keys = problem_keys());
Examples take_examples(JsonObject& entry);

/// The entries of a list, each under the name "<file>, <id>" in messages. Their ids join `ids`, in which none may be
/// yet.
std::vector<JsonObject> entries_in(const JsonView& list, const std::string& file, std::set<std::string>& ids);

}  // namespace attnprobe::rules
