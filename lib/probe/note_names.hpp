// cuDNN's notes on engines, by number, from cudnn_graph.h of 9.28. Internal to lib/probe.
#pragma once

namespace attnprobe::probe {

/// cudnnBackendNumericalNote_t
inline constexpr const char* numerical_note_names[] = {"TENSOR_CORE",
                                                       "DOWN_CONVERT_INPUTS",
                                                       "REDUCED_PRECISION_REDUCTION",
                                                       "FFT",
                                                       "NONDETERMINISTIC",
                                                       "WINOGRAD",
                                                       "WINOGRAD_TILE_4x4",
                                                       "WINOGRAD_TILE_6x6",
                                                       "WINOGRAD_TILE_13x13",
                                                       "STRICT_NAN_PROP"};

/// cudnnBackendBehaviorNote_t
inline constexpr const char* behavior_note_names[] = {"RUNTIME_COMPILATION", "REQUIRES_FILTER_INT8x32_REORDER",
                                                      "REQUIRES_BIAS_INT8x32_REORDER", "SUPPORTS_CUDA_GRAPH_NATIVE_API",
                                                      "CUBLASLT_DEPENDENCY"};

}  // namespace attnprobe::probe
