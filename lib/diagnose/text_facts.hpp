// What a text says of the GPU, the graph and the call beside who refused: enough to ask cuDNN about something like it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/text_shape.hpp"

namespace attnprobe::diagnose {

/// What is not told, or told in two ways, is empty or 0.
struct TextFacts {
  std::vector<int> sms;  ///< 89: compute capabilities of engine configs and of messages that name the GPU's own
  std::vector<std::string> gpus;      ///< ids of the catalogue, by the names in the text
  std::vector<std::string> families;  ///< "Ampere", where a GPU is called so
  std::vector<int64_t> engines;       ///< engines of cuDNN's that are named ("engineId":1)
  std::vector<std::string> graphs;    ///< cudnn-frontend's names of graphs, "Matmul_MUL_Reduction_SUB_…"
  std::vector<std::string> shapes;    ///< four numbers after the name of Q, "2,32,4096,96"
  std::vector<std::string> dtypes;    ///< "bf16", "f16"
  std::vector<int64_t> head_dims_qk, head_dims_v;
  TextShape shape;  ///< in prose

  std::vector<std::string> programs;    ///< that are named, by their files or their own words: "Transformer Engine"
  std::vector<std::string> versions;    ///< of cuDNN, "9.1.0"
  std::vector<std::string> frameworks;  ///< with their releases, as --framework takes them: "torch==2.11"

  std::vector<std::string> kernels;           ///< of cuDNN's, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_…"
  std::vector<std::string> other_operations;  ///< than attention, in words: "a convolution"
  bool speaks_of_attention = false;           ///< some word of attention stands in the text
  bool has_frames = false;                    ///< lines of a Python traceback
  bool has_error = false;                     ///< a line such as that at a traceback's end, "ValueError: …"

  /// Whether the text is about another operation: it names one, and attention nowhere.
  bool is_about_others() const { return !other_operations.empty() && !speaks_of_attention; }

  /// The compute capabilities of the GPUs that it names; none: it names none.
  std::vector<int> all_sms() const;

  /// What to give --target; "" where the text names no GPU, or several. A GPU of that family where it names that alone.
  std::string target() const;
};

/// Adds what `text` tells; what is there already is not added again. At most 16 of each.
void add_facts(TextFacts& facts, std::string_view text);

/// The cuDNN that the named frameworks bring, "9.19.0" of "torch==2.11"; empty where that is not known.
std::vector<std::string> cudnns_brought(const TextFacts& facts);

/// What a graph of that name is, in plain words: "forward attention …"; "" for a name that says nothing.
std::string graph_in_words(const std::string& name);

/// What a kernel of cuDNN's is, by its name: "cuDNN's attention, backward, for sm_90".
std::string kernel_in_words(const std::string& name);

/// Options of `attnprobe probe` for what the text tells, each with a blank before it: " --pass bprop --target sm_89".
std::string probe_options(const TextFacts& facts);

}  // namespace attnprobe::diagnose
