// The attention that a page tells of, as a question for cuDNN: fields of a config, each with its line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "explain/facts.hpp"

namespace attnprobe::explain {

struct ToldField {
  std::string field;  ///< of a config: "head_dim"
  Json value;
  int64_t line = 0;
  std::string words;  ///< that tell it
};

struct ToldQuestion {
  std::vector<ToldField> fields;
  Json call = Json::object();        ///< keys of the framework's gate that the config does not have
  std::string framework;             ///< for --framework: "torch==2.11"; "" where none is named
  std::string framework_note;        ///< what of its release is assumed; ""
  std::vector<std::string> assumed;  ///< what of the fields is, in words

  bool tells(std::string_view field) const;
  /// Whether it tells of the same attention, wherever.
  bool same_as(const ToldQuestion& other) const;
  /// "bf16, causal, head_dim 128 (lines 3 and 4)": what was read, for people.
  std::string read_as() const;
};

/// What the page tells; no field where it tells nothing of an attention's shape or features.
ToldQuestion read_question(std::string_view page, const TextFacts& facts);

}  // namespace attnprobe::explain
