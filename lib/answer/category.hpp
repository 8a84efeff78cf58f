// What a reason of cuDNN's is about.
#pragma once

#include "../base/enum_names.hpp"

namespace attnprobe::answer {

/// What a reason is about.
enum class Category {
  arch_mismatch,    ///< the engine has no kernels for this GPU's compute capability
  multi_gemm,       ///< the general fusion engine chains matmuls on some architectures only
  shared_memory,    ///< more of it than the GPU has
  graph_pattern,    ///< not one of the graphs that the engine knows
  shape,            ///< dimensions that fit neither each other nor the engine
  heads,            ///< numbers of heads of Q, K and V
  head_dim,         ///< head dimensions
  sequence_length,  ///< lengths of Q and of K and V
  data_type,        ///< types of the tensors
  layout,           ///< layouts and strides
  alignment,        ///< strides or addresses that vector loads cannot take
  mask,             ///< causal, window, block mask
  bias,             ///< bias and its gradient
  score_mod,        ///< softcap and other functions of the scores
  sink,             ///< a logit that joins the softmax
  padding,          ///< sequence lengths of a padded batch
  ragged,           ///< sequences back to back
  paged,            ///< K and V in pages
  dropout,          ///< dropout
  deterministic,    ///< the backward pass without atomics
  engine_config,    ///< the knob value belongs to another kernel of the engine
  version,          ///< of a later cuDNN
  invalid_graph,    ///< cuDNN says BAD_PARAM: the graph is malformed
  environment,      ///< the driver, the runtime, or a library that cuDNN needs is missing
  compilation,      ///< the check passed and the kernel did not compile
  internal_error,   ///< cuDNN or attnprobe failed
  execution,        ///< a plan failed while it ran
  no_candidates,    ///< no heuristic mode proposes anything
  memory,           ///< the GPU's memory is too small for the tensors
  cuda_error,       ///< a plan ended in an error of CUDA's
  cudnn_error,      ///< or of cuDNN's
  constraint,       ///< what cuDNN takes does not keep to the asker's own limits (--max-workspace, …)
  not_run,          ///< the worker could not be prepared to run it
  wrong_result,     ///< plans ran and none computes what the graph says
  crash,            ///< the worker process died
  timeout,          ///< the worker process hung
  unknown,          ///< a text that the catalogue does not know
};

}  // namespace attnprobe::answer

namespace attnprobe {
template <>
struct EnumNames<answer::Category> {
  static constexpr std::array<std::pair<answer::Category, std::string_view>, 37> table{{
      {answer::Category::arch_mismatch, "arch_mismatch"},
      {answer::Category::multi_gemm, "multi_gemm"},
      {answer::Category::shared_memory, "shared_memory"},
      {answer::Category::graph_pattern, "graph_pattern"},
      {answer::Category::shape, "shape"},
      {answer::Category::heads, "heads"},
      {answer::Category::head_dim, "head_dim"},
      {answer::Category::sequence_length, "sequence_length"},
      {answer::Category::data_type, "data_type"},
      {answer::Category::layout, "layout"},
      {answer::Category::alignment, "alignment"},
      {answer::Category::mask, "mask"},
      {answer::Category::bias, "bias"},
      {answer::Category::score_mod, "score_mod"},
      {answer::Category::sink, "sink"},
      {answer::Category::padding, "padding"},
      {answer::Category::ragged, "ragged"},
      {answer::Category::paged, "paged"},
      {answer::Category::dropout, "dropout"},
      {answer::Category::deterministic, "deterministic"},
      {answer::Category::engine_config, "engine_config"},
      {answer::Category::version, "version"},
      {answer::Category::invalid_graph, "invalid_graph"},
      {answer::Category::environment, "environment"},
      {answer::Category::compilation, "compilation"},
      {answer::Category::internal_error, "internal_error"},
      {answer::Category::execution, "execution"},
      {answer::Category::no_candidates, "no_candidates"},
      {answer::Category::memory, "memory"},
      {answer::Category::cuda_error, "cuda_error"},
      {answer::Category::cudnn_error, "cudnn_error"},
      {answer::Category::constraint, "constraint"},
      {answer::Category::not_run, "not_run"},
      {answer::Category::wrong_result, "wrong_result"},
      {answer::Category::crash, "crash"},
      {answer::Category::timeout, "timeout"},
      {answer::Category::unknown, "unknown"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::answer {
ATTNPROBE_JSON_ENUM(Category)
}  // namespace attnprobe::answer
