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
  Json mask = Json::object();  ///< for prefill and training, in the form of the field `mask`
  int64_t seqlen_q = 0, seqlen_kv = 0;
  bool decodes = false;                 ///< generates tokens with a KV cache
  Json decode_fields = Json::object();  ///< replace `fields` during decode: DeepSeek's absorbed projections
  double dropout = 0;                   ///< in training
};

struct Model {
  std::string kind;  ///< the model's class or type: "LlamaForCausalLM"; may be ""
  std::vector<ModelAttention> attentions;
  std::vector<std::string> assumed;  ///< assumptions that the file does not state: "a prefill of 4096 tokens"
};

/// Reads a model's document; none if it lacks the sizes of an attention.
std::optional<Model> read_model(const Json& document);

/// Whether the document is a model's config.json, even if read_model cannot read it.
bool is_model(const Json& document);

/// The model's name: from the file name ("llama.json") or its folder, otherwise from the document.
std::string model_name(const Json& document, const std::string& file);

/// Configs for prefill, decode and training of each attention, as a document for read_configs.
Json model_configs(const Model& model, const std::string& name);

}  // namespace attnprobe::attention
