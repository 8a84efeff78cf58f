// The method "limits". Not installed.
#pragma once

#include "service/request_parts.hpp"

namespace attnprobe::service {

/// Schema "attnprobe/limits/1"; without rows if it was stopped. Throws Error(usage) naming the member, its value and
/// what is allowed, and Error(environment) if the machine lacks something.
Json answer_limits(const JsonView& params, const Means& means);

}  // namespace attnprobe::service
