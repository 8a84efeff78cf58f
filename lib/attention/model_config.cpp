#include "attention/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>

#include "base/plain_word.hpp"

namespace attnprobe::attention {
namespace {

constexpr int64_t usual_length = 4096;
using Names = std::initializer_list<const char*>;

// An object of the document, such as the text model or the vision tower.
class Part {
 public:
  explicit Part(const Json& json) : json_(&json) {}

  const Json* find(const char* name) const {
    const auto found = json_->find(name);
    return found == json_->end() || found->is_null() ? nullptr : &*found;
  }
  // The first of these members that is a positive number: models name the same size differently.
  std::optional<int64_t> size(Names names) const {
    for (const char* name : names)
      if (const Json* found = find(name); found != nullptr && found->is_number_integer() && *found > 0)
        return found->get<int64_t>();
    return std::nullopt;
  }
  double number(Names names) const {
    for (const char* name : names)
      if (const Json* found = find(name); found != nullptr && found->is_number()) return found->get<double>();
    return 0;
  }
  std::string text(const char* name) const {
    const Json* found = find(name);
    return found != nullptr && found->is_string() ? found->get<std::string>() : "";
  }
  bool is(const char* name) const { return find(name) != nullptr && *find(name) == true; }
  // A nested object of that kind.
  std::optional<Part> part(const char* name) const {
    const Json* found = find(name);
    return found != nullptr && found->is_object() ? std::optional(Part(*found)) : std::nullopt;
  }
  bool lists(const char* name, const char* word) const {
    const Json* found = find(name);
    return found != nullptr && found->is_array() && std::find(found->begin(), found->end(), word) != found->end();
  }

 private:
  const Json* json_;
};

// Its class, "LlamaForCausalLM", otherwise its type.
std::string kind_of(const Part& model) {
  if (const Json* classes = model.find("architectures");
      classes != nullptr && classes->is_array() && !classes->empty() && classes->front().is_string())
    return classes->front().get<std::string>();
  const std::string diffusers = model.text("_class_name");
  return diffusers.empty() ? model.text("model_type") : diffusers;
}

bool has_any(const std::string& kind, Names words) {
  const std::string plain = plain_word(kind);
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return plain.find(word) != plain.npos; });
}

struct Sizes {
  int64_t heads = 0, heads_kv = 0, qk = 0, v = 0;
};

// Keys of a config.json that attnprobe's configs do not have.
const Names model_keys = {"architectures", "model_type", "_class_name", "num_attention_heads", "hidden_size"};
const Names width_names = {"hidden_size", "n_embd", "d_model", "embed_dim", "dim"};

std::optional<Sizes> sizes_of(const Part& model, Names head_names) {
  const auto heads = model.size(head_names);
  if (!heads) return std::nullopt;
  Sizes sizes{*heads, 0, 0, 0};
  const auto grouped = model.part("attn_config");  // MPT and DBRX
  sizes.heads_kv = model.size({"num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"})
                       .value_or(grouped ? grouped->size({"kv_n_heads"}).value_or(*heads) : *heads);
  // Falcon and StarCoder; Falcon's newer architecture states the number.
  if (model.is("multi_query") && !model.is("new_decoder_architecture")) sizes.heads_kv = 1;
  if (const auto nope = model.size({"qk_nope_head_dim"})) {  // DeepSeek's latent attention
    sizes.qk = *nope + model.size({"qk_rope_head_dim"}).value_or(0);
    sizes.v = model.size({"v_head_dim"}).value_or(sizes.qk);
    sizes.heads_kv = *heads;
    return sizes;
  }
  const auto given = model.size({"head_dim", "d_kv", "kv_channels", "attention_head_dim"});
  const auto width = model.size(width_names);
  if (!given && (!width || *width % *heads != 0)) return std::nullopt;
  sizes.qk = given ? *given : *width / *heads;
  sizes.v = model.size({"v_head_dim"}).value_or(sizes.qk);
  return sizes;
}

void set_sizes(Json& fields, const Sizes& sizes) {
  fields["heads_q"] = sizes.heads;
  fields["heads_kv"] = sizes.heads_kv;
  fields["head_dim_qk"] = sizes.qk;
  fields["head_dim_v"] = sizes.v;
}

class ModelReader {
 public:
  explicit ModelReader(const Json& document) : whole_(document) { model_.kind = kind_of(whole_); }

  std::optional<Model> read() {
    if (whole_.size({"encoder_attention_heads"}) && whole_.size({"decoder_attention_heads"}))
      read_two_towers("encoder_attention_heads", "decoder_attention_heads");
    else if (whole_.is("is_encoder_decoder") && whole_.size({"d_kv"}))
      read_two_towers("num_heads", "num_heads");
    else if (is_diffusion())
      read_diffusion();
    else
      read_parts();
    if (model_.attentions.empty()) return std::nullopt;
    return std::move(model_);
  }

 private:
  bool is_diffusion() const {
    return whole_.find("_class_name") != nullptr || whole_.find("_diffusers_version") != nullptr;
  }

  // A model that reads images or sound has a config for each of its towers.
  void read_parts() {
    auto text = whole_.part("text_config");
    if (!text)
      if (const auto thinker = whole_.part("thinker_config")) text = thinker->part("text_config");
    if (!text) text = whole_.part("llm_config");
    const auto vision = whole_.part("vision_config");
    const bool clip = has_any(model_.kind, {"clip", "siglip"});
    if (text && sizes_of(*text, head_names)) {
      read_text(*text, clip && !has_any(model_.kind, {"forcausal", "conditional"}) ? "text" : "");
    } else if (has_any(model_.kind, {"vit", "vision", "dino", "deit", "beit"}) && whole_.size({"image_size"})) {
      read_vision(whole_, "");
      return;
    } else {
      read_text(whole_, "");
    }
    if (vision) read_vision(*vision, "vision");
  }

  std::string dtype(const Part& part) {
    for (const Part& one : {part, whole_})
      for (const char* name : {"torch_dtype", "dtype"})
        if (std::string type = one.text(name); type == "float16" || type == "bfloat16")
          return type == "float16" ? "f16" : "bf16";
    assume("bf16");
    return "bf16";
  }

  void assume(const std::string& what) {
    if (std::find(model_.assumed.begin(), model_.assumed.end(), what) == model_.assumed.end())
      model_.assumed.push_back(what);
  }

  ModelAttention attention(const Part& part, const std::string& name, const Sizes& sizes) {
    ModelAttention one;
    one.part = name;
    set_sizes(one.fields, sizes);
    one.fields["dtype"] = dtype(part);
    one.dropout = part.number({"attention_dropout", "attention_probs_dropout_prob", "attn_pdrop"});
    return one;
  }

  int64_t length(const Part& part) {
    const int64_t most =
        part.size({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length"})
            .value_or(usual_length);
    return std::min(most, usual_length);
  }

  void read_text(const Part& part, const std::string& name) {
    const auto sizes = sizes_of(part, head_names);
    if (!sizes) return;
    ModelAttention one = attention(part, name, *sizes);
    one.seqlen_q = one.seqlen_kv = length(part);
    const std::string type = plain_word(model_.kind + " " + part.text("model_type"));
    // CLIP's text tower is causal, although its class name does not show it.
    const bool both_ways = has_any(type, {"maskedlm", "encoder", "bert", "siglip", "vit", "electra", "deberta"}) &&
                           !has_any(type, {"causallm", "lmheadmodel"}) && !part.is("is_decoder");
    if (both_ways) {
      assume(fmt::format("{} tokens", one.seqlen_q));
      assume("no mask");
    } else {
      one.decodes = !has_any(model_.kind, {"clip"});
      one.mask["causal"] = true;
      assume(fmt::format("a prefill of {} tokens", one.seqlen_q));
      assume("a causal mask");
    }
    if (const double softcap = part.number({"attn_logit_softcapping"}); softcap > 0) one.fields["softcap"] = softcap;
    if (const double scale = part.number({"query_pre_attn_scalar"}); scale > 0)
      one.fields["scale"] = 1 / std::sqrt(scale);
    if (has_any(type, {"gptoss", "gpt_oss"})) one.fields["sink"] = true;
    const auto grouped = part.part("attn_config");
    if (part.is("alibi") || has_any(type, {"bloom"}) || (grouped && grouped->is("alibi"))) one.fields["alibi"] = true;
    if (const auto rank = part.size({"kv_lora_rank"}); rank && part.size({"qk_rope_head_dim"})) {
      // With the projections absorbed, all heads share the latent vector.
      set_sizes(one.decode_fields, {sizes->heads, 1, *rank + *part.size({"qk_rope_head_dim"}), *rank});
      one.decode_fields["scale"] = 1 / std::sqrt(static_cast<double>(sizes->qk));
    }
    add_layers(part, type, one);
  }

  // Full and windowed layers, if the model has them.
  void add_layers(const Part& part, const std::string& type, const ModelAttention& full) {
    const auto local = part.size({"local_attention"});  // ModernBERT: half of the window on each side
    const bool used = part.find("use_sliding_window") == nullptr || part.is("use_sliding_window");
    const auto window =
        used ? part.size({"sliding_window", "attention_window_size", "sliding_window_size"}) : std::nullopt;
    const auto chunk = part.size({"attention_chunk_size"});
    const bool named = part.find("layer_types") != nullptr;
    const bool mixed = part.find("hybrid_layer_pattern") != nullptr ||
                       part.size({"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers",
                                  "interleaved_sliding_window"}) ||
                       has_any(type, {"gemma2", "gemma3", "gpt_oss", "gptoss", "cohere2"});
    const bool has_full = named ? part.lists("layer_types", "full_attention") : mixed || (!window && !local);
    const bool has_window = named ? part.lists("layer_types", "sliding_attention") : window || local;
    if (has_full || !has_window) {
      ModelAttention global = full;  // with other sizes in Gemma 4
      if (const auto dim = part.size({"global_head_dim"}))
        global.fields["head_dim_qk"] = global.fields["head_dim_v"] = *dim;
      if (const auto heads = part.size({"num_global_key_value_heads"})) global.fields["heads_kv"] = *heads;
      model_.attentions.push_back(std::move(global));
    }
    if (!has_window && !chunk) return;
    ModelAttention sliding = full;
    for (const auto& [name, field] :
         {std::pair("swa_num_attention_heads", "heads_q"), std::pair("swa_num_key_value_heads", "heads_kv"),
          std::pair("swa_head_dim", "head_dim_qk"), std::pair("swa_v_head_dim", "head_dim_v")})
      if (const auto size = part.size({name})) sliding.fields[field] = *size;
    if (part.is("add_swa_attention_sink_bias")) sliding.fields["sink"] = true;
    const std::string kind = has_window ? "sliding" : "chunked";
    if (has_full || !has_window) sliding.part = full.part.empty() ? kind : full.part + "-" + kind;
    if (local) {
      sliding.mask = {{"window_left", *local / 2}, {"window_right", *local / 2}};
    } else if (has_window && window) {
      sliding.mask["window_left"] = *window - 1;
    } else if (chunk && *chunk < sliding.seqlen_q) {
      sliding.seqlen_q = sliding.seqlen_kv = *chunk;  // a chunk attends to itself
    } else {
      return;
    }
    model_.attentions.push_back(std::move(sliding));
  }

  void read_vision(const Part& part, const std::string& name) {
    const auto sizes = sizes_of(part, head_names);
    if (!sizes) return;
    ModelAttention one = attention(part, name, *sizes);
    const auto patch = part.size({"patch_size"});
    const auto image = part.size({"image_size"});
    constexpr int64_t usual_image = 1024;
    const int64_t side = patch && image ? *image / *patch : 0;
    // One additional class token.
    one.seqlen_q = side > 0 ? side * side + (has_any(part.text("model_type"), {"siglip"}) ? 0 : 1) : usual_image;
    one.seqlen_kv = one.seqlen_q;
    if (side == 0) assume(fmt::format("an image of {} tokens", usual_image));
    model_.attentions.push_back(std::move(one));
  }

  // Whisper, BART, T5: an encoder, and a decoder that attends to itself and to the encoder.
  void read_two_towers(const char* encoder_heads, const char* decoder_heads) {
    const auto encoder = sizes_of(whole_, {encoder_heads}), decoder = sizes_of(whole_, {decoder_heads});
    if (!encoder || !decoder) return;
    const int64_t source = whole_.size({"max_source_positions"}).value_or(length(whole_));
    const int64_t target = whole_.size({"max_target_positions"}).value_or(length(whole_));
    const bool relative = whole_.find("relative_attention_num_buckets") != nullptr;  // T5: a bias, and no scale
    const auto add = [&](const std::string& name, const Sizes& sizes, int64_t q, int64_t kv) -> ModelAttention& {
      ModelAttention one = attention(whole_, name, sizes);
      one.seqlen_q = q;
      one.seqlen_kv = kv;
      if (relative) one.fields["scale"] = 1.0;
      if (relative && name != "cross") one.fields["bias"] = "1hss";
      return model_.attentions.emplace_back(std::move(one));
    };
    add("encoder", *encoder, source, source);
    ModelAttention& self = add("decoder", *decoder, target, target);
    self.mask["causal"] = true;
    self.decodes = true;
    add("cross", *decoder, target, source).decodes = true;
  }

  void read_diffusion() {
    const Json* heads = whole_.find("num_attention_heads");
    const Json* widths = whole_.find("block_out_channels");
    const int64_t sample = whole_.size({"sample_size"}).value_or(128), patch = whole_.size({"patch_size"}).value_or(1);
    if (const auto sizes = sizes_of(whole_, {"num_attention_heads"})) {
      ModelAttention one = attention(whole_, "", *sizes);
      const int64_t side = std::max<int64_t>(sample / std::max<int64_t>(patch, 1), 1);
      const int64_t text = whole_.size({"joint_attention_dim"}) ? 512 : 0;
      one.seqlen_q = one.seqlen_kv = (whole_.size({"sample_size"}) ? side * side : usual_length) + text;
      assume(fmt::format("{} tokens of image{}", one.seqlen_q - text, text > 0 ? " and 512 of text" : ""));
      model_.attentions.push_back(std::move(one));
      return;
    }
    // A U-Net: "attention_head_dim" is its number of heads, one number for all blocks, or one per block.
    if (heads == nullptr) heads = whole_.find("attention_head_dim");
    if (heads == nullptr || widths == nullptr || !widths->is_array()) return;
    for (size_t i = 0; i < widths->size(); ++i) {
      const Json& one_heads = heads->is_array() ? (*heads)[std::min(i, heads->size() - 1)] : *heads;
      if (!one_heads.is_number_integer() || one_heads <= 0 || !(*widths)[i].is_number_integer()) return;
      const Json* blocks = whole_.find("down_block_types");
      const bool attends = blocks == nullptr || !blocks->is_array() || i >= blocks->size() ||
                           !(*blocks)[i].is_string() ||
                           (*blocks)[i].get<std::string>().find("Attn") != std::string::npos;
      const int64_t n = one_heads.get<int64_t>(), width = (*widths)[i].get<int64_t>();
      if (!attends || width % n != 0) continue;
      const int64_t side = std::max<int64_t>(sample >> i, 1);
      for (const bool cross : {false, true}) {
        ModelAttention one =
            attention(whole_, fmt::format("block{}{}", i, cross ? "-cross" : ""), {n, n, width / n, width / n});
        one.seqlen_q = side * side;
        constexpr int64_t prompt = 77;
        one.seqlen_kv = cross ? prompt : one.seqlen_q;
        model_.attentions.push_back(std::move(one));
      }
    }
  }

  static constexpr Names head_names = {"num_attention_heads", "n_head", "num_heads", "n_heads"};
  Part whole_;
  Model model_;
};

}  // namespace

std::optional<Model> read_model(const Json& document) {
  return document.is_object() ? ModelReader(document).read() : std::nullopt;
}

std::string model_name(const Json& document, const std::string& file) {
  const std::filesystem::path path(file);
  std::string name = path.stem().string();
  if (const std::string rest = "_config"; name.ends_with(rest)) name.resize(name.size() - rest.size());
  if (name != "config" && !name.empty() && path.extension() == ".json") return name;
  if (std::string folder = path.parent_path().filename().string(); !folder.empty() && folder != ".") return folder;
  const Part model(document);
  for (const std::string& text : {model.text("_name_or_path"), model.text("model_type"), kind_of(model)})
    if (!text.empty()) return std::filesystem::path(text).filename().string();
  return "model";
}

bool is_model(const Json& document) {
  if (!document.is_object()) return false;
  const Part part(document);
  return std::any_of(model_keys.begin(), model_keys.end(), [&](const char* key) { return part.find(key) != nullptr; });
}

Json model_configs(const Model& model, const std::string& name) {
  Json configs = Json::array();
  for (const auto& one : model.attentions) {
    const std::string full = one.part.empty() ? name : name + "-" + one.part;
    const auto add = [&](const std::string& what, const Json& fields, int64_t q, int64_t kv,
                         const Json& mask) -> Json& {
      Json config = {{"name", fmt::format("{}-{}", full, what)}};
      config.update(one.fields);
      config.update(fields);
      config["seqlen_q"] = q;
      config["seqlen_kv"] = kv;
      if (!mask.empty()) config["mask"] = mask;
      return configs.emplace_back(std::move(config));
    };
    const bool is_cross = one.decodes && one.mask.empty();
    add(one.decodes ? "prefill" : "forward", Json::object(), one.seqlen_q, one.seqlen_kv, one.mask);
    if (one.decodes) {
      // A window's cache holds only the window; the padding mask has each cache's fill level.
      const int64_t kept = one.mask.contains("window_left")
                               ? std::min(one.seqlen_kv, one.mask["window_left"].get<int64_t>() + 1)
                               : one.seqlen_kv;
      Json& decode = add("decode", one.decode_fields, 1, kept, is_cross ? Json() : Json("padding"));
      decode["batch"] = 8;
      if (decode.contains("bias")) decode["bias"] = "1hss";
    }
    Json& training = add("train", {{"pass", "training"}}, one.seqlen_q, one.seqlen_kv, one.mask);
    if (one.dropout > 0) training["dropout"] = one.dropout;
  }
  return {{"defaults", {{"source", "config.json of " + (model.kind.empty() ? name : model.kind)}}},
          {"configs", configs}};
}

}  // namespace attnprobe::attention
