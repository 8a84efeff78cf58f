// One problem that a text shows: who refused, why most likely, and the one thing to do next.
#pragma once

#include <string>
#include <vector>

#include "answer/category.hpp"
#include "diagnose/sentence_finder.hpp"

namespace attnprobe::diagnose {

using answer::Category;

/// One problem that a text shows.
struct Refusal {
  std::string id;  ///< of the sentence, or of the reason
  Layer layer = Layer::framework;
  std::string who;       ///< whose words they are
  std::string headline;  ///< "PyTorch's gate refused, before cuDNN was asked"
  std::string said;      ///< the words that tell it, as they stand in the text
  std::string line;      ///< around them
  int64_t first_line = 0;
  int64_t times = 0;
  std::string means;                ///< in plain words
  std::vector<std::string> causes;  ///< the likeliest first
  std::string help;                 ///< what usually gets around it; "" where only `next` helps
  std::string next;                 ///< the one thing to do
  std::string versions;             ///< releases that have the sentence, in words; "" where they are not known
  std::string source;               ///< how it is known
  SentenceKind kind = SentenceKind::refusal;
  bool in_log = false;       ///< it stands in lines of cuDNN's log alone
  bool is_question = false;  ///< somebody asks in general, and complains of nothing
};
ATTNPROBE_JSON(Refusal, id, layer, who, headline, said, line, first_line, times, means, causes, help, next, versions,
               source, kind, in_log)

/// The layer of a reason of cuDNN's.
Layer layer_of(Category category);

/// The headline of a refusal that cuDNN's own reasons show.
std::string headline_of(Layer layer, const std::string& who);

/// A refusal in its sentence's or reason's words, without its place; `options`: what the text tells, as the command line takes it.
Refusal refusal_of(const SentenceHit& hit, const std::string& options);
Refusal refusal_of(const ReasonHit& hit, const std::string& options);

}  // namespace attnprobe::diagnose
