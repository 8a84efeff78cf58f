// Reads data types, features and the framework of a question from prose.
#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/number.hpp"
#include "explain/question_reader.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {

void read_types(Reader& reader) {
  static const Worded<const char*> types[] = {{"fp8_e5m2", "e5m2"},
                                              {"fp8_e4m3", "\\bfp8\\b|\\bfloat8|e4m3|\\bmxfp8"},
                                              {"bf16", "\\bbf16\\b|bfloat16"},
                                              {"f16", "\\bf(?:p|loat)?16\\b|\\bhalf(?: precision)?\\b"},
                                              {"f32", "\\bf(?:p|loat)?32\\b|single precision"}};
  // The type next to a shape comes first: "q of shape (4, 1023, 12, 64) in float32", "q: bf16[2,4096,16,128]".
  static const std::string type = "\\b((?:bf|bfloat|fp|f|float)(?:8|16|32)(?:_\\w{4,6})?)";
  static const RE2 of_shape(
      type + "[\\[(]\\d+, ?\\d+, ?\\d+, ?\\d+|\\d+, ?\\d+, ?\\d+, ?\\d+,? ?[\\])][^\\n.;?\\[(\\d]{0,24}" + type + "\\b",
      any_case());
  const auto set_type = [&](const std::string& named) {
    for (const auto& [name, words] : types)
      if (!reader.question.tells("dtype") && has_words(named, words)) reader.set("dtype", name);
    return false;
  };
  reader.each(of_shape, [&](const std::string* found) { return set_type(found[1].empty() ? found[2] : found[1]); });
  // The type that a program gives its queries comes before types in prose.
  static const RE2 of_queries("\\bq(?:uery)? ?= ?\\w+(?:\\.\\w+)*\\([^\\n]{0,120}\\bdtype ?= ?(?:torch|jnp)\\.(\\w+)",
                              exact_case());
  reader.each(of_queries, [&](const std::string* found) { return set_type(found[1]); });
  // The type of weights or of the cache is not the call's.
  static const RE2 of_weights = any(
      "(?:quantization|kv[_-]cache[_-]dtype|load[_-]format)\\W{1,3}fp8\\w*|\\bfp8[ -](?:weights|checkpoints?|kv[ _-]cache|models?)\\b");
  reader.each(of_weights, [](const std::string*) { return true; });
  for (const bool states : {true, false})
    for (const auto& [name, words] : types)
      if (!reader.question.tells("dtype") && reader.says(words, states)) reader.set("dtype", name);
  static const RE2 mxfp8 = any("\\bmxfp8");  // not "quantize_mxfp8"
  if (reader.says(mxfp8)) reader.set("fp8", "mxfp8");
  static const RE2 backward = any("\\bbackward|\\bbprop\\b|\\bgradients?\\b|\\bd[QKV]\\b|\\bgrad_[qkv]\\b"),
                   training = any("(?:^|[^-\\w])training\\b|\\bfine-?tun|requires_grad ?= ?True|\\bgrad_fn ?=");
  static const RE2 forward = any("\\bforward\\b|\\bfprop\\b|\\binference\\b|\\bprefill|\\bdecod");
  static const RE2 forward_alone = any("\\bforward only\\b|\\bonly (?:the )?forward\\b|\\binference\\b");
  if (reader.says(backward) || (reader.says(training) && !reader.says(forward)))
    reader.set("pass", "bprop");
  else if (reader.says(forward_alone))
    reader.set("pass", "fprop");
}

void read_features(Reader& reader) {
  static const RE2
      deterministic =
          // Not "is it deterministic" or "make it deterministic", which are observations and wishes.
      any("\\bdeterministic(?:\\W{1,3}True| (?:fused |cudnn )?(?:mode|backward|bwd|bprop|algorithms?|kernels?|attention|pass|"
          "training|form|gradients?|d[QKV]|flag|set|and|with|on)\\b)|(?:, ?|\\(|and |with |\\ban? |\\bthe )deterministic\\b|\\bin deterministic\\b|--deterministic\\b|\\bbit-?wise (?:reproducible|identical) |"
          "use_deterministic_algorithms\\(True|ALLOW_NONDETERMINISTIC_ALGO=0"),
      alibi = any("\\balibi\\b"),
      sink = any(
          "(?:^|[^-\\w])(?:attention[ _])?sinks?(?:[ _]token)?\\b|softmax_type\\W{1,4}learnable|\\blearnable softmax\\b"),
      bias = any("(?:^|[^-\\w])(?:attn_|attention )?bias(?:[^-\\w]|$)|additive mask");
  static const RE2 boolean = any("\\bbool(?:ean)? (?:attention )?masks?\\b"),
                   softcap = any("soft[- _]?cap\\w*(?: ?(?:of|is|=|:))* ?(\\d+(?:\\.\\d+)?)"),
                   dropout = any("dropout(?:_p|_rate| probability| rate)?(?: ?(?:of|is|=|:))* ?(0?\\.\\d+)");
  static const RE2 of_convolutions = any("\\bcudnn\\.deterministic\\b");
  // Observations, and parameters of a program.
  static const RE2
      observed = any("\\b(?:is|are|was|were) (?:fully |always )?deterministic\\b"),
      parameter = any(
          "\\b(?:\\w+_)?bias(?:: ?bool)? ?= ?(?:False|None|\\w+\\.bias)\\b|\\bbias: ?bool\\b|\\bimport [^\\n]{0,80}\\bbias\\b");
  for (const RE2* other : {&of_convolutions, &observed, &parameter})
    reader.each(*other, [](const std::string*) { return true; });  // not read as attention's
  if (reader.says(deterministic) && reader.set("deterministic", true) && !reader.question.tells("pass"))
    reader.set("pass", "bprop");
  if (reader.says(alibi)) reader.set("alibi", true);
  if (reader.says(sink)) reader.set("sink", true);
  if (reader.says(bias) && reader.set("bias", usual_bias)) reader.question.assumed.emplace_back("a bias of shape 1hss");
  if (reader.says(boolean)) reader.set("score_mod", "mask_boolean");
  // In other frameworks it is FlexAttention's.
  static const RE2 score_mod = any("\\bscore_mod\\b|\\bscore (?:function|modifier)");
  if (reader.question.framework.starts_with("jax") && reader.says(score_mod) && reader.set("score_mod", "tanh"))
    reader.question.assumed.emplace_back("a score modifier with tanh");
  for (const auto& [field, pattern] : {std::pair("softcap", &softcap), std::pair("dropout", &dropout)})
    reader.each(*pattern, [&, key = std::string(field)](const std::string* words) {
      const auto value = parse_number<double>(words[1].starts_with('.') ? "0" + words[1] : words[1]);
      return value && *value > 0 && reader.set(key, *value);
    });
}

void choose_framework(ToldQuestion& question, std::string_view page, const TextFacts& facts) {
  static const Worded<const char*> names[] = {
      {"transformer-engine", "transformer[ _-]?engine|\\bNVTE_"},
      {"torch-varlen", "varlen_attn|attention\\.varlen\\b"},
      {"onnxruntime", "\\bonnx ?runtime\\b|\\bORT_ENABLE_|\\bAttentionKernelOptions\\b"},
      {"keras", "\\bkeras\\b"},
      {"flashinfer", "\\bcudnn_batch_(?:prefill|decode)_with_kv_cache\\b|\\bFlashInfer(?:'s)? cudnn\\b"},
      {"tensorrt", "\\btensorrt\\b"},
      {"diffusers", "\\bdiffusers\\b"},
      // A type's name such as "torch.float32" does not show the program.
      {"mlx", "\\bmlx(?:_|\\b)|\\bmx\\.fast\\b"},
      {"torch", "\\bpytorch\\b|\\btorch(?:[^.\\w]|$)|torch\\.(?:nn|backends)|scaled_dot_product_attention|SDPBackend"},
      {"jax", "\\bjax\\b"}};
  static const RE2 varlen = any("varlen attention|varlen_attn|attention\\.varlen\\b");
  // A program that calls cuDNN itself may use PyTorch only for its tensors.
  static const RE2 direct = any("\\bcudnn\\.pygraph\\b|\\bcudnn[-_]frontend\\b|\\bFROST\\b|test_(?:sdpa|mhas)_\\w+"),
                   indirect = any("dot_product_attention|SDPBackend|transformer[ _-]?engine|\\bNVTE_|varlen_attn");
  if (has_words(page, direct) && !has_words(page, indirect)) return;
  // Programs with attention of their own also list PyTorch: "pip install onnxruntime==1.24.4 torch==2.10.0". That does not
  // show that PyTorch's attention ran.
  static const RE2 of_torch = any(
      "scaled_dot_product_attention|SDPBackend|\\bsdpa\\b|\\bsdp_|_sdp\\b|torch_native|\\bpytorch(?:'s)? (?:\\w+ )?attention|torch\\.nn");
  static const std::set<std::string> with_attention{"onnxruntime", "vllm", "sglang", "flashinfer", "tensorrt", "mlx"};
  const bool is_listed_only =
      !has_words(page, of_torch) && std::ranges::any_of(facts.frameworks, [](const auto& named) {
        return with_attention.contains(named.substr(0, named.find("==")));
      });
  // Transformer Engine runs on PyTorch, so PyTorch's release does not show that PyTorch's attention ran.
  const auto& [engine, of_engine] = *std::begin(names);
  const bool has_release = std::ranges::any_of(
      facts.frameworks, [&](const auto& named) { return named.starts_with("transformer-engine=="); });
  if (has_words(page, of_engine) && !has_words(page, of_torch) && !has_release) question.framework = engine;
  for (const char* first : {"transformer-engine", "torch", "jax"})
    for (const auto& named : facts.frameworks)
      if (question.framework.empty() && named.starts_with(std::string(first) + "==") &&
          !(is_listed_only && named.starts_with("torch==")))
        question.framework = named;
  for (const auto& named : facts.frameworks)
    if (question.framework.empty() && !named.starts_with("tensorrt") &&
        !(is_listed_only && named.starts_with("torch==")))
      question.framework = named;
  for (const auto& [name, words] : names)
    if (question.framework.empty() && has_words(page, words)) question.framework = name;
  if (question.framework.starts_with("torch==") && has_words(page, varlen)) question.framework.insert(5, "-varlen");
  if (question.framework.empty()) return;
  try {
    const auto chosen = rules::choose_gates({question.framework}, "the text").front();
    if (chosen.is_known() && chosen.asked.empty()) return;
    if (chosen.gate->releases.empty()) {
      question.framework_note = fmt::format("the rules of {} are not public: only cuDNN is asked", chosen.gate->title);
      question.framework.clear();
      return;
    }
    const std::string read =
        chosen.release != nullptr ? chosen.release->version : chosen.gate->releases.front().version;
    question.framework_note = fmt::format("by the rules of {} {}, the known release nearest to {}", chosen.gate->title,
                                          read, question.framework.substr(question.framework.find("==") + 2));
    question.framework = chosen.gate->framework + "==" + read;
  } catch (const Error&) {
    question.framework.clear();
  }
}

}  // namespace attnprobe::explain
