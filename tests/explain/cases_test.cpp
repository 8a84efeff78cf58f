// Short reports with several facts, of which only some are the failing call's. Each row has the answer's id.
#include <algorithm>
#include <string>

#include "answer_to_text.hpp"
#include "catch.hpp"

namespace attnprobe::test::cases_test {

namespace {

void check_ids(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(id_for(row.text) == row.id);
  }
}

// The fields that were read: "… (line 1)".
std::string read_in(const std::string& text) {
  const explain::TextAnswer answer = asked_answer_to(text);
  return answer.told.empty() ? "" : answer.told.front();
}

}  // namespace

TEST_CASE("Trouble is recognised in more words", "[explain]") {
  check_ids({
      {"B200, torch 2.11.0, 28 query heads and 4 kv heads of 128, bf16, sdpa: the model stutters during decoding.",
       "decode_kv_heads_blackwell"},
      {"GH200, cuDNN 9.17: dropout 0.1 in cuDNN's attention is biased, the average of O is 0.972.",
       "dropout_resolution"},
      {"H100, cuDNN 9.16.0, THD, head dim 192, causal, bf16: dK and dV are off by a factor, O itself is fine.",
       "ragged_bprop_wide_hopper"},
      {"With CUDNN_ATTENTION on an H100 (torch 2.11) each token costs 45 ms, the same length again 0.2 ms.", "plans"},
      {"RSS of the server climbs for days, all of it under run_cudnn_SDP_fprop. L40S, torch 2.13, sdpa.", "plans"},
      {"NVTE_ALLOW_NONDETERMINISTIC_ALGO=0, TE 2.14, H100: OutOfMemoryError in fused_attn_bwd, 256.00 GiB",
       "deterministic-workspace"},
      {"MATH repeats words as well. B300, cuDNN 9.26, torch 2.15.0, sdpa; on CPU in fp32 too.", ""},
  });
}

TEST_CASE("Only the failing call's values are read", "[explain]") {
  CHECK(read_in("cuDNN 9.19 attention on an A100 fails: bf16, q has 32 heads and k, v have 8, d=64, 960 tokens. Length "
                "1024 has run for days.") ==
        "dtype bf16, heads_q 32, heads_kv 8, head_dim_qk 64, seqlen_q 960 (line 1)");
  CHECK(read_in("cuDNN attention refused on an A100: d_v=192, sorry, d_v=128; d_qk=192, bf16") ==
        "dtype bf16, head_dim_v 128, head_dim_qk 192 (line 1)");
  CHECK(read_in("cuDNN attention fails on an H100 with (2048, 2, 16, 64) sbhd in bf16, causal: why?")
            .starts_with("dtype bf16, batch 2, heads_q 16, seqlen_q 2048, head_dim_qk 64"));
  CHECK(read_in("cuDNN attention on an A100 is wrong: window 128 left / 96 right, 12 heads x 64, bf16, 4096 tokens") ==
        "dtype bf16, mask {\"window_left\":128,\"window_right\":96}, heads_q 12, head_dim_qk 64, seqlen_q 4096 "
        "(line 1)");
  CHECK(read_in("cuDNN attention fails on an A100, each query looks back 256 keys, bf16, 2048 tokens, d=64")
            .find("\"window_left\":255") != std::string::npos);
}

TEST_CASE("What a program's call leaves out decides at its gate", "[explain]") {
  check_ids({
      {"torch 2.8 H100\nq: (2, 32, 1024, 128)  k: (2, 8, 1024, 128)  bf16\nsdpa_kernel(SDPBackend.CUDNN_ATTENTION): "
       "F.scaled_dot_product_attention(q, k, v, is_causal=True) -> No available kernel.",
       "torch:gqa_not_enabled_before_2_14"},
      {"A learned bias, so attn_mask needs grad: cuDNN is silently skipped. torch 2.10, H100, b=4 h=16 s=512 d=64",
       "torch:mask_requires_grad"},
      {"flashinfer batch_prefill with backend=\"cudnn\" and q in fp8 raises on a B200, nvidia-cudnn-cu13 9.16.0.",
       "flashinfer:prefill_fp8"},
      {"float32 q, k, v with cuDNN attention in diffusers 0.42.1, H100: supported?", "torch:dtype"},
      {"CUDA.jl's cuDNN.jl 6.3: attention with a bias in Float16 throws. What may I pass?", "cudnn.jl:bias"},
  });
  const auto set = asked_answer_to(
      "sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]) on a 5090 with torch 2.13: flash always");
  REQUIRE(!set.refusals.empty());
  CHECK(set.refusals.front().headline.find("without set_priority the list is a set") != std::string::npos);
}

TEST_CASE("Messages with values are held against the rules that share them", "[explain]") {
  check_ids({
      {"NotImplementedError: Unsupported sequence length Q 577, KV 577 and head dim 64.\njax 0.4.38, A100",
       "jax-seq-len"},
      {"Deterministic algorithm is not supported on blackwell architecture when dbias, rng/dropout, alibi is enabled",
       "fe-deterministic-features"},
      {"  File \"/env/lib/python3.11/site-packages/keras/src/backend/jax/nn.py\", line 1484, in f\nRuntimeError: "
       "Require at least Ampere arch to run\nV100",
       "keras:ampere"},
      // The gate keeps this call from cuDNN, so that another call failed.
      {"RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.\ntorch 2.5.0, "
       "RTX 3090, head_dim 512",
       "fe-no-plans-support"},
      {"E cuda_dnn.cc:456] Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0.\nJaxRuntimeError: "
       "FAILED_PRECONDITION: DNN library initialization failed.",
       "xla-cudnn-version"},
  });
}

TEST_CASE("Another program's kernel is its own matter", "[explain]") {
  check_ids({
      {"xformers.ops.memory_efficient_attention on a T4 says: No operator found. Is cudnn too old?", "another-kernel"},
      {"flash_attn_varlen_func, RTX 3090, fp16: q.grad has NaN. Is that cudnn's fault?", "another-kernel"},
      {"cudnn.DSA.sparse_attention_backward_wrapper, H200, cuDNN 9.25: NaN in dq where topk_idxs is -1",
       "another-kernel"},
      {"MI300X, torch 2.11.0+rocm7.1: sdpa's backward gives NaN with 1088 keys. The H100 report with cudnn is the same.",
       "other-maker"},
      {"RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.\n  File \"decoder.py\", line 112, in forward\n    out = "
       "self.lstm(x)\n# x comes from attention over the encoder states",
       "status-not-supported"},
  });
  CHECK(asked_answer_to("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.\n  File \"decoder.py\", line 112, in "
                        "forward\n    out = self.lstm(x)\n# x comes from attention over the encoder states")
            .refusals.front()
            .headline == "It failed in cuDNN or CUDA, but not in attention: the text is about a recurrent network");
}

TEST_CASE("Of several values, the refused one is asked about, but none of before", "[explain]") {
  check_ids({
      {"mlx 0.32 on an H100: cuDNN kernels run with head_dim 128, but not with head_dim 256. Where is the limit?",
       "mlx:head_dim"},
      {"torch 2.15, RTX 4090, CUDNN_ATTENTION, bf16, [2,16,4096,128]: we went from head dim 256 to 128, and now it "
       "runs. Can I remove the fallback?",
       ""},
      {"torch 2.15 on an H200, d=256, bf16: \"head_dim should be no more than 128\" went away after the move. Why?",
       ""},
      {"torch 2.13, cuDNN 9.24.0, H100, bf16: cross-attends to 192 text tokens, q.grad has NaN, k.grad is finite.",
       "bprop_negative_lse_hopper"},
  });
  CHECK(read_in("cuDNN attention on an H100 fails: bf16, d=128, 4096 tokens, nothing ragged, than the causal run")
            .find("mask") == std::string::npos);
  CHECK(
      read_in("q = [1,16,1024,64] fp16, cuDNN attention on an H100, torch 2.15, refused. dropout=0.1 only in training")
          .find("dropout") == std::string::npos);
  CHECK(read_in("cuDNN attention on an H100 fails: hidden size 5120, 40 heads, bf16") ==
        "dtype bf16, heads_q 40, head_dim_qk 128 (line 1)");
  CHECK(read_in("cuDNN attention fails on half of an A100, d=64, 4096 tokens").find("f16") == std::string::npos);
}

TEST_CASE("A refusal by another program is not taken for one of attention", "[explain]") {
  check_ids({
      {"RuntimeError: cuDNN error: CUDNN_STATUS_BAD_PARAM (in _cudnn_rnn)\nLSTM with attention, head_dim 64, dropout 0.2, "
       "GTX 1080, torch 2.3. Which parameter is bad?",
       "status-bad-param"},
      {"torch.onnx.errors.UnsupportedOperatorError: Exporting 'aten::scaled_dot_product_attention' is not supported.\n"
       "torch 2.1, heads 12 x 64, Jetson Orin. Does it export with cudnn sdp off?",
       "raised-outside"},
      {"RuntimeError: p.attn_bias_ptr is not correctly aligned\ntorch 2.4, A10G, q (2, 8, 4096, 40), a sliced mask",
       "torch-efficient-bias"},
      {"ImportError: cannot import name x from torch.nn.attention\ntorch 2.9, RTX 4090, head_dim 256, sdpa. Why?", ""},
      {"torch 2.14, cuDNN 9.24, H100, bf16, sdpa, boolean mask, 512 queries, 1088 keys, d=64: dQ is NaN. We suspected rows "
       "that are fully masked, but there are none.",
       "bprop_negative_lse_hopper"},
      {"torch 2.11.0, cuDNN 9.19, B200, bf16, sdpa, decode of one query, 28 query heads and 4 kv heads of 128: the output is wrong, it does not match "
       "the math backend with the same inputs.",
       "decode_kv_heads_blackwell"},
      {"torch 2.13, H100, sdpa: overfitting with attention dropout 0.1. Should I go up to 0.3?", ""},
      {"Failed to determine best cudnn convolution algorithm for %cudnn-conv.3 f32[64,64,112,112], __cudnn$convForward: "
       "CUDNN_STATUS_EXECUTION_FAILED. ViT with self-attention, RTX 3080.",
       "status-execution-failed"},
  });
}

TEST_CASE("Of several GPUs, a call is asked about on the one that refuses it", "[explain]") {
  CHECK(
      id_for(
          "fp8 attention training on H100, TE 2.16, cuDNN 9.16. Model A: 16 heads of 128 -> FusedAttention is selected. "
          "Model B: 32 heads of 64, seq 2048, causal, bshd, delayed scaling, falls back to unfused. The B200 trains both. "
          "Is it the number of heads?") == "transformer-engine:table_fp8_shape");
  // PyTorch's build for CUDA 12.8 has another cuDNN than the package index's.
  const auto build = asked_answer_to("torch 2.7.1+cu128, RTX 5090, cudnn attention, bf16, d=64: refused");
  CHECK(
      std::ranges::any_of(build.told, [](const auto& fact) { return fact.find("cuDNN 9.7.1") != std::string::npos; }));
}

TEST_CASE("What only a program's gate asks is read from prose and source", "[explain]") {
  check_ids({
      {"TransformerEngine 2.10, RTX 4090, inference with InferenceParams: FusedAttention is never used.",
       "transformer-engine:kv_cache_sm89"},
      {"torchrun pretrain_gpt.py --num-attention-heads 40 --num-query-groups 8 --seq-length 32768 --context-parallel-size "
       "4 --cp-comm-type p2p --window-size 4095,0 --bf16\nH200s, TE 2.15: FusedAttention is disabled.",
       "transformer-engine:cp_window"},
      {"torch 2.10.0, A100\nq = torch.randn(1, 12, 256, 64, device=\"cuda\", dtype=torch.bfloat16)\nbias = "
       "torch.nn.Parameter(torch.zeros(1, 12, 256, 256, device=\"cuda\"))\n# q: (1, 12, 256, 64)\n"
       "with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):\n    F.scaled_dot_product_attention(q, q, q, attn_mask=bias)\n"
       "RuntimeError: No available kernel. Aborting execution.",
       "torch:mask_requires_grad"},
      {"A100, torch 2.15.0, bf16\nq/k/v: [8, 16, 1024, 64]\nattn_mask: [8, 1024, 1024] (bool)\n"
       "sdpa_kernel(SDPBackend.CUDNN_ATTENTION): No available kernel",
       "torch:mask_shape"},
      {"Jetson Xavier NX, torch 2.8.0: is cuDNN attention possible with 12 heads of 64, 197 tokens, fp16?",
       "torch:gpu"},
  });
  // Keras refuses the GPU with each JAX, and something else only with some.
  const auto keras =
      asked_answer_to("keras 3.11 with jax on a V100, cudnn 9.8: flash attention is refused, bf16, d=64");
  REQUIRE_FALSE(keras.refusals.empty());
  CHECK(keras.refusals.front().headline.find("this JAX") == std::string::npos);
}

TEST_CASE("The cause of a consequence is told first", "[explain]") {
  const auto driver = asked_answer_to(
      "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 12080).\n"
      "RuntimeError: No CUDA GPUs are available");
  REQUIRE_FALSE(driver.refusals.empty());
  REQUIRE(driver.refusals.front().causes.size() == 1);
  CHECK(driver.refusals.front().causes.front().starts_with("line 1: "));
  const auto types = asked_answer_to(
      "UserWarning: Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float, Key "
      "dtype: float, and Value dtype: float instead. (Triggered internally at sdp_utils_cpp.h:101.)\n"
      "RuntimeError: No available kernel. Aborting execution.");
  REQUIRE_FALSE(types.refusals.empty());
  REQUIRE_FALSE(types.refusals.front().causes.empty());
  CHECK(types.refusals.front().causes.front().ends_with("Value dtype: float instead."));
}

TEST_CASE("What others have or say is not the writer's", "[explain]") {
  check_ids({
      {"A10G, f16, head_dim 64, cuDNN forced with sdpa_kernel -> \"No available kernel\". My colleague has a T4 where it "
       "cannot work, but the A10G is Ampere! torch 2.7.1",
       ""},
      {"> user1: A100, head_dim 192, dropout 0.15, got \"No execution plans\"\n> user2: my driver was too old\n\n"
       "Mine: Tesla T4, f16, head_dim 64, torch 2.9, forced CUDNN_ATTENTION -> No available kernel. Aborting execution.",
       "torch:gpu"},
      {"triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840\nflex_attention on an RTX "
       "4090, torch 2.8. I saw \"CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT\" mentioned, the same?",
       "raised-outside"},
      {"The image's tag says cudnn9.10.0-devel, but torch.backends.cudnn.version() prints 91200. f16 SDPA via "
       "CUDNN_ATTENTION on H100 differs from MATH by 4e-4. Are we hit by the broken 9.10.0?",
       ""},
      {"GTX 1660 Ti, f16 attention, torch 2.1.2, cudnn 8.9.2: which cuDNN cures the black images of sdpa?",
       "architecture"},
  });
}

TEST_CASE("A switch of the same name and a demand that only warns do not refuse", "[explain]") {
  check_ids({
      {"torch.backends.cudnn.deterministic = True\n\ntwo runs of my GPT differ (RTX 3090, torch 2.8, bf16, is_causal, "
       "head_dim 64). So cuDNN attention ignores its own deterministic flag?",
       "accepted"},
      {"torch.use_deterministic_algorithms(True, warn_only=True) and the log says that cuDNN attention is used on our "
       "H100 (2.9.1). I thought torch turns it off (\"cuDNN SDPA is not deterministic\")? dQ differs.",
       "torch-deterministic-only-warns"},
      {"torch.use_deterministic_algorithms(True), H100, torch 2.9.1: UserWarning: cuDNN SDPA is not deterministic.",
       "torch:deterministic"},
  });
}

TEST_CASE("A call that works is not called refused for its rejected engine configs", "[explain]") {
  check_ids({
      {"w! CuDNN (v91900 75) function cudnnBackendFinalize() called:\nw!         Warning: "
       "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH; Reason: only sm12x GPUs are supported by this engine\n\nEverything runs "
       "and the results are right. What does this warning mean?",
       ""},
      {"T4: we know it can't, ignore it. H100: everything passes. L40S: the backward does not build. cudnn-frontend 1.14, "
       "cuDNN 9.11, bf16, batch 2, heads 8, 1024 x 1024, head dim 256, causal. Why?",
       "head_dim_bprop"},
  });
}

TEST_CASE("Dropout of another layer is not attention's", "[explain]") {
  CHECK(read_in("cuDNN attention on a B200 fails: bf16, head_dim 128, hidden_dropout 0.1, attention_dropout 0.0")
            .find("dropout") == std::string::npos);
  CHECK(
      read_in("cuDNN attention on a B200: bf16, head_dim 128, attention_dropout=0.0 works, attention_dropout=0.1 fails")
          .find("dropout 0.1") != std::string::npos);
}

TEST_CASE("A mask's own shape is asked about", "[explain]") {
  check_ids({
      {"My mask is a bool tensor of shape (8, 512, 512), q/k/v are torch.Size([8, 12, 512, 64]) in bf16. With "
       "CUDNN_ATTENTION only I get \"No available kernel\". torch 2.9.1, A100",
       "torch:mask_shape"},
      {"A100, torch 2.12, bf16, q/k/v: [4, 16, 256, 64], key padding mask [4, 256] as attn_mask, CUDNN_ATTENTION: No "
       "available kernel. Aborting execution.",
       "torch:mask_lengths"},
  });
}

TEST_CASE("An error that no message explains is not answered with support", "[explain]") {
  CHECK(id_for("cudnn 9.20, FP8 (e4m3) forward, d=128, 8 heads, 1024 tokens on an RTX 5090: is it supported?\n"
               "SomeLibraryError: attention is not possible") != "accepted");
}

}  // namespace attnprobe::test::cases_test
