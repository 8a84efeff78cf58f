// Prints a log's facts about one graph.
#pragma once

#include <string>

#include "replay/explanation.hpp"
#include "replay/replay.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::explain {

/// "3. DESCRIPTION", the outcome and the reason. With `style.details`, also the reasons for rejected engine configs of
/// a working graph.
std::string graph_text(const replay::ReplayedGraph& graph, const report::TextStyle& style);

}  // namespace attnprobe::explain
