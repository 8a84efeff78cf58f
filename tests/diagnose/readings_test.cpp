// Words that no sentence of the catalogue knows: whose they are, what they are about, and what people tell.
#include <algorithm>
#include <set>

#include "answer_to_text.hpp"
#include "base/json.hpp"
#include "catch.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/sentence_finder.hpp"
#include "diagnose/text_answer.hpp"
#include "support.hpp"

namespace attnprobe::test::readings_test {

using namespace attnprobe::diagnose;

namespace {

struct Read {
  const char* text;
  const char* id;
  const char* who;
  const char* next;  // a part of it
};

}  // namespace

TEST_CASE("What words are read by can be read itself", "[readings]") {
  std::set<std::string> ids;
  for (const Symptom& symptom : readings().symptoms) {
    INFO(symptom.id);
    CHECK(ids.insert(symptom.id).second);
    CHECK(symptom.all.size() >= 2);  // one word alone is anybody's
    CHECK(symptom.within > 0);
    CHECK_FALSE(symptom.next.empty());
    for (const std::string& text : {symptom.next, symptom.also})
      CHECK(with_ways(text, {}).find('{' + std::string("off")) == std::string::npos);
  }
  ids.clear();
  for (const Matter& matter : readings().matters) {
    INFO(matter.id);
    CHECK(ids.insert(matter.id).second);
    CHECK_FALSE(matter.step.empty());
  }
  TextFacts facts;
  CHECK(with_ways("{off}", facts) == readings().ways.at("off").at(""));
  CHECK(with_ways("{probe}", facts) == "attnprobe with the shape");
  facts.programs = {"SGLang", "PyTorch"};
  CHECK(with_ways("{off}", facts) == readings().ways.at("off").at("SGLang"));
}

TEST_CASE("An error that no sentence knows is read: whose, about what, and what to do", "[readings]") {
  for (
      const Read& read : {
          Read{"Error running sage attention: Unsupported head_dim: 256, using pytorch attention instead.",
               "reading-head_dim", "SageAttention", "pad the heads"},
          Read{
              "LoweringException: ValueError: Number of shared query heads sharing the same KV head must be power of 2.\n"
              "  target: flex_attention",
              "reading-heads", "FlexAttention", "repeat K and V"},
          Read{
              "torch._inductor.exc.InductorError: RuntimeError: No valid triton configs.\n"
              "OutOfMemoryError: out of resource: triton_tem_fused_flex_attention_0\nRequired: 139776  Hardware limit: 101376",
              "reading-shared_memory", "FlexAttention", "BLOCK_M"},
          Read{
              "ImportError: /opt/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2E",
              "reading-abi", "flash-attn", "install the build for just this"},
          Read{"RuntimeError: derivative for aten::_scaled_dot_product_flash_attention_backward is not implemented",
               "reading-second_derivative", "PyTorch's flash attention", "MATH"},
          Read{"ModuleNotFoundError: No module named 'flash_attn'", "reading-missing", "flash-attn", "install it"},
          Read{
              "ValueError: TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.",
              "reading-gpu", "TensorRT-LLM", "Please use a different backend."},
          Read{"RuntimeError: This flash attention build does not support headdim not being a multiple of 32.",
               "reading-head_dim", "", "pad the heads"},
          Read{
              "UnsupportedOperatorError: Exporting the operator 'aten::scaled_dot_product_attention' to ONNX opset version 12 is "
              "not supported. Support for this operator was added in version 14",
              "reading-version", "torch.onnx", "version"},
      }) {
    const TextAnswer answer = answer_by_rule_to(read.text);
    INFO(read.text << "\n" << Json(answer).dump(1));
    REQUIRE_FALSE(answer.refusals.empty());
    const Refusal& first = answer.refusals.front();
    CHECK(first.id == read.id);
    CHECK(first.kind == SentenceKind::reading);
    CHECK_THAT(first.who, ContainsSubstring(read.who));
    CHECK_THAT(first.next, ContainsSubstring(read.next));
    CHECK_THAT(first.source, ContainsSubstring("by rule"));
  }
}

TEST_CASE("What people tell is read where no library says anything", "[readings]") {
  for (const Read& read : {
           Read{"cuDNN backend returns NaN in grad_q on H100", "told-nan", "", "bugs"},
           Read{"SDPA silently falls back to the math kernel when enable_gqa is passed", "told-fallback", "",
                "attnprobe --torch"},
           Read{"V100: the Triton attention kernel hangs during encoder profiling", "told-hang", "",
                "compiled kernels"},
           Read{"torch 2.11 sends that to cuDNN first, and cuDNN builds a new execution plan per shape, 0.44 s each",
                "told-plan_per_shape", "", "buckets"},
           Read{"scaled_dot_product_attention backwards: illegal memory access with large inputs",
                "told-illegal_access", "", "CUDA_LAUNCH_BLOCKING"},
           Read{"Is it normal that the bias parameter has no gradient with cudnn in jax.nn.dot_product_attention?",
                "told-no_gradient", "", "bias"},
           Read{"Any plan to support SDPA with head_dim=192 in cuDNN?", "told-support_question", "", "--head-dim 192"},
           Read{"How can I make sure that it really uses cuDNN flash attention?", "told-which_is_used", "",
                "attnprobe trace"},
       }) {
    const TextAnswer answer = answer_by_rule_to(read.text);
    INFO(read.text << "\n" << Json(answer).dump(1));
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(answer.refusals.front().id == read.id);
    CHECK_THAT(answer.refusals.front().next + answer.refusals.front().help, ContainsSubstring(read.next));
  }
}

TEST_CASE("A sentence that is known counts before what is read, a note after it", "[readings]") {
  const TextAnswer known = answer_to("cuDNN backend returns NaN\nNo execution plans support the graph.");
  REQUIRE_FALSE(known.refusals.empty());
  CHECK(known.refusals.front().id == "fe-no-plans-support");
  CHECK(std::none_of(known.refusals.begin(), known.refusals.end(),
                     [](const Refusal& refusal) { return refusal.kind == SentenceKind::reading; }));
  // A warning above the exception that matters.
  const TextAnswer warned = answer_to(
      "/x/transformer_engine/pytorch/attention.py:3051: UserWarning: window_size should be (-1, 0) or (>=0, 0) for "
      "attn_mask_type=causal\nTraceback (most recent call last):\n"
      "  File \"/x/transformer_engine/pytorch/attention.py\", line 2300, in __init__\n"
      "AssertionError: FlashAttention maximum version 2.5.8 is supported.");
  CHECK(warned.refusals.front().first_line == 4);
  CHECK(warned.refusals.front().who == "Transformer Engine");
  CHECK_THAT(warned.refusals.front().headline, ContainsSubstring("over flash-attn"));
}

TEST_CASE("What the text names goes into causes and commands", "[readings]") {
  const TextAnswer old_gpu = answer_to("On a T4 SDPA always falls back to the MATH backend; torch 2.10.0+cu128");
  CHECK_THAT(old_gpu.refusals.front().causes.at(0), ContainsSubstring("before Ampere"));
  CHECK_THAT(old_gpu.refusals.front().next, ContainsSubstring("--framework torch==2.10.0 --target t4"));
  const TextAnswer grouped = answer_to("SDPA falls back to MATH with enable_gqa=True");
  CHECK_THAT(grouped.refusals.front().causes.at(0), ContainsSubstring("enable_gqa"));
  // A cause of another GPU's is none.
  const std::string told = "cuDNN SDPA attention backward gives NaN gradients on ";
  CHECK(Json(answer_to(told + "B300").refusals.front().causes).dump().find("Hopper") == std::string::npos);
  CHECK(Json(answer_to(told + "H100").refusals.front().causes).dump().find("Hopper") != std::string::npos);
  // What is demanded is not what there is.
  const TextAnswer demanded =
      answer_to("RuntimeError: FlashAttention backward for head dim > 64 requires A100 or H100 GPUs");
  CHECK(Json(demanded.told).dump().find("GPU") == std::string::npos);
  const TextAnswer jax = answer_to("jax 0.7.2: cuDNN dot_product_attention returns NaN on H100 in the forward pass");
  CHECK(Json(jax).dump().find("enable_cudnn_sdp") == std::string::npos);
}

TEST_CASE("Known bugs of cuDNN that fit a text are named, those that do not are not", "[readings]") {
  const std::string text =
      "[SDPA] cuDNN backward returns NaN grad_q for seq_len % 128 == 64 with attn_mask on H100 (regression since 2.11)";
  const TextAnswer answer = answer_to(text);
  REQUIRE_FALSE(answer.bugs.empty());
  CHECK(answer.bugs.front().id == "bprop_negative_lse_hopper");
  CHECK_THAT(answer.refusals.front().next, ContainsSubstring("attnprobe bugs run bprop_negative_lse_hopper"));
  const auto names = [](const TextAnswer& of, const char* id) {
    return std::any_of(of.bugs.begin(), of.bugs.end(), [&](const BugInText& bug) { return bug.id == id; });
  };
  CHECK_FALSE(names(answer_to("cuDNN backward returns NaN grad_q on an A100"), "bprop_negative_lse_hopper"));
  CHECK_FALSE(names(answer_to("cuDNN 9.26.0: backward returns NaN grad_q on H100"), "bprop_negative_lse_hopper"));
  CHECK_FALSE(names(answer_to("cuDNN forward returns NaN on H100 at inference"), "bprop_negative_lse_hopper"));
  CHECK(answer_to("flash attention backward returns NaN on H100").bugs.empty());  // not of cuDNN
  // A feature that a bug needs has to be there.
  CHECK_FALSE(names(answer, "ragged_sink_bprop"));
}

TEST_CASE("What is about no attention is not read", "[readings]") {
  for (const char* text :
       {"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "loss is NaN after 100 steps",
        "RuntimeError: The size of tensor a (3) must match the size of tensor b (4)",
        "NCCL WARN Cuda failure 'out of memory'; the job hangs in all_reduce",
        "ModuleNotFoundError: No module named 'apex'", "conv2d is slower with cudnn.benchmark=True",
        "RuntimeError: GET was unable to find an engine to execute this computation in conv2d"}) {
    INFO(text);
    const TextAnswer answer = answer_to(text);
    CHECK(std::none_of(answer.refusals.begin(), answer.refusals.end(),
                       [](const Refusal& refusal) { return refusal.kind == SentenceKind::reading; }));
    CHECK(answer.bugs.empty());
  }
}

}  // namespace attnprobe::test::readings_test
