// What an answer must not say: texts about other operations, warnings that refuse nothing, wrong numbers, half texts.
#include <algorithm>
#include <string>

#include "answer_to_text.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "diagnose/sentence_finder.hpp"
#include "diagnose/text_answer.hpp"
#include "diagnose/text_facts.hpp"
#include "support.hpp"

namespace attnprobe::test::judged_texts_test {

using namespace attnprobe::diagnose;

namespace {

bool tells(const TextAnswer& answer, const std::string& words) {
  return std::any_of(answer.told.begin(), answer.told.end(),
                     [&](const std::string& fact) { return fact.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("The statuses of another operation are not explained as attention's", "[sentences]") {
  const std::pair<const char*, const char*> cases[] = {
      {"conv1d, conv2d: RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.", "a convolution"},
      {"cuDNN/cuBLASLt FP4 GEMM: cudnnGraphNotSupportedError: No execution plans support the graph",
       "a matrix product"},
      {"_cudnn_rnn_backward.default # RuntimeError: cuDNN error: CUDNN_STATUS_BAD_PARAM", "a recurrent network"},
      {"cudnn_conv_algo_search=HEURISTIC: CUDNN_FE failure 11: CUDNN_BACKEND_API_FAILED", "a convolution"}};
  for (const auto& [text, operation] : cases) {
    const TextAnswer answer = answer_to(text);
    INFO(text);
    REQUIRE_FALSE(answer.refusals.empty());
    for (const Refusal& refusal : answer.refusals) {
      CHECK_THAT(refusal.headline, ContainsSubstring("not in attention: the text speaks of " + std::string(operation)));
      CHECK(refusal.next.find("attnprobe probe") == std::string::npos);
      CHECK(refusal.causes.empty());
    }
    CHECK(tells(answer, operation));
  }
  // What the machine lacks it lacks for every operation.
  const TextAnswer machine = answer_to("CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED at the first Conv");
  REQUIRE_FALSE(machine.refusals.empty());
  CHECK(machine.refusals.front().layer == Layer::environment);
  CHECK(machine.refusals.front().next == "attnprobe doctor");
  // A word of attention is enough to be about attention.
  const TextAnswer attention = answer_to("sdpa beside a conv2d: No execution plans support the graph");
  REQUIRE_FALSE(attention.refusals.empty());
  CHECK_THAT(attention.refusals.front().headline, ContainsSubstring("cuDNN's engines refused"));
}

TEST_CASE("A headline says a refusal only where something refused", "[sentences]") {
  struct Case {
    const char *text, *id, *headline, *next;
  };
  const Case cases[] = {
      {"UserWarning: cuDNN SDPA backward got grad_output.strides() != output.strides(), attempting to materialize a "
       "grad_output with matching strides...",
       "torch-grad-copied", "PyTorch SDPA says what happened, and refuses nothing", "nothing has to be done"},
      {"RuntimeError: cuDNN SDPA expected grad_output.strides() == output.strides(), the previous step failed",
       "torch-grad-strides", "PyTorch's gate refused", "make the gradient contiguous"},
      {"the SDPA cuDNN backend silently corrupts greedy generation on B200", "cudnn-wrong-result",
       "Wrong numbers, and nothing refused", "attnprobe bugs --target b200 and --cudnn"},
      {"cuDNN SDPA gives NaN gradients", "torch-backward-nan", "Wrong numbers", "attnprobe probe --pass bprop"},
      {"on H100 the cuDNN attention is 10 times slower in decode", "cudnn-slow", "Slow, and nothing refused",
       "attnprobe tune"},
      {"cudnnGraphNotSupportedError: SDPA FP16/BF16 requires SM80 (Ampere) or newer architecture", "fe-gpu-too-old",
       "cudnn-frontend refused, before cuDNN was asked", "another attention backend"},
      {"failed with CUDNN_BACKEND_API_FAILED", "fe-error-code", "cudnn-frontend hands on a refusal",
       "attnprobe explain with the whole text"}};
  for (const Case& expected : cases) {
    const TextAnswer answer = answer_to(expected.text);
    INFO(expected.text);
    REQUIRE_FALSE(answer.refusals.empty());
    const Refusal& first = answer.refusals.front();
    CHECK(first.id == expected.id);
    CHECK_THAT(first.headline, ContainsSubstring(expected.headline));
    CHECK_THAT(first.next, ContainsSubstring(expected.next));
  }
}

TEST_CASE("A traceback without its last line is told to be one", "[sentences]") {
  const std::string frames =
      "Traceback (most recent call last):\n  File \"/env/jax/_src/nn/functions.py\", line 1238, in f\n    out = g(\n";
  const TextAnswer cut = answer_to(frames);
  CHECK(cut.refusals.empty());
  CHECK(tells(cut, "without its last line"));
  CHECK_FALSE(tells(answer_to(frames + "ValueError: no\n"), "without its last line"));
  CHECK_FALSE(tells(answer_to(frames + "KeyboardInterrupt\n"), "without its last line"));
  CHECK_FALSE(tells(answer_to("epoch 1\n"), "without its last line"));
}

TEST_CASE("A kernel of cuDNN's is told by its name", "[sentences]") {
  CHECK(kernel_in_words("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1") ==
        "cuDNN's attention, backward, for sm_90");
  CHECK(kernel_in_words("cudnn_generated_fort_native_sm120_matMul_pointwise_pointwise_knob_3_128x128x128_0_0") ==
        "of cuDNN, and not its attention");
  CHECK(tells(answer_to("Kernel: cudnn_generated_fort_native_sdpa_sm100_flash_fprop_f16_knob_3 <<<(1,1,1)>>>"),
              "cuDNN's attention, forward, for sm_100"));
}

TEST_CASE("A version of cuDNN in two parts is told too", "[sentences]") {
  CHECK(tells(answer_to("torch 2.11 with cuDNN 9.19 / B200"), "cuDNN 9.19"));
  CHECK_FALSE(tells(answer_to("with cuDNN 9.19.0"), "9.19, "));
}

}  // namespace attnprobe::test::judged_texts_test
