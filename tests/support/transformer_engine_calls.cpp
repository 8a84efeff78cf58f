#include "transformer_engine_calls.hpp"

#include <algorithm>

namespace attnprobe::test {

using namespace attnprobe::attention;
using namespace attnprobe::frameworks;

Json call_with(const std::string& members) {
  Json call = Json::parse(R"({"is_training": true, "batch_size": 2, "qkv_dtype": "bf16", "o_dtype": "bf16",
    "qkv_layout": "bshd_bshd_bshd", "o_format": "bshd", "do_format": "bshd", "dqkv_layout": "bshd_bshd_bshd",
    "bias_type": "no_bias", "attn_mask_type": "no_mask", "dropout": 0, "num_attn_heads": 6, "num_gqa_groups": 6,
    "max_seqlen_q": 256, "max_seqlen_kv": 256, "head_dim_qk": 64, "head_dim_v": 64})");
  call.update(Json::parse("{" + members + "}"));
  return call;
}

TransformerEngineQuery query_with(const std::string& members) {
  return parse_transformer_engine(call_with(members).dump(), "te.json").at(0);
}

const TransformerEngineNote* note_on(const std::vector<TransformerEngineNote>& notes, const std::string& field) {
  const auto found = std::find_if(notes.begin(), notes.end(), [&](const auto& n) { return n.field == field; });
  return found == notes.end() ? nullptr : &*found;
}

}  // namespace attnprobe::test
