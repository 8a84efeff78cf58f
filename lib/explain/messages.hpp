// Messages with which cuDNN, cudnn-frontend, CUDA libraries and higher-level programs report a refusal or failure of
// attention. The data is in catalog/, one file per project, built into the library (catalog/README.md describes the
// format). The messages of the frameworks' gates come from lib/rules/frameworks, cuDNN's reasons from lib/answer.
#pragma once

#include <string>
#include <vector>

#include "answer/reasons.hpp"
#include "base/enum_names.hpp"
#include "base/version.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {

/// Who reports it, innermost first: of several messages in one text, the innermost is the most specific.
enum class Layer {
  environment,       ///< an unsuitable driver, library or GPU, independent of the attention
  execution,         ///< a call failed although a plan existed
  plan_compilation,  ///< the support check passed, but no plan was built
  cudnn_engine,      ///< cuDNN's support check refused engine configs
  cudnn_heuristics,  ///< cuDNN proposed nothing
  cudnn_frontend,    ///< cudnn-frontend refused before it asked cuDNN
  framework,         ///< a framework's own rule
};
ATTNPROBE_ENUM(Layer, environment, execution, plan_compilation, cudnn_engine, cudnn_heuristics, cudnn_frontend,
               framework)

/// How specific a message is.
enum class MessageKind {
  refusal,  ///< names the refusal or failure
  general,  ///< reports that an inner layer failed, but not which
  note,     ///< a harmless event
  reading,  ///< not a message: a conclusion from facts of the text, or from an answer of rules and cuDNN
};
ATTNPROBE_ENUM(MessageKind, refusal, general, note, reading)

/// The text of a message, or a conclusion.
struct Statement {
  std::string id;
  Layer layer = Layer::framework;
  std::string who;       ///< its author: "PyTorch SDPA", "cudnn-frontend", "loader"
  std::string headline;  ///< for a message, only if its layer's headline does not fit
  std::string means;     ///< in plain words
  std::string next;      ///< the single recommended action
  std::string source;    ///< the evidence
  MessageKind kind = MessageKind::refusal;
  bool is_for_builder = false;  ///< only the program that builds the graph can follow `next`
  bool says_why = true;         ///< otherwise its causes are only possible, and the answer to the call decides
};

/// A possible cause, and the cuDNN versions and GPUs that can have it: from the first on, before the second.
struct Cause {
  std::string text;
  CudnnVersion from = {}, below = {};  ///< unknown: unbounded
  int sm_from = 0, sm_below = 0;       ///< 0: unbounded
};

/// One message with all its wordings.
struct Message : Statement {
  std::vector<std::string> match;        ///< RE2's syntax; case-insensitive, matches anywhere
  std::vector<std::string> versions;     ///< for each `match`, the releases in words: "releases 1.5.0 to 1.32.0"; ""
                                         ///< if unknown
  std::vector<Cause> causes;             ///< most likely first
  std::string example, counter_example;  ///< a matching line, and a similar line that does not match
  const rules::FrameworkRule* rule = nullptr;           ///< of a gate, which determines all other members
  std::vector<const rules::FrameworkRule*> alike = {};  ///< further rules of the gate with the same words
  const answer::KnownReason* reason = nullptr;          ///< of cuDNN, which determines all other members
  /// A bug report, which has no fixed wording: a page must contain all of these words and none of the others.
  std::vector<std::string> all;
  std::string unless;  ///< "": nothing
};

/// A program, identified by the folders of its modules and the names of its loggers.
struct Program {
  std::string name;
  std::vector<std::string>
      modules;  ///< folders of its files, "flash_attn", or names before a dot in an exception's class
  std::vector<std::string> to_cudnn;  ///< path parts below them whose code passes attention to cuDNN; empty: none
  std::string instead;                ///< a general workaround, or ""
  std::string says;                   ///< a name that only this program's messages contain, or ""
};

/// The message of one rule of a gate.
Message message_of(const rules::FrameworkGate& gate, const rules::FrameworkRule& rule);

/// The layer of a cuDNN reason.
Layer layer_of(answer::Category category);

/// The words that identify a reason in a text; "" if only a status or a heading identifies it.
std::string words_of_reason(const answer::KnownReason& reason);

/// A rule's words without the values of a call: "head dimension …" for "head dimension {head_dim_qk}".
std::string without_values(const std::string& text);

/// Each throws Error(internal) if the built-in data is broken.
const std::vector<Message>& messages();
const std::vector<Message>& reports();
const std::vector<Program>& programs();

}  // namespace attnprobe::explain
