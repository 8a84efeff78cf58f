// Established facts of a text, open facts, and the questions that follow from it.
#include <algorithm>
#include <string>
#include <utility>

#include "answer_to_text.hpp"
#include "catch.hpp"
#include "explain/told_question.hpp"
#include "support.hpp"

namespace attnprobe::test::text_answer_test {

using namespace attnprobe::explain;

namespace {

ToldQuestion question_in(const std::string& text) {
  return read_question(text, facts_of(text));
}

Json value_of(const ToldQuestion& question, const std::string& field) {
  for (const auto& one : question.fields)
    if (one.field == field) return one.value;
  return nullptr;
}

std::string all_of(const TextAnswer& answer) {
  std::string text;
  for (const auto& one : answer.refusals) {
    text += one.headline + "\n" + one.means + "\n" + one.next + "\n";
    for (const auto& cause : one.causes) text += cause + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("Attention described in prose becomes a question", "[explain]") {
  const ToldQuestion fp8 = question_in(
      "The forward pass in FP8 (e4m3) on packed (THD) sequences hangs, with 3 query heads over 1 KV head and head dimension 64. There is a "
      "padding mask and a window of 1224 keys to the left and 2078 to the right; the query lengths are 5380 and 5176, the key lengths 5175 and "
      "1307, 6447 at most. In half precision the same batch runs through.");
  CHECK(value_of(fp8, "dtype") == "fp8_e4m3");
  CHECK(value_of(fp8, "heads_q") == 3);
  CHECK(value_of(fp8, "heads_kv") == 1);
  CHECK(value_of(fp8, "head_dim_qk") == 64);
  CHECK(value_of(fp8, "layout") == "thd");
  CHECK(value_of(fp8, "batch") == 2);
  CHECK(value_of(fp8, "seqlen_q") == 6447);
  CHECK(value_of(fp8, "mask")["window_left"] == 1224);
  CHECK(value_of(fp8, "mask")["window_right"] == 2078);
  CHECK(value_of(fp8, "mask")["seqlens_kv"] == Json{5175, 1307});
  const ToldQuestion paged = question_in(
      "bf16: causal attention over a paged KV cache with 528 tokens to a block, 16 query heads, 4 KV heads, head dimension 256, 128 new tokens.");
  CHECK(value_of(paged, "paged")["block_size"] == 528);
  CHECK(value_of(paged, "seqlen_q") == 128);
  CHECK(value_of(paged, "heads_kv") == 4);
  const ToldQuestion tuple = question_in("head_dim 320 on my 4090, torch 2.9, q.shape=(2,16,4096,320) bf16 causal");
  CHECK(value_of(tuple, "head_dim_qk") == 320);
  CHECK(value_of(tuple, "heads_q") == 16);
  CHECK(value_of(tuple, "seqlen_q") == 4096);
  CHECK(tuple.framework == "torch==2.9");
  CHECK(value_of(question_in("attention without dropout and with no causal mask, 8 heads"), "mask") == nullptr);
  for (const char* dims : {"head dimensions 192 for Q and K and 128 for V", "head_dim 192 for q/k and 128 for v",
                           "head dims 192 for QK, 128 for V", "head_dim 192/128"}) {
    INFO(dims);
    CHECK(value_of(question_in("attention, " + std::string(dims)), "head_dim_qk") == 192);
    CHECK(value_of(question_in("attention, " + std::string(dims)), "head_dim_v") == 128);
  }
}

TEST_CASE("The cuDNN of a list of packages is read", "[explain]") {
  for (const char* line :
       {"nvidia-cudnn-cu12==9.1.0.70", "[pip3] nvidia-cudnn-cu12==9.1.0.70", "nvidia-cudnn-cu12     9.1.0.70",
        "nvidia_cudnn_cu12-9.1.0.70-py3-none-manylinux2014_x86_64.whl", "cuDNN version: 9.1.0"}) {
    INFO(line);
    TextFacts facts;
    add_facts(facts, "attention fails\n" + std::string(line) + "\n", 1);
    CHECK(facts.versions == std::vector<std::string>{"9.1.0"});
  }
}

TEST_CASE("Of several types and releases, those of the failing call count", "[explain]") {
  CHECK(value_of(
            question_in(
                "jax.nn.dot_product_attention with q of shape (4, 1024, 12, 64) in float32 fails. Does it need bf16?"),
            "dtype") == "f32");
  CHECK(value_of(question_in("attention in float32, 8 heads. Does cuDNN need bf16?"), "dtype") == "f32");
  CHECK(value_of(question_in("attention in bf16 with a softmax in fp32, 8 heads"), "dtype") == "bf16");
  for (const char* moved : {"Attention on an H100 fails after upgrading from torch 2.4.1 to 2.5.0.",
                            "Attention fails with torch 2.5.0. It worked with torch 2.4.1.",
                            "With torch 2.4.1 attention works, with torch 2.5.0 it fails."}) {
    INFO(moved);
    CHECK(question_in(moved).framework == "torch==2.5.0");
  }
  CHECK(question_in("Attention fails since I went from PyTorch 2.4 to PyTorch 2.5").framework == "torch==2.5");
}

TEST_CASE("Words that only look like facts of attention are not read", "[explain]") {
  CHECK(value_of(question_in("attention crashes on Windows 11 with 8 heads"), "mask") == nullptr);
  CHECK(value_of(question_in("sliding windows of 128 tokens in attention"), "mask")["window_left"] == 127);
  CHECK(value_of(question_in("attention, same measurement at S=16,000"), "seqlen_q") == 16000);
  CHECK(value_of(question_in("attention: 'capabilities': ['quantize_mxfp8', 'scaled_mm_mxfp8']"), "dtype") == nullptr);
  CHECK(value_of(question_in("attention in MXFP8"), "fp8") == "mxfp8");
  CHECK(value_of(question_in("The failures of attention are deterministic and reproduce"), "deterministic") == nullptr);
  CHECK(value_of(question_in("class Attention:\n    bias: bool = False\n"), "bias") == nullptr);
  CHECK(value_of(question_in("attention with an additive bias"), "bias") == "1hss");
  CHECK(value_of(question_in("float32 attention ends in a kernel with fp16 in its name:\n"
                             "q = torch.randn(shape, device=\"cuda\", dtype=torch.float32)\n"),
                 "dtype") == "f32");
}

TEST_CASE("Titles of changes and lines of source are not failures", "[explain]") {
  for (const char* title : {"# Disable cuDNN attention for known IMA and NaNs",
                            "# [cuDNN][varlen] Support paged KV cache (block_table) in cuDNN varlen attention",
                            "+      backend = NVTE_Fused_Attn_Backend::NVTE_No_Backend;",
                            "Error detected in ScaledDotProductEfficientAttentionBackward0"}) {
    INFO(title);
    CHECK_FALSE(is_established(answer_to(title)));
  }
  for (const char* failure : {"cuDNN attention returns NaNs", "cuDNN varlen attention requires cuDNN >= 9.24",
                              "Unsupported backend=<NVTE_Fused_Attn_Backend.NVTE_No_Backend: -1>"}) {
    INFO(failure);
    CHECK(is_established(answer_to(failure)));
  }
}

TEST_CASE("A library that cannot be loaded comes before the status that follows from it", "[explain]") {
  const std::string id = first_refusal_of(
      "Unable to load any of {libcudnn_engines_precompiled.so.9.1.0, libcudnn_engines_precompiled.so.9}\n"
      "RuntimeError: CUDNN_BACKEND_TENSOR_DESCRIPTOR cudnnFinalize failed cudnn_status: CUDNN_STATUS_NOT_INITIALIZED\n");
  CHECK(id == "env-unable-to-load");
}

TEST_CASE("A program that builds cuDNN's graph itself does not call PyTorch's attention", "[explain]") {
  const std::string program =
      "import torch\nq = torch.randn(shape, device=\"cuda\", dtype=torch.float32)\ngraph = cudnn.pygraph()\n";
  CHECK(question_in("Attention fails with torch 2.9.1:\n" + program).framework.empty());
  CHECK(question_in("Attention fails with torch 2.9.1:\n" + program + "F.scaled_dot_product_attention(q, q, q)\n")
            .framework == "torch==2.9.1");
}

TEST_CASE("A question is answered by the gate of the named release", "[explain]") {
  const TextAnswer answer = asked_answer_to("Does the packed layout of cuDNN attention in JAX 0.6 work on an A100?");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().id == "jax:packed_0_6");
  CHECK_THAT(answer.refusals.front().next, ContainsSubstring("Hopper"));
  CHECK_THAT(answer.asked, ContainsSubstring("JAX 0.6.2's rules"));
  CHECK_THAT(answer.command, StartsWith("attnprobe "));
}

TEST_CASE("Shapes are read in the notations of programs and users", "[explain]") {
  for (const char* shape :
       {"q.shape=(2,16,4096,320)", "q: (2, 16, 4096, 320)", "query [2, 16, 4096, 320]",
        "q: torch.Size([2, 16, 4096, 320])",
        "query = FakeTensor(..., device='cuda:0', size=(2, 16, 4096, 320), dtype=torch.bfloat16)",
        "q bf16[2,16,4096,320]", "attention of shape (2, 16, 4096, 320)", "batch 2, seqlen=4096 heads=16 head_dim=320",
        "batch_size=2 num_heads=16 seq_len 4096, head dimension 320"}) {
    INFO(shape);
    const ToldQuestion question = question_in(std::string(shape) + " torch 2.9.1 bf16");
    CHECK(value_of(question, "batch") == 2);
    CHECK(value_of(question, "heads_q") == 16);
    CHECK(value_of(question, "seqlen_q") == 4096);
    CHECK(value_of(question, "head_dim_qk") == 320);
    CHECK(value_of(question, "dtype") == "bf16");
  }
  CHECK(value_of(question_in("attention in JAX, q: bf16[2,4096,16,128]"), "heads_q") == 16);
  for (const char* other :
       {"the mask shape (2, 1, 512, 512) of attention", "attention: the output.shape = (2, 8, 512, 64)"})
    CHECK_FALSE(question_in(other).tells("head_dim_qk"));
  CHECK(value_of(question_in("q = tensor(..., requires_grad=True) of attention"), "pass") == "bprop");
}

TEST_CASE("A message without a reason is answered from the call next to it", "[explain]") {
  const std::string none = "RuntimeError: No available kernel. Aborting execution. torch 2.9.1 on RTX 4090, ";
  const TextAnswer gate = asked_answer_to(none + "q.shape=(2,16,4096,320) bf16 is_causal=True");
  REQUIRE_FALSE(gate.refusals.empty());
  CHECK(gate.refusals.front().id == "torch:head_dim_2_9");
  CHECK_THAT(gate.refusals.front().headline, ContainsSubstring("PyTorch 2.9.1 refuses head dimensions 320/320"));
  CHECK_THAT(gate.refusals.front().next, ContainsSubstring("a head dimension of at most 128"));
  CHECK_THAT(gate.refusals.front().line, ContainsSubstring("No available kernel"));
  CHECK_THAT(gate.asked, StartsWith("PyTorch 2.9.1's rules: no; the rules of cuDNN 9.10.2 on rtx4090: "));
  CHECK_THAT(gate.command, ContainsSubstring("--head-dim 320"));
  // cuDNN's own refusal, with its reason.
  const TextAnswer cudnn = asked_answer_to(
      "No valid engine configs for Matmul_MUL_. cudnn 9.19.0, A100, attention; head_dim=320 seqlen=4096 heads=16, backward, bf16");
  REQUIRE_FALSE(cudnn.refusals.empty());
  CHECK(cudnn.refusals.front().id == "head_dim_bprop");
  CHECK_THAT(cudnn.refusals.front().next, ContainsSubstring("Hopper"));
  // A reason in the text needs no answer.
  const TextAnswer told = asked_answer_to("UserWarning: Flash Attention does not support non-null attn_mask.\n" + none +
                                          "q.shape=(2,16,4096,320) bf16");
  REQUIRE_FALSE(told.refusals.empty());
  CHECK(told.refusals.front().id == "torch-no-available-kernel");
  CHECK_THAT(told.asked, ContainsSubstring("PyTorch 2.9.1's rules: no"));
}

TEST_CASE("A message from an inner layer shows that the gate accepted the call", "[explain]") {
  const TextAnswer answer = asked_answer_to(
      "cuDNN Frontend error: No execution plans support the graph. torch 2.9.1 on RTX 4090, q.shape=(2,16,4096,320) bf16 causal");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().id == "fe-no-plans-support");
  CHECK_FALSE(answer.asked.empty());
}

TEST_CASE("If the call of a message is supported, the cause is elsewhere", "[explain]") {
  const TextAnswer gate = asked_answer_to(
      "RuntimeError: No available kernel. Aborting execution. torch 2.9.1 on RTX 4090, q.shape=(2,16,4096,128) bf16 is_causal=True");
  REQUIRE_FALSE(gate.refusals.empty());
  // The text may leave out what PyTorch refuses.
  CHECK(gate.refusals.front().id == "torch-no-available-kernel");
  CHECK_THAT(gate.asked, StartsWith("PyTorch 2.9.1's rules; the rules of cuDNN 9.10.2 on rtx4090: yes"));
  // Rules do not overrule cuDNN's own refusal; cuDNN's answer to the call does.
  const std::string text =
      "No execution plans support the graph. cudnn 9.19.0, H100, attention, query [2, 16, 4096, 128], bf16, causal";
  MessageFinder finder;
  finder.feed(text);
  const TextFindings findings = finder.finish();
  auto asked = ask(question_in(text), findings.facts, {false, ""});
  REQUIRE(asked);
  TextAnswer by_rule = answer_of(findings, false), by_cudnn = by_rule;
  add_answer(by_rule, findings.facts, *asked, 1);
  CHECK(by_rule.refusals.front().id == "fe-no-plans-support");
  asked->result.by_rule = false;
  add_answer(by_cudnn, findings.facts, *asked, 1);
  CHECK(by_cudnn.refusals.front().headline == "cuDNN 9.19.0 accepts this call on h100: the cause is elsewhere");
  CHECK(by_cudnn.refusals.front().causes.empty());
  // Another cuDNN's answer does not overrule it either.
  asked->is_other_cudnn = true;
  TextAnswer of_other = answer_of(findings, false);
  add_answer(of_other, findings.facts, *asked, 1);
  CHECK(of_other.refusals.front().id == "fe-no-plans-support");
  asked->is_other_cudnn = false;
  // A call with an assumed type does not establish a cause.
  asked->untold = {"the data type"};
  TextAnswer assumed = answer_of(findings, false);
  add_answer(assumed, findings.facts, *asked, 1);
  CHECK(assumed.refusals.front().id == "fe-no-plans-support");
}

TEST_CASE("If the answer depends on a missing fact, that fact is named", "[explain]") {
  const TextAnswer answer = asked_answer_to(
      "RuntimeError: No available kernel. Aborting execution. torch 2.9.1, q.shape=(2,16,4096,192) fp16");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().id == "torch-no-available-kernel");
  CHECK(answer.missing == "the GPU");
  CHECK_THAT(answer.asked, ContainsSubstring("assumed: an H100"));
}

TEST_CASE("A question is answered by cudnn-frontend's rule and by cuDNN's limits", "[explain]") {
  const TextAnswer frontend = asked_answer_to(
      "The sample program for a deterministic SDPA backward pass fails on our B200, where cuDNN 9.13 is installed. The H100 beside it runs it.");
  REQUIRE_FALSE(frontend.refusals.empty());
  CHECK(frontend.refusals.front().layer == Layer::cudnn_frontend);
  CHECK_THAT(all_of(frontend), ContainsSubstring("9.18"));
  const TextAnswer paged = asked_answer_to(
      "GB200, cuDNN 9.24.0, bf16: causal attention over a paged KV cache with 528 tokens to a block, 16 query heads, 4 KV heads, head dimension "
      "256, 128 new tokens. cuDNN turns it down. Which of these numbers is it?");
  REQUIRE_FALSE(paged.refusals.empty());
  CHECK_THAT(paged.refusals.front().headline, ContainsSubstring("power of two"));
}

TEST_CASE("Known bugs are possible if versions, GPU, pass and symptom match, and never for a refusal", "[explain]") {
  const std::string shape =
      "bf16 training on an H100 with cuDNN 9.13.1, attention over 900 queries and 900 keys: the backward pass ";
  const TextAnswer crash =
      asked_answer_to(shape + "ends with: CUDA error: an illegal memory access was encountered in a captured graph");
  CHECK(std::any_of(crash.bugs.begin(), crash.bugs.end(), [](const auto& bug) { return bug.id == "bprop_kv_128"; }));
  CHECK(asked_answer_to(shape + "is refused.").bugs.empty());
  // The bug is known to crash and to give NaN, not to hang.
  CHECK(asked_answer_to(shape + "hangs.").bugs.empty());
  CHECK(asked_answer_to("fp8 attention on an A100 with cuDNN 9.13.1 refuses").bugs.empty());
}

TEST_CASE("A GPU of another vendor has nothing to do with cuDNN", "[explain]") {
  const TextAnswer answer = answer_to(
      "ComfyUI-Zluda, Radeon RX 6800 XT: RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.");
  REQUIRE(answer.refusals.size() == 1);
  CHECK(answer.refusals.front().id == "other-maker");
  CHECK_THAT(answer.refusals.front().headline, ContainsSubstring("Radeon RX 6800 XT"));
}

TEST_CASE("An error belongs to the program whose module raised it", "[explain]") {
  const TextAnswer outside = answer_to(
      "Jetson AGX Thor\n  File \"/env/lib/python3.12/site-packages/flashinfer/xqa.py\", line 292, in xqa\n"
      "    raise RuntimeError(\"XQA is only supported on SM90, SM100, SM120 GPUs\")\n"
      "RuntimeError: XQA is only supported on SM90, SM100, SM120 GPUs\n");
  REQUIRE_FALSE(outside.refusals.empty());
  CHECK_THAT(outside.refusals.front().headline, ContainsSubstring("FlashInfer raised this; cuDNN was not involved"));
  REQUIRE(outside.refusals.front().causes.size() == 1);
  CHECK_THAT(outside.refusals.front().causes.front(), ContainsSubstring("the GPU in the text is sm_110"));
  // PyTorch's sources also have a folder named transformers.
  const TextAnswer torch = answer_to(
      "/pytorch/aten/src/ATen/native/transformers/cuda/sdp_utils.cpp:1: attention failed\nRuntimeError: attention failed somewhere\n");
  CHECK(all_of(torch).find("transformers raised") == std::string::npos);
}

TEST_CASE("If nothing is established, the deciding fact is named", "[explain]") {
  const TextAnswer cut = answer_to(
      "Traceback (most recent call last):\n  File \"/env/jax/_src/nn/functions.py\", line 1238, in attention\n    out = g(\n");
  CHECK_FALSE(is_established(cut));
  CHECK_THAT(cut.missing, ContainsSubstring("last line of the traceback"));
  const TextAnswer vague = asked_answer_to("my cudnn attention is odd");
  CHECK_FALSE(is_established(vague));
  CHECK_FALSE(vague.missing.empty());
}

TEST_CASE("Statuses of other operations are not attributed to attention", "[explain]") {
  for (const char* text : {"conv1d, conv2d: RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.",
                           "_cudnn_rnn_backward.default # RuntimeError: cuDNN error: CUDNN_STATUS_BAD_PARAM"}) {
    const TextAnswer answer = answer_to(text);
    INFO(text);
    REQUIRE_FALSE(answer.refusals.empty());
    for (const Refusal& refusal : answer.refusals)
      CHECK_THAT(refusal.headline, ContainsSubstring("not in attention: the text is about"));
  }
  const TextAnswer machine = answer_to("CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED at the first Conv");
  REQUIRE_FALSE(machine.refusals.empty());
  CHECK(machine.refusals.front().layer == Layer::environment);
}

TEST_CASE("Texts of other kinds name the right cause, or the program that raised the error", "[explain]") {
  const std::pair<const char*, const char*> cases[] = {
      // A reason of cuDNN without its status.
      {"Embedding dim per head for q and k is not a multiple of 8", "head-dim-multiple-of-8"},
      {"only Hopper is supported for this engine", "hopper-only"},
      // The package in the path identifies the program, not a file's name.
      {"  File \"/venv/lib/python3.12/site-packages/vllm/v1/attention/backends/flash_attn.py\", line 82, in f\n"
       "ValueError: Head size 80 is not supported by FlashAttentionBackend.",
       "raised-outside"},
      {"NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:\n"
       "     query       : shape=(2, 4096, 8, 320) (torch.float32)\n     attn_bias   : <class 'NoneType'>",
       "raised-outside"},
      {"  File \"/app/attention.py\", line 4, in attention\n    F.scaled_dot_product_attention(q, k, v)\n"
       "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 36.00 GiB.",
       "out-of-memory-in-attention"},
      {"OSError: [WinError 127] The specified procedure could not be found. Error loading \"C:\\torch\\lib\\cudnn_ops64_9.dll\"",
       "install-windows-procedure"},
      // The GPU is refused regardless of missing facts; refusals that depend on them are omitted.
      {"On my V100 cudnn attention isn't used? torch 2.5.1", "torch:gpu_before_2_7"},
      // PyTorch's collect_env names AMD's libraries on every machine.
      {"SDPA with cuDNN: my head_dim is 160, q/k/v are [1, 24, 4608, 160] in bfloat16, inference only.\n"
       "[pip3] torch==2.6.0\nGPU 0: NVIDIA GeForce RTX 4090\nHIP runtime version: N/A\nMIOpen runtime version: N/A",
       "torch:head_dim_before_2_8"},
      {"torch 2.5 on my H100: the first call of cuDNN attention for each new length takes 2 seconds. Why?", "plans"},
      {"GPU memory grows with every new sequence length when cuDNN SDPA is on (torch 2.9.1, H100). Memory leak?",
       "plans"},
      // PyTorch uses cuDNN only if selected, which is not a refusal.
      {"Is there any way to use cuDNN attention with a bf16 attn_mask on RTX 6000 Ada? PyTorch 2.7", "accepted"},
      {"FP8 attention with head_dim 96 on H100, cuDNN 9.12, forward only, e4m3, 2048 tokens, 16 heads. Does it work?",
       "fp8_waves_hopper"}};
  for (const auto& [text, id] : cases) {
    INFO(text);
    const TextAnswer answer = asked_answer_to(text);
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(answer.refusals.front().id == id);
  }
  const TextAnswer vllm = asked_answer_to(cases[2].first);
  CHECK(vllm.refusals.front().headline == "vLLM raised this; cuDNN was not involved");
  // PyTorch's line about the sizes of a mask does not contain Q's shape.
  CHECK(question_in(
            "attention: The expanded size must match. Target sizes: [1, 32, 512, 512]. Tensor sizes: [1, 1, 512, 511]")
            .fields.empty());
}

TEST_CASE("Of several values in a text, the refused one is the subject", "[explain]") {
  const TextAnswer answer = asked_answer_to(
      "torch 2.9.1, H100, SDPA with cuDNN: head_dim 64 is what I use now; head_dim 320 is refused. 16 heads, 1024 tokens, bf16, forward only");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().id == "torch:head_dim_2_9");
  CHECK_THAT(answer.asked, ContainsSubstring("it is about head_dim_qk 320 (line 1)"));
}

TEST_CASE("A cause that the text's cuDNN cannot have is omitted", "[explain]") {
  const std::string warning = "RuntimeError: Function 'ScaledDotProductCudnnAttentionBackward0' returned nan values";
  const auto causes_of = [&](const std::string& text) {
    const TextAnswer answer = answer_to(text);
    REQUIRE_FALSE(answer.refusals.empty());
    std::string all;
    for (const auto& cause : answer.refusals.front().causes) all += cause + "\n";
    return all;
  };
  CHECK_THAT(causes_of(warning), ContainsSubstring("cuDNN before 9.5.1"));
  CHECK_THAT(causes_of(warning + "\ncuDNN 9.1.0"), ContainsSubstring("cuDNN before 9.5.1"));
  CHECK(causes_of(warning + "\ncuDNN 9.19.0").find("9.5.1") == std::string::npos);
}

TEST_CASE("An answer that would be mostly about assumptions is left out", "[explain]") {
  const TextAnswer vague = asked_answer_to("How do I make cuDNN attention deterministic? Batch 8 on an H100");
  CHECK(vague.asked.empty());
  CHECK(vague.command.empty());
  CHECK_THAT(vague.missing, ContainsSubstring("the head dimension"));
  const std::string told = Json(vague.told).dump();
  CHECK_THAT(told, !ContainsSubstring("deterministic"));
  const TextAnswer set =
      asked_answer_to("q of shape (2, 16, 4096, 64) bf16, deterministic=True, cuDNN attention on an H100 fails");
  CHECK_THAT(Json(set.told).dump(), ContainsSubstring("deterministic true"));
}

TEST_CASE("Words of another context are no evidence", "[explain]") {
  // A folder of the user, and Python's own modules, raise nothing.
  const TextAnswer folder = answer_to(
      "  File \"/data/triton-env/cudnn-frontend/python/cudnn/__init__.py\", line 15, in <module>\n"
      "  File \"/home/me/.conda/envs/triton-env/lib/python3.12/importlib/__init__.py\", line 90, in import_module\n"
      "ModuleNotFoundError: No module named 'cudnn._compiled_module'\n");
  REQUIRE_FALSE(folder.refusals.empty());
  CHECK(folder.refusals.front().id == "env-frontend-missing");
  // Source and lists of packages are not log lines.
  for (const char* line : {"import sageattention.core, torch", "[pip3] onnxruntime==1.28.0", "@torch.compile()"}) {
    INFO(line);
    TextFacts facts;
    add_facts_of_page(facts, "attention with cuDNN is odd\n" + std::string(line) + "\n");
    CHECK(facts.raised.program == nullptr);
  }
  // An expected exception, and a message that did not appear.
  CHECK_FALSE(
      is_established(answer_to("cuDNN attention is not used:\n+    except cudnn.cudnnGraphNotSupportedError\n")));
  const TextAnswer denied = answer_to(
      "cuDNN SDPA: RuntimeError: Expected mha_graph.execute(handle).is_good() to be true, but got false. The log did **not** confirm "
      "an old driver (CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER).");
  REQUIRE_FALSE(denied.refusals.empty());
  CHECK(denied.refusals.front().id == "torch-execute-failed");
  // cuDNN of the list of packages is not the attention of the text.
  const TextAnswer flex = asked_answer_to(
      "FlexAttention backward crashes with an illegal memory access\n[pip3] nvidia-cudnn-cu12==9.10.2.21\n[pip3] torch==2.10.0\n");
  CHECK(flex.asked.empty());
  CHECK(flex.bugs.empty());
  CHECK(asked_answer_to("FlexAttention works, cuDNN attention backward gives NaN\n"
                        "q of shape (2, 16, 4096, 64) bf16, torch==2.10.0, H100")
            .asked != "");
  // A report about other words with the same stems.
  CHECK_FALSE(is_established(answer_to(
      "illegal argument in flash attention during a large prefill, deterministic: the dynamic shared memory is exceeded")));
  CHECK_FALSE(is_established(
      answer_to("cudnn prefill silently corrupts every batch after the first: the batch stride of Q is one token")));
}

TEST_CASE("A question that is mostly assumed is not answered by a known bug", "[explain]") {
  const TextAnswer answer =
      asked_answer_to("AttnDecoderRNN(hidden_size, n_words, dropout_p=0.1): RuntimeError: CuDNN error. What is wrong?");
  CHECK(std::none_of(answer.refusals.begin(), answer.refusals.end(),
                     [](const Refusal& one) { return one.id == "dropout_resolution"; }));
}

TEST_CASE("Notations of reports are read", "[explain]") {
  for (const char* line : {"cudnn_backend version: 9.12.0.46", "cuDNN backend **9.12.0**", "cuDNN version: 91200"}) {
    INFO(line);
    TextFacts facts;
    add_facts(facts, "attention fails\n" + std::string(line) + "\n", 1);
    CHECK(facts.versions == std::vector<std::string>{"9.12.0"});
  }
  CHECK(question_in("SDPA is slow. Pytorch Nightly: 2.6.0.dev20241204+cu124").framework == "torch==2.6.0");
  CHECK(value_of(question_in("cuDNN attention, --n-heads 24 --d-head 128"), "head_dim_qk") == 128);
  CHECK_FALSE(question_in("cuDNN attention, cu_seqlens_q=None, cu_seqlens_kv=None").tells("layout"));
  CHECK(value_of(question_in("cuDNN attention, cu_seqlens_q=offsets"), "layout") == "thd");
  CHECK_FALSE(question_in("SDPA gives NaN with torch.backends.cudnn.deterministic = True").tells("deterministic"));
  CHECK_FALSE(question_in("SDPA: dropout_p=p if not deterministic else 0.0").tells("deterministic"));
  const ToldQuestion empty = question_in("ragged SDPA fails if some batch has seq_len_kv == 0");
  CHECK(value_of(empty, "mask")["seqlens_kv"] == Json{1024, 0});
  TextFacts limit, hang;
  add_facts_of_page(limit, "head_dim limit stuck at 128, so cuDNN refuses");
  add_facts_of_page(hang, "cuDNN attention is stuck at step 3");
  CHECK(limit.trouble == Trouble::refused);
  CHECK(hang.trouble == Trouble::hang);
}

TEST_CASE("Wrong numbers with a cuDNN and a GPU name the known bugs that fit", "[explain]") {
  const TextAnswer answer = asked_answer_to(
      "CUDNN SDPA backward results in NaN outputs\n - cudnn_frontend version: 1.14\n - cudnn_backend version: 9.12.0.46\n - GPU arch: H100 SXM");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK(answer.refusals.front().id == "cudnn-attention-nan");
  CHECK(all_of(answer).find("PyTorch 2.5") == std::string::npos);
  CHECK(std::any_of(answer.bugs.begin(), answer.bugs.end(), [](const auto& bug) { return bug.id == "bprop_kv_128"; }));
  const TextAnswer empty = asked_answer_to(
      "H200, cuDNN 9.22.0: ragged SDPA returns NaN in every configuration in which some batch has seq_len_kv == 0");
  REQUIRE_FALSE(empty.bugs.empty());
  CHECK(empty.bugs.front().id == "empty_keys");
}

TEST_CASE("The cost of plans is recognised in its usual descriptions", "[explain]") {
  for (const char* text : {"torch 2.11, B200: most of the time goes to cuDNN SDPA plan builds on every new batch shape",
                           "an unusually long overhead in the first SDPA forward with cuDNN, torch 2.5 on my H100",
                           "cuDNN SDPA on my H100, torch 2.9.1: building the graph takes 400 ms",
                           "torch 2.11, B200: slow, because cuDNN SDPA builds a plan for every new batch shape"}) {
    INFO(text);
    const TextAnswer answer = asked_answer_to(text);
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(answer.refusals.front().id == "plans");
  }
}

TEST_CASE("Transformer Engine's libraries are recognised whatever their suffix", "[explain]") {
  for (
      const auto& [line, id] :
      {std::pair("OSError: /env/site-packages/transformer_engine/libtransformer_engine.so: undefined symbol: "
                 "_ZN18transformer_engine9to_string",
                 "env-te-mixed"),
       std::pair(
           "ImportError: /env/dist-packages/transformer_engine/transformer_engine_torch.cpython-310-x86_64-linux-gnu.so: "
           "undefined symbol: _ZN5torch7Library",
           "env-te-other-framework")}) {
    INFO(line);
    const TextAnswer answer = answer_to(line);
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(answer.refusals.front().id == id);
  }
}

}  // namespace attnprobe::test::text_answer_test
