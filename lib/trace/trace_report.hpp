// What a trace found, for people, for programs, and as configs to ask about elsewhere.
#pragma once

#include <string>

#include "report/formats/report.hpp"
#include "trace/trace.hpp"

namespace attnprobe::trace {

/// For people: each distinct attention with its counts and engines, what was refused and why, what never came to cuDNN
/// as far as anybody said so, and what the trace took.
std::string trace_text(const Trace& trace, const TraceOptions& options, const report::TextStyle& style);

/// Schema "attnprobe/trace/1" (docs/logs.md).
Json trace_json(const Trace& trace, const TraceOptions& options);

/// A config document of every distinct attention, each once, whatever it ran on: "attention 1" is the report's graph 1;
/// then those that cudnn-frontend refused.
/// Graphs that no config builds are not in it; `left_out` counts them.
Json trace_configs(const Trace& trace, int64_t* left_out);

/// One line for a graph as it is seen, "sdpa_unified fprop … : engine 4 built"; "" where it is no attention.
std::string news_line(const replay::LoggedGraph& graph);

}  // namespace attnprobe::trace
