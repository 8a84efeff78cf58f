// The messages by which cuDNN, cudnn-frontend, CUDA's libraries and programs above them report a refusal or failure of
// attention. The data is in catalog/, one file per project, built into the library (catalog/README.md describes the
// format). The messages of the frameworks' gates come from lib/rules/frameworks.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/version.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {

/// Who reports it, innermost first: of several messages in one text, the innermost tells most.
enum class Layer {
  environment,       ///< an unsuitable driver, library or GPU, independent of the attention
  execution,         ///< a call failed although there was a plan
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
  general,  ///< says that something further inside failed, but not what
  note,     ///< an event that refuses nothing
  reading,  ///< not a message: a conclusion from facts of the text, or from an answer of rules and cuDNN
};
ATTNPROBE_ENUM(MessageKind, refusal, general, note, reading)

/// A possible cause, and the cuDNN versions that can have it: `from` and later, before `below`.
struct Cause {
  std::string text;
  CudnnVersion from = {}, below = {};  ///< unknown: unbounded
};

/// One meaning with all its forms.
struct Message {
  std::string id;
  Layer layer = Layer::framework;
  std::string who;                    ///< "PyTorch SDPA", "cudnn-frontend", "loader"
  std::string headline;               ///< if that of the layer does not fit; else ""
  std::vector<std::string> match;     ///< RE2's syntax; case-insensitive, matches anywhere
  std::string means;                  ///< in plain words
  std::vector<Cause> causes;          ///< most likely first
  std::string next;                   ///< what to do
  std::vector<std::string> versions;  ///< for each `match`, in words: "releases 1.5.0 to 1.32.0"; "" if unknown
  std::string source;                 ///< the evidence
  MessageKind kind = MessageKind::refusal;
  bool says_why = true;                   ///< else its causes are only possible ones, and asking about the call decides
  std::string example, counter_example;   ///< a matching line, and a similar one that does not match
  const rules::GateRule* rule = nullptr;  ///< of a gate, which gives all other members
};

/// A known problem that matches facts of a text, without a message: several words must all be present.
struct Report {
  Message message;  ///< without forms
  std::vector<std::string> all;
  std::string unless;  ///< "": nothing
};

/// A program, identified by the folders of its modules and the names of its loggers.
struct Program {
  std::string name;
  std::vector<std::string>
      modules;  ///< folders of its files, "flash_attn", or names before a dot in an exception's class
  std::vector<std::string>
      to_cudnn;         ///< parts of the paths below them that pass attention to cuDNN; empty: no part does
  std::string instead;  ///< a workaround; "" if there is no general one
  std::string says;     ///< a name in its messages that no other program has, or ""
};

/// Each throws Error(internal) if the built-in data is broken.
const std::vector<Message>& messages();
const std::vector<Report>& reports();
const std::vector<Program>& programs();

}  // namespace attnprobe::explain
