// The methods "suggest" and "bugs". Not installed.
#pragma once

#include "service/request_parts.hpp"

namespace attnprobe::service {

/// Schema "attnprobe/suggest/1". Throws Error(usage) naming the member, its value and what is allowed, and
/// Error(environment) if the machine lacks something.
Json answer_suggest(const JsonView& params, const Means& means);

/// Schema "attnprobe/bugs/1". Throws like answer_suggest().
Json answer_bugs(const JsonView& params, const std::string& program);

}  // namespace attnprobe::service
