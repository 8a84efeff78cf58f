// The findings of a trace as text, as JSON, and as configs for other targets.
#pragma once

#include <string>

#include "report/formats/report.hpp"
#include "trace/trace.hpp"

namespace attnprobe::trace {

/// The text report. Lists each distinct attention with its counts and engines, refused graphs with their reasons, and
/// graphs that never reached cuDNN. Ends with the trace's own cost.
std::string trace_text(const Trace& trace, const TraceOptions& options, const report::TextStyle& style);

/// Schema "attnprobe/trace/1" (docs/logs.md).
Json trace_json(const Trace& trace, const TraceOptions& options);

/// A config document with every distinct attention once, over all GPUs. "attention 1" is the report's graph 1; graphs
/// that cudnn-frontend refused follow. Omits graphs that no config builds; `left_out` receives their number.
Json trace_configs(const Trace& trace, int64_t* left_out);

/// One line for a new graph, "sdpa_unified fprop … : engine 4 built"; "" if it is not attention.
std::string news_line(const replay::LoggedGraph& graph);

}  // namespace attnprobe::trace
