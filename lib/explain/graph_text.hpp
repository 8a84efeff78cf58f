// Prints a log's facts about one graph.
#pragma once

#include <string>

#include "replay/explanation.hpp"
#include "replay/replay.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::explain {

inline constexpr size_t most_said = 130;  ///< letters of a part without -v, about two lines

/// The first sentences of a text that fit in `most_said` letters, at least one.
std::string beginning_of(const std::string& text);

/// "3. DESCRIPTION", the outcome and the reason. With `style.details`, also the reasons for rejected engine configs of
/// a working graph.
std::string graph_text(const replay::ReplayedGraph& graph, const report::TextStyle& style);

}  // namespace attnprobe::explain
