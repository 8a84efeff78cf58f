// Questions in prose: what is read from them, and who answers.
#include <algorithm>
#include <string>
#include <utility>

#include "answer_to_text.hpp"
#include "catch.hpp"
#include "explain/told_question.hpp"
#include "support.hpp"

namespace attnprobe::test::questions_test {

using namespace attnprobe::explain;

TEST_CASE("Without a release, a refusal that older releases lack does not explain slowness", "[explain]") {
  const std::string call = " on an H100: q.shape=(2, 16, 512, 64) bf16, dropout 0.1";
  const TextAnswer slow = asked_answer_to("PyTorch's cuDNN attention is slow" + call);
  CHECK(slow.refusals.empty());
  CHECK(slow.missing == "the release of PyTorch");
  CHECK_FALSE(asked_answer_to("PyTorch 2.15's cuDNN attention is slow" + call).refusals.empty());
  CHECK_FALSE(asked_answer_to("PyTorch's cuDNN attention is refused" + call).refusals.empty());
}

TEST_CASE("Packed sequences are PyTorch's only if they are nested", "[explain]") {
  const std::string text =
      "torch 2.9.0, H100: is packed sequence attention, bf16, head_dim 128, 16 heads, taken by cuDNN?";
  for (const auto& answer : {asked_answer_to(text), asked_answer_to("Transformer Engine with " + text)})
    for (const Refusal& refusal : answer.refusals) CHECK_FALSE(contains(refusal.headline, "nested"));
  CHECK_THAT(asked_answer_to("Nested tensors: " + text).refusals.at(0).headline, ContainsSubstring("nested"));
}

TEST_CASE("A question whether attention is supported at all is asked with usual sizes", "[explain]") {
  const TextAnswer supported = asked_answer_to("Is cuDNN attention supported on an RTX 4090 with PyTorch 2.9?");
  CHECK_THAT(supported.refusals.at(0).headline, ContainsSubstring("supports attention of usual sizes on rtx4090"));
  CHECK_THAT(supported.refusals.at(0).means, ContainsSubstring("only if you select it"));
  CHECK_THAT(asked_answer_to("Does cuDNN attention work on a T4 GPU?").refusals.at(0).headline,
             ContainsSubstring("needs Ampere"));
  CHECK(asked_answer_to("RTX 4090: how do I make cuDNN attention faster?").refusals.empty());
}

TEST_CASE("A question about the choice of a kernel is answered by the rule of the release", "[explain]") {
  const TextAnswer chosen = asked_answer_to("Transformer Engine 2.9, attention: does it use cuDNN by default?");
  CHECK_THAT(chosen.refusals.at(0).headline, ContainsSubstring("from Hopper on FusedAttention (cuDNN) before"));
  CHECK_THAT(chosen.refusals.at(0).next, ContainsSubstring("to exclude it: NVTE_FUSED_ATTN=0"));
  CHECK_THAT(asked_answer_to("torch.nn.attention.varlen in 2.15: how do I turn cuDNN off?").refusals.at(0).next,
             ContainsSubstring("enable_cudnn_sdp(False)"));
  CHECK(asked_answer_to("PyTorch attention with cuDNN is NaN. How do I turn that off?").refusals.empty());
  CHECK(asked_answer_to("How do I turn cuDNN attention off?").refusals.empty());
}

TEST_CASE("A question which cuDNN is needed is answered by every release's rules", "[explain]") {
  const TextAnswer packed = asked_answer_to(
      "Transformer Engine 2.20, RTX 5090, packed sequences (THD), fused attention. Which cuDNN do I need?");
  CHECK(
      packed.refusals.at(0).headline ==
      "This attention needs cuDNN 9.18.1 or newer: the forward pass with Transformer Engine 2.20.2 on rtx5090, by rule");
  CHECK_THAT(packed.refusals.at(0).means, ContainsSubstring("refuses THD on sm_120 with cuDNN 9.18.0"));
  CHECK_THAT(
      asked_answer_to("RTX 4090, bf16, causal attention: which cuDNN version supports it?").refusals.at(0).headline,
      ContainsSubstring(
          "Every known cuDNN 9 takes this attention, except 9.10.0, 9.10.1: the forward pass on rtx4090"));
  CHECK_THAT(asked_answer_to("bf16 attention on a T4: does any cuDNN support it?").refusals.at(0).headline,
             ContainsSubstring("No known cuDNN takes this attention: the forward pass on t4"));
  CHECK(asked_answer_to("RTX 4090, bf16 attention: which cuDNN is loaded?").refusals.empty());
}

TEST_CASE("Another kernel that runs instead is said at once", "[explain]") {
  const TextAnswer refused = asked_answer_to(
      "B200, Transformer Engine 2.20, cuDNN 9.19.0: training with head_dim 256 is refused by fused attention");
  CHECK_THAT(refused.refusals.at(0).headline, ContainsSubstring("FlashAttention or unfused attention runs instead"));
  CHECK_THAT(refused.refusals.at(0).means, ContainsSubstring("refuses it too"));
}

TEST_CASE("Features of another kernel and of a further question are not the call's", "[explain]") {
  const auto tells = [&](const std::string& text, const char* field) {
    return read_question(text, facts_of(text)).tells(field);
  };
  CHECK_FALSE(tells("FlashAttention aligns it bottom right, is cuDNN's attention the same?", "mask"));
  CHECK_FALSE(tells("cuDNN attention with a window is slow, although for plain causal it is the best", "mask"));
  CHECK_FALSE(tells("Which cuDNN attention is deterministic, and does it work with a bias?", "bias"));
  CHECK_FALSE(tells("Does cuDNN attention take packed sequences there? And does it work with a sink?", "sink"));
  CHECK(tells("Does cuDNN attention work with a bias?", "bias"));
  CHECK(facts_of("On SM100 the causal paged attention skips pages").sms == std::vector<int>{100});
  CHECK(facts_of("attention is supported on SM100").sms.empty());
  CHECK(facts_of("H100: attention on sm_100 differs").sms.empty());
  const std::string prefill = "Does cudnn_batch_prefill_with_kv_cache take head_dim 256?";
  CHECK(read_question(prefill, facts_of(prefill)).framework.starts_with("flashinfer"));
}

TEST_CASE("A refusal by an assumed cuDNN becomes the versions that take the call", "[explain]") {
  const TextAnswer training =
      asked_answer_to("B200, Transformer Engine, fused attention: training with head_dim 256 in bf16 is refused");
  CHECK_THAT(training.refusals.at(0).headline,
             ContainsSubstring("needs cuDNN 9.23.0 or newer: with Transformer Engine 2.20.2 on b200"));
  CHECK_THAT(training.refusals.at(0).means, ContainsSubstring("with cuDNN 9.22.0"));
  CHECK(asked_answer_to("Transformer Engine, fused attention: training with head_dim 256 in bf16 is refused")
            .refusals.empty());
}

TEST_CASE("The function and recipe in the text choose the gate's rules", "[explain]") {
  const std::string prefill = "Does FlashInfer's cudnn_batch_prefill_with_kv_cache take head_dim 256?";
  CHECK(read_question(prefill, facts_of(prefill)).call.at("call") == "prefill_cudnn");
  const TextAnswer fp8 =
      asked_answer_to("B200, Transformer Engine with fp8 current scaling, cuDNN 9.13: fused attention is refused");
  CHECK(fp8.refusals.at(0).id == "transformer-engine:fp8_current_cudnn");
  const std::string sums = "graph.sdpa with cu_seq_len_q and cu_seq_len_kv in cudnn-frontend, cuDNN 9.19";
  CHECK(read_question(sums, facts_of(sums)).tells("cu_seqlens"));
}

TEST_CASE("A score modifier is JAX's only in a question about JAX", "[explain]") {
  const std::string call =
      " dot_product_attention(q, k, v, score_mod=f) with cuDNN 9.26 on an H100, bf16, shape (2, 1024, 8, 64)";
  CHECK(asked_answer_to("jax 0.11.0," + call + ": does it work?").refusals.at(0).id == "jax:no_score_mod");
  CHECK_FALSE(read_question("torch 2.9" + call, facts_of("torch 2.9" + call)).tells("score_mod"));
}

TEST_CASE("An accepted call answers neither why nor which", "[explain]") {
  const std::string call = "H100, JAX 0.7, bf16, cuDNN attention with q of shape (2, 4096, 16, 128). ";
  CHECK(asked_answer_to(call + "Does it support that?").refusals.at(0).id == "accepted");
  CHECK(asked_answer_to(call + "Why is it not faster?").refusals.empty());
  CHECK(asked_answer_to(call + "Which lengths does it take (1..16), and is that safe?").refusals.empty());
  CHECK(asked_answer_to("Does cuDNN attention work with packed sequences (t3hd) on an H100?").refusals.empty());
}

TEST_CASE("Facts are read in tables, calls and other scripts, and not from other words", "[explain]") {
  CHECK(facts_of("| cuDNN | 9.24.0 |").versions == std::vector<std::string>{"9.24.0"});
  CHECK(facts_of("PyTorch main, built against cuDNN 9.6.0").versions == std::vector<std::string>{"9.6.0"});
  CHECK(facts_of("torch.backends.cudnn.version() == 90100").versions == std::vector<std::string>{"9.1.0"});
  CHECK(facts_of("ubuntu系统 cuda12.1,torch2.5.1，cudnn9.13.0").frameworks == std::vector<std::string>{"torch==2.5.1"});
  CHECK(facts_of("| torch | 2.14.0+cu130 |").frameworks == std::vector<std::string>{"torch==2.14.0"});
  // NVIDIA's containers have another cuDNN than PyTorch's wheels.
  CHECK(cudnns_brought(facts_of("torch 2.6.0a0+df5bbc09d1.nv24.12")).empty());
  CHECK_FALSE(cudnns_brought(facts_of("torch 2.6.0")).empty());
  const auto tells = [&](const std::string& text, const char* field) {
    return read_question(text, facts_of(text)).tells(field);
  };
  CHECK(tells("cuDNN attention in decode steps with 8 heads", "seqlen_q"));
  CHECK_FALSE(tells("VAE decode runs out of memory in attention", "seqlen_q"));
  CHECK_FALSE(tells("attention on all-sink rows", "sink"));
  CHECK(facts_of("paged attention in cuDNN 9.13.1+").versions.empty());
  CHECK(facts_of("No matching distribution found for nvidia-cudnn-cu12==9.1.0.70").versions.empty());
  CHECK(facts_of("torch.backends.cudnn.version() -> 8500").versions == std::vector<std::string>{"8.5.0"});
  CHECK(facts_of("Torch 2.5.1 is required for this").frameworks.empty());
  CHECK(facts_of("attention needs SM80+\nRan on T4 GPU").gpus == std::vector<std::string>{"t4"});
  CHECK(facts_of("faster attention on Hopper GPUs").gpus.empty());
  CHECK(facts_of("attention on 5070TI").gpus == std::vector<std::string>{"rtx5070ti"});
  CHECK(tells("attention with Hq=32, Hkv=4", "heads_kv"));
  CHECK_FALSE(tells("attention with --quantization=fp8", "dtype"));
  CHECK_FALSE(tells("attention, -k 'not torch.float16'", "dtype"));
  CHECK_FALSE(tells("the class exposes none of `sinks` in attention", "sink"));
  CHECK_FALSE(tells("attention of FMHA-BHm-scale-bias-softmax", "bias"));
  CHECK_FALSE(tells("attention, Padded: 2160x3232px", "mask"));
  CHECK_FALSE(tells("attention with causal: false, is_causal=causal", "mask"));
  CHECK_FALSE(tells("out = attention_triton(q, k, v, causal, scale)", "mask"));
  CHECK(tells("attention with num_heads_q=64, num_heads_kv=16", "heads_q"));
  CHECK(facts_of("attention on compute capability 10.x").sms.empty());
  CHECK(facts_of("We need training on B200 with cuDNN attention").gpus == std::vector<std::string>{"b200"});
  CHECK(facts_of("We need a B200 for cuDNN attention").gpus.empty());
  CHECK_FALSE(facts_of("wrong on device `mps`, torch 2.8.0").other_gpus.empty());
  CHECK(tells("Which cuDNN gives deterministic fused attention?", "deterministic"));
  CHECK(tells("attention with softmax_type = learnable", "sink"));
  CHECK(tells("PyTorch attention with nested tensors", "layout"));
  CHECK(facts_of("cuDNN attention fails\n- V100: error\n- P100: No issue").sms.empty());
  CHECK_FALSE(tells("UserWarning: Query tensor was not in cuDNN-supported layout[2529280, 252928, 64, 1]", "batch"));
  CHECK(facts_of("The graph cache of cuDNN attention seems to grow without a bound").trouble == Trouble::compile_time);
  CHECK(tells("attention with num_heads_q=64, num_heads_kv=16", "heads_kv"));
  // 238 heads do not exist.
  CHECK_THAT(read_question("flash_attn q.shape=(1, 238, 8, 64)", {}).read_as(), ContainsSubstring("heads_q 8"));
  // Listed with another framework, PyTorch is not the one that computes.
  const std::string onnx =
      "pip install onnxruntime-gpu==1.24.4 torch==2.10.0: the Attention node with cuDNN runs on the CPU";
  CHECK(read_question(onnx, facts_of(onnx)).framework.starts_with("onnxruntime"));
  const std::string served = "vLLM 0.11.0, torch 2.9.0, GB10: the FLASHINFER attention backend with cuDNN crashes";
  CHECK_FALSE(read_question(served, facts_of(served)).framework.starts_with("torch"));
}

}  // namespace attnprobe::test::questions_test
