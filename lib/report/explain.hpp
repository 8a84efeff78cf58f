// `attnprobe explain`: what a log says of each graph, in plain words.
#pragma once

#include "attnprobe/diagnose/explain.hpp"
#include "attnprobe/report/report.hpp"
#include "attnprobe/worker/replay.hpp"

namespace attnprobe::report {

/// For people. Graphs that work are one line each.
std::string explain_text(const worker::Replay& replay, const TextStyle& style);

/// Schema "attnprobe/explain/1": {"file", "graphs": [{"number", "description", "line", …}], "exceptions",
/// "advice"}.
Json explain_json(const worker::Replay& replay);

}  // namespace attnprobe::report
