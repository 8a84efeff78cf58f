// Config documents of a matrix, which may also name its other axes and further documents.
#pragma once

#include <string>
#include <vector>

#include "attention/config.hpp"

namespace attnprobe::attention {

/// What the documents name together. The words of the other axes are for those rooms to read.
struct MatrixDocument {
  std::vector<AttentionConfig> configs;
  std::vector<std::string> targets, cudnns, frameworks;
};

/// Reads files, or patterns of them ("configs/*.json": in order of their names); compressed ones too, "-" is standard
/// input. A document that has "targets", "cudnn", "framework" (a word or an array of them) or "config_files" (patterns from its own
/// folder) may have "configs" and "defaults", or the fields of one config, beside them. Throws Error(usage) for what
/// parse_configs refuses, for patterns that match nothing, for a document that names itself by way of others, and where
/// there is no config at all.
/// `overrides` lie over each config; with no pattern they are the configs.
MatrixDocument load_matrix_documents(const std::vector<std::string>& patterns,
                                     const std::vector<Override>& overrides = {});

}  // namespace attnprobe::attention
