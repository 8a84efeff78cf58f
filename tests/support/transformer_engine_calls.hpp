// Transformer Engine calls for tests.
#pragma once

#include <string>
#include <vector>

#include "frameworks/transformer_engine/calls.hpp"

namespace attnprobe::test {

/// A training call, with these members replaced.
Json call_with(const std::string& members = "");
frameworks::TransformerEngineQuery query_with(const std::string& members = "");

/// The note on a field; null if there is none.
const frameworks::TransformerEngineNote* note_on(const std::vector<frameworks::TransformerEngineNote>& notes,
                                                 const std::string& field);

}  // namespace attnprobe::test
