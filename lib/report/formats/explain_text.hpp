// `attnprobe explain`: what a log says of each graph, in plain words.
#pragma once

#include "diagnose/refusal.hpp"
#include "replay/explanation.hpp"
#include "replay/replay.hpp"
#include "report/formats/report.hpp"
#include "report/model/explained.hpp"

namespace attnprobe::report {

/// For people. Where graphs were rebuilt, they lead, and what the text says besides follows; else who refused, from the
/// text's sentences; then what rules say of the calls that its source makes. Graphs that work are one line each. The last line is the
/// one thing to do next.
std::string explain_text(const Explained& explained, const TextStyle& style);

/// One graph of it: "3. DESCRIPTION", what became of it, and why.
std::string explained_graph_text(const replay::ReplayedGraph& graph, const TextStyle& style);

/// Schema "attnprobe/explain/1": {"file", "graphs": [{"number", "description", "line", …}], "exceptions", "advice",
/// "refusals": [{"id", "layer", "who", "headline", …}], "callers", "told", "calls": [{"line", "call", "says", …}], "next"}.
Json explain_json(const Explained& explained);

}  // namespace attnprobe::report
