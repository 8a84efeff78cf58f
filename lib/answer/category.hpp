// The words for the subjects of reasons.
#pragma once

#include "answer/outcomes.hpp"
#include "base/enum_names.hpp"

namespace attnprobe::answer {

ATTNPROBE_ENUM(Category, arch_mismatch, multi_gemm, shared_memory, graph_pattern, shape, heads, head_dim,
               sequence_length, data_type, layout, alignment, mask, bias, score_mod, sink, padding, ragged, paged,
               dropout, deterministic, engine_config, version, invalid_graph, environment, compilation, internal_error,
               execution, no_candidates, memory, cuda_error, cudnn_error, constraint, not_run, wrong_result, crash,
               timeout, unknown)

}  // namespace attnprobe::answer
