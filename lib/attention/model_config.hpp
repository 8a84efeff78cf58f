// A model's config.json, as Hugging Face transformers and diffusers write it, read as attention problems.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::attention {

/// One kind of attention that a model has. `fields` are those of a config, without lengths, mask and pass.
struct ModelAttention {
  std::string part;  ///< "sliding", "encoder", "vision"; "" if the model has only one
  Json fields = Json::object();
  Json mask = Json::object();  ///< of prefill and training, in the form of the field `mask`
  int64_t seqlen_q = 0, seqlen_kv = 0;
  bool decodes = false;                 ///< generates tokens, with a cache of keys and values
  Json decode_fields = Json::object();  ///< that replace `fields` then: DeepSeek's absorbed projections
  double dropout = 0;                   ///< in training
};

struct Model {
  std::string kind;  ///< its class or type: "LlamaForCausalLM"; may be ""
  std::vector<ModelAttention> attentions;
  std::vector<std::string> assumed;  ///< what the file does not say: "a prefill of 4096 tokens"
};

/// Reads the document of a model; none if it does not show the sizes of an attention.
std::optional<Model> read_model(const Json& document);

/// Whether the document is a model's config.json, whether or not read_model can read it.
bool is_model(const Json& document);

/// The model's name: of the file "llama.json" or its folder, else what the document says.
std::string model_name(const Json& document, const std::string& file);

/// The configs that ask for prefill, decode and training of each attention: a document for read_configs.
Json model_configs(const Model& model, const std::string& name);

}  // namespace attnprobe::attention
