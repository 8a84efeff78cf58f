// From JSON text and options to AttentionSpecs: defaults, cross products, overrides, validation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../base/json.hpp"
#include "spec.hpp"

namespace attnprobe::attention {

/// Where a config came from, for messages.
struct Origin {
  std::string file;     ///< "" for a config made of options alone
  std::string pointer;  ///< JSON pointer of the config in it, "" for the whole document
};

struct AttentionConfig {
  AttentionSpec spec;
  Origin origin;
  /// Of the two configs that a training question is: its name; else "". It is answered by the worse of both.
  std::string training = {};
};

/// One field given on the command line. An object replaces the file's value of that field, and of the fields that a shorthand
/// stands for; a word or number keeps the members of the file's object that it does not set (merging.hpp).
struct Override {
  std::string field;  ///< "heads_kv"
  Json value;
  std::string option =
      {};  ///< "--causal": sets the members of `value` and keeps all others; "": the field's own option
};

/// An option's text as the JSON that a config would hold: JSON where it parses as such ("512", "true", "{…}"), a list
/// where it has commas ("512,1024"), else text.
Override parse_override(const std::string& field, const std::string& text);

/// The words of a shell command line that give it: "--mask padding", "--causal".
std::string override_words(const Override& one);

/// All configs of a document: one object, an array, or {"configs": […], "defaults": {…}}. A field that holds an array
/// of values makes the cross product, in the order of the fields in the document, the last one fastest. Throws
/// Error(usage) naming the file, the JSON pointer or option, the value, and what is allowed.
std::vector<AttentionConfig> parse_configs(std::string_view json_text, const std::string& file_name,
                                           const std::vector<Override>& overrides = {});

/// The same from a file, which may be compressed (gzip, xz); "-" is standard input. Of a folder all files *.json (or
/// .json.gz, .json.xz), in the order of their names.
std::vector<AttentionConfig> load_configs(const std::string& path, const std::vector<Override>& overrides = {});

/// Configs made of options alone.
std::vector<AttentionConfig> configs_from_options(const std::vector<Override>& overrides);

/// JSON Schema (draft 2020-12) of a config document.
Json config_schema();

}  // namespace attnprobe::attention
