// Transformer Engine calls that tests ask about.
#pragma once

#include <string>
#include <vector>

#include "frameworks/transformer_engine/calls.hpp"

namespace attnprobe::test {

/// A call that trains, with these members in place of its own.
Json call_with(const std::string& members = "");
frameworks::TransformerEngineQuery query_with(const std::string& members = "");

/// What was noted on a field; null for nothing.
const frameworks::TransformerEngineNote* note_on(const std::vector<frameworks::TransformerEngineNote>& notes,
                                                 const std::string& field);

}  // namespace attnprobe::test
