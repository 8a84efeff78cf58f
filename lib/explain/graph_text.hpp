// What a log says of one graph, for people.
#pragma once

#include <string>

#include "replay/explanation.hpp"
#include "replay/replay.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::explain {

/// "3. DESCRIPTION", what became of it, and why; with `style.details` the reasons of engine configs of a graph that works, too.
std::string graph_text(const replay::ReplayedGraph& graph, const report::TextStyle& style);

}  // namespace attnprobe::explain
