// Makes AttentionSpecs of JSON text and options: defaults, cross products, overrides, validation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::attention {

/// Where a config came from, for messages.
struct Origin {
  std::string file;     ///< "" for a config made only of options
  std::string pointer;  ///< JSON pointer of the config in the file; "" for the whole document
};

struct AttentionConfig {
  AttentionSpec spec;
  Origin origin;
  /// The name of the training question that this config is half of, else "". The worse of both answers counts.
  std::string training = {};
};

/// A field given on the command line. An object replaces the file's value of the field and of the fields that a
/// shorthand sets. A word or number keeps those members of the file's object that it does not set (merging.hpp).
struct Override {
  std::string field;  ///< "heads_kv"; "sliding_window", "causal": added to the members of the file's mask
  Json value;
};

/// Converts an option's text to the JSON of a config. Text that parses as JSON is used as it is ("512", "true", "{…}");
/// commas make a list ("512,1024"); else it is a string.
Override parse_override(const std::string& field, const std::string& text);

/// Shell words that give the override: "--mask padding", "--causal".
std::string override_words(const Override& one);

/// All configs of a document: one object, an array, or {"configs": […], "defaults": {…}}. Fields that hold arrays of
/// values make a cross product in document order; the last one varies fastest. Throws Error(usage) naming the file, the
/// JSON pointer or option, the value, and what is allowed.
std::vector<AttentionConfig> parse_configs(std::string_view json_text, const std::string& file_name,
                                           const std::vector<Override>& overrides = {});

/// parse_configs for a file, which may be compressed (gzip, xz); "-" is standard input. A folder gives all its files
/// *.json, *.json.gz and *.json.xz, by name.
std::vector<AttentionConfig> load_configs(const std::string& path, const std::vector<Override>& overrides = {});

/// Configs made only of options.
std::vector<AttentionConfig> configs_from_options(const std::vector<Override>& overrides);

/// JSON Schema (draft 2020-12) of a config document.
Json config_schema();

}  // namespace attnprobe::attention
