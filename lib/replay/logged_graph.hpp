// Writing down in a LoggedGraph what a log tells of it. Not installed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log/log_parse.hpp"
#include "replay/log_history.hpp"

namespace attnprobe::replay {

constexpr std::string_view success = "CUDNN_STATUS_SUCCESS";
constexpr size_t most_problems = 20;  // and as many exceptions

/// "line 12: …", of the first of them.
void note_problem(LogHistory& history, int64_t line, const std::string& what);

/// Equal for equal texts, and hardly ever for others.
std::pair<size_t, size_t> text_key(std::string_view text);

/// The graph's engine config of that engine and those knobs, new if need be.
probe::EngineConfigFindings& engine_config(LoggedGraph& graph, const log::EngineConfigLog& logged);

/// A heuristic mode proposed it, at that place in its list if the log tells.
void note_mode(probe::EngineConfigFindings& config, const std::string& mode, std::optional<int64_t> rank);

/// Its finalize ended with that status.
void note_check(LoggedGraph& graph, const log::EngineConfigLog& logged, const std::string& status,
                const std::vector<log::Reason>& reasons);

/// A plan's finalize did.
void note_plan(LoggedGraph& graph, const log::EngineConfigLog& logged, const std::string& status,
               const std::vector<log::Reason>& reasons);

void note_execution(LoggedGraph& graph, const log::EngineConfigLog& logged);

/// The graph itself, or what it is asked, failed: `descriptor` without its prefix, as "OPERATIONGRAPH"; `stage` and
/// `descriptor` are "" where the log does not say.
void note_failure(LoggedGraph& graph, const std::string& stage, const std::string& descriptor,
                  const std::string& status, const std::vector<log::Reason>& reasons);

}  // namespace attnprobe::replay
