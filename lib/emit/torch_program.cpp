// torch.nn.functional.scaled_dot_product_attention with only the cuDNN backend.
#include <fmt/format.h>

#include "base/error.hpp"
#include "emit/emit.hpp"
#include "emit/python_text.hpp"

namespace attnprobe::emit {
namespace {

using attention::AttentionSpec;
using attention::Pass;

constexpr const char* torch_function = "PyTorch's scaled_dot_product_attention";

[[noreturn]] void refuse_in_torch(const std::string& what, const std::string& allowed) {
  throw Error(ErrorKind::usage, fmt::format("--emit torch: {} cannot express {}; allowed: {}, or --emit cpp",
                                            torch_function, what, allowed));
}

const char* torch_type(DataType type) {
  if (type == DataType::f16) return "torch.float16";
  if (type == DataType::bf16) return "torch.bfloat16";
  refuse_in_torch(fmt::format("dtype \"{}\" in cuDNN's backend", name_of(type)), "\"f16\", \"bf16\"");
}

void check_torch(const AttentionSpec& spec) {
  refuse_fields_beyond("torch", torch_function, spec,
                       {"pattern", "pass", "batch", "heads_q", "heads_kv", "seqlen_q", "seqlen_kv", "head_dim_qk",
                        "head_dim_v", "dtype", "layout", "scale", "mask", "bias", "dropout"});
  if (spec.pattern == attention::Pattern::mha || spec.pattern == attention::Pattern::two_matmul)
    refuse_in_torch(fmt::format("pattern \"{}\"", name_of(spec.pattern)),
                    "\"sdpa\", \"sdpa_composite\", \"sdpa_unified\"");
  if (attention::is_ragged(spec)) refuse_in_torch("a ragged layout", "\"bshd\" and the like");
  if (spec.scale_form != attention::ScaleForm::by_value) refuse_in_torch("a scale that is not a number", "a number");
  const attention::Mask causal{.window_right = 0};
  if (spec.mask != attention::Mask{} && spec.mask != causal)
    refuse_in_torch(fmt::format("mask \"{}\"", describe(spec.mask)), "\"none\", \"causal\"");
  if (spec.bias && spec.mask == causal) refuse_in_torch("a bias with a causal mask", "one of them");
  if (spec.dropout &&
      (spec.dropout->form != attention::DropoutForm::philox || spec.dropout->seed || spec.dropout->dump))
    refuse_in_torch("dropout with a mask or seed that the caller passes or receives", "only its probability");
}

std::string torch_tensor(const char* name, const std::array<int64_t, 4>& shape, const attention::Strides& strides,
                         const char* type, bool grad) {
  return fmt::format("{} = torch.empty_strided({}, {}, dtype={}, device=\"cuda\").normal_(){}\n", name,
                     python_tuple(shape), python_tuple(strides), type, grad ? ".requires_grad_()" : "");
}

}  // namespace

std::string torch_program(const Question& question, const AttentionSpec& spec) {
  check_torch(spec);
  const char* type = torch_type(spec.dtype);
  const bool grad = spec.pass != Pass::fprop;
  std::string text = python_head(
      question,
      {"Runs it with PyTorch's cuDNN backend on this machine's GPU, without fallback to another. PyTorch builds the graph itself.",
       "", "  python3 reproducer.py", ""});
  text += "import torch\nfrom torch.nn.attention import SDPBackend, sdpa_kernel\n\n";
  text +=
      "print(\"PyTorch\", torch.__version__, \"cuDNN\", torch.backends.cudnn.version(), torch.cuda.get_device_name())\n";
  text += "# (batch, heads, length, head_dim), and strides in elements\n";
  text += torch_tensor("q", {spec.batch, spec.heads_q, spec.seqlen_q, spec.head_dim_qk}, q_strides(spec), type, grad);
  text += torch_tensor("k", {spec.batch, spec.heads_kv, spec.seqlen_kv, spec.head_dim_qk}, k_strides(spec), type, grad);
  text += torch_tensor("v", {spec.batch, heads_v(spec), spec.seqlen_kv, spec.head_dim_v}, v_strides(spec), type, grad);
  std::string arguments = "q, k, v";
  if (spec.bias) {
    const bool of_bias = spec.bias->grad;
    text += fmt::format("bias = torch.randn({}, dtype={}, device=\"cuda\"){}\n", python_tuple(bias_dims(spec)),
                        torch_type(spec.bias->dtype.value_or(spec.dtype)), of_bias ? ".requires_grad_()" : "");
    arguments += ", attn_mask=bias";
  }
  if (spec.dropout) arguments += fmt::format(", dropout_p={}", python_number(spec.dropout->probability));
  if (spec.mask.window_right) arguments += ", is_causal=True";
  if (spec.scale) arguments += fmt::format(", scale={}", python_number(*spec.scale));
  if (spec.heads_q != spec.heads_kv) arguments += ", enable_gqa=True";
  text += fmt::format("with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]){}:\n", grad ? "" : ", torch.no_grad()");
  text += fmt::format("    out = torch.nn.functional.scaled_dot_product_attention({})\n", arguments);
  if (grad) text += "    out.backward(torch.randn_like(out))\n";
  text += "torch.cuda.synchronize()\n";
  return text + "print(\"supported: output\", tuple(out.shape), \"strides\", out.stride())\n";
}

}  // namespace attnprobe::emit
