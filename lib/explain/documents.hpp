// Documents that imply a question: a model's config.json, or XLA's custom calls to cuDNN's attention.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explain/told_question.hpp"

namespace attnprobe::explain {

/// The kind of document, and the attention that it describes.
struct DocumentQuestion {
  std::string is;  ///< in words: "a model's config.json (LlamaForCausalLM)"
  ToldQuestion question;
};

/// At most 4; none for other documents. For a model it asks about prefill.
std::vector<DocumentQuestion> questions_of_document(std::string_view text);

}  // namespace attnprobe::explain
