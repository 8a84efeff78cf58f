// Reports in everyday words. Each row has the answer's id, "" where the text establishes nothing.
#include <string>

#include "answer_to_text.hpp"
#include "catch.hpp"

namespace attnprobe::test::wordings_test {

TEST_CASE("Wrong results, crashes and hangs in everyday words are known bugs", "[explain]") {
  const Row rows[] = {
      {"One sample of the batch has zero keys (length 0 in seq_len_kv), and its rows of O are NaN. A100, cuDNN 9.14, "
       "fp16, padding mask.",
       "empty_keys"},
      {"Attention backward with a key-only additive mask, shape [B,1,1,S]: dV is nowhere near the reference while the "
       "forward is correct. H200, cudnn 9.19, bf16. Expanded to [B,1,S,S] the gradients are right.",
       "bprop_bias_of_keys"},
      {"On our Hopper nodes dSink comes out as NaN: THD, ragged stats, v head dim 64, cuDNN 9.19.",
       "bprop_ragged_sink_64"},
      {"softcap in fp8 on a hopper card: output clearly wrong. cudnn 9.21, cap=30, head dim 128.",
       "fp8_softcap_hopper"},
      {"RTX 4090, 2048 keys, window of 256 without causal mask: illegal memory access with cuDNN 9.14.0, 9.13.1 is fine.",
       "9_14_0_window"},
      {"cuDNN 9.2.1, variable length (ragged) attention. Max abs error vs. PyTorch reference 0.3 on H100.",
       "ragged_9_1"},
      {"SIGFPE when my graph masks scores by a bool tensor through the score modifier. cudnn 9.21.", "boolean_mask"},
      {"GB300, cuDNN 9.21.0: a prefill with causal mask, 7000 tokens over 9000 keys, the kernel never returns.",
       "hang_sm103"},
      {"Segfault when I build the backward plan; batch 1, one head, one query token. cuDNN 9.27.0 on A100.",
       "bprop_one_row_crash"},
      {"Attention with a sink and a score modifier over packed sequences, cuDNN 9.28, H200: illegal memory access.",
       "modifier_sink_ragged"},
      {"cuDNN attention's backward is not deterministic: twice the same seed, and the loss differs in the fifth digit.",
       "bprop-varies"},
      {"The first sdpa with cudnn takes ~1.5s each time the sequence length changes, afterwards it is fast.", "plans"},
      // The release ships cuDNN 9.10.2, which does not have the bug of 9.15.
      {"torch 2.9.1, H100, cuDNN attention, q [2,8,1088,64] training: NaN", "bprop_kv_128"},
      {"cuDNN attention is fine. Our own Triton kernel gives wrong gradients on the H100 (cuDNN 9.16 is only the "
       "reference), 8 heads, 1000 keys, training.",
       ""},
      {"xformers returns NaN on H100, cuDNN 9.19 attention on the same inputs does not", ""},
      {"H100, cuDNN 9.16, bf16 causal attention over 1000 keys was wrong. Fixed on our side.", ""},
      {"pip install flash-attn fails on our H100 box with torch 2.9.1 and cuDNN", ""},
      {"cuDNN attention, 9.19, H100, 8 heads of 128, 1000 keys, training: it does not hang and no NaN so far. Is it "
       "fast?",
       ""},
      {"H100, cuDNN 9.16, training over 1000 keys, causal attention, is wrong, with the math backend just the same",
       ""},
      {"Our PostgreSQL planner builds a new plan for each new shape of query; plan building takes 300 ms. We store "
       "embeddings of a model that ran with cuDNN attention on an H100.",
       ""},
      {"DataLoader with 4 workers on H100 x 8, cuDNN 9.19, attention model: a worker is killed", ""}};
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(id_for(row.text) == row.id);
  }
  CHECK(
      asked_answer_to("Our LSTM gives CUDNN_STATUS_EXECUTION_FAILED on a 5090. The part with attention is unaffected.")
          .refusals.at(0)
          .headline == "It failed in cuDNN or CUDA, but not in attention: the text is about a recurrent network");
}

TEST_CASE("Refusals by cuDNN in everyday words", "[explain]") {
  const Row rows[] = {
      {"Thor devkit, cuDNN 9.11: heuristics return nothing for any SDPA. The same program on a B100 works.", "sm110"},
      {"Training with sequence packing on 8x RTX 3090, cuDNN 9.15. Forward works, but the backward pass for the ragged "
       "layout has no execution plan.",
       "ragged_bprop_below_hopper"},
      {"Why does block-sparse (block mask) SDPA fail with cuDNN 9.18 on my H100?", "block_mask"},
      {"cuDNN 9.26.1 on H100: no engine supports fp32 attention.", "f32"},
      {"B200: dbias for thd is refused, cuDNN 9.22.", "dbias_ragged"},
      {"fp8 attention with bf16 output on an H100, cuDNN 9.12, is refused", "fp8_half_output"},
      {"CUDNN_STATUS_NOT_SUPPORTED from SDPA on a B300 with cuDNN 9.10.2", "sm103"}};
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(id_for(row.text) == row.id);
  }
  // An upper bound, and a bound below the first version that simulates GPUs.
  CHECK(asked_answer_to(rows[3].text).refusals.at(0).next == "use cuDNN 9.9.0 or newer, but older than 9.26.1");
  CHECK_THAT(asked_answer_to("bf16 attention on a B200: which cuDNN do I need?").refusals.at(0).headline,
             ContainsSubstring("needs cuDNN 9.7.0 or newer"));
  CHECK(asked_answer_to("cudnn 9.8: flash attention d=192 / dv=128 training on B200 is refused").refusals.at(0).next ==
        "use cuDNN 9.11.0 or newer");
}

TEST_CASE("Refusals and choices of frameworks in everyday words", "[explain]") {
  const Row rows[] = {
      {"Dropout of 0.1 in torch 2.12.1 on an H200. Since the update the trace says flash, not cuDNN.",
       "torch:dropout_sixteenths"},
      {"2.13.0+cu130, varlen_attn on a B200, bf16, 8 heads of 128: cuDNN is never picked.",
       "torch-varlen:not_asked_before_2_14"},
      {"H100, jax 0.9.1, cudnn attention under jax.grad, lengths of 577, 8 heads, 64 per head: raises",
       "jax:odd_length"},
      {"JAX 0.5.0 was happy on the H100. Then bumped jax to 0.6.2 on a B200: cudnn attention with head dim 256 fails",
       "jax:head_dim_0_5_1"},
      {"float32 bias to jax.nn.dot_product_attention with implementation cudnn while q, k and v are bfloat16. Jax 0.7.2 "
       "on H100: the loss is rubbish.",
       "jax:bias_type_not_declared"},
      {"Keras 3.12 on JAX 0.8.1, H100: keras' attention never runs cuDNN", "keras:call_of_check_is_flash_attention"},
      {"Can Keras with the torch backend run attention on cuDNN? H100", "keras:torch_backend"},
      {"Does vLLM use cuDNN for decoding attention on an H100?", "vllm:language"},
      {"TE 2.9, RTX 5090, thd: falls back to unfused attention, out of memory",
       "transformer-engine:thd_sm120_before_2_14"},
      {"torch 2.15 inside vllm 0.33, F.scaled_dot_product_attention, H100: the profile never shows cudnn",
       "torch:switched_off"},
      {"ValueError: Unsupported sequence length Q 2048, KV 2048 and head dim 256.\njax 0.4.38, A100, "
       "jax.nn.dot_product_attention(implementation='cudnn'), q of shape (2, 2048, 8, 256) bf16",
       "jax:head_dim_before_0_5"}};
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(id_for(row.text) == row.id);
  }
  CHECK_THAT(asked_answer_to("torch 2.9.1 -> 2.10.0, H100, attention: still flash, not cuDNN").refusals.at(0).headline,
             ContainsSubstring("PyTorch 2.10.0 uses cuDNN on sm_90 with cuDNN 9.10.2 only if you select it"));
  CHECK_THAT(asked_answer_to("TE jax 2.8 on an H100: attention is unfused. Do I have to switch it on?")
                 .refusals.at(0)
                 .headline,
             ContainsSubstring("NVTE_FUSED_ATTN is 0 by default"));
  CHECK(id_for("Does flash-attn 3 run on cuDNN on an H100?").empty());
}

TEST_CASE("What a working and a failing case share, and which of them failed", "[explain]") {
  const Row rows[] = {
      {"Head size 160 in all layers: training on H100 nodes is OK, but the B200 node answers \"no valid engine\" in the "
       "backward of our cuDNN attention. cuDNN 9.22.0 on both, bf16, causal, 8k tokens.",
       "head_dim_bprop_other"},
      {"cuDNN attention, fp8 forward, head dim 128, 32 heads:\nGPU  cuDNN  result\nH100  9.16  ok\nL4  9.16  no engine\n"
       "Is the L4 fixed by 9.18 as well?",
       "fp8"},
      {"cuDNN 9.26 refuses block_mask on my H200, and the GB300 takes it. Is the H200 too old?", "block_mask"},
      {"Jetson AGX Orin, cuDNN 9.20, training of packed sequences (ragged). The forward plan builds. The backward plan "
       "doesn't.",
       "ragged_bprop_gpu"},
      {"Token by token generation with grouped heads (32 query, 8 kv) and a causal mask. On two A100s with cuDNN 9.20 the "
       "text is gibberish, on an H100 with the same library it's fine. No paging.",
       "decode_causal_gqa"},
      {"Attention with a sink, causal, 16 heads of 128, 2048 tokens, bf16, cuDNN 9.10.2 on an H100 is refused. Why?",
       "sink"}};
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(id_for(row.text) == row.id);
  }
}

TEST_CASE("A question is answered only if each of its features is read", "[explain]") {
  CHECK(id_for("Does cuDNN 9.22 attention work on an L40S with fp8, 16 heads of 128, 2048 tokens?") == "fp8");
  CHECK(id_for("Does cuDNN 9.22 attention work on an H100 with bf16, 16 heads of 128, 2048 tokens?") == "accepted");
  const explain::TextAnswer unread = asked_answer_to(
      "Does cuDNN 9.22 support attention with a tree mask on an H100, bf16, 16 heads of 128, 2048 tokens?");
  CHECK(unread.refusals.empty());
  CHECK_THAT(unread.missing, ContainsSubstring("\"tree mask\""));
  // Several GPUs or cuDNNs, or a GPU of another maker.
  const std::string several = "We have H100, L40S and A100. Does cuDNN 9.22 attention run ";
  CHECK_THAT(asked_answer_to(several + "bf16 with 16 heads of 128, 2048 tokens?").refusals.at(0).headline,
             ContainsSubstring("supports this attention on h100, l40s, a100"));
  CHECK(id_for(several + "fp8 with 16 heads of 128, 2048 tokens?") == "fp8");
  CHECK(id_for("Does cuDNN 9.10 run attention on a GTX 1080 Ti, fp16, 16 heads of 64, 1024 tokens?") == "architecture");
  CHECK(id_for("Isn't fp8 attention possible on an L40S with cuDNN 9.22, 16 heads of 128, 2048 tokens?") == "fp8");
  CHECK(id_for("Does cuDNN 9.22 take bf16 attention with 16 heads of 128, 2048 tokens and 77 of them on an H100?")
            .empty());
  CHECK(id_for("Does cuDNN attention run on Moore Threads S4000? We used it on A800.") == "other-maker");
  CHECK(asked_answer_to(
            "GB200 and cuDNN 9.10.1, bf16 attention, 24 heads of 128, 4096 tokens: \"SDPA FP16/BF16 forward is "
            "not supported on cuDNN 9.10.0/9.10.1 due to known bugs.\" Which one do I load?")
            .refusals.at(0)
            .next == "use cuDNN 9.10.2 or newer, which takes this call by rule");
}

TEST_CASE("The cuDNN that an attention needs has none of its known bugs", "[explain]") {
  CHECK(asked_answer_to("What is the minimum cuDNN for attention over a paged KV cache on an RTX 5090?")
            .refusals.at(0)
            .headline ==
        "No known cuDNN takes this attention without a known bug: the forward pass on rtx5090, by rule");
  const explain::TextAnswer window = asked_answer_to(
      "Which cuDNN do I need for attention over 2048 keys with a sliding window of 256, not causal, fp16, forward only, 8 "
      "heads of 64, on an H100?");
  REQUIRE_FALSE(window.refusals.empty());
  CHECK_THAT(window.refusals.front().headline, ContainsSubstring("9.14.0"));
  CHECK(id_for("Which cuDNN do I need for attention with a tree mask on an H100?").empty());
}

TEST_CASE("Lines before an error that forwards them are its causes", "[explain]") {
  const explain::TextAnswer answer = asked_answer_to(
      "[DEBUG    | DotProductAttention]: Disabling FusedAttention for context parallelism with softmax_type = learnable "
      "and cp_comm_type = p2p\nValueError: No dot product attention backend is available for the provided inputs.");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().id == "te-no-backend");
  CHECK(answer.refusals.front().next == "use cp_comm_type a2a");
  REQUIRE(answer.refusals.front().causes.size() == 1);
  CHECK_THAT(answer.refusals.front().causes.front(), StartsWith("line 1: Disabling FusedAttention"));
  // Memory that ran out elsewhere is not attention's.
  const std::string out = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
  CHECK(id_for("model.from_pretrained(name, attn_implementation=\"sdpa\")\noptimizer.step()\n" + out).empty());
  CHECK(id_for("  File \"m.py\", line 3, in forward\n    x = F.scaled_dot_product_attention(q, k, v)\n" + out) ==
        "out-of-memory-in-attention");
}

TEST_CASE("A feature that a text denies is not read", "[explain]") {
  const explain::TextAnswer denied = asked_answer_to(
      "Transformer Engine 2.12, H100, no bias, no dropout, causal, 16 heads of 128, 4096 tokens, bf16: is it fused?");
  REQUIRE_FALSE(denied.told.empty());
  CHECK_THAT(denied.told.front(), !ContainsSubstring("bias") && ContainsSubstring("causal"));
  const explain::TextAnswer list = asked_answer_to(
      "cuDNN 9.10.2 attention on an A100, bf16, 16 heads of 128, 2048 tokens, without padding mask, ALiBi or attention "
      "sink. No paged cache, ragged layout or block mask either, and deterministic=False. We removed the bias.");
  REQUIRE_FALSE(list.told.empty());
  for (const char* denied_one : {"mask", "alibi", "sink", "paged", "layout", "deterministic", "bias"})
    CHECK_THAT(list.told.front(), !ContainsSubstring(denied_one));
}

}  // namespace attnprobe::test::wordings_test
