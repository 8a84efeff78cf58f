// Parses single lines of cuDNN's log entries. Needs no cuDNN.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log/log_entries.hpp"
#include "log/log_parse.hpp"

namespace attnprobe::log {

/// VALUE of " key: type=…; val=VALUE;", of any type, if the line has that key.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key);

/// The integer at the start of a value.
std::optional<int64_t> integer_of(std::string_view text);

/// "CUDNN_STATUS_SUCCESS" for an entry with a call's status; none for an entry with the call's arguments.
std::optional<std::string> status_of(const LogEntry& entry);

/// "OPERATIONGRAPH" of "    descriptor: type=CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:",
/// the first line of an entry; "" for another line.
std::string descriptor_of(const LogEntry& entry);

/// Whether the entry's function has a name that begins with `name`.
bool is_function(const LogEntry& entry, std::string_view name);

/// The lines as one text.
std::string joined(const std::vector<std::string>& lines);

/// The text after "apiLog: type=json; val=": a JSON object and what follows it; "" if there is none.
std::string_view json_of(const LogEntry& entry);

/// Engine and knobs at the end of the tree of a plan or an engine config; none if the tree names no engine.
std::optional<EngineConfigLog> engine_of_tree(const LogEntry& entry);

/// "A" of 3: cudnnBackendHeurMode_t, as the log writes it.
std::string heuristic_mode_name(int64_t mode);

}  // namespace attnprobe::log
