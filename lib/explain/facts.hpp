// Facts in a text about GPUs, releases, graphs and the origin of an error, each with its line.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "explain/messages.hpp"

namespace attnprobe::explain {

/// The symptom, from the text's words.
enum class Trouble { none, question, refused, slow, crash, hang, wrong, varies, memory, compile_time };

/// Whether a call that was accepted failed: wrong numbers, a crash or a hang.
bool is_failure(Trouble trouble);

/// The module that raised the final error of the text.
struct Raised {
  const Program* program = nullptr;  ///< null: unknown
  std::string name;                  ///< its name, or the folder of its modules
  std::string how;                   ///< "the deepest frame", "its logger", "the exception's class"
  std::string message;               ///< the line of the exception
  std::string path;                  ///< of the deepest frame; ""
  int64_t line = 0;                  ///< of the message
  bool is_outside = false;           ///< that module does not use cuDNN for this
  bool is_of_python_code = false;    ///< an exception such as KeyError, which no check of a call raises
};

/// At most 16 of each, in text order; facts about working cases come last.
struct TextFacts {
  std::vector<int> sms;  ///< 89: compute capabilities from engine configs and from messages about the present GPU
  std::vector<std::string> gpus;              ///< ids of the catalogue, by the names in the text
  std::vector<std::string> other_gpus;        ///< from other vendors: "Radeon RX 6800 XT"
  std::vector<int64_t> engines;               ///< cuDNN's engines ("engineId":1)
  std::vector<std::string> graphs;            ///< cudnn-frontend's names of graphs, "Matmul_MUL_Reduction_SUB_…"
  std::vector<std::string> kernels;           ///< of cuDNN, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_…"
  std::vector<std::string> versions;          ///< of cuDNN, "9.1.0"
  std::vector<std::string> failing_cudnns;    ///< of them, those with the same trouble: "9.24.1 still gives Inf"
  std::vector<std::string> frontends;         ///< releases of cudnn-frontend, "1.28"
  std::vector<std::string> frameworks;        ///< with their releases, in the form of --framework: "torch==2.11"
  std::set<std::string> nvidia_builds;        ///< those of NVIDIA's containers, with another cuDNN
  std::vector<std::string> other_operations;  ///< other than attention, in words: "a convolution"
  std::map<std::string, int64_t> lines;       ///< line of each fact's first mention
  bool speaks_of_attention = false;           ///< the text mentions attention
  bool speaks_of_cudnn = false;
  bool is_on_cudnn = false;         ///< and not only of its version, as in a list of packages
  bool asks_elsewhere = false;      ///< no question is about kernels: "overfits with dropout 0.1; should I raise it?"
  bool asks = false;                ///< the text contains a question
  bool has_frames = false;          ///< lines of a Python traceback
  bool asks_support = false;        ///< a question asks whether cuDNN's attention is supported
  bool asks_other = false;          ///< a question asks why, which or how much, which a yes does not answer
  bool asks_version = false;        ///< a question asks which cuDNN an attention needs
  bool asks_choice = false;         ///< a question asks when cuDNN is used, or how to switch it on or off
  bool runs_another = false;        ///< another kernel runs where cuDNN was expected: "still flash, not cuDNN"
  bool is_same_elsewhere = false;   ///< other kernels have the same trouble
  bool is_other_gpu_first = false;  ///< the text names one of `other_gpus` before NVIDIA's, or a build for it
  bool asks_on_nvidia = false;      ///< a question names an NVIDIA GPU
  bool has_several_gpus = false;    ///< and no question names one of them
  bool has_several_cudnns = false;  ///< likewise
  bool is_unreleased = false;       ///< of a build between two releases, such as a nightly one: its rules are unknown
  bool is_mended = false;           ///< nothing fails, or not any more
  bool has_many_questions = false;  ///< three or more, so that facts may be of another one
  bool is_slow_each_call = false;   ///< the text says so of every call, not only of a new shape
  bool works = false;               ///< "the results are correct": what a log's lines refuse does not matter
  bool has_error = false;           ///< a line such as the last one of a traceback, "ValueError: …"
  Trouble trouble = Trouble::none;
  Raised raised;

  /// Whether the text is about another operation: it names another operation, and never attention.
  bool is_about_others() const { return !other_operations.empty() && !speaks_of_attention; }

  /// Whether the text is about GPUs of other vendors: it names one first, or no NVIDIA GPU at all.
  bool is_of_other_makers() const;

  /// Whether the text names a GPU, or a release of cuDNN or of a framework.
  bool is_placed() const { return !target().empty() || !versions.empty() || !frameworks.empty(); }

  /// Whether the trouble could be a refusal by a gate or by cuDNN. A refusal explains neither wrong numbers nor another
  /// error: "returned an invalid gradient at index 2".
  bool may_be_refused() const;

  /// The compute capabilities of the GPUs that the text names; empty if there are none.
  std::vector<int> all_sms() const;

  /// The --target value: the first GPU that the text names; "" if there is none.
  std::string target() const;
};

/// Adds the facts of `text`; `first_line` is the number of its first line.
void add_facts(TextFacts& facts, std::string_view text, int64_t first_line);

/// Adds facts that depend on the whole page: who raised the error, and the symptom.
void add_facts_of_page(TextFacts& facts, std::string_view page);

/// In words: "cuDNN 9.19", "GPU h100 (line 3)".
std::vector<std::string> told_in_words(const TextFacts& facts);

/// Why a message's wording excludes the GPU that the text names, or "". For example "XQA runs on sm_90, sm_100 and
/// sm_120; thor is sm_110".
std::string gpu_conflict(std::string_view message, const TextFacts& facts);

/// The cuDNN versions that the text names, otherwise those that its frameworks pin.
std::vector<std::string> cudnns_told(const TextFacts& facts);

/// The cuDNN that the named frameworks pin, "9.19.0" for "torch==2.11"; empty if unknown.
std::vector<std::string> cudnns_brought(const TextFacts& facts);

/// A plain description of a graph by its name: "forward attention …"; "" for a name without a known meaning.
std::string graph_in_words(const std::string& name);

/// The program whose own attention kernel the text names, if it names no attention of cuDNN's: "xFormers"; "".
std::string owner_of_kernel(std::string_view page);

/// Whether the text is about an attention that is not cuDNN's SDPA: it names another kernel, and cuDNN at most among its packages and libraries.
bool is_about_another_kernel(std::string_view page);

/// HLO in which XLA computes attention itself; its shapes are of any operation.
bool is_hlo_without_cudnn(std::string_view page);

/// Whether a line names another operation, and not attention: "test_conv_bias.py: CUDNN_STATUS_NOT_SUPPORTED".
bool is_of_another_operation(std::string_view line);

/// A plain description of a cuDNN kernel by its name: "cuDNN's attention, backward, for sm_90".
std::string kernel_in_words(const std::string& name);

}  // namespace attnprobe::explain
