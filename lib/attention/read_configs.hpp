// Configs from a document that another room has read: a matrix names configs and matrix axes in one.
#pragma once

#include <vector>

#include "attention/config.hpp"
#include "base/json_reader.hpp"

namespace attnprobe::attention {

/// As parse_configs() of a document that was read already, or of a part of it.
std::vector<AttentionConfig> read_configs(const JsonView& document, const std::vector<Override>& overrides = {});

}  // namespace attnprobe::attention
