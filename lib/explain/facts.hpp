// What a text tells of GPUs, releases, graphs and who raised an error, each with its line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "explain/messages.hpp"

namespace attnprobe::explain {

/// What went wrong, by what was said.
enum class Trouble { none, question, refused, slow, crash, hang, wrong, varies, memory, compile_time };

/// Who raised the error that the text ends in.
struct Raised {
  const Program* program = nullptr;  ///< null: not known
  std::string name;                  ///< its name, or the folder of its modules
  std::string how;                   ///< "the deepest frame", "its logger", "the exception's class"
  std::string message;               ///< the line of the exception
  std::string path;                  ///< of the deepest frame; ""
  int64_t line = 0;                  ///< of the message
  bool is_outside = false;           ///< cuDNN is not involved in what that module does
};

/// At most 16 of each; in the order of the text, what works beside what does not comes last.
struct TextFacts {
  std::vector<int> sms;  ///< 89: compute capabilities of engine configs and of messages that name the GPU's own
  std::vector<std::string> gpus;              ///< ids of the catalogue, by the names in the text
  std::vector<std::string> other_gpus;        ///< of other makers: "Radeon RX 6800 XT"
  std::vector<int64_t> engines;               ///< engines of cuDNN's that are named ("engineId":1)
  std::vector<std::string> graphs;            ///< cudnn-frontend's names of graphs, "Matmul_MUL_Reduction_SUB_…"
  std::vector<std::string> kernels;           ///< of cuDNN's, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_…"
  std::vector<std::string> versions;          ///< of cuDNN, "9.1.0"
  std::vector<std::string> frontends;         ///< releases of cudnn-frontend, "1.28"
  std::vector<std::string> frameworks;        ///< with their releases, as --framework takes them: "torch==2.11"
  std::vector<std::string> other_operations;  ///< than attention, in words: "a convolution"
  std::map<std::string, int64_t> lines;       ///< where each of these stands first
  bool speaks_of_attention = false;           ///< some word of attention stands in the text
  bool speaks_of_cudnn = false;
  bool asks = false;        ///< a question stands in it
  bool has_frames = false;  ///< lines of a Python traceback
  bool has_error = false;   ///< a line such as that at a traceback's end, "ValueError: …"
  Trouble trouble = Trouble::none;
  Raised raised;

  /// Whether the text is about another operation: it names one, and attention nowhere.
  bool is_about_others() const { return !other_operations.empty() && !speaks_of_attention; }

  /// The compute capabilities of the GPUs that it names; none: it names none.
  std::vector<int> all_sms() const;

  /// What to give --target: the first GPU that it names; "" where it names none.
  std::string target() const;
};

/// Adds what `text` tells; `first_line` is that of its beginning.
void add_facts(TextFacts& facts, std::string_view text, int64_t first_line);

/// What only a page as a whole tells: who raised its error, and what the trouble is.
void add_facts_of_page(TextFacts& facts, std::string_view page);

/// In words, for people: "cuDNN 9.19", "GPU h100 (line 3)".
std::vector<std::string> told_in_words(const TextFacts& facts);

/// Why a message's own words exclude the GPU that the text names: "XQA runs on sm_90, sm_100 and sm_120; thor is sm_110"; "" where they do not.
std::string gpu_conflict(std::string_view message, const TextFacts& facts);

/// The cuDNN that the named frameworks bring, "9.19.0" of "torch==2.11"; empty where that is not known.
std::vector<std::string> cudnns_brought(const TextFacts& facts);

/// What a graph of that name is, in plain words: "forward attention …"; "" for a name that says nothing.
std::string graph_in_words(const std::string& name);

/// What a kernel of cuDNN's is, by its name: "cuDNN's attention, backward, for sm_90".
std::string kernel_in_words(const std::string& name);

}  // namespace attnprobe::explain
