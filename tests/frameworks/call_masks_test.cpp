// Masks and biases of a call: their own types and strides in the graphs, by release of the framework.
#include <fmt/ranges.h>

#include "answer/question.hpp"
#include "attention/fields.hpp"
#include "catch.hpp"
#include "frameworks/calls/call_questions.hpp"
#include "frameworks/calls/framework_calls.hpp"
#include "rules/framework_gates.hpp"
#include "support.hpp"

namespace attnprobe::test::call_masks_test {

using namespace attnprobe::frameworks;
using rules::Takes;

namespace {

FrameworkCall torch_call(const std::string& mask, const std::string& release) {
  return parse_calls({Caller::torch, release},
                     "scaled_dot_product_attention(q[2, 4, 32, 16], k[2, 4, 32, 16], v[2, 4, 32, 16], attn_mask=" +
                         mask + ", dtype=torch.float16)",
                     "call")
      .at(0);
}

FrameworkCall jax_call(const std::string& rest, const std::string& release) {
  return parse_calls({Caller::jax, release},
                     R"({"query": [2, 32, 4, 16], "key": [2, 32, 4, 16], "value": [2, 32, 4, 16], "dtype": "bfloat16",
                         "implementation": "cudnn", )" +
                         rest + "}",
                     "call")
      .at(0);
}

rules::GateAnswer gate_of(const std::string& word, const FrameworkCall& call, int sm = 90) {
  constexpr CudnnVersion cudnn{9, 20, 0};
  const auto chosen = rules::choose_gates({word}, "--framework").at(0);
  return rules::answer_of_gate(chosen, rules::describe_gate_call(*chosen.gate, call.graphs.at(0), cudnn, sm, call.keys),
                               cudnn);
}

std::optional<DataType> bias_type(const FrameworkCall& call) {
  return call.graphs.at(0).bias.value().dtype;
}

}  // namespace

TEST_CASE("a float32 mask with a 16-bit Q is misread before PyTorch 2.14, and declared from then on", "[frameworks]") {
  const std::string wide = "torch.randn(2, 4, 32, 32, dtype=torch.float32)";
  const FrameworkCall old = torch_call(wide, "2.13.0");
  CHECK_FALSE(bias_type(old).has_value());  // cuDNN gets Q's type
  const auto wrong = gate_of("torch==2.13", old);
  CHECK(wrong.takes == Takes::wrong);
  CHECK(
      wrong.text ==
      "PyTorch 2.13.0 silently computes wrong results for a mask of type f32, which cuDNN reads as if it were f16, since 2.5.0");
  CHECK(wrong.refusals.at(0).change == "cast the mask to Q's type before the call: attn_mask.to(query.dtype)");
  CHECK(wrong.taken_from == "2.14.0");
  CHECK(wrong.instead.empty());
  // If cuDNN is not the first choice, nothing is wrong: another backend runs.
  CHECK(gate_of("torch==2.13", old, 89).takes == Takes::by_name);

  const FrameworkCall today = torch_call(wide, "");
  CHECK(bias_type(today) == DataType::f32);
  CHECK(gate_of("torch==2.15", today).takes == Takes::yes);
  CHECK_FALSE(bias_type(torch_call("m[2, 4, 32, 32]", "")).has_value());
  CHECK_FALSE(bias_type(torch_call("torch.randn(2, 4, 32, 32, dtype=torch.half)", "")).has_value());
  // The same for a config.
  auto spec = today.graphs.at(0);
  const auto gate = rules::choose_gates({"torch==2.11"}, "--framework").at(0);
  CHECK(rules::answer_of_gate(gate, rules::describe_gate_call(*gate.gate, spec, {9, 19, 0}, 90, Json::object()),
                              {9, 19, 0})
            .takes == Takes::wrong);
}

TEST_CASE("a mask of a type that PyTorch itself refuses is an exception for any backend", "[frameworks]") {
  for (const char* type : {"bfloat16", "float64", "int32"}) {
    INFO(type);
    const auto answer =
        gate_of("torch==2.11", torch_call(fmt::format("torch.ones(2, 4, 32, 32, dtype=torch.{})", type), "2.11.0"));
    CHECK(answer.takes == Takes::refused);
    CHECK(answer.refusals.at(0).id == "mask_dtype");
    CHECK(answer.refusals.at(0).status == "exception");
    CHECK(answer.instead.empty());
  }
}

TEST_CASE("a boolean mask becomes a bias of Q's type, and the answer says so", "[frameworks]") {
  const FrameworkCall call = torch_call("torch.ones(2, 4, 32, 32, dtype=torch.bool)", "2.13.0");
  CHECK_FALSE(bias_type(call).has_value());
  const auto answer = gate_of("torch==2.13", call);
  CHECK(answer.takes == Takes::yes);
  REQUIRE(!answer.notes.empty());
  CHECK_THAT(fmt::format("{}", fmt::join(answer.notes, "\n")),
             ContainsSubstring("PyTorch turns the boolean mask into an additive one of Q's type for cuDNN"));
}

TEST_CASE("cuDNN gets the mask's strides, and dense ones in the same order for a boolean mask", "[frameworks]") {
  const auto strides = [](const std::string& mask) { return torch_call(mask, "").graphs.at(0).bias.value().strides; };
  using attention::Strides;
  CHECK_FALSE(strides("torch.randn(2, 4, 32, 32, dtype=torch.half)").has_value());
  CHECK(strides("torch.randn(2, 4, 32, 32, dtype=torch.half).transpose(-1, -2)") == Strides{4096, 1024, 1, 32});
  CHECK(strides("torch.ones(2, 4, 32, 32, dtype=torch.bool).transpose(-1, -2)") == Strides{4096, 1024, 1, 32});
  CHECK_FALSE(strides("torch.ones(2, 4, 32, 32, dtype=torch.bool)").has_value());
  // A slice keeps its gaps; the tensor made from a boolean mask has none.
  const std::string sliced = R"({"shape": [2, 4, 32, 32], "strides": [8192, 2048, 64, 1], "dtype": "TYPE"})";
  const auto of_json = [&](const std::string& type) {
    std::string mask = sliced;
    mask.replace(mask.find("TYPE"), 4, type);
    return parse_calls(
               {Caller::torch},
               R"({"query": [2, 4, 32, 16], "key": [2, 4, 32, 16], "value": [2, 4, 32, 16], "dtype": "f16", "attn_mask": )" +
                   mask + "}",
               "call")
        .at(0)
        .graphs.at(0)
        .bias.value()
        .strides;
  };
  CHECK(of_json("float16") == Strides{8192, 2048, 64, 1});
  CHECK_FALSE(of_json("bool").has_value());
  CHECK(gate_of("torch", torch_call("torch.ones(2, 4, 32, 32, dtype=torch.bool).transpose(-1, -2)", ""))
            .refusals.at(0)
            .id == "last_stride");
}

TEST_CASE("a JAX bias keeps its type, which XLA declares from JAX 0.8.1 on", "[frameworks]") {
  const std::string wide = R"("bias": {"shape": [1, 4, 32, 32], "dtype": "float32"})";
  CHECK(bias_type(jax_call(wide, "")) == DataType::f32);
  CHECK(bias_type(jax_call(wide, "0.8.1")) == DataType::f32);
  CHECK(gate_of("jax==0.11.2", jax_call(wide, "0.11.2")).takes == Takes::yes);
  const FrameworkCall old = jax_call(wide, "0.8.0");
  CHECK_FALSE(bias_type(old).has_value());
  const auto wrong = gate_of("jax==0.8.0", old);
  CHECK(wrong.takes == Takes::wrong);
  CHECK(wrong.refusals.at(0).id == "bias_type_not_declared");
  // A mask becomes a bias of Q's type; both together are added in the wider type.
  CHECK_FALSE(bias_type(jax_call(R"("mask": [1, 4, 32, 32])", "")).has_value());
  CHECK(bias_type(jax_call(wide + R"(, "mask": [1, 4, 32, 32])", "")) == DataType::f32);
  CHECK(bias_type(jax_call(R"("bias": {"shape": [1, 4, 32, 32], "dtype": "float16"}, "mask": [1, 4, 32, 32])", "")) ==
        DataType::f32);
  CHECK(bias_type(jax_call(R"("bias": {"shape": [1, 4, 32, 32], "dtype": "float16"})", "")) == DataType::f16);
  CHECK_FALSE(bias_type(jax_call(R"("bias": [1, 4, 32, 32])", "")).has_value());
}

TEST_CASE("JAX before 0.8 refuses the gradient of a bias for many sequences, but not that of a mask", "[frameworks]") {
  const auto backward = [](const std::string& rest) {
    const FrameworkCall call = jax_call(rest + R"(, "grad": true)", "0.5.1");
    constexpr CudnnVersion cudnn{9, 20, 0};
    const auto chosen = rules::choose_gates({"jax==0.5.1"}, "--framework").at(0);
    return rules::answer_of_gate(
        chosen, rules::describe_gate_call(*chosen.gate, call.graphs.at(1), cudnn, 90, call.keys), cudnn);
  };
  CHECK(backward(R"("mask": [2, 4, 32, 32])").takes == Takes::yes);
  const auto refused = backward(R"("bias": {"shape": [2, 4, 32, 32], "requires_grad": true})");
  REQUIRE(refused.takes == Takes::refused);
  CHECK(refused.refusals.at(0).id == "bias_gradient");
}

TEST_CASE("JAX declares an f32 bias, but dBias in Q's type, so that the backward pass is not refused", "[frameworks]") {
  const std::string bias = R"("bias": {"shape": [1, 4, 32, 32], "dtype": "float32"}, "grad": true)";
  const FrameworkCall call = jax_call(bias, "0.11.2");
  REQUIRE(call.graphs.size() == 2);
  const auto& backward = call.graphs.at(1).bias.value();
  CHECK((backward.grad && backward.dtype == DataType::f32 && backward.grad_dtype == DataType::bf16));
  CHECK_FALSE(jax_call(R"("bias": {"shape": [1, 4, 32, 32]}, "grad": true)", "0.11.2").graphs.at(1).bias->grad_dtype);
  const Run run = run_attnprobe(
      R"(--jax '{"jax": "0.11.2", "query": [2, 32, 4, 64], "key": [2, 32, 4, 64], "value": [2, 32, 4, 64], "dtype": "bfloat16", )" +
      bias + "}' --target h100 --quick --format json");
  const Json answer = Json::parse(run.out).at("results").at(1);
  CHECK(answer.at("usable") == "but");
  CHECK(answer.at("warnings").at(0).at("id") == "bias_gradient_type");
}

TEST_CASE("the option --framework determines which graphs a call builds", "[frameworks]") {
  CHECK(release_named({"torch==2.13,jax"}, Caller::torch, "--framework") == "2.13.0");
  CHECK(release_named({"jax==0.11.2"}, Caller::torch, "--framework").empty());
  CHECK(release_named({}, Caller::torch, "--framework").empty());
  const std::string call =
      "--torch 'F.scaled_dot_product_attention(q[2,4,32,16], k[2,4,32,16], v[2,4,32,16], "
      "attn_mask=torch.randn(2,4,32,32,dtype=torch.float32), dtype=torch.float16)' --target h100 --quick --framework torch==2.13";
  const Run run = run_attnprobe(call);
  CHECK_THAT(run.out, ContainsSubstring("PyTorch 2.13.0 silently computes wrong results for a mask of type f32"));
  CHECK_THAT(run.out, ContainsSubstring("\nbut: "));
}

TEST_CASE("PyTorch 2.5.0 and 2.5.1 choose different backends for a mask below Hopper", "[frameworks]") {
  const std::string call =
      "--torch 'F.scaled_dot_product_attention(q[2,4,1024,64], k[2,4,1024,64], v[2,4,1024,64], attn_mask=m[2,4,1024,1024], "
      "dtype=torch.float16)' --target rtx4090 --cudnn 9.1 --quick --framework torch==";
  const Run older = run_attnprobe(call + "2.5.0");
  CHECK_THAT(older.out, ContainsSubstring("PyTorch 2.5.0 asks cuDNN, second in PyTorch's order"));
  CHECK_THAT(older.out, ContainsSubstring("yes: by rule"));
  CHECK_THAT(older.out, !ContainsSubstring("only if you select it"));
  const Run either = run_attnprobe(call + "2.5");
  CHECK_THAT(either.out, ContainsSubstring("but: by rule"));
  CHECK_THAT(either.out, ContainsSubstring("PyTorch 2.5.1 uses cuDNN only if you select it"));
  CHECK_THAT(either.out, ContainsSubstring("; PyTorch 2.5.0 asks cuDNN, second in PyTorch's order"));
}

}  // namespace attnprobe::test::call_masks_test
