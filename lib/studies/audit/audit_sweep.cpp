#include "attention/config.hpp"
#include "studies/audit/audit.hpp"

namespace attnprobe::studies {
namespace {

// Arrays are cross products (docs/config.md).
constexpr const char* sweep = R"({
  "defaults": {"batch": 2, "heads_q": 8, "heads_kv": 8, "seqlen_q": 512, "seqlen_kv": 512, "head_dim": 64, "dtype": "bf16"},
  "configs": [
    {"head_dim": [8, 20, 32, 40, 64, 72, 80, 96, 128, 136, 160, 192, 256, 264, 512], "pass": ["fprop", "fprop_train", "bprop"],
     "mask": ["none", "causal"]},
    {"head_dim_qk": 192, "head_dim_v": 128, "pass": ["fprop", "fprop_train", "bprop"], "mask": ["none", "causal"]},
    {"head_dim_qk": [64, 128, 256], "head_dim_v": [64, 128, 256], "pass": ["fprop", "bprop"]},
    {"seqlen_q": [1, 8, 63, 100, 512], "seqlen_kv": [1, 8, 63, 100, 4096], "pass": ["fprop", "fprop_train", "bprop"],
     "mask": ["none", "causal", "causal_bottom_right"]},
    {"heads_kv": [8, 2, 1], "seqlen_q": [1, 512], "pass": ["fprop", "fprop_train", "bprop"], "mask": ["none", "causal"],
     "head_dim": [64, 128]},
    {"dtype": ["f16", "f32", "fp8_e4m3", "fp8_e5m2"], "head_dim": [64, 128, 256], "pass": ["fprop", "fprop_train", "bprop"]},
    {"layout": ["bshd", "bhsd", "sbhd", "bs3hd"], "pass": ["fprop", "fprop_train", "bprop"], "head_dim": [64, 128]},
    {"layout": "thd", "mask": ["padding", "padding_causal"], "heads_kv": [8, 2], "head_dim": [64, 128, 192, 256],
     "pass": ["fprop", "fprop_train", "bprop"]},
    {"mask": ["padding", "padding_causal", {"causal": true, "window_left": 127}, {"window_left": 127},
              {"window_left": 127, "window_right": 127}, {"causal": true, "alignment": "bottom_right", "window_left": 127}],
     "seqlen_kv": [512, 1024], "pass": ["fprop", "fprop_train", "bprop"]},
    {"bias": ["11ss", "1hss", "b1ss", "bhss", "b11s"], "mask": ["none", "causal"], "pass": ["fprop", "fprop_train"],
     "head_dim": [64, 128, 256]},
    {"bias": [{"shape": "11ss", "grad": true}, {"shape": "1hss", "grad": true}, {"shape": "b1ss", "grad": true},
              {"shape": "bhss", "grad": true}, "b11s", "bhss"], "pass": "bprop"},
    {"dropout": [0.1, 0.125], "mask": ["none", "causal"], "pass": ["fprop_train", "bprop"], "head_dim": [64, 128, 256]},
    {"softcap": 30, "mask": ["none", "causal"], "pass": ["fprop", "fprop_train", "bprop"], "head_dim": [64, 128]},
    {"sink": true, "mask": ["none", "causal"], "heads_kv": [8, 2], "seqlen_q": [1, 512], "pass": ["fprop", "fprop_train"]},
    {"sink": true, "pass": "bprop", "mask": ["none", "causal"]},
    {"alibi": true, "mask": ["none", "causal"], "pass": ["fprop", "fprop_train", "bprop"]},
    {"paged": 16, "mask": "padding", "heads_kv": [8, 2], "seqlen_q": [1, 512], "head_dim": [64, 128, 192, 256]},
    {"deterministic": true, "pass": "bprop", "head_dim": [64, 128, 256], "mask": ["none", "causal"]}
  ]
})";

}  // namespace

std::vector<attention::AttentionConfig> audit_sweep() {
  return attention::parse_configs(sweep, "the audit's sweep");
}

}  // namespace attnprobe::studies
