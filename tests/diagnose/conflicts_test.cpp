// What a text tells of GPU, head dimension and releases against what kernels and messages ask for.
#include "diagnose/conflicts.hpp"

#include "answer_to_text.hpp"
#include "catch.hpp"
#include "diagnose/old_releases.hpp"
#include "diagnose/sentence_finder.hpp"
#include "diagnose/stated.hpp"
#include "diagnose/text_answer.hpp"
#include "support.hpp"

namespace attnprobe::test::conflicts_test {

using namespace attnprobe::diagnose;

namespace {

std::string all_of(const std::vector<Conflict>& conflicts) {
  std::string all;
  for (const Conflict& conflict : conflicts) all += conflict.what + (conflict.is_final ? " (final)\n" : "\n");
  return all;
}

std::string conflicts_of(const std::string& text, const std::string& message) {
  TextFacts facts;
  add_facts(facts, text);
  return all_of(conflicts_in(message, text, facts));
}

}  // namespace

TEST_CASE("A GPU that a message does not ask for is the cause", "[readings]") {
  const std::string only_datacenter = "AssertionError: Only SM 10.x and 11.x are supported";
  CHECK(conflicts_of("on an RTX 5090:\n" + only_datacenter, only_datacenter) ==
        "the text's GPU, NVIDIA GeForce RTX 5090 (sm_120), is not among those that the message asks for (final)\n");
  CHECK(conflicts_of("on a B200:\n" + only_datacenter, only_datacenter).empty());
  const std::string newer = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.";
  CHECK_THAT(conflicts_of("Tesla T4\n" + newer, newer), ContainsSubstring("NVIDIA T4 (sm_75), is not among those"));
  CHECK(conflicts_of("my H100\n" + newer, newer).empty());
  const std::string capability = "requires compute capability >= 8.9";
  CHECK_THAT(conflicts_of("RTX 3090\n" + capability, capability), ContainsSubstring("RTX 3090 (sm_86), is not among"));
  CHECK(conflicts_of("RTX 4090\n" + capability, capability).empty());
  const std::string one_family = "this kernel is only supported on Hopper GPUs";
  CHECK_THAT(conflicts_of("an A100\n" + one_family, one_family),
             ContainsSubstring("A100 SXM4 80GB (sm_80), is not among"));
  CHECK(conflicts_of("an H200\n" + one_family, one_family).empty());
  CHECK(conflicts_of("an A100\nrequires Adapters", "requires Adapters").empty());
  CHECK_THAT(conflicts_of("fails on Pascal with flash-attn", "fails"),
             ContainsSubstring("flash-attn is not for the text's GPU, one of Pascal"));
  // What it denies is no demand.
  CHECK(conflicts_of("RTX 3090\nnot supported on sm_90", "not supported on sm_90").empty());
}

TEST_CASE("A kernel that is for other GPUs than the text's is the cause", "[readings]") {
  CHECK_THAT(conflicts_of("FlashAttention-3 on an RTX PRO 6000", "invalid argument"),
             ContainsSubstring("FlashAttention 3 is not for the text's GPU, NVIDIA RTX PRO 6000"));
  CHECK(conflicts_of("FlashAttention-3 on an H100", "invalid argument").empty());
  CHECK_THAT(conflicts_of("06-fused-attention.py on my GTX 1080", "Assertion failed"), ContainsSubstring("sm_61"));
}

TEST_CASE("A head dimension that a message does not allow is the cause", "[readings]") {
  CHECK(conflicts_of("head_dim=288", "head dim must be at most 256") ==
        "the text's head dimension, 288, is above the 256 that the message allows (final)\n");
  CHECK(conflicts_of("head_dim=100", "head_dim must be a multiple of 8") ==
        "the text's head dimension, 100, is not a multiple of 8: 104 is the next one\n");
  CHECK(conflicts_of("head size 80", "Supported head sizes: [64, 96, 128]") ==
        "the text's head dimension, 80, is not among those that the message lists: 64, 96, 128\n");
  CHECK(conflicts_of("head_size = 576", "assert(head_size == 128 || head_size == 256)") ==
        "the text's head dimension, 576, is not among those that the message lists: 128, 256 (final)\n");
  CHECK(conflicts_of("head_dim=128", "head dim must be at most 256").empty());
}

TEST_CASE("A conflict leads, and what goes around it is said in the terms of who chose", "[readings]") {
  const TextAnswer answer = answer_to(
      "vLLM on an RTX 5090: the server dies as its vision attention asks for FlashAttention 3\n"
      "File \".../vllm_flash_attn/cute/flash_fwd_sm100.py\", line 142, in __init__\n"
      "AssertionError: Only SM 10.x and 11.x are supported\n");
  REQUIRE_FALSE(answer.refusals.empty());
  const Refusal& first = answer.refusals.front();
  REQUIRE_FALSE(first.causes.empty());
  CHECK_THAT(first.causes.front(),
             ContainsSubstring("sm_120), is not among those that the message asks for (by rule)"));
  CHECK_THAT(first.next, ContainsSubstring("--attention-backend") && ContainsSubstring("no build and no padding"));
}

TEST_CASE("No padding is advised above the largest head dimension", "[readings]") {
  const TextAnswer answer = answer_to(
      "RuntimeError: FlashAttention forward only supports head dimension at most 256\nhead_dim=512 on an H100\n");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK_THAT(answer.refusals.front().causes.at(0), ContainsSubstring("512, is above the 256"));
  CHECK(answer.refusals.front().help.find("pad the heads") == std::string::npos);
}

TEST_CASE("A release in the text that is older than what was read is said", "[readings]") {
  const auto old = old_releases("flash-attn 2.0.4, torch==2.0.0, xformers 0.0.20, later torch 2.1.0");
  REQUIRE(old.size() == 3);
  CHECK(old[0].text() ==
        "flash-attn 2.0.4 in the text is older than 2.8.3, the newest that was read: a bug of it may be mended");
  CHECK(old[1].name == "xFormers");
  CHECK(old[2].version == "2.1.0");  // the newest of those that it names
  CHECK(old_releases("flash-attn 2.8.1").empty());
  CHECK(old_releases("nothing of a release").empty());
}

TEST_CASE("What a message orders leads, whosever line it is", "[readings]") {
  CHECK(orders_something("[WARNING] Please specify CUTLASS location directory as environment variable CUTLASS_PATH"));
  CHECK(orders_something("Make sure to call tokenizer.padding_side = 'left' before tokenizing the input."));
  CHECK_FALSE(orders_something("AssertionError: Only SM 10.x and 11.x are supported"));
  const TextAnswer answer = answer_to(
      "EvoformerAttention is not compatible\n\n[WARNING] Please specify the CUTLASS repo directory as environment variable $CUTLASS_PATH\n");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK_THAT(answer.refusals.front().next, ContainsSubstring("CUTLASS_PATH"));
}

}  // namespace attnprobe::test::conflicts_test
