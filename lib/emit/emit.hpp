// Emits programs that ask the same question without attnprobe, for a bug report.
#pragma once

#include <string>

#include "attention/spec.hpp"
#include "base/enum_names.hpp"
#include "base/version.hpp"
#include "gpu/target.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::emit {

enum class Form {
  cpp,              ///< cuDNN's backend API, in one file of C++17
  python_frontend,  ///< cudnn-frontend from Python
  torch             ///< scaled_dot_product_attention under SDPBackend.CUDNN_ATTENTION
};

/// One question.
struct Question {
  std::string name;         ///< of the config or the graph; may be ""
  std::string description;  ///< one line
  std::string command;      ///< the attnprobe command for the same question; may be ""
  CudnnVersion cudnn_version;
};

/// A program that creates the graph's descriptors as attnprobe does, asks heuristic mode A, and prints cuDNN's status,
/// engine configs and reasons. For a simulated `target` it contains the device properties; otherwise it uses the first
/// GPU.
std::string cpp_program(const Question& question, const graph::OpGraph& graph, const gpu::Target& target);

/// A program that asks cudnn-frontend's pygraph.sdpa and sdpa_backward, which build the graph themselves. Throws
/// Error(usage) naming the features of the spec that they cannot express, and for fp8, which is not implemented here.
std::string python_frontend_program(const Question& question, const attention::AttentionSpec& spec,
                                    const gpu::Target& target);

/// Throws Error(usage) naming the features of the spec that PyTorch's function cannot express.
std::string torch_program(const Question& question, const attention::AttentionSpec& spec);

}  // namespace attnprobe::emit

namespace attnprobe {
template <>
struct EnumNames<emit::Form> {
  static constexpr std::array<std::pair<emit::Form, std::string_view>, 3> table{{
      {emit::Form::cpp, "cpp"},
      {emit::Form::python_frontend, "python-frontend"},
      {emit::Form::torch, "torch"},
  }};
};
}  // namespace attnprobe
