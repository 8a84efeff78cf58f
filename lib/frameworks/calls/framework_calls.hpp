// Calls of PyTorch's scaled_dot_product_attention and JAX's dot_product_attention. A call has the program's arguments,
// the framework's graphs, and the keys for its gate. docs/from-frameworks.md says how to print a call.
//
// The graphs follow logs of PyTorch 2.11 and JAX 0.11 with cuDNN 9.19 on an H200 (tests/fixtures/logs/frameworks).
// tests/frameworks/framework_calls_test.cpp rebuilds those graphs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/config.hpp"
#include "base/data_type.hpp"
#include "base/enum_names.hpp"
#include "base/json.hpp"

namespace attnprobe::frameworks {

struct FrameworkCall {
  std::string name;          ///< "name" of the JSON, else "call", "call[1]", …
  attention::Origin origin;  ///< file, and JSON pointer or line
  int64_t times = 1;         ///< how often the text has this call
  Json given;                ///< as given
  std::string release;       ///< of the framework, as the program reported it: "2.11.0+cu130"; ""
  /// The forward graph, and the backward graph if the call requests a gradient.
  std::vector<attention::AttentionSpec> graphs;
  Json keys = Json::object();      ///< for the framework's gate (rules/framework_gates.hpp)
  std::vector<std::string> notes;  ///< parts of the call that graphs cannot express
};

/// The framework of the called function.
enum class Caller { torch, jax };

/// How to read calls.
struct CallReading {
  Caller caller = Caller::torch;
  std::string release = {};             ///< of the framework, for the graphs; "": the call's own, otherwise the newest
  std::optional<DataType> dtype = {};   ///< for inputs without a type; none: bf16, with a note
  std::string dtype_place = "--dtype";  ///< prefix of the error if every call already has another type
};

/// The calls in `text`, in any of these forms: a call in source syntax (python_call.hpp); JSON (one object or an array,
/// comments allowed). Also text with lines such as "attnprobe-torch {…}", or else source that calls the function.
/// Duplicates are merged. Throws Error(usage) naming file, JSON pointer or line, value and what is allowed.
std::vector<FrameworkCall> parse_calls(const CallReading& reading, std::string_view text, const std::string& file_name);

/// The calls in a program's source (python_source.hpp); the text may be a whole bug report. Throws Error(usage) if
/// there are none.
std::vector<FrameworkCall> calls_in_source(const CallReading& reading, std::string_view text,
                                           const std::string& file_name);

/// The same for an option's value: like parse_calls(), or a file, which may be compressed (gzip, xz); "-" is standard
/// input.
std::vector<FrameworkCall> load_calls(const CallReading& reading, const std::string& given);

}  // namespace attnprobe::frameworks

namespace attnprobe {
template <>
struct EnumNames<frameworks::Caller> {
  static constexpr std::array<std::pair<frameworks::Caller, std::string_view>, 2> table{{
      {frameworks::Caller::torch, "torch"},
      {frameworks::Caller::jax, "jax"},
  }};
};
}  // namespace attnprobe
