// Transformer Engine calls that tests ask about.
#pragma once

#include <string>
#include <vector>

#include "attnprobe/attention/transformer_engine.hpp"

namespace attnprobe::test {

/// A call that trains, with these members in place of its own.
Json call_with(const std::string& members = "");
attention::TransformerEngineQuery query_with(const std::string& members = "");

/// What was noted on a field; null for nothing.
const attention::TransformerEngineNote* note_on(const std::vector<attention::TransformerEngineNote>& notes,
                                                const std::string& field);

}  // namespace attnprobe::test
