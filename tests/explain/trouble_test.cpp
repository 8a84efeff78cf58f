// Texts whose trouble is not a refusal, or not cuDNN's: no refusal is told as their cause.
#include <string>
#include <utility>

#include "answer_to_text.hpp"
#include "catch.hpp"
#include "explain/told_question.hpp"

namespace attnprobe::test::trouble_test {

using namespace attnprobe::explain;

TEST_CASE("A text about another vendor's GPU, or a build without CUDA, is not put to cuDNN", "[explain]") {
  for (const auto& [text, name] :
       {std::pair("[ROCm] no cuDNN attention, torch 2.9\nscaled_dot_product_attention(q, k, v) is slow", "ROCm"),
        std::pair("xpu: scaled_dot_product_attention gives NaN on XPU\n\nCUDA (tried on A10) is fine.", "XPU"),
        std::pair("NaN from scaled_dot_product_attention\nCUDA used to build PyTorch: None\nOS: macOS 15.6", "macOS"),
        std::pair("attention fails with torch 2.7.1+rocm6.3", "torch+rocm6.3"),
        std::pair("q = torch.rand(2, 4, 3, 8).to(torch.device('mps')); attention aborts", "macOS"),
        std::pair("bench --attention-backend torch_native --device xpu recompiles attention", "XPU")}) {
    INFO(text);
    const TextAnswer answer = asked_answer_to(text);
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(answer.refusals.front().id == "other-maker");
    CHECK_THAT(answer.refusals.front().headline, ContainsSubstring(name));
    CHECK(answer.asked.empty());
  }
  CHECK(asked_answer_to("attention with cuDNN fails on an H100, and works on ROCm").refusals.empty());
}

TEST_CASE("A refused call explains neither wrong numbers nor another error", "[explain]") {
  const std::string call = "torch 2.9.1, H100, scaled_dot_product_attention with q.shape=(2,16,4096,320) bf16 ";
  CHECK(asked_answer_to(call + "is slow").refusals.front().id == "torch:head_dim_2_9");
  CHECK(asked_answer_to(call + "gives NaN").refusals.empty());
  CHECK(asked_answer_to(call + "\nRuntimeError: bias_4d_view.stride(0) overflows").refusals.empty());
  // A release without cuDNN attention excludes cuDNN.
  const TextAnswer old = asked_answer_to("torch 2.0.0, H100, scaled_dot_product_attention gives NaN, head_dim 64 bf16");
  REQUIRE_FALSE(old.refusals.empty());
  CHECK_THAT(old.refusals.front().headline, StartsWith("cuDNN is not involved: PyTorch 2.0.0 does not ask cuDNN"));
}

TEST_CASE("A refusal quoted in a report of wrong numbers is not its cause", "[explain]") {
  const std::string said = "\"cuDNN doesn't support right window\"";
  CHECK(answer_to("JAX's cudnn attention gave wrong numbers. It also rejected a call with " + said + ".")
            .refusals.empty());
  CHECK_FALSE(answer_to("ValueError: cuDNN doesn't support right window").refusals.empty());
}

TEST_CASE("A status on the line of another operation is not attention's", "[explain]") {
  const std::string text =
      "The attention test fails: max|O-ref|=nan.\n\n- known: test_conv_bias.py / CUDNN_STATUS_NOT_SUPPORTED\n";
  CHECK(answer_to(text).refusals.empty());
  CHECK_FALSE(answer_to("cuDNN attention: CUDNN_STATUS_NOT_SUPPORTED").refusals.empty());
}

TEST_CASE("A gate's own message comes before a setting in the text", "[explain]") {
  const TextAnswer answer = answer_to(
      "We train with NVTE_ALLOW_NONDETERMINISTIC_ALGO=0; fused attention is not used.\n\n"
      "Warning: Given combination of sm_arch_ == 120 and cudnn_runtime_version < 91801 is not supported.  Please upgrade "
      "your cuDNN version if possible.\n");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().id == "te-cpp-warning");
}

TEST_CASE("A wrapper's stamps do not hide an error", "[explain]") {
  const std::string stamp = "[2024-09-19 20:41:26] [INFO] ";
  const TextAnswer answer = answer_to(
      stamp +
      "Could not load library libnvrtc.so.12. Error: libnvrtc.so.12: cannot open shared object file: No such file or directory\n" +
      stamp + "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.\n");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().id == "env-no-nvrtc");
}

TEST_CASE("Errors are told apart by the names in their messages", "[explain]") {
  for (const auto& [text, name] :
       {std::pair("RuntimeError: Function ScaledDotProductEfficientAttentionBackward0 returned an invalid gradient",
                  "PyTorch's memory-efficient attention"),
        std::pair("NotImplementedError: FlashInfer backend currently does not support attention sinks", "FlashInfer"),
        std::pair("triton.runtime.errors.OutOfResources: out of resource: shared memory in attention", "Triton"),
        std::pair("[rank0]:[E1127 ProcessGroupNCCL.cpp:616] Watchdog caught a timeout, attention step 3", "NCCL")}) {
    INFO(text);
    const TextAnswer answer = answer_to(text);
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(answer.refusals.front().headline == std::string(name) + " raised this; cuDNN was not involved");
  }
  // The message names cuDNN, although the deepest frame is of a program with kernels of its own.
  const TextAnswer demand = answer_to(
      "  File \"/app/tensorrt_llm/attention_backend/cudnn.py\", line 63, in __init__\n"
      "ImportError: cuDNN MXFP8 attention requires cuDNN library v9.21.0 or later.");
  REQUIRE_FALSE(demand.refusals.empty());
  CHECK(demand.refusals.front().id == "program-needs-cudnn");
}

TEST_CASE("A possible bug needs a text with a GPU and a cuDNN", "[explain]") {
  CHECK(asked_answer_to("TE 1.4 fused attention caused a NaN in the backward pass").bugs.empty());
  CHECK(asked_answer_to("cuDNN attention on an H200: the backward pass gives wrong gradients").bugs.empty());
}

TEST_CASE("Facts are read in tables, calls and other scripts, and not from other words", "[explain]") {
  const auto facts_of = [](const std::string& text) {
    TextFacts facts;
    add_facts(facts, text, 1);
    add_facts_of_page(facts, text);
    return facts;
  };
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
  // Listed with another framework, PyTorch is not the one that computes.
  const std::string onnx =
      "pip install onnxruntime-gpu==1.24.4 torch==2.10.0: the Attention node with cuDNN runs on the CPU";
  CHECK(read_question(onnx, facts_of(onnx)).framework.starts_with("onnxruntime"));
  const std::string served = "vLLM 0.11.0, torch 2.9.0, GB10: the FLASHINFER attention backend with cuDNN crashes";
  CHECK_FALSE(read_question(served, facts_of(served)).framework.starts_with("torch"));
}

}  // namespace attnprobe::test::trouble_test
