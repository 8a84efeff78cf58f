// Documents that ask by themselves: a model's config.json, and the custom calls by which XLA calls cuDNN's attention.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explain/told_question.hpp"

namespace attnprobe::explain {

/// What a document is, and the attention that it describes.
struct DocumentQuestion {
  std::string is;  ///< in words: "a model's config.json (LlamaForCausalLM)"
  ToldQuestion question;
};

/// At most 4; none for other documents. A model is asked about its prefill.
std::vector<DocumentQuestion> questions_of_document(std::string_view text);

}  // namespace attnprobe::explain
