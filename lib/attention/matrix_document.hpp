// Config documents of a matrix, which may also name its other axes and further documents.
#pragma once

#include <string>
#include <vector>

#include "attention/config.hpp"

namespace attnprobe::attention {

/// Everything that the documents name. Other modules parse the words of the other axes.
struct MatrixDocument {
  std::vector<AttentionConfig> configs;
  std::vector<std::string> targets, cudnns, frameworks;
};

/// Reads files or patterns ("configs/*.json", in the order of their names). Files may be compressed; "-" is standard
/// input. A document has "configs" and "defaults", or the fields of one config. It may also have "targets", "cudnn",
/// "framework" (a word or an array) or "config_files" (patterns from its own folder). `overrides` apply to each config;
/// without a pattern they are the configs. Throws Error(usage) for anything that parse_configs refuses, and for a
/// pattern without matches. Also throws if documents form a cycle or contain no configs.
MatrixDocument load_matrix_documents(const std::vector<std::string>& patterns,
                                     const std::vector<Override>& overrides = {});

}  // namespace attnprobe::attention
