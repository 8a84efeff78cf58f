// The features that configs spell as a word, a number or an object: reading them, writing them, their schema.
#pragma once

#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::attention {

// Reading throws FieldError; "none" is no feature.
void read_scale(AttentionSpec& spec, const Json& value);
std::optional<Bias> read_bias(const Json& value);
std::optional<ScoreModifier> read_score_mod(const Json& value);
std::optional<Dropout> read_dropout(const Json& value);
std::optional<Paged> read_paged(const Json& value);

Json to_json(const Bias& bias);
Json to_json(const ScoreModifier& modifier);
Json to_json(const Dropout& dropout);
Json to_json(const Paged& paged);

Json scale_schema();
Json bias_schema();
Json score_mod_schema();
Json dropout_schema();
Json paged_schema();

}  // namespace attnprobe::attention
