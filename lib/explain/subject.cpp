// Reads what a text is about: the operation, its graphs and kernels, and whose attention.
#include <fmt/format.h>

#include <algorithm>

#include "base/number.hpp"
#include "explain/placed_facts.hpp"

namespace attnprobe::explain {
namespace {

bool is_other_operation(const std::string& name) {
  return name.find("Conv") != std::string::npos || name.find("Norm") != std::string::npos;
}

size_t count_of(const std::string& text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

// fprop has two matmuls, bprop has five.
size_t matmuls_of(const std::string& graph) {
  return count_of(graph, "Matmul");
}

// The names of cuDNN's kernels show what they compute.
bool is_kernel_of_attention(const std::string& kernel) {
  return kernel.find("sdpa") != std::string::npos || kernel.find("flash") != std::string::npos ||
         kernel.find("mha") != std::string::npos;
}

struct NamedOperation {
  NamedOperation(const char* known_as, const char* pattern) : name(known_as), words(pattern, any_case()) {}
  std::string name;
  RE2 words;
};

const auto& operations() {
  static const NamedOperation all[] = {
      {"a convolution",
       "(?:\\b|_)conv(?:olution(?:al)?)?s?(?:[123]d)?(?:\\b|_)|\\bconv[123]d|convolution_|ConvFwd|ConvBwd|CONV_FPROP|cudnnConv"},
      {"a matrix product",
       "gemm\\b|\\bgemm(?:s|_|Ex|\\d)|cublasLt|cudnn_gemm|\\bbmm\\b|mm_fp[48]|scaled_mm|\\bNV ?FP4\\b|cudnn_generated_\\w*matmul"},
      {"a Fourier transform", "cufft|\\btorch\\.fft\\b"},
      {"linear algebra", "(?:^|[^-\\w])cu(?:solver|sparse)"},
      {"a CTC loss", "\\bctc_?loss\\b"},
      {"pooling", "cudnn_?pooling|\\b(?:max|avg)_?pool"},
      {"a recurrent network", "\\b(?:rnn|lstm|gru)\\b|cudnn_?rnn"},
      {"a normalisation", "\\b(?:batch|layer|group|instance|rms)_?norm(?:[123]d)?\\b"},
  };
  return all;
}

}  // namespace

// The subject of the text. Convolutions and matmuls have the same statuses and messages.
void add_subject(PlacedFacts& place) {
  static const RE2 kernels("\\b(cudnn_generated_\\w{8,160})", any_case());
  each_match(kernels, place.text,
             [&](const std::string* words, size_t at) { place.add(place.facts.kernels, words[1], at); });
  static const RE2 attention(
      "attention|\\battn|_attn|\\bcross-?attend|sdpa|\\bkv[ _-]?cache|context[ _-]?parallel|packed_seq_params|\\bsdp\\b|\\bsdp_kernel\\b|mha_graph|\\bf?mha\\b|flash.?att|dot.product|softmax|"
      "Reduction_SUB_EXP|\\bqkv|inter-document mask|cu_?seq_?lens?|sparse_attn|\\bfa-?[234]\\b|head[_ ](?:size|dim)|\\bhead dims\\b|\\bq, ?k, ?v\\b|\\bq(?:uery)?\\b[^\\n]{0,60}[\\[(]\\d+, ?\\d+, ?\\d+, ?\\d+|\\b[sd]_(?:q|kv|qk|v)\\b|"
      "cudnn_generated_\\w*(?:sdpa|flash)|\\bMLA\\b|\\bXQA\\b|\\bgrad_[qkv]\\b|prefix sums|AttnDescriptor|\\bDPA\\b|fp8_dpa|enable_\\w+_sdp\\b|local_window_size|\\bimplementation\\W{1,3}cudnn",
      any_case());
  static const RE2 cudnn("cudnn", any_case());
  // Words of attention that other operations also have.
  static const RE2 features(
      "\\bcausal(?:[,.;:)=]| (?:mask|and|with|at|on|bf16|fp16|training|forward|backward|prefill))|\\bsliding[ -]window|\\b(?:query|kv|key) heads?\\b|\\b\\d+ heads\\b|\\b(?:chunked|paged|ragged) prefill|\\bprefill (?:attention|with|kernels?|step|phase|of|on|at|bf16|fp16|fp8)\\b|"
      "KV ?Cache|RaggedKV|block[ _-]mask|\\bscore_mod\\b|page[_ ]table|\\bTHD\\b|\\bbshd\\b|soft[- ]?cap|CUDNN_ATTENTION|MultiHeadAttention|\\bscore modifier|\\bpaged (?:KV|K/V)|\\bragged\\b|sequence packing|packed sequences|padding[ _]mask|\\bseq_len_(?:q|kv)\\b|\\bquery tokens?\\b",
      any_case()),
      // Where cuDNN is named: "with dropout 0.1 the trace says flash, not cuDNN".
      beside_cudnn(
          "\\bflash\\b|prefill|\\bheads?\\b|\\bcausal\\b|\\bdecod(?:e|ing)\\b|use_deterministic_algorithms|\\bd ?= ?(?:64|80|96|128|192|256)\\b|\\bQ, K\\b|\\bQ/?K/?V\\b|(?-i:\\bd[QKVO]\\b)",
          any_case());
  place.facts.speaks_of_cudnn = place.facts.speaks_of_cudnn || has_words(place.text, cudnn);
  // Neither a program's options, "--xla_gpu_enable_triton_gemm=false", nor what works: "the matmul succeeded".
  static const RE2 last_word("(\\S*)$", exact_case()),
      works("^\\w* (?:\\w+ )?(?:succeed(?:s|ed)|pass(?:es|ed)|works?|ok(?:ay)?|fine)\\b", any_case());
  bool is_another = false;
  for (const NamedOperation& operation : operations())
    each_match(operation.words, place.text, [&](const std::string* words, size_t at) {
      is_another = true;
      const size_t end = at + words[0].size();
      std::string before;
      RE2::PartialMatch(piece(letters_before(place.text, at, 64)), last_word, &before);
      if (before.find("--") == std::string::npos && !has_words(place.text.substr(end, 32), works))
        add_fact(place.facts.other_operations, operation.name);
    });
  // If the text names another operation, attention that works is not the subject: "the attention layer in front of it runs".
  bool is_said = has_words(place.text, attention);
  if (is_said && is_another) {
    is_said = false;
    each_match(attention, place.text,
               [&](const std::string*, size_t at) { is_said = is_said || !is_contrast(place.text, at); });
  }
  place.facts.speaks_of_attention =
      place.facts.speaks_of_attention || is_said ||
      (!is_another &&
       (has_words(place.text, features) || (place.facts.speaks_of_cudnn && has_words(place.text, beside_cudnn))));
  static const RE2 frames("\\bFile \"[^\"]{1,400}\", line \\d+");
  static const RE2 errors(
      "\\b[A-Za-z]\\w*(?:Error|Exception|Interrupt|Exit)\\b(?: ?:|$|\\n| |\\()|Fatal Python error|No available kernel|Exception Message:");
  place.facts.has_frames = place.facts.has_frames || has_words(place.text, frames);
  place.facts.has_error = place.facts.has_error || has_words(place.text, errors);
  static const RE2 engines("engineId[\"']*\\s*[:=]\\s*(\\d{1,4})\\b", any_case());
  each_match(engines, place.text,
             [&](const std::string* words, size_t) { add_fact(place.facts.engines, number_in(words[1])); });
  static const RE2 graphs(
      "\\b((?:[A-Za-z]+_){0,12}(?:Matmul|ConvFwd|ConvBwdData|ConvBwdFilter|SDPA_FWD|SDPA_BWD)_\\w*)");
  each_match(graphs, place.text,
             [&](const std::string* words, size_t at) { place.add(place.facts.graphs, words[1], at); });
}

std::string owner_of_kernel(std::string_view page) {
  static const Worded<const char*> kernels[] = {
      {"flash-attn",
       "\\bflash_attn_(?:\\w+_)?func\\b|\\bflash_(?:fwd|bwd)_hdim\\d+\\w*\\.cu\\b|building wheel for flash[-_]attn"},
      {"xFormers", "\\bxformers\\.ops\\b|\\bmemory_efficient_attention(?:_forward|_backward)?\\b"},
      {"SageAttention", "\\bsageattn\\b|\\busing sage attention\\b|--use-sage-attention"},
      {"FlashInfer", "\\bflashinfer::\\w+"},
      {"cudnn-frontend's Python kernels (DSA)", "\\bcudnn\\.DSA\\b|\\bsparse_attention_backward_wrapper\\b"}};
  static const RE2 ours(
      "sdpa|dot_product_attention|fused ?attention|fused_attn|CUDNN_ATTENTION|cudnn(?:'s)? (?:flash |fused )?attention|cudnn_batch_|backend\\W{1,4}cudnn",
      any_case());
  if (has_words(page, ours)) return "";
  const auto found = std::ranges::find_if(kernels, [&](const auto& one) { return has_words(page, one.words); });
  return found == std::end(kernels) ? "" : found->key;
}

bool is_about_another_kernel(std::string_view page) {
  if (!owner_of_kernel(page).empty()) return true;
  // compute-sanitizer's line about the kernel at fault.
  static const RE2 at_fault("={6,} +at (?:void )?([\\w:]+)", exact_case()),
      ours("cudnn|sdpa|flash|fmha|att", any_case());
  std::string kernel;
  if (RE2::PartialMatch(piece(page), at_fault, &kernel) && !has_words(kernel, ours)) return true;
  static const RE2 linear("linear[_ ]attention|kimi_delta|\\bKDA\\b|gated[_ ]delta", any_case()),
      softmax("sdpa|scaled_dot_product|dot_product_attention|flash|softmax", any_case());
  static const RE2 other(
      "flex_?attention|flex attention|EFFICIENT_ATTENTION|memory[- _]efficient attention|xformers|"
      "\\bflashinfer\\.(?:prefill|decode|single|batch)|\\bBatch(?:Prefill|Decode)With\\w+Wrapper|\\bpaddle\\.nn\\b|\\bimport (?:paddle|mlx)\\b|\\bggml_|magi_attention",
      any_case());
  static const RE2 listed("^[^\\n]*(?:nvidia[-_]cudnn|libcudnn\\w*\\.so|cudnn version|cudnn64_|cudnn_\\w+64_)[^\\n]*$",
                          any_case()),
      cudnn("cudnn", any_case());
  if (has_words(page, linear)) return !has_words(page, softmax);
  if (!has_words(page, other)) return false;
  for (size_t begin = 0; begin < page.size();) {
    const size_t end = std::min(page.find('\n', begin), page.size());
    const std::string_view line = page.substr(begin, end - begin);
    if (has_words(line, cudnn) && !has_words(line, listed)) return false;
    begin = end + 1;
  }
  return true;
}

bool is_hlo_without_cudnn(std::string_view page) {
  return page.find("HloModule") != std::string_view::npos && page.find("__cudnn$fmha") == std::string_view::npos;
}

bool is_of_another_operation(std::string_view line) {
  static const RE2 attention("attention|attn|sdpa|flash|fmha", any_case());
  return !has_words(line, attention) && std::ranges::any_of(operations(), [&](const NamedOperation& operation) {
    return has_words(line, operation.words);
  });
}

std::string kernel_in_words(const std::string& name) {
  if (!is_kernel_of_attention(name)) return "of cuDNN, but not attention";
  static const RE2 architecture("sm(\\d{2,3})");
  std::string words = "cuDNN's attention";
  if (name.find("bprop") != std::string::npos) words += ", backward";
  if (name.find("fprop") != std::string::npos) words += ", forward";
  if (std::string sm; RE2::PartialMatch(name, architecture, &sm)) words += ", for sm_" + sm;
  return words;
}

std::string graph_in_words(const std::string& name) {
  if (is_other_operation(name)) return "no attention (a convolution or a normalisation)";
  std::string words;
  if (name.find("SDPA_FWD") != std::string::npos)
    words = "forward attention as one operation (sdpa_unified)";
  else if (name.find("SDPA_BWD") != std::string::npos)
    words = "backward attention as one operation";
  else if (matmuls_of(name) == 2 && name.find("Reduction") != std::string::npos)
    words = name.find("LOG") != std::string::npos ? "forward attention with statistics, for training (sdpa_composite)"
                                                  : "forward attention (sdpa_composite)";
  else if (matmuls_of(name) == 5)
    words = "backward attention (sdpa_composite)";
  else
    return "";
  if (name.find("RNG") != std::string::npos) words += ", with dropout";
  if (name.find("GEN_INDEX") != std::string::npos)
    words += ", with a mask made from positions (causal, window, padding)";
  return words;
}

}  // namespace attnprobe::explain
