// Converts a page's description of an attention to a question for cuDNN: config fields, each with its line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "explain/facts.hpp"

namespace attnprobe::explain {

struct ToldField {
  std::string field;  ///< name of the config field: "head_dim"
  Json value;
  int64_t line = 0;
  std::string words;  ///< the words on the page
};

struct ToldQuestion {
  std::vector<ToldField> fields;
  std::vector<ToldField> others;     ///< other values of these fields on the page, at most 3
  Json call = Json::object();        ///< keys of the framework's gate that a config does not have
  std::string framework;             ///< for --framework: "torch==2.11"; "" if none is named
  std::string framework_note;        ///< assumption about its release; ""
  std::vector<std::string> assumed;  ///< assumed fields, as text
  bool has_cases = false;            ///< the page has other values, or values of a case that works
  bool is_partial = false;           ///< a further question of the text names other features
  std::vector<std::string> unread;   ///< words for features that no field was read from: "tree mask"

  bool tells(std::string_view field) const;
  /// Whether both describe the same attention, on any lines.
  bool same_as(const ToldQuestion& other) const;
  /// A summary of what was read: "bf16, causal, head_dim 128 (lines 3 and 4)".
  std::string read_as() const;
};

/// The question on a page; without fields if the page does not describe an attention's shape or features.
ToldQuestion read_question(std::string_view page, const TextFacts& facts);

}  // namespace attnprobe::explain
