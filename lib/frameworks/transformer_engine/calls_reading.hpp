// Shared by the two readers of Transformer Engine's calls. Internal.
#pragma once

#include <string_view>

#include "frameworks/transformer_engine/calls.hpp"

namespace attnprobe::frameworks {

/// The text before a dump's dict, in any log.
constexpr std::string_view transformer_engine_dump = "Running with config=";

/// Reads a call from fields with the names of the C API. `query` already has name, origin, and notes on fields that the
/// caller filled in. Throws Error(usage) with `origin` and the field.
TransformerEngineQuery read_transformer_engine_fields(const Json& fields, TransformerEngineQuery query);

/// All dumps of a log.
std::vector<TransformerEngineQuery> read_transformer_engine_dumps(std::string_view text, const std::string& file_name);

/// "file: /1/q_dtype" or "file:12: 'qkv_dtype'"; `field` may be "".
std::string transformer_engine_place(const attention::Origin& origin, const std::string& field);
/// Throws Error(usage) with that place.
[[noreturn]] void fail_transformer_engine(const attention::Origin& origin, const std::string& field,
                                          const std::string& message);

}  // namespace attnprobe::frameworks
