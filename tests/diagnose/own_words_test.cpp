// What a text says itself: its writer's cause and remedy, its message's condition, its settings, its shape, and what fails beside an attention.
#include "diagnose/own_words.hpp"

#include "answer_to_text.hpp"
#include "catch.hpp"
#include "diagnose/candidates.hpp"
#include "diagnose/other_failures.hpp"
#include "diagnose/stated.hpp"
#include "diagnose/text_shape.hpp"
#include "diagnose/torch_kernels.hpp"

namespace attnprobe::test::own_words_test {

using namespace attnprobe::diagnose;

TEST_CASE("The writer's own cause and what works are quoted from prose alone", "[readings]") {
  const OwnWords words = own_words_in(
      "[Bug] FA3 decode is wrong\n"
      "It crashes with page size 128. The same input works fine with the triton backend. I expect it to work.\n"
      "The root cause is that the loader assumes 64 tokens a page.\n"
      "File \"a.py\", line 3, in f because of this\n"
      "x = f(y)  # works fine with this one, too\n"
      "Restarting the server did not help, nothing works with it.\n"
      "Is it due to my driver?\n");
  CHECK(words.why == std::vector<std::string>{"The root cause is that the loader assumes 64 tokens a page."});
  CHECK(words.works == std::vector<std::string>{"The same input works fine with the triton backend."});
  CHECK(own_words_in("").why.empty());
  CHECK_FALSE(has_prose("    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)"));
  CHECK_FALSE(has_prose("2025-01-01 12:00:00 INFO Using the attention backend that was asked for by you"));
  CHECK(has_prose("I get another result than with the attention that I wrote myself."));
}

TEST_CASE("What a message asks for is the next step", "[readings]") {
  CHECK(stated_way_out("AssertionError: Only {'triton', 'fa4'} backends are supported on this GPU. Got x.") ==
        "AssertionError: Only {'triton', 'fa4'} backends are supported on this GPU.");
  CHECK(stated_way_out("Something failed. Please use a different prefill backend.") ==
        "Please use a different prefill backend.");
  CHECK(stated_way_out("Supported flash-attn versions are >= 2.1.1, <= 2.8.1. Found flash-attn 2.8.3.") ==
        "Supported flash-attn versions are >= 2.1.1, <= 2.8.1.");
  CHECK(stated_way_out("CUDA error: invalid argument. Please report it at https://x.y").empty());
  CHECK(stated_way_out("").empty());
  const TextAnswer answer = answer_to(
      "sglang serve fails on B300:\n"
      "AssertionError: Only {'trtllm_mha', 'fa4'} backends are supported for hybrid models. Got attention_backend=flashinfer.");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().who == "SGLang");
  CHECK_THAT(answer.refusals.front().next, ContainsSubstring("'trtllm_mha', 'fa4'"));
}

TEST_CASE("What the text sets is a cause, and what it names as a value is no owner", "[readings]") {
  const auto settings =
      deciding_settings("os.environ['NVTE_FUSED_ATTN'] = '0'\ntorch.use_deterministic_algorithms(True)\n");
  REQUIRE(settings.size() == 2);
  CHECK_THAT(settings[0], ContainsSubstring("NVTE_FUSED_ATTN'] = '0 is set: it switches"));
  CHECK(deciding_settings("NVTE_FUSED_ATTN=1").empty());
  CHECK(without_values("Only {'fa4'} of --attention-backend fa3 and impl=sage").find("fa") == std::string::npos);
}

TEST_CASE("What fails beside an attention is said to be something else", "[readings]") {
  const auto other = read_other_failure(
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 3, in <module>\n"
      "    x = torch.randn(2, 8, 4096, 64)\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 300 GiB\n");
  REQUIRE(other);
  CHECK(other->id == "other-other_line");
  CHECK_THAT(other->means, ContainsSubstring("torch.randn(2, 8, 4096, 64)"));
  // An attention's own file is near: it is the attention's.
  CHECK_FALSE(
      read_other_failure("Traceback (most recent call last):\n"
                         "  File \"flash_attn_interface.py\", line 3, in f\n"
                         "    x = torch.empty(2, 8)\n"
                         "RuntimeError: CUDA out of memory\n"));
  CHECK(read_other_failure("Building CUDA object fused_attn/arbitrary_seqlen.cu.o\nnvcc -O3 x.cu\nKilled\n")->id ==
        "other-build_killed");
  CHECK_FALSE(read_other_failure("the attention is slow"));
}

TEST_CASE("Of a list of refused kernels the nearest one leads", "[readings]") {
  const auto nearest = read_candidates(
      "No operator found for memory_efficient_attention_forward with inputs:\n"
      "fa3F@0.0.0 is not supported because:\n"
      "  requires device with capability > (9, 0) but your GPU has capability (8, 9) (too old)\n"
      "  operator wasn't built\n"
      "cutlassF-pt is not supported because:\n"
      "  attn_bias.stride(-2) % 8 != 0\n"
      "  HINT: slice a bigger tensor\n");
  REQUIRE(nearest);
  CHECK_THAT(nearest->headline, ContainsSubstring("cutlassF-pt is the one that comes nearest"));
  CHECK(nearest->next == "slice a bigger tensor");
  CHECK_FALSE(read_candidates("nothing of it"));
}

TEST_CASE("PyTorch's warnings are read kernel by kernel, and what the program switched off is no reason",
          "[readings]") {
  const TextAnswer answer = answer_to(
      "a.py:4: UserWarning: Memory efficient kernel not used because: (Triggered internally at x.cpp:718.)\n"
      "  out = F.scaled_dot_product_attention(q, k, v, attn_mask=m)\n"
      "a.py:4: UserWarning: Memory Efficient attention has been runtime disabled. (Triggered internally at x.h:495.)\n"
      "a.py:4: UserWarning: Flash attention kernel not used because: (Triggered internally at x.cpp:720.)\n"
      "a.py:4: UserWarning: Flash Attention does not support non-null attn_mask. (Triggered internally at x.h:269.)\n"
      "RuntimeError: No available kernel. Aborting execution.\n");
  REQUIRE_FALSE(answer.refusals.empty());
  const Refusal& first = answer.refusals.front();
  CHECK(first.id == "torch-kernels");
  CHECK(first.causes ==
        std::vector<std::string>{"Flash refuses: Flash Attention does not support non-null attn_mask."});
  CHECK_THAT(first.means, ContainsSubstring("switched off: Memory efficient"));
  CHECK_THAT(first.next, ContainsSubstring("EFFICIENT_ATTENTION and MATH"));
  CHECK_FALSE(read_torch_kernels("Flash attention kernel not used because:"));
}

TEST_CASE("Shapes are read in prose", "[readings]") {
  TextShape shape;
  add_shape(shape,
            "bf16, head size of 256, seq_len=4096, 32 heads, 8 KV heads, batch size 2, causal, backward on A100");
  CHECK(shape.head_dims == std::vector<int64_t>{256});
  CHECK(shape.seqlens == std::vector<int64_t>{4096});
  CHECK(shape.heads == std::vector<int64_t>{32});
  CHECK(shape.heads_kv == std::vector<int64_t>{8});
  CHECK(shape.batches == std::vector<int64_t>{2});
  CHECK(shape.is_causal);
  CHECK(shape.is_backward);
  CHECK_FALSE(shape.is_forward);
  TextFacts facts;
  add_facts(facts, "Does cuDNN take head_dim 256 backward in bf16 on an A100, causal, 32k tokens?");
  CHECK(probe_options(facts) == " --pass bprop --seqlen 32768 --head-dim 256 --dtype bf16 --mask causal --target a100");
}

}  // namespace attnprobe::test::own_words_test
