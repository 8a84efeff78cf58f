// What a log shows of its graphs, beside what cuDNN says today.
#pragma once

#include "replay/replay.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// The graphs of a log with what the program got for each, for people. `numbers`: which; empty: all.
std::string replay_text(const replay::Replay& replay, const std::vector<size_t>& numbers, const TextStyle& style);

/// How each result compares with its log. Results as questions of the graphs, each on every target.
std::string agreement_text(const std::vector<const replay::ReplayedGraph*>& graphs, const Results& results,
                           const TextStyle& style);

/// "replay" of a JSON report: {"file", "cudnn_versions", "entries", "problems", "graphs": […]}; each graph has what the
/// log shows as findings, and "agreements", one a result.
Json replay_json(const replay::Replay& replay, const std::vector<const replay::ReplayedGraph*>& graphs,
                 const Results& results);

}  // namespace attnprobe::report
