// A log's graphs, compared with cuDNN's answers today.
#pragma once

#include "replay/replay.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// The graphs of a log with the program's outcome for each, as text. `numbers`: graphs to print; empty: all.
std::string replay_text(const replay::Replay& replay, const std::vector<size_t>& numbers, const TextStyle& style);

/// Compares each result with its log. Results are ordered by question, then by target.
std::string agreement_text(const std::vector<const replay::ReplayedGraph*>& graphs, const Results& results,
                           const TextStyle& style);

/// The member "replay" of a JSON report: {"file", "cudnn_versions", "entries", "problems", "graphs": […]}. Each graph
/// has the log's facts as findings, and "agreements", one per result.
Json replay_json(const replay::Replay& replay, const std::vector<const replay::ReplayedGraph*>& graphs,
                 const Results& results);

}  // namespace attnprobe::report
