#include "small_random_config.hpp"

#include "attention/random_config.hpp"

namespace attnprobe {

std::optional<Json> small_random_config(uint64_t seed) {
  Json config = attention::random_config(seed);
  for (const char* key : {"seqlen", "seqlen_q", "seqlen_kv"})
    if (config.contains(key) && config[key] > 24) config[key] = 17 + seed % 8;
  for (const char* key : {"head_dim", "head_dim_qk", "head_dim_v"})
    if (config.contains(key) && config[key] > 16) config[key] = config[key] < 128 ? 8 : 16;
  if (config["heads_q"] > 4) {
    config["heads_q"] = 4;
    config["heads_kv"] = 1 + seed % 2;
  }
  if (config["batch"] > 2) config["batch"] = 2;
  if (config.contains("heads_v") || (config.contains("layout") && config["layout"].is_object()) ||
      config.contains("block_mask") || config.value("fp8", "") == "mxfp8")
    return std::nullopt;
  // Strides of the original sizes.
  for (const char* key : {"o_layout", "do_layout", "dqkv_layout", "stats_layout"})
    if (config.contains(key) && config[key].is_object()) config.erase(key);
  if (config.contains("bias") && config["bias"].is_object()) config["bias"].erase("strides");
  // Separate types for the gradients would round differently from the rounding model.
  for (const char* key : {"do_dtype", "dqkv_dtype"}) config.erase(key);
  config["pattern"] = "sdpa_composite";
  return config;
}

}  // namespace attnprobe
