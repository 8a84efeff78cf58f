// The sentences by which frameworks, cudnn-frontend, cuDNN, its loader and CUDA say that an attention was refused or
// failed. Data is in sentences/, a file for those of one voice, built into the library; tests/diagnose/check_sentences.py holds
// it against texts that people pasted. cuDNN's own reasons, line by line, are in reasons.json.
//
// `match` has regular expressions without look-around, valid in RE2, ECMAScript and Python, searched anywhere and without regard to
// case; a text is tried as it stands and once more with each line break and the indentation after it taken as one blank, for
// pasted texts are wrapped. Several may hit one text: then the longest hit of the innermost layer tells most.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace attnprobe::diagnose {

/// Whose word a sentence is, the innermost first: of several in one text the innermost tells most.
enum class Layer {
  environment,       ///< a driver, a library or a GPU that does not fit: no matter of the attention
  execution,         ///< a call failed after the plan was there
  plan_compilation,  ///< the support check passed, and no plan came of it
  cudnn_engine,      ///< cuDNN's support check refused engine configs
  cudnn_heuristics,  ///< cuDNN proposed nothing
  cudnn_frontend,    ///< cudnn-frontend refused before it asked cuDNN
  framework,         ///< a framework's own rule
};

/// How much a sentence says by itself.
enum class SentenceKind {
  refusal,  ///< what refused or failed
  general,  ///< that something further inside did, and not what
  note,     ///< what happened; it refuses nothing
  reading,  ///< words of no sentence of the catalogue, read by rule (text_reading.hpp)
};

/// One meaning, and every form of words that was seen for it.
struct Sentence {
  std::string id;
  Layer layer = Layer::framework;
  std::string who;                    ///< "PyTorch SDPA", "cudnn-frontend", "loader"
  std::string headline;               ///< where that of the layer does not fit; "" else
  std::vector<std::string> match;     ///< RE2's syntax; searched anywhere, whatever the case
  std::string means;                  ///< in plain words
  std::vector<std::string> causes;    ///< the likeliest first
  std::string next;                   ///< what to do
  std::vector<std::string> versions;  ///< releases that have it: one for each `match`, or one for all; "" is not known
  std::string source;                 ///< how it is known
  SentenceKind kind = SentenceKind::refusal;
};

/// Throws Error(internal) where the data that is built in is broken.
const std::vector<Sentence>& sentences();

}  // namespace attnprobe::diagnose

namespace attnprobe {
template <>
struct EnumNames<diagnose::Layer> {
  static constexpr std::array<std::pair<diagnose::Layer, std::string_view>, 7> table{{
      {diagnose::Layer::environment, "environment"},
      {diagnose::Layer::execution, "execution"},
      {diagnose::Layer::plan_compilation, "plan_compilation"},
      {diagnose::Layer::cudnn_engine, "cudnn_engine"},
      {diagnose::Layer::cudnn_heuristics, "cudnn_heuristics"},
      {diagnose::Layer::cudnn_frontend, "cudnn_frontend"},
      {diagnose::Layer::framework, "framework"},
  }};
};
template <>
struct EnumNames<diagnose::SentenceKind> {
  static constexpr std::array<std::pair<diagnose::SentenceKind, std::string_view>, 4> table{{
      {diagnose::SentenceKind::refusal, "refusal"},
      {diagnose::SentenceKind::general, "general"},
      {diagnose::SentenceKind::note, "note"},
      {diagnose::SentenceKind::reading, "reading"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::diagnose {
ATTNPROBE_JSON_ENUM(Layer)
ATTNPROBE_JSON_ENUM(SentenceKind)
}  // namespace attnprobe::diagnose
