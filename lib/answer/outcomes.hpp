// The possible verdicts, answers, obstacles and subjects: plain enums, a part of the installed headers.
#pragma once

namespace attnprobe::answer {

/// cuDNN's verdict.
enum class Verdict { supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result };

/// The answer for the user.
enum class Usable {
  yes,  ///< the engine config that a program would get passes every requested stage
  but,  ///< cuDNN supports it, but there is an obstacle
  no,
};

/// The kind of obstacle.
enum class ObstacleKind {
  framework,           ///< a framework (PyTorch, JAX, …) refuses, or uses cuDNN only if you select it
  frontend,            ///< cudnn-frontend refuses
  known_bug,           ///< it may fail, or give wrong results
  requirement,         ///< a rule about versions or GPUs refuses it, although cuDNN accepts it
  outside_heuristics,  ///< only an engine that no heuristic proposes supports it; its plan compiled
  first_choice_fails,  ///< the first choice fails to compile or to run; another one works
};

/// The subject of a reason.
enum class Category {
  arch_mismatch,    ///< the engine has no kernels for this GPU's compute capability
  multi_gemm,       ///< the general fusion engine chains matmuls only on some architectures
  shared_memory,    ///< more than the GPU has
  graph_pattern,    ///< the engine does not know the graph
  shape,            ///< dimensions that do not match each other or the engine
  heads,            ///< numbers of heads of Q, K and V
  head_dim,         ///< head dimensions
  sequence_length,  ///< sequence lengths of Q and K/V
  data_type,        ///< types of the tensors
  layout,           ///< layouts and strides
  alignment,        ///< strides or addresses that vector loads do not support
  mask,             ///< causal, window, block mask
  bias,             ///< bias and its gradient
  score_mod,        ///< softcap and other score modifiers
  sink,             ///< a logit that joins the softmax
  padding,          ///< sequence lengths of a padded batch
  ragged,           ///< sequences back to back
  paged,            ///< K and V in pages
  dropout,          ///< dropout
  deterministic,    ///< deterministic backward pass
  engine_config,    ///< the knob value belongs to another kernel of the engine
  version,          ///< needs a later cuDNN
  invalid_graph,    ///< cuDNN returns BAD_PARAM: the graph is malformed
  environment,      ///< the driver, the runtime, or a library that cuDNN needs is missing
  compilation,      ///< the check passed, but the kernel did not compile
  internal_error,   ///< cuDNN or attnprobe failed
  execution,        ///< a plan failed at run time
  no_candidates,    ///< no heuristic mode proposes anything
  memory,           ///< the GPU's memory is too small for the tensors
  cuda_error,       ///< a plan ended in a CUDA error
  cudnn_error,      ///< a plan ended in a cuDNN error
  constraint,       ///< cuDNN's supported configs break the user's own limits (--max-workspace, …)
  not_run,          ///< the worker could not be prepared for the run
  wrong_result,     ///< plans ran, but none computes the graph correctly
  crash,            ///< the worker process died
  timeout,          ///< the worker process hung
  unknown,          ///< a text that is not in the catalogue
};

}  // namespace attnprobe::answer
