// Converts JSON text and options to AttentionSpecs: defaults, cross products, overrides, validation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::attention {

/// Where a config came from, for messages.
struct Origin {
  std::string file;     ///< "" for a config that consists only of options
  std::string pointer;  ///< JSON pointer of the config in the file; "" for the whole document
};

struct AttentionConfig {
  AttentionSpec spec;
  Origin origin;
  /// The name of the training question, if this config is its forward or backward half; otherwise "". The worse of both
  /// answers counts.
  std::string training = {};
};

/// A field given on the command line. An object replaces the file's value, also in the fields that a shorthand sets. A
/// word or number keeps the other members of the file's object (merging.hpp).
struct Override {
  std::string field;  ///< "heads_kv"; "sliding_window", "causal": added to the members of the file's mask
  Json value;
};

/// Converts an option's text to the JSON of a config. Text that parses as JSON is used as it is ("512", "true", "{…}");
/// commas make a list ("512,1024"); otherwise it is a string.
Override parse_override(const std::string& field, const std::string& text);

/// The override as shell words: "--mask padding", "--causal".
std::string override_words(const Override& one);

/// All configs of a document: one object, an array, or {"configs": […], "defaults": {…}}. Arrays of values form a cross
/// product in document order; the last one varies fastest. Throws Error(usage) naming the file, the JSON pointer or
/// option, the value, and what is allowed.
std::vector<AttentionConfig> parse_configs(std::string_view json_text, const std::string& file_name,
                                           const std::vector<Override>& overrides = {});

/// parse_configs for a file, which may be compressed (gzip, xz); "-" is standard input. For a folder: all its *.json,
/// *.json.gz and *.json.xz files, sorted by name.
std::vector<AttentionConfig> load_configs(const std::string& path, const std::vector<Override>& overrides = {});

/// Configs that consist only of options.
std::vector<AttentionConfig> configs_from_options(const std::vector<Override>& overrides);

/// Whether a config can describe it: a graph of a program may have a boolean bias, for example.
bool has_config(const AttentionSpec& spec);

/// JSON Schema (draft 2020-12) of a config document.
Json config_schema();

}  // namespace attnprobe::attention
