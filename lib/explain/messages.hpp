// The messages by which cuDNN, cudnn-frontend, CUDA's libraries and programs that can bring attention to cuDNN say that it
// was refused or failed. Data is in catalog/, a file a project, built into the library (catalog/README.md has the format);
// the messages of the frameworks' gates are read from lib/rules/frameworks.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {

/// Who says it, the innermost first: of several in one text the innermost tells most.
enum class Layer {
  environment,       ///< a driver, a library or a GPU that does not fit: no matter of the attention
  execution,         ///< a call failed after the plan was there
  plan_compilation,  ///< the support check passed, and no plan came of it
  cudnn_engine,      ///< cuDNN's support check refused engine configs
  cudnn_heuristics,  ///< cuDNN proposed nothing
  cudnn_frontend,    ///< cudnn-frontend refused before it asked cuDNN
  framework,         ///< a framework's own rule
};
ATTNPROBE_ENUM(Layer, environment, execution, plan_compilation, cudnn_engine, cudnn_heuristics, cudnn_frontend,
               framework)

/// How much a message says by itself.
enum class MessageKind {
  refusal,  ///< what refused or failed
  general,  ///< that something further inside did, and not what
  note,     ///< what happened; it refuses nothing
  reading,  ///< no message: what facts of the text, or an answer of rules and cuDNN, come to
};
ATTNPROBE_ENUM(MessageKind, refusal, general, note, reading)

/// One meaning, and every form of words of it.
struct Message {
  std::string id;
  Layer layer = Layer::framework;
  std::string who;                    ///< "PyTorch SDPA", "cudnn-frontend", "loader"
  std::string headline;               ///< where that of the layer does not fit; "" else
  std::vector<std::string> match;     ///< RE2's syntax; searched anywhere, whatever the case
  std::string means;                  ///< in plain words
  std::vector<std::string> causes;    ///< the likeliest first
  std::string next;                   ///< what to do
  std::vector<std::string> versions;  ///< for each `match`, in words: "releases 1.5.0 to 1.32.0"; "" is not known
  std::string source;                 ///< how it is known
  MessageKind kind = MessageKind::refusal;
  bool says_why = true;  ///< else its causes are possible ones, and what is asked about the call tells which
  std::string example, counter_example;   ///< a line that has it, and a similar one that does not
  const rules::GateRule* rule = nullptr;  ///< of a gate, from which all the rest is read
};

/// A known trouble that facts of a text fit, without a message: told apart by several words that all have to be there.
struct Report {
  Message message;  ///< without forms of words
  std::vector<std::string> all;
  std::string unless;  ///< "": nothing
};

/// A program by the folders of its modules and the names of its loggers.
struct Program {
  std::string name;
  std::vector<std::string>
      modules;  ///< folders of its files, "flash_attn", or names before a dot in an exception's class
  std::vector<std::string>
      to_cudnn;         ///< parts of the paths below them that bring attention to cuDNN; none: no part does
  std::string instead;  ///< how to go around it; "" where nothing general is known
};

/// Each throws Error(internal) where the data that is built in is broken.
const std::vector<Message>& messages();
const std::vector<Report>& reports();
const std::vector<Program>& programs();

}  // namespace attnprobe::explain
