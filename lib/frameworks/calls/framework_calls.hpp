// Calls of PyTorch's scaled_dot_product_attention and JAX's dot_product_attention: what a program passed, the graphs that the
// framework builds of it, and what its gate is asked. docs/from-frameworks.md says how to print a call.
//
// What the graphs look like was read in logs of PyTorch 2.11 and JAX 0.11 with cuDNN 9.19 on an H200
// (tests/fixtures/logs/frameworks); tests/frameworks/framework_calls_test.cpp builds those very graphs.
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
  int64_t times = 1;         ///< how often a text holds this very call
  Json given;                ///< as it was given
  std::string release;       ///< of the framework, as the program said it: "2.11.0+cu130"; ""
  /// The forward graph and, where a gradient is asked for, the backward graph.
  std::vector<attention::AttentionSpec> graphs;
  Json keys = Json::object();      ///< for the framework's gate (rules/framework_gates.hpp)
  std::vector<std::string> notes;  ///< what of the call no graph says
};

/// Whose function is called.
enum class Caller { torch, jax };

/// How calls are read.
struct CallReading {
  Caller caller = Caller::torch;
  std::string release = {};  ///< of the framework, whose graphs are built; "": that of the call, else the newest
  std::optional<DataType> dtype = {};   ///< of inputs without one; none: bf16, and a note says so
  std::string dtype_place = "--dtype";  ///< begins the error where every call has another type already
};

/// The calls in `text`: a call as source has it (python_call.hpp), JSON (one object or an array; comments allowed), any text with lines
/// such as "attnprobe-torch {…}", else source that calls the function. Equal calls are one. Throws Error(usage) naming file, JSON pointer
/// or line, value and what is allowed.
std::vector<FrameworkCall> parse_calls(const CallReading& reading, std::string_view text, const std::string& file_name);

/// The calls that the source of a program makes (python_source.hpp); the text may be a whole report of a problem. Throws likewise where
/// there is none.
std::vector<FrameworkCall> calls_in_source(const CallReading& reading, std::string_view text,
                                           const std::string& file_name);

/// The same of an option's value: as parse_calls(), or a file, which may be compressed (gzip, xz); "-" is standard input.
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
