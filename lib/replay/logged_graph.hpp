// Records facts from a log in a LoggedGraph. Not installed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log/log_parse.hpp"
#include "replay/log_history.hpp"

namespace attnprobe::replay {

constexpr std::string_view success = "CUDNN_STATUS_SUCCESS";
constexpr size_t most_problems = 20;  // also the limit for exceptions

/// Adds "line 12: …", for the first problems only.
void note_problem(LogHistory& history, int64_t line, const std::string& what);

/// Equal for equal texts, and practically never equal for different texts.
std::pair<size_t, size_t> text_key(std::string_view text);

/// The graph's engine config with that engine and those knobs, added if new.
probe::EngineConfigFindings& engine_config(LoggedGraph& graph, const log::EngineConfigLog& logged);

/// A heuristic mode proposed it, with its index in the mode's list if the log gives it.
void note_mode(probe::EngineConfigFindings& config, const std::string& mode, std::optional<int64_t> rank);

/// Its finalize ended with that status.
void note_check(LoggedGraph& graph, const log::EngineConfigLog& logged, const std::string& status,
                const std::vector<log::Reason>& reasons);

/// A plan's finalize ended with that status.
void note_plan(LoggedGraph& graph, const log::EngineConfigLog& logged, const std::string& status,
               const std::vector<log::Reason>& reasons);

void note_execution(LoggedGraph& graph, const log::EngineConfigLog& logged);

/// The graph itself, or a query on it, failed. `descriptor` has no prefix ("OPERATIONGRAPH"); `stage` and `descriptor`
/// are "" if unknown.
void note_failure(LoggedGraph& graph, const std::string& stage, const std::string& descriptor,
                  const std::string& status, const std::vector<log::Reason>& reasons);

}  // namespace attnprobe::replay
