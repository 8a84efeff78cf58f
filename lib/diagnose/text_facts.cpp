#include "diagnose/text_facts.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/error.hpp"
#include "base/version.hpp"
#include "diagnose/gpu_families.hpp"
#include "diagnose/search_options.hpp"
#include "gpu/catalogue.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::diagnose {
namespace {

constexpr size_t most_facts = 16;

template <class T>
void add_fact(std::vector<T>& facts, const T& fact) {
  if (facts.size() < most_facts && std::find(facts.begin(), facts.end(), fact) == facts.end()) facts.push_back(fact);
}

template <class T>
std::optional<T> only(const std::vector<T>& facts) {
  return facts.size() == 1 ? std::optional<T>(facts.front()) : std::nullopt;
}

// Calls take(first group, second group or "") for every match.
template <class Take>
void each_match(const RE2& pattern, std::string_view text, Take&& take) {
  const int groups = std::min(pattern.NumberOfCapturingGroups(), 2);
  re2::StringPiece found[3];
  size_t at = 0;
  while (at < text.size() && pattern.Match(piece(text), at, text.size(), RE2::UNANCHORED, found, groups + 1)) {
    const auto begin = static_cast<size_t>(found[0].data() - text.data());
    const std::string first(found[1].data(), found[1].size());
    const std::string second = groups > 1 ? std::string(found[2].data(), found[2].size()) : std::string();
    if constexpr (std::is_invocable_v<Take, std::string, std::string, size_t>)
      take(first, second, begin);
    else
      take(first, second);
    at = begin + std::max<size_t>(found[0].size(), 1);
  }
}

// What somebody demands is not what there is: "requires A100 or H100 GPUs", "(supported: {torch.float16, …})".
bool is_demanded(std::string_view text, size_t at) {
  constexpr size_t reach = 64;
  static const RE2 demand(
      "(?:\\brequires?\\b|\\bneeds?\\b|\\bonly\\b|\\bsupported: ?\\{|\\bsuch as\\b)[^.;:!?]{0,48}$|"
      "(?:\\bnon-|\\bnot an? |\\bno |\\bunlike (?:the )?)$|\\b(?:built|compiled|made) (?:for|with|against|on):?\\s{0,8}$",
      any_case());
  const size_t begin = at - std::min(at, reach);
  return has_words(text.substr(begin, at - begin), demand);
}

int64_t number_of(const std::string& digits) {
  return digits.empty() || digits.size() > 9 ? 0 : std::stoll(digits);
}

void add_gpus(TextFacts& facts, std::string_view text) {
  // Short names are words of other things, too: they count behind the maker's name.
  static const RE2 names(
      "\\b((?:RTX|GTX) ?(?:PRO |A)?\\d{4}(?: ?Ti| ?SUPER| D| Ada)*|GB?[23]00|GH200|H[128]00|H20|B[123]00|A[18]00|L40S?|Orin(?: NX)?|GB10)\\b",
      any_case());
  static const RE2 short_names("(?:NVIDIA|Tesla|\\bon an?|GPU:?|\\bmy) ((?:[ALTPV]\\d{1,3}G?)\\b)", any_case());
  const auto take = [&](const std::string& name, const std::string&, size_t at) {
    const gpu::Target* target = gpu::find(name);
    if (target != nullptr && !is_demanded(text, at)) add_fact(facts.gpus, target->id);
  };
  // Those that the catalogue has not are known by their series.
  static constexpr std::pair<const char*, int> series[] = {
      {"\\b(GTX ?10\\d\\d|Quadro P\\d{3,4}|Tesla P40|P40)\\b", 61},
      {"\\b((?:Tesla )?P100|GP100)\\b", 60},
      {"\\b((?:GTX|RTX) ?(?:16|20)\\d\\d(?: ?Ti| ?SUPER)*|TITAN RTX|Quadro RTX \\d{4})\\b", 75},
      {"\\b(RTX ?30\\d\\d(?: ?Ti| ?SUPER)*|RTX A\\d{4}|A(?:2000|4000|5000|6000|10G|16))\\b", 86},
      {"\\b(RTX ?40\\d\\d(?: ?Ti| ?SUPER| ?D)*)\\b", 89},
      {"\\b((?:RTX ?)?50[5-9]0(?: ?Ti| ?D| ?SUPER)*)\\b", 120}};
  for (const auto& [pattern, sm] : series) {
    const RE2 words(pattern, any_case());
    each_match(words, text, [&, sm_of_series = sm](const std::string& name, const std::string&, size_t at) {
      if (gpu::find(name) == nullptr && !is_demanded(text, at)) add_fact(facts.sms, sm_of_series);
    });
  }
  each_match(names, text, take);
  each_match(short_names, text, take);
}

// "fails on Ampere", "my Ampere GPU".
void add_families(TextFacts& facts, std::string_view text) {
  static const RE2 words("\\b(?:[Oo]n|[Mm]y|[Aa]n?) (?:an? )?(Maxwell|Pascal|Volta|Turing|Ampere|Ada|Hopper)\\b",
                         exact_case());
  each_match(words, text, [&](const std::string& name, const std::string&, size_t at) {
    if (!is_demanded(text, at)) add_fact(facts.families, name);
  });
}

void add_sms(TextFacts& facts, std::string_view text) {
  static const RE2 of_engines("smVersion[\"']*\\s*[:=]\\s*(\\d{3,4})\\b", any_case());
  each_match(of_engines, text, [&](const std::string& digits, const std::string&) {
    add_fact(facts.sms, static_cast<int>(number_of(digits) / 10));
  });
  // Of messages that say what the GPU at hand has, not what a rule asks for.
  static const RE2 of_gpus(
      "(?:Attempting to run on a sm ?|with CUDA capability sm_|device_compute_capability\\W{1,4}|"
      "compute[_ ]capability\\W{1,5})(?:sm_?)?(\\d\\d?)[., ]{0,2}(\\d)\\b",
      any_case());
  each_match(of_gpus, text, [&](const std::string& major, const std::string& minor) {
    add_fact(facts.sms, static_cast<int>(number_of(major) * 10 + number_of(minor)));
  });
  // "GPU: RTX 4080 SUPER, sm_89 (Ada)", "fails on sm_120".
  static const RE2 of_prose(
      "(?:\\b(?:fails?|crash\\w*|works?|run(?:s|ning)?|tested|seen) on (?:an? )?|\\bGPU\\b[^\\n.;]{0,40}[ (,:]|\\b(?:RTX|GTX|GB10|Spark|Thor|Orin)\\b[^\\n.;]{0,40}[ (,:])sm_?(\\d{2,3})a?\\b",
      any_case());
  each_match(of_prose, text, [&](const std::string& digits, const std::string&, size_t at) {
    if (!is_demanded(text, at)) add_fact(facts.sms, static_cast<int>(number_of(digits)));
  });
}

bool is_other_operation(const std::string& name) {
  return name.find("Conv") != std::string::npos || name.find("Norm") != std::string::npos;
}

size_t count_of(const std::string& text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

// fprop has two matmuls, bprop five.
size_t matmuls_of(const std::string& graph) {
  return count_of(graph, "Matmul");
}

struct NamedProgram {
  NamedProgram(const char* known_as, const char* pattern) : name(known_as), words(pattern, any_case()) {}
  std::string name;
  RE2 words;
};

void add_programs(TextFacts& facts, std::string_view text) {
  static const NamedProgram programs[] = {
      {"Transformer Engine", "transformer_?engine|tex\\.fused_attn|\\bNVTE_"},
      {"Megatron-LM", "\\bmegatron\\b"},
      {"JAX", "\\bjax(?:lib)?[./]|\\bjnp\\."},
      {"XLA", "\\bXLA\\b|external/xla|XlaRuntimeError"},
      {"TensorFlow", "\\btensorflow\\b"},
      {"Keras", "\\bkeras(?:[./_]|\\b)"},
      {"ONNX Runtime", "onnxruntime"},
      {"TensorRT-LLM", "tensorrt[_-]?llm|\\btrtllm\\b"},
      {"TensorRT", "\\btensorrt\\b|\\btrtexec\\b|\\bTRT\\b"},
      {"vLLM", "\\bvllm\\b"},
      {"SGLang", "\\bsglang\\b"},
      {"FlashInfer", "flashinfer"},
      {"diffusers", "\\bdiffusers\\b"},
      {"ComfyUI", "\\bcomfy_?ui\\b"},
      {"DeepSpeed", "\\bdeepspeed\\b"},
      {"MaxText", "\\bmaxtext\\b"},
      {"Triton", "06-fused-attention|fused-attention\\.py|\\btriton\\b.{0,40}(?:tutorial|kernel)"},
      {"transformers", "\\btransformers[./]|attn_implementation|AutoModel"},
      {"CUDA.jl", "CUDA\\.jl|CUDNNError|cuDNN\\.jl"},
      {"PyTorch",
       "\\btorch[./]|\\bat::native|pytorch|scaled_dot_product_attention|SDPBackend|_(?:CUDNN|FLASH|EFFICIENT)_ATTENTION"},
  };
  for (const NamedProgram& program : programs)
    if (has_words(text, program.words)) add_fact(facts.programs, program.name);
}

void add_versions(TextFacts& facts, std::string_view text) {
  static const RE2 of_files("libcudnn[a-z_]*\\.so\\.(\\d+\\.\\d+\\.\\d+)\\b", any_case());
  static const RE2 in_words("\\bcudnn(?: version|_version)?[ :=v]{1,3}(\\d\\.\\d{1,2}\\.\\d{1,2})\\b", any_case());
  static const RE2 short_ones("\\bcudnn(?: version|_version)?[ :=v]{1,3}(9\\.\\d{1,2})(?:\\.?(?:[^.\\d]|$))",
                              any_case());
  for (const RE2* versions : {&of_files, &in_words, &short_ones})
    each_match(*versions, text,
               [&](const std::string& version, const std::string&) { add_fact(facts.versions, version); });
  static const RE2 of_logs("\\bcudnn \\(v(\\d{5,6}) ", any_case());
  each_match(of_logs, text, [&](const std::string& number, const std::string&) {
    add_fact(facts.versions, CudnnVersion::from_number(number_of(number)).text());
  });
}

void add_frameworks(TextFacts& facts, std::string_view text) {
  static const NamedProgram releases[] = {
      {"torch", "\\b(?:py)?torch(?:[ _]version)?['\"]?[ :=v]{1,4}(\\d\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"jax", "\\bjax(?:lib)?(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"transformer-engine",
       "(?:transformer[ _-]?engine(?:[ _](?:torch|jax|version))?|\\bTE)['\"]?[ :=v]{1,4}(\\d\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"vllm", "\\bvllm(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)"},
  };
  for (const NamedProgram& release : releases)
    each_match(release.words, text, [&](const std::string& version, const std::string&, size_t at) {
      if (!is_demanded(text, at)) add_fact(facts.frameworks, release.name + "==" + version);
    });
}

// cuDNN's kernels carry what they compute in their names.
bool is_kernel_of_attention(const std::string& kernel) {
  return kernel.find("sdpa") != std::string::npos || kernel.find("flash") != std::string::npos ||
         kernel.find("mha") != std::string::npos;
}

// What the text is about. The same statuses and sentences come from convolutions and matmuls.
void add_subject(TextFacts& facts, std::string_view text) {
  static const RE2 kernels("\\b(cudnn_generated_\\w{8,160})", any_case());
  each_match(kernels, text, [&](const std::string& name, const std::string&) { add_fact(facts.kernels, name); });
  static const RE2 attention(
      "attention|\\battn|_attn|sdpa|\\bkv[ _-]?cache|context[ _-]?parallel|packed_seq_params|is_sm[89]0\\b|supportMMA|mma layout|\\bsdp\\b|mha_graph|\\bf?mha\\b|flash.?att|dot.product|softmax|"
      "Reduction_SUB_EXP|\\bqkv|inter-document mask|cu_seqlens|sparse_attn|\\bfa-?[234]\\b|head[_ ](?:size|dim)|\\bhead dims\\b|\\bq, ?k, ?v\\b|\\b[sd]_(?:q|kv|qk|v)\\b|cudnn_generated_\\w*(?:sdpa|flash)",
      any_case());
  facts.speaks_of_attention = facts.speaks_of_attention || has_words(text, attention);
  static const NamedProgram operations[] = {
      {"a convolution", "\\bconv(?:olution)?s?(?:[123]d)?\\b|cudnn_conv|\\bconv[123]d|convolution_|ConvFwd|ConvBwd"},
      {"a matrix product", "gemm\\b|\\bgemm|\\bbmm\\b|mm_fp[48]|scaled_mm|cudnn_generated_\\w*matmul"},
      {"pooling", "cudnn_?pooling|\\b(?:max|avg)_?pool"},
      {"a recurrent network", "\\b(?:rnn|lstm|gru)\\b|cudnn_rnn"},
      {"a normalisation", "\\b(?:batch|layer|group|instance|rms)_?norm\\b"},
  };
  for (const NamedProgram& operation : operations)
    if (has_words(text, operation.words)) add_fact(facts.other_operations, operation.name);
  static const RE2 frames("\\bFile \"[^\"]{1,400}\", line \\d+");
  static const RE2 errors("\\b[A-Z]\\w*(?:Error|Exception|Interrupt|Exit)\\b(?: ?:|$| |\\()");
  facts.has_frames = facts.has_frames || has_words(text, frames);
  facts.has_error = facts.has_error || has_words(text, errors);
}

}  // namespace

std::vector<int> TextFacts::all_sms() const {
  std::vector<int> all = sms;
  for (const auto& id : gpus)
    if (const gpu::Target* target = gpu::find(id)) all.push_back(target->sm);
  return all;
}

std::string TextFacts::target() const {
  if (const auto id = only(gpus)) return *id;
  if (gpus.empty())
    if (const auto sm = only(sms)) return fmt::format("sm_{}", *sm);
  if (gpus.empty() && sms.empty())
    if (const auto family = only(families)) return std::string(gpu_family(*family)->target);
  return "";
}

void add_facts(TextFacts& facts, std::string_view text) {
  add_gpus(facts, text);
  add_sms(facts, text);
  add_families(facts, text);
  add_programs(facts, text);
  add_versions(facts, text);
  add_frameworks(facts, text);
  for (const auto& framework : facts.frameworks) {
    if (framework.starts_with("torch==")) add_fact(facts.programs, std::string("PyTorch"));
    if (framework.starts_with("jax==")) add_fact(facts.programs, std::string("JAX"));
  }
  add_subject(facts, text);
  add_shape(facts.shape, text);
  static const RE2 engines("engineId[\"']*\\s*[:=]\\s*(\\d{1,4})\\b", any_case());
  each_match(engines, text,
             [&](const std::string& digits, const std::string&) { add_fact(facts.engines, number_of(digits)); });
  static const RE2 graphs(
      "\\b((?:[A-Za-z]+_){0,12}(?:Matmul|ConvFwd|ConvBwdData|ConvBwdFilter|SDPA_FWD|SDPA_BWD)_\\w*)");
  each_match(graphs, text, [&](const std::string& name, const std::string&) { add_fact(facts.graphs, name); });
  static const RE2 shapes("\\b(?:q|query)\\b[^\\[(\\d]{0,24}[\\[(] ?(\\d+, ?\\d+, ?\\d+, ?\\d+) ?[\\])]", any_case());
  each_match(shapes, text, [&](std::string shape, const std::string&) {
    std::erase(shape, ' ');
    add_fact(facts.shapes, shape);
    add_fact(facts.head_dims_qk, number_of(shape.substr(shape.rfind(',') + 1)));
  });
  static const RE2 head_dims_qk("\\bhead_?dim(?:_qk)?[\"']?\\s?[:=]\\s?(\\d+)\\b", any_case());
  each_match(head_dims_qk, text,
             [&](const std::string& digits, const std::string&) { add_fact(facts.head_dims_qk, number_of(digits)); });
  static const RE2 head_dims_v("\\bhead_?dim_v[\"']?\\s?[:=]\\s?(\\d+)\\b", any_case());
  each_match(head_dims_v, text,
             [&](const std::string& digits, const std::string&) { add_fact(facts.head_dims_v, number_of(digits)); });
  static const RE2 dtypes(
      "\\b(?:torch\\.|jnp\\.|dtype=|qkv_dtype: |(?:in|use|with|is|dtype|and|,) )(?:torch\\.)?"
      "(bfloat16|bf16|float16|fp16|half precision|half)\\b",
      any_case());
  each_match(dtypes, text, [&](const std::string& name, const std::string&, size_t at) {
    if (!is_demanded(text, at))
      add_fact(facts.dtypes, std::string(name.front() == 'b' || name.front() == 'B' ? "bf16" : "f16"));
  });
}

std::vector<std::string> cudnns_brought(const TextFacts& facts) {
  std::vector<std::string> versions;
  for (const auto& framework : facts.frameworks) try {
      for (const auto& chosen : rules::choose_gates({framework}, "the text")) {
        if (chosen.release == nullptr || !chosen.asked.empty()) continue;
        const std::string& pinned = chosen.release->cudnn;
        if (const auto version = CudnnVersion::parse(pinned.substr(0, pinned.rfind('.'))); version)
          add_fact(versions, version->text());
        else if (const auto short_one = CudnnVersion::parse(pinned); short_one)
          add_fact(versions, short_one->text());
      }
    } catch (const Error&) {
      continue;  // a release that no gate was read of
    }
  return versions;
}

std::string kernel_in_words(const std::string& name) {
  if (!is_kernel_of_attention(name)) return "of cuDNN, and not its attention";
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

std::string probe_options(const TextFacts& facts) {
  std::string options;
  const auto add = [&](const std::string& option) { options += " --" + option; };
  if (const auto graph = only(facts.graphs); graph && !is_other_operation(*graph)) {
    if (matmuls_of(*graph) == 5) add("pass bprop");
    if (matmuls_of(*graph) == 2 && graph->find("LOG") != std::string::npos) add("pass fprop_train");
  } else if (facts.shape.is_backward) {
    add(facts.shape.is_forward ? "pass fprop_train,bprop" : "pass bprop");
  }
  const auto add_one = [&](const char* option, const std::vector<int64_t>& values) {
    if (const auto value = only(values)) add(fmt::format("{} {}", option, *value));
  };
  add_one("batch", facts.shape.batches);
  add_one("heads", facts.shape.heads);
  if (facts.shape.heads.size() == 1) add_one("heads-kv", facts.shape.heads_kv);
  add_one("seqlen", facts.shape.seqlens);
  const auto qk = only(facts.head_dims_qk);
  const auto v = only(facts.head_dims_v);
  if (qk && v && *qk != *v) {
    add(fmt::format("head-dim-qk {}", *qk));
    add(fmt::format("head-dim-v {}", *v));
  } else if (qk) {
    add(fmt::format("head-dim {}", *qk));
  } else if (facts.head_dims_qk.empty()) {
    add_one("head-dim", facts.shape.head_dims);
  }
  if (const auto dtype = only(facts.dtypes)) add("dtype " + *dtype);
  if (facts.shape.is_causal && !facts.shape.is_not_causal) add("mask causal");
  if (const std::string gpu = facts.target(); !gpu.empty()) add("target " + gpu);
  return options;
}

}  // namespace attnprobe::diagnose
