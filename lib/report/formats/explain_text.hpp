// `attnprobe explain`: what a log says of each graph, in plain words.
#pragma once

#include "replay/explanation.hpp"
#include "replay/replay.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// For people. Graphs that work are one line each.
std::string explain_text(const replay::Replay& replay, const TextStyle& style);

/// Schema "attnprobe/explain/1": {"file", "graphs": [{"number", "description", "line", …}], "exceptions", "advice"}.
Json explain_json(const replay::Replay& replay);

}  // namespace attnprobe::report
