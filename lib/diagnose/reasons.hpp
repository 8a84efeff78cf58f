// The catalogue of reasons: what cuDNN's short texts mean. Data is in reasons.json, built into the library;
// scripts/dev/sweep-reasons provokes cuDNN and holds what it says against it.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/json.hpp"
#include "log/log_parse.hpp"

namespace attnprobe::diagnose {

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
  not_run,          ///< the worker could not be prepared to run it
  wrong_result,     ///< plans ran and none computes what the graph says
  crash,            ///< the worker process died
  timeout,          ///< the worker process hung
  unknown,          ///< a text that the catalogue does not know
};

/// By name. Throws Error(internal) for a name that is not one of them.
void to_json(Json& json, Category category);
void from_json(const Json& json, Category& category);

/// A kind of reason that cuDNN is known to give.
struct KnownReason {
  std::string id;            ///< "shared-memory-of-the-kernel": its anchor in docs/reasons.md
  std::string match;         ///< part of cuDNN's text that tells it
  std::string begins;        ///< what the text begins with, where a part would be in others too
  std::string whole;         ///< the whole text, where its beginning would be in others too
  std::string status;        ///< "" if the text alone tells it
  std::string meaning;       ///< one or two sentences in plain words
  std::string help;          ///< what usually gets around it; "" if nothing does
  std::string since, until;  ///< first and last version seen to say it, "9.14.0"; "" where older or newer
                             ///< ones may too
  std::string source;        ///< how it is known
  Category category = Category::unknown;
  int progress = 0;      ///< how far an engine had come when it said this: a root cause is the furthest
  bool wrapper = false;  ///< hands on what an inner call found and says nothing of it: "ptr->isSupported()"
};

/// The first entry that matches; nullptr for a reason that the catalogue does not know.
const KnownReason* find_reason(const log::Reason& reason);

/// Of a traceback, innermost line first: the first line that is more than a wrapper; the innermost where all are
/// wrappers; nullptr where there are no lines.
const log::Reason* decisive_reason(const std::vector<log::Reason>& traceback);

const std::vector<KnownReason>& known_reasons();

/// The category of a status by itself, for a reason that the catalogue does not know.
Category category_of_status(const std::string& status);

}  // namespace attnprobe::diagnose

namespace attnprobe {
template <>
struct EnumNames<diagnose::Category> {
  static constexpr std::array<std::pair<diagnose::Category, std::string_view>, 36> table{{
      {diagnose::Category::arch_mismatch, "arch_mismatch"},
      {diagnose::Category::multi_gemm, "multi_gemm"},
      {diagnose::Category::shared_memory, "shared_memory"},
      {diagnose::Category::graph_pattern, "graph_pattern"},
      {diagnose::Category::shape, "shape"},
      {diagnose::Category::heads, "heads"},
      {diagnose::Category::head_dim, "head_dim"},
      {diagnose::Category::sequence_length, "sequence_length"},
      {diagnose::Category::data_type, "data_type"},
      {diagnose::Category::layout, "layout"},
      {diagnose::Category::alignment, "alignment"},
      {diagnose::Category::mask, "mask"},
      {diagnose::Category::bias, "bias"},
      {diagnose::Category::score_mod, "score_mod"},
      {diagnose::Category::sink, "sink"},
      {diagnose::Category::padding, "padding"},
      {diagnose::Category::ragged, "ragged"},
      {diagnose::Category::paged, "paged"},
      {diagnose::Category::dropout, "dropout"},
      {diagnose::Category::deterministic, "deterministic"},
      {diagnose::Category::engine_config, "engine_config"},
      {diagnose::Category::version, "version"},
      {diagnose::Category::invalid_graph, "invalid_graph"},
      {diagnose::Category::environment, "environment"},
      {diagnose::Category::compilation, "compilation"},
      {diagnose::Category::internal_error, "internal_error"},
      {diagnose::Category::execution, "execution"},
      {diagnose::Category::no_candidates, "no_candidates"},
      {diagnose::Category::memory, "memory"},
      {diagnose::Category::cuda_error, "cuda_error"},
      {diagnose::Category::cudnn_error, "cudnn_error"},
      {diagnose::Category::not_run, "not_run"},
      {diagnose::Category::wrong_result, "wrong_result"},
      {diagnose::Category::crash, "crash"},
      {diagnose::Category::timeout, "timeout"},
      {diagnose::Category::unknown, "unknown"},
  }};
};
}  // namespace attnprobe
