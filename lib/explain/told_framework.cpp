// Reads the framework of a call, and what only its gate asks about the call.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/number.hpp"
#include "explain/question_reader.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {

namespace {

bool has_release_of(const TextFacts& facts, std::string_view framework) {
  return std::ranges::any_of(facts.frameworks, [&](const std::string& named) {
    return named.starts_with(framework) && named.substr(framework.size()).starts_with("==");
  });
}

// Keras' gate depends on its backend and JAX's version as a number: 702 for 0.7.2.
void read_backend_of_keras(ToldQuestion& question, std::string_view page, const TextFacts& facts) {
  static const RE2 torch(
      "\\b(?:py)?torch(?:'s)? backend|backend\\W{1,4}(?:\\w+ )?(?:py)?torch\\b|\\bon (?:py)?torch\\b", any_case()),
      release("^jax==0\\.(\\d+)(?:\\.(\\d+))?");
  static const RE2 jax("\\bjax\\b", any_case());
  if (has_words(page, torch))
    question.call["backend"] = "torch";
  else if (!has_words(page, jax))
    question.framework.clear();  // with TensorFlow, Keras has no cuDNN attention
  for (const auto& named : facts.frameworks) {
    int minor = 0;
    std::string patch;
    if (RE2::PartialMatch(named, release, &minor, &patch))
      question.call["jax"] = minor * 100 + (patch.empty() ? 0 : parse_number<int>(patch).value_or(0));
  }
}

void read_settings_of_maxtext(ToldQuestion& question, std::string_view page) {
  static const Worded<const char*> settings[] = {
      {"context_parallel", "context[ _-]?parallel"}, {"ring", "\\bring\\b"}, {"packing", "\\bpacking\\b"}};
  static const RE2 of_jax("\\bcudnn_flash_jax\\b");
  if (has_words(page, of_jax)) question.call["attention"] = "cudnn_flash_jax";
  for (const auto& [key, words] : settings)
    if (has_words(page, words)) question.call[key] = true;
}

// Which kernels sdpa_kernel() allows, and arguments of the call.
void read_call_of_torch(ToldQuestion& question, std::string_view page) {
  static const RE2 set("\\bsdpa_kernel\\( ?(?:backends ?= ?)?[\\[{]([^\\])}]*,[^\\])}]*)[\\]}]", any_case()),
      priority("set_priority", any_case()), ours("CUDNN_ATTENTION", exact_case()), any_cudnn("cudnn", any_case()),
      only("\\bsdpa_kernel\\( ?(?:backends ?= ?)?\\[? ?(?:\\w+\\.)*CUDNN_ATTENTION ?\\]? ?[,)]", exact_case()),
      none_left(
          "no (?:available|viable) (?:kernel|backend)|\\bforc(?:e|es|ed|ing) (?:the )?cudnn\\b|\\bcudnn\\b[^.\\n]{0,24}\\b(?:i|we) force\\b",
          any_case()),
      others("\\b(?:FLASH_ATTENTION|EFFICIENT_ATTENTION|MATH)\\b", exact_case()),
      call("\\b(?:scaled_dot_product_attention|F\\.sdpa)\\( ?\\w+(?:\\.\\w+)* ?, ?\\w+[^).]*\\)", any_case()),
      grouped("enable_gqa", any_case()),
      mask_grad(
          "\\battn_mask[^.\\n]{0,24}\\b(?:needs?|requires?|with) (?:a )?grad|\\b(?:attn_mask|bias)(?:\\.| has )requires_grad ?= ?True|\\battn_mask\\b[^.\\n]{0,60}\\brequires_grad ?= ?True",
          any_case());
  std::string kernels;
  if (RE2::PartialMatch(piece(page), set, &kernels) && has_words(kernels, ours) && !has_words(page, priority))
    question.call["backend_set"] = true;
  else if (has_words(page, only) ||
           (!has_words(page, others) && has_words(page, any_cudnn) && has_words(page, none_left)))
    for (const char* key : {"flash_sdp_enabled", "mem_efficient_sdp_enabled", "math_sdp_enabled"})
      question.call[key] = false;
  if (has_words(page, call) && !has_words(page, grouped)) question.call["enable_gqa"] = false;
  // "bias = nn.Parameter(…)", "attn_mask=bias"
  static const RE2 parameter("\\b(\\w+) ?= ?(?:torch\\.)?nn\\.Parameter\\(", exact_case()),
      of_words("\\bnn\\.Parameter\\b[^.\\n]{0,60}\\b(?:as|is|in) (?:the )?attn_mask\\b", exact_case());
  bool needs_grad = has_words(page, mask_grad) || has_words(page, of_words);
  each_match(parameter, page, [&](const std::string* words, size_t) {
    needs_grad = needs_grad || has_words(page, RE2("\\battn_mask ?= ?(?:self\\.)?" + words[1] + "\\b", exact_case()));
  });
  if (needs_grad) question.call["mask_requires_grad"] = true;
}

// SGLang's backend for PyTorch's cuDNN attention, on every GPU.
bool selects_cudnn_of_torch(std::string_view page) {
  static const RE2 backend("\\b(?:torch_)?cudnn_sdpa\\b", any_case());
  return has_words(page, backend);
}

// Its parts have different rules; without a word about the part, none of them is the text's.
void read_part_of_sglang(ToldQuestion& question, std::string_view page) {
  if (selects_cudnn_of_torch(page)) {
    question.framework = "torch";
    return;
  }
  static const Worded<const char*> parts[] = {
      {"vision", "\\bvision\\b|\\bViT\\b|InternVL|Qwen\\S*-?VL|mm-attention"},
      {"diffusion", "diffusion|\\bDiT\\b|\\b(?:image|video) (?:generation|model)|\\bWan ?2|\\bFlux\\b|\\bLongCat"},
      {"language", "\\bdecod|\\bLLM|\\bllama|\\bqwen|\\bprefill|language model|\\bchat\\b|\\bserv(?:e|er|ing)\\b"}};
  for (const auto& [part, words] : parts)
    if (has_words(page, words)) {
      question.call["use"] = part;
      return;
    }
  question.framework.clear();
}

}  // namespace

void choose_framework(ToldQuestion& question, std::string_view text, const TextFacts& facts) {
  // A reference to compare with is not the program that failed: "vs. a PyTorch reference".
  static const RE2 reference(
      "\\b(?:vs\\.?|versus|against|compared (?:to|with)|relative to) (?:an? |the |my |our )?(?:py)?torch\\b|\\b(?:py)?torch(?:'s)? (?:reference|eager|f64|fp64|float64)\\b",
      any_case());
  std::string page(text);
  RE2::GlobalReplace(&page, reference, "reference");
  static const Worded<const char*> names[] = {
      {"transformer-engine",
       "transformer[ _-]?engine|\\bNVTE_|\\bTE(?:[ -](?:jax|py ?torch|flax)|'s|(?: \\w+)? DotProductAttention)\\b"},
      {"maxtext", "\\bmaxtext\\b|\\bcudnn_flash_(?:te|jax)\\b"},
      {"torch-varlen", "varlen_attn|attention\\.varlen\\b"},
      {"onnxruntime", "\\bonnx ?runtime\\b|\\bORT_ENABLE_|\\bAttentionKernelOptions\\b"},
      {"keras", "\\bkeras\\b"},
      {"flashinfer",
       "\\bflashinfer\\b[^.\\n]{0,80}\\bcudnn\\b|\\bcudnn\\b[^.\\n]{0,80}\\bflashinfer\\b|\\bcudnn_batch_(?:prefill|decode)_with_kv_cache\\b|\\bFlashInfer(?:'s)? cudnn\\b|\\bBatch(?:Prefill|Decode)With\\w+Wrapper"},
      {"cudnn.jl", "\\b(?:cuDNN|CUDA|NNlib)\\.jl\\b"},
      {"tensorrt", "\\btensorrt\\b"},
      {"diffusers", "\\bdiffusers\\b"},
      // A type's name such as "torch.float32" does not show the program.
      {"mlx", "\\bmlx(?:_|\\b)|\\bmx\\.fast\\b"},
      {"torch", "\\bpytorch\\b|\\btorch(?:[^.\\w]|$)|torch\\.(?:nn|backends)|scaled_dot_product_attention|SDPBackend"},
      {"jax", "\\bjax\\b"},
      {"vllm", "\\bvllm\\b"},
      {"sglang", "\\bsglang\\b"}};
  static const RE2 varlen = any("varlen attention|varlen_attn|attention\\.varlen\\b");
  // A program that calls cuDNN itself may use PyTorch only for its tensors.
  static const RE2
      direct = any("\\bcudnn\\.pygraph\\b|\\bcudnn[-_]frontend\\b|\\bFROST\\b|test_(?:sdpa|mhas)_\\w+"),
      indirect = any(
          "dot_product_attention|SDPBackend|transformer[ _-]?engine|\\bNVTE_|varlen_attn|attn_implementation|cuDNN Frontend error: ");
  const bool has_other_release =
      std::ranges::any_of(facts.frameworks, [](const auto& named) { return !named.starts_with("torch=="); });
  if (has_words(page, direct) && !has_words(page, indirect) && !has_other_release) return;
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
  if (has_words(page, of_engine) && !has_words(page, of_torch) && !has_release_of(facts, engine))
    question.framework = engine;
  // In prose, Keras is the program, whatever its backend; an import is in small letters.
  static const RE2 in_prose("\\bKeras\\b", exact_case());
  if (question.framework.empty() && has_words(page, in_prose) && !has_release_of(facts, "keras"))
    question.framework = "keras";
  for (const char* first : {"keras", "transformer-engine", "torch", "jax"})
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
  static const RE2 te_of_jax("transformer[ _-]engine[._ -]jax|\\bTE[ -]jax\\b", any_case());
  if (question.framework.starts_with("transformer-engine") && has_words(page, te_of_jax))
    question.framework.insert(std::string_view("transformer-engine").size(), "-jax");
  if (question.framework.starts_with("torch==") && has_words(page, varlen)) question.framework.insert(5, "-varlen");
  if (question.framework.starts_with("maxtext")) read_settings_of_maxtext(question, page);
  if (question.framework.starts_with("sglang")) read_part_of_sglang(question, page);
  // These programs switch PyTorch's cuDNN attention off for their process.
  const bool is_inside = has_release_of(facts, "vllm") || has_release_of(facts, "sglang");
  if (question.framework.starts_with("torch") && is_inside && !selects_cudnn_of_torch(page))
    question.call["cudnn_sdp_enabled"] = false;
  if (question.framework == "torch" || question.framework.starts_with("torch==")) read_call_of_torch(question, page);
  static const RE2 selected("\\bimplementation\\W{0,12}cudnn\\b|\\bcudnn implementation\\b", any_case());
  if (question.framework.starts_with("jax") && has_words(page, selected)) question.call[rules::names_cudnn] = true;
  if (question.framework.starts_with("keras")) read_backend_of_keras(question, page, facts);
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
