// Texts whose trouble is not a refusal, or not cuDNN's: no refusal is told as their cause.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "answer_to_text.hpp"
#include "catch.hpp"
#include "explain/text_calls.hpp"
#include "explain/told_question.hpp"
#include "support.hpp"

namespace attnprobe::test::trouble_test {

using namespace attnprobe::explain;

TEST_CASE("A text about another vendor's GPU, or a build without CUDA, is not put to cuDNN", "[explain]") {
  for (const auto& [text, name] :
       {std::pair("[ROCm] no cuDNN attention, torch 2.9\nscaled_dot_product_attention(q, k, v) is slow", "ROCm"),
        std::pair("xpu: scaled_dot_product_attention gives NaN on XPU\n\nCUDA (tried on A10) is fine.", "XPU"),
        std::pair("NaN from scaled_dot_product_attention\nCUDA used to build PyTorch: None\nOS: macOS 15.6", "macOS"),
        std::pair("attention fails with torch 2.7.1+rocm6.3", "torch+rocm6.3"),
        std::pair("q = torch.rand(2, 4, 3, 8).to(torch.device('mps')); attention aborts", "macOS"),
        std::pair("q = q.to(\"mps\")\nF.scaled_dot_product_attention(q, q, q) has a wrong shape", "macOS"),
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
        std::pair("[rank0]:[E1127 ProcessGroupNCCL.cpp:616] an error of attention step 3", "NCCL")}) {
    INFO(text);
    const TextAnswer answer = answer_to(text);
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(answer.refusals.front().headline == std::string(name) + " raised this; cuDNN was not involved");
  }
  // Another rank may hang in any kernel.
  const TextAnswer late =
      answer_to("[rank0]:[E1127 ProcessGroupNCCL.cpp:616] Watchdog caught a timeout, attention step 3");
  REQUIRE_FALSE(late.refusals.empty());
  CHECK(late.refusals.front().headline == "NCCL waited in vain; no attention was refused");
  // The message names cuDNN, although the deepest frame is of a program with kernels of its own.
  const TextAnswer demand = answer_to(
      "  File \"/app/tensorrt_llm/attention_backend/cudnn.py\", line 63, in __init__\n"
      "ImportError: cuDNN MXFP8 attention requires cuDNN library v9.21.0 or later.");
  REQUIRE_FALSE(demand.refusals.empty());
  CHECK(demand.refusals.front().id == "program-needs-cudnn");
}

TEST_CASE("The number of a CUDA error comes before the status that reports it", "[explain]") {
  const std::string id = first_refusal_of(
      "RuntimeError: fused_attn_f16_arbitrary_seqlen.cu:534: cuDNN Error: execute failed with message: err 700 != "
      "CUDA_SUCCESS, and code: CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER");
  CHECK(id == "env-illegal-access");
}

TEST_CASE("A file's major version decides which cuDNN is missing or mixed", "[explain]") {
  const auto first = first_refusal_of;
  CHECK(first("Could not load library libcudnn_cnn_infer.so.8. Error: /lib/libcudnn_cnn_infer.so.8: undefined symbol: "
              "_ZN5cudnn14cublasSaxpy_v2EP13cublas, version libcudnn_ops_infer.so.8") == "env-cudnn-symbol");
  CHECK(first("Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared "
              "object file: No such file or directory") == "env-no-cudnn-8");
  CHECK(first("Could not locate cudnn_ops_infer64_8.dll. Please make sure it is in your library path!") ==
        "env-no-cudnn-8");
  CHECK(first("Could not locate cudnn_graph64_9.dll. Please make sure it is in your library path!") ==
        "env-unable-to-load");
}

TEST_CASE("A kernel that a GPU lacks is an extension's, if an extension calls it", "[explain]") {
  const std::string error =
      "RuntimeError: CUDA error: no kernel image is available for execution on the device\ntorch 2.7.0+cu128, RTX 5090";
  CHECK(first_refusal_of(error) == "env-gpu-not-in-build");
  CHECK(answer_to("out = flash_attn_gpu.fwd(\n" + error).refusals.at(0).id == "extension-not-for-gpu");
}

TEST_CASE("A status by itself does not show which step failed", "[explain]") {
  const std::string step = "the text does not say at which step";
  CHECK_THAT(answer_to("cuDNN attention: CUDNN_STATUS_BAD_PARAM").refusals.at(0).headline, ContainsSubstring(step));
  const TextAnswer descriptor = answer_to(
      "Exception CUDNN_BACKEND_OPERATION: SetAttribute CUDNN_ATTR_X, Failed cudnn_status: CUDNN_STATUS_BAD_PARAM");
  CHECK_THAT(descriptor.refusals.at(0).headline, StartsWith("cuDNN did not accept a part of the graph"));
}

TEST_CASE("A plan at each call is not a plan for each shape", "[explain]") {
  const std::string text = "torch 2.9, H100: cuDNN attention recompiles the graph ";
  CHECK_THAT(asked_answer_to(text + "for each new shape").refusals.at(0).headline, ContainsSubstring("each new shape"));
  CHECK_THAT(asked_answer_to(text + "every time, whatever the size").refusals.at(0).headline,
             ContainsSubstring("at each call"));
}

TEST_CASE("A cure is not the setting that is complained of", "[explain]") {
  const std::string call = "torch.backends.cuda.enable_cudnn_sdp(False)";
  CHECK(
      answer_to("To fix it, call " + call + " at the start of the process; cuDNN attention crashes").refusals.empty());
  CHECK(answer_to("es necesario ejecutar " + call + " antes; vLLM; cuDNN attention").refusals.empty());
  CHECK(first_refusal_of("SGLang calls " + call + ", so cuDNN attention is never used") == "cudnn-switched-off");
}

TEST_CASE("A literal in source, and a message that no longer appears, were not printed", "[explain]") {
  const std::string words = "\"No valid execution plans built.";
  CHECK(answer_to("cuDNN attention:\n    logging.warning(\n        " + words + "\"\n    )").refusals.empty());
  CHECK(answer_to("cuDNN attention:\n    print(" + words + "\")").refusals.empty());
  CHECK(answer_to("cuDNN attention: no more " + words + "\" since the update").refusals.empty());
  CHECK_FALSE(answer_to("cuDNN attention: RuntimeError: No valid execution plans built.").refusals.empty());
}

TEST_CASE("Another operation is the subject only where it failed", "[explain]") {
  const auto subject = [](const std::string& text) { return answer_to(text).refusals.at(0).headline; };
  const std::string failed = "failed in the cuDNN frontend: No execution plans support the graph.";
  CHECK_THAT(subject("the layer forward_convolutional_layer_gpu " + failed), ContainsSubstring("a convolution"));
  CHECK_THAT(subject("the NVFP4 kernel " + failed), ContainsSubstring("a matrix product"));
  CHECK_FALSE(contains(subject("with --xla_gpu_enable_triton_gemm=false the step " + failed), "matrix product"));
  CHECK_FALSE(contains(subject("The gemm succeeded.\nThe step " + failed), "matrix product"));
}

TEST_CASE("The first of several loader messages is the cause", "[explain]") {
  const TextAnswer answer = answer_to(
      "Unable to load any of {libcudnn_cnn.so.9.1.0, libcudnn_cnn.so.9.1, libcudnn_cnn.so.9, libcudnn_cnn.so}\n"
      "If I use ctranslate2 4.4.0 I get: Could not load library libcudnn_ops_infer.so.8. Error: "
      "libcudnn_ops_infer.so.8: cannot open shared object file: No such file or directory\n");
  CHECK(answer.refusals.at(0).id == "env-unable-to-load");
  CHECK(std::none_of(answer.told.begin(), answer.told.end(), [](const auto& fact) { return contains(fact, "9.1.0"); }));
}

TEST_CASE("In a line of the loader, the file after \"Error:\" decides", "[explain]") {
  const auto first = [](const std::string& error) {
    return first_refusal_of("Could not load library libcudnn_cnn_infer.so.8. Error: " + error);
  };
  const std::string missing = ": cannot open shared object file: No such file or directory";
  CHECK(first("libcuda.so" + missing) == "env-no-libcuda");
  CHECK(first_refusal_of("(error code is /usr/lib64/libcudnn.so" + missing + ")") == "env-no-cudnn");
  CHECK(first("libcublas.so.11" + missing) == "install-cuda-library");
  CHECK(first("libnvrtc.so" + missing) == "env-no-nvrtc");
  CHECK(first("libz.so.1" + missing) == "env-cudnn-needs-library");
  CHECK(first("libcudnn_cnn_infer.so.8: undefined symbol: nvrtcGetCUBIN") == "env-old-nvrtc");
  CHECK(first("libcudnn_cnn_train.so.8: symbol _ZTIN10, version libcudnn_ops_infer.so.8 not defined in file "
              "libcudnn_ops_infer.so.8 with link time reference") == "env-cudnn-symbol");
  CHECK(first_refusal_of("ImportError: libcudnn.so.7" + missing) == "env-no-cudnn-8");
}

TEST_CASE("A library that cannot be loaded comes before the maker of the GPU", "[explain]") {
  const TextAnswer answer = answer_to(
      "ZLUDA, import torch\nOSError: [WinError 126] The specified module could not be found. Error loading "
      "\"C:\\zluda\\torch\\lib\\cudnn64_9.dll\" or one of its dependencies.");
  CHECK(answer.refusals.at(0).layer == Layer::environment);
  CHECK(answer.refusals.at(0).id != "other-maker");
}

TEST_CASE("A message of a failed run stays above the answer to its question", "[explain]") {
  const TextAnswer answer = asked_answer_to(
      "cuDNN 9.20.0 attention on an H200 with bf16 and head_dim 128, 16 heads:\n"
      "Expected mha_graph.execute(handle, variant_pack, workspace).is_good() to be true, but got false.\n"
      "Does anybody know this?\n");
  CHECK(answer.refusals.at(0).id == "torch-execute-failed");
}

TEST_CASE("A folder's name does not hide memory that ran out in attention", "[explain]") {
  const std::string error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB";
  const std::string frame =
      "  File \"/workspace/model.py\", line 3, in forward\n    F.scaled_dot_product_attention(q, k, v)\n";
  CHECK(first_refusal_of(frame + error) == "out-of-memory-in-attention");
  CHECK(answer_to("Flash Attn is not installed!\n" + error).refusals.empty());
}

TEST_CASE("NaN is not told where it is excluded, and is not always of a backward pass", "[explain]") {
  CHECK(answer_to("the cudnn sdpa attention never produced NaNs").refusals.empty());
  CHECK(first_refusal_of("SDPBackend cudnn attention gives NaN in generation") == "cudnn-attention-nan");
}

TEST_CASE("A build that dropped a GPU is not told to be too old for it", "[explain]") {
  const std::string error = " is not compatible with the current PyTorch installation.";
  const auto first = [&](const std::string& gpu) { return first_refusal_of(gpu + error); };
  CHECK(first("NVIDIA GeForce GTX 1080 Ti with CUDA capability sm_61") == "gpu-dropped");
  CHECK(first("NVIDIA GeForce RTX 5090 with CUDA capability sm_120") == "env-gpu-not-in-build");
}

TEST_CASE("A call next to another error does not explain it", "[explain]") {
  const std::string source =
      "import torch\nq = torch.randn(2, 8, 512, 64, device=\"cuda\")\n"
      "torch.nn.functional.scaled_dot_product_attention(q, q, q)\n";
  CHECK(
      answer_calls(source + "torch.compile fails with\nAssertionError      Traceback (most recent call last)\n",
                   facts_of(source + "torch.compile fails with\nAssertionError    Traceback (most recent call last)\n"),
                   {}, {.cudnn = false, .program = ""})
          .empty());
  CHECK_FALSE(answer_calls(source, facts_of(source), {}, {.cudnn = false, .program = ""}).empty());
  const std::string on_cpu =
      "import torch\nq = torch.randn(2, 8, 512, 64)\ntorch.nn.functional.scaled_dot_product_attention(q, q, q)\n"
      "RuntimeError: scaled_dot_product_attention needs an engine\n";
  CHECK(answer_calls(on_cpu, facts_of(on_cpu), {}, {.cudnn = false, .program = ""}).empty());
}

TEST_CASE("A possible bug needs a text with a GPU and a cuDNN", "[explain]") {
  CHECK(asked_answer_to("TE 1.4 fused attention caused a NaN in the backward pass").bugs.empty());
  CHECK(asked_answer_to("cuDNN attention on an H200: the backward pass gives wrong gradients").bugs.empty());
}

TEST_CASE("Loaders and linkers of Windows name the file, the function or neither", "[explain]") {
  CHECK(first_refusal_of("Could not load library cudnn_cnn_infer64_8.dll. Error code 126") == "env-cudnn-8-dll-126");
  CHECK(first_refusal_of("Could not locate cudnn_ops_infer64_8.dll. Please make sure it is in your library path!") ==
        "env-no-cudnn-8");
  CHECK(first_refusal_of("GPU 版一运行就说找不到 cudnn64_8.dll") == "env-no-cudnn-8");
  CHECK(first_refusal_of("error LNK2019: unresolved external symbol cudnnAdvInferVersionCheck referenced in f") ==
        "env-cudnn-link");
  CHECK(first_refusal_of("/usr/bin/ld: a.o: undefined reference to `cudnnCreate'") == "env-cudnn-link");
  CHECK(first_refusal_of("MHA.cpp:490:12: error: no member named 'set_generate_stats' in "
                         "'cudnn_frontend::graph::SDPA_attributes'") == "fe-other-headers");
}

TEST_CASE("A kernel that prints its own place is an extension's", "[explain]") {
  const std::string here =
      "GTX 1070Ti, torch-2.6.0+cu126\nCUDA error: no kernel image is available for execution on the device";
  CHECK(first_refusal_of(here) == "gpu-dropped");
  CHECK(first_refusal_of(here + " (at C:\\dev\\src\\kernels\\misc_kernels.cu:266)") == "extension-not-for-gpu");
}

TEST_CASE("Causes fit the line's status and the text's GPU", "[explain]") {
  const Refusal old = answer_to("CUDNN_STATUS_VERSION_MISMATCH").refusals.at(0);
  CHECK(old.causes == std::vector<std::string>{"VERSION_MISMATCH: parts of two versions"});
  const std::string ampere = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.";
  CHECK_THAT(answer_to(ampere).refusals.at(0).causes.at(0), ContainsSubstring("V100"));
  CHECK_THAT(answer_to(ampere + "\nmy RTX 5090").refusals.at(0).causes.at(0), ContainsSubstring("older than the GPU"));
  // The status says more than the message that hands it on.
  CHECK(first_refusal_of("CUDNN_BACKEND_TENSOR_DESCRIPTOR cudnnFinalize failed cudnn_status: "
                         "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED") == "status-sublibrary-loading-failed");
}

TEST_CASE("A cause is established only if the message has no other", "[explain]") {
  CHECK_FALSE(answer_to("libcudnn.so.9: cannot open shared object file").refusals.at(0).is_cause_known);
  const auto causes_on = [](const std::string& gpu) {
    return fmt::format(
        "{}", fmt::join(answer_to("No valid engine configs for attention on " + gpu).refusals.at(0).causes, "; "));
  };
  CHECK_THAT(causes_on("a Tesla V100"), ContainsSubstring("older than Ampere") && !ContainsSubstring("mask or layout"));
  CHECK_THAT(causes_on("an H100"), ContainsSubstring("mask or layout") && !ContainsSubstring("older than Ampere"));
  const std::string kernels =
      "UserWarning: Memory efficient kernel not used because: (x)\nUserWarning: Expected query, key and value to all be "
      "of dtype: {Half, BFloat16}. Got Query dtype: float\nRuntimeError: No available kernel. Aborting execution.";
  CHECK(answer_to(kernels).refusals.at(0).is_cause_known);
  // Values of the rule that the line does not show are left out.
  const std::string types =
      "Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float";
  CHECK(answer_to(types).refusals.at(0).means == "PyTorch refuses the data type …, or mixed types.");
}

TEST_CASE("The innermost function of a trace is the subject", "[explain]") {
  const std::string trace = "vllm --kv-cache-dtype fp8 on GB10, cuDNN 9.20\nflashinfer/gemm/gemm_base.py:1498 in ";
  CHECK(facts_of(trace + "_cudnn_gemm_fp8").is_about_others());
  CHECK_FALSE(facts_of(trace + "_cudnn_gemm_fp8\nattention.py:7 in sdpa_forward").is_about_others());
}

TEST_CASE("A plan of an earlier scale is possible if a second call is off", "[explain]") {
  CHECK(first_refusal_of("FlashInfer with cuDNN attention, twice in one process, only the scale differs: no error, but "
                         "the second output is off") == "plan-of-other-strides");
}

TEST_CASE("Neither a skipped test nor a GPU that works is the failure", "[explain]") {
  CHECK(answer_to("frontend 1.22 skipped (CUDNN_STATUS_BAD_PARAM in attention)").refusals.empty());
  CHECK_FALSE(answer_to("frontend 1.22: CUDNN_STATUS_BAD_PARAM in attention").refusals.empty());
  const TextFacts facts = facts_of("attention, fine on T4, fails here.\n Current SM version: 89");
  CHECK(facts.target() == "sm_89");
  CHECK(facts_of("attention: one node has H100s").gpus == std::vector<std::string>{"h100"});
}

TEST_CASE("A message's limits on GPUs are read with their points and ranges", "[explain]") {
  CHECK(gpu_conflict("needs sm 12.0", facts_of("attention on an RTX 5090")).empty());
  CHECK(
      gpu_conflict("supports compute capabilities in the range [sm80, sm90]", facts_of("attention, RTX 3090")).empty());
  CHECK_FALSE(gpu_conflict("XQA runs only on sm_90, sm_100", facts_of("attention, RTX 3090")).empty());
}

TEST_CASE("A message of a normal event does not answer a crash", "[explain]") {
  CHECK(answer_to("SIGSEGV in tex.fused_attn_fwd C++ kernel").refusals.empty());
  CHECK_FALSE(answer_to("tex.fused_attn_fwd is called").refusals.empty());
}

TEST_CASE("Advice suits the asker: not the builder's, and not a setting that stands in the text", "[explain]") {
  const std::string unset = "cuDNN Error: Tensor 'sdpa_fp8::Amax_O' strides not set.";
  CHECK_THAT(answer_to(unset).refusals.at(0).next, ContainsSubstring("declare dims"));
  const TextAnswer in_engine =
      answer_to("transformer_engine/common/fused_attn/fused_attn_fp8.cu:2066 in function operator(): " + unset);
  CHECK(in_engine.refusals.at(0).id == "fe-tensor");
  CHECK_THAT(in_engine.refusals.at(0).next, ContainsSubstring("NVTE_FUSED_ATTN=0"));
  const std::string handle = "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR";
  CHECK_THAT(answer_to(handle).refusals.at(0).next, ContainsSubstring("PREALLOCATE"));
  CHECK(answer_to(handle + "\ntried XLA_PYTHON_CLIENT_PREALLOCATE=false").refusals.at(0).next ==
        "attnprobe doctor checks driver and cuDNN");
}

}  // namespace attnprobe::test::trouble_test
