// `attnprobe explain`: the answer as text and as JSON.
#pragma once

#include <string>

#include "explain/explained.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::explain {

/// The answer first; then the facts read, the question asked, the fix, and one command. At most 15 lines unless
/// `style.details`.
std::string explain_text(const Explained& explained, const report::TextStyle& style);

/// Schema "attnprobe/explain/1": {"file", "graphs": [{"number", "description", "line", …}], "exceptions", "advice",
/// "refusals": [{"id", "layer", "who", "headline", …}], "callers", "told", "calls": [{"line", "call", "says", …}], "asked", "missing", "next"}.
Json explain_json(const Explained& explained);

}  // namespace attnprobe::explain
