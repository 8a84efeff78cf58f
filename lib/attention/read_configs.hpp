// Configs from an already parsed document, because a matrix document has both configs and matrix axes.
#pragma once

#include <vector>

#include "attention/config.hpp"
#include "base/json_reader.hpp"

namespace attnprobe::attention {

/// parse_configs() for a parsed document or a part of it.
std::vector<AttentionConfig> read_configs(const JsonView& document, const std::vector<Override>& overrides = {});

}  // namespace attnprobe::attention
