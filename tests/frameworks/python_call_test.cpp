// --torch and --jax with the call as their argument.
#include "frameworks/calls/python_call.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "frameworks/calls/framework_calls.hpp"
#include "support.hpp"

namespace attnprobe::test::python_call_test {

using namespace attnprobe::frameworks;

namespace {

// Ignores the order of members.
nlohmann::json unordered(const std::string& text) {
  return nlohmann::json::parse(text);
}

nlohmann::json read(const std::string& text) {
  return unordered(
      read_python_call(text, "--torch", {"query", "key", "value", "attn_mask", "dropout_p", "is_causal"}).dump());
}

std::string refused(const std::string& text) {
  try {
    read(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A call in source form gives the JSON of its arguments", "[calls]") {
  CHECK(is_python_call("F.scaled_dot_product_attention (q)", "scaled_dot_product_attention"));
  CHECK(is_python_call("out = torch.nn.functional.scaled_dot_product_attention(q)", "scaled_dot_product_attention"));
  CHECK_FALSE(is_python_call("scaled_dot_product_attention.json", "scaled_dot_product_attention"));
  CHECK_FALSE(is_python_call(R"({"query": "scaled_dot_product_attention("})", "scaled_dot_product_attention"));

  CHECK(read("out = F.sdpa(q[2, 32, 4096, 128], k[2,8,4096,128], (2, 8, 4096, 128), None, 0.125, is_causal=True, "
             "enable_gqa=True, scale=-1e-2, dtype=torch.bfloat16)") ==
        unordered(
            R"({"query": {"shape": [2, 32, 4096, 128]}, "key": {"shape": [2, 8, 4096, 128]}, "value": [2, 8, 4096, 128],
          "dropout_p": 0.125, "is_causal": true, "enable_gqa": true, "scale": -0.01, "dtype": "bfloat16"})"));
  CHECK(read("f(torch.randn(2, 4096, 32, 128, dtype=torch.half, device='cuda', requires_grad=True).transpose(1, 2))") ==
        unordered(R"({"query": {"shape": [2, 32, 4096, 128], "strides": [16777216, 128, 4096, 1], "dtype": "float16",
          "device": "cuda", "requires_grad": true}})"));
  CHECK(read("f(jax.random.normal(rng, (2, 1024, 8, 64), jnp.bfloat16))") ==
        unordered(R"({"query": {"shape": [2, 1024, 8, 64], "dtype": "bfloat16"}})"));
  CHECK(read("f(torch.full((2, 8, 16, 64), 0.5).cuda().to(torch.float16).requires_grad_())") ==
        unordered(R"({"query": {"shape": [2, 8, 16, 64], "dtype": "float16", "requires_grad": true}})"));
  CHECK(read("f(torch.zeros(size=[1, 2, 3, 8]).permute(0, 2, 1, 3).contiguous())") ==
        unordered(R"({"query": {"shape": [1, 3, 2, 8]}})"));
}

TEST_CASE("An error in a call names its column", "[calls]") {
  CHECK_THAT(refused("f(q)"), !ContainsSubstring("column"));  // a plain name; the reader of calls refuses it
  CHECK_THAT(refused("f(q[b, 8, 16, 64])"), ContainsSubstring("whole numbers"));
  CHECK(read("f(q[2 * 4, 8, 1 << 4, 64])") == unordered(R"({"query": {"shape": [8, 8, 16, 64]}})"));
  CHECK_THAT(refused("f(2 3)"), ContainsSubstring("--torch: column 5: \"3)\": ',' or ')' is missing"));
  CHECK_THAT(refused("f(q[1,2,3,4]"), ContainsSubstring("column 13"));
  CHECK_THAT(refused("f(make(2, 3))"), ContainsSubstring("make is not a known way to make a tensor"));
  CHECK_THAT(refused("f(q[1,2,3,4].view(2))"),
             ContainsSubstring("view() of a tensor, with these arguments, is unknown"));
  CHECK_THAT(refused("f(q[1,2,3,4].transpose(1, 7))"),
             ContainsSubstring("transpose() of a tensor, with these arguments, is unknown"));
  CHECK_THAT(refused("f(a[1], query=b[2])"), ContainsSubstring("query is given twice"));
  CHECK_THAT(refused("f(1, 2, 3, 4, 5, 6, 7)"), ContainsSubstring("7 arguments without a name"));
  CHECK_THAT(refused("f(" + std::string(200, '(') + "1" + std::string(201, ')')),
             ContainsSubstring("nested too deeply"));
  CHECK_THAT(refused("f(q[1,2,3,4]) + 1"), ContainsSubstring("the call has ended"));
}

TEST_CASE("A call and its JSON give the same question", "[calls]") {
  const auto by_call = load_calls(
      {Caller::torch},
      "F.scaled_dot_product_attention(q[2, 32, 512, 64], k[2, 32, 512, 64], v[2, 32, 512, 64], is_causal=True, dtype=torch.half)");
  const auto by_json = load_calls(
      {Caller::torch},
      R"({"query": [2, 32, 512, 64], "key": [2, 32, 512, 64], "value": [2, 32, 512, 64], "is_causal": true, "dtype": "float16"})");
  REQUIRE(by_call.size() == 1);
  REQUIRE(by_call[0].graphs.size() == by_json[0].graphs.size());
  CHECK(attention::to_json(by_call[0].graphs[0]) == attention::to_json(by_json[0].graphs[0]));
  CHECK(by_call[0].keys == by_json[0].keys);
  const auto jax = load_calls(
      {Caller::jax},
      "jax.nn.dot_product_attention(q[2, 512, 8, 64], k[2, 512, 8, 64], v[2, 512, 8, 64], dtype=jnp.bfloat16)");
  REQUIRE(jax.size() == 1);
  CHECK(jax[0].graphs[0].heads_q == 8);
  const Run run = run_attnprobe("--torch 'F.softmax(x)' --target h100");
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, ContainsSubstring("is not a call of scaled_dot_product_attention; allowed: "));
}

TEST_CASE("A missing type in a call is assumed and reported", "[calls]") {
  const std::string untyped = "F.scaled_dot_product_attention(q[2, 8, 512, 64], k[2, 8, 512, 64], v[2, 8, 512, 64]";
  const FrameworkCall assumed = load_calls({Caller::torch}, untyped + ")").at(0);
  CHECK(assumed.graphs.at(0).dtype == DataType::bf16);
  REQUIRE(assumed.notes.size() == 1);
  CHECK(assumed.notes[0] ==
        "query, key, value without a dtype: bf16 is assumed; dtype, in the call or next to it, names another");
  // The command that repeats the question includes it.
  const FrameworkCall again = load_calls({Caller::torch}, assumed.given.dump()).at(0);
  CHECK((again.notes.empty() && again.graphs.at(0).dtype == DataType::bf16));

  const FrameworkCall told = load_calls({Caller::torch, "", DataType::f16}, untyped + ")").at(0);
  CHECK((told.notes.empty() && told.graphs.at(0).dtype == DataType::f16));
  const FrameworkCall of_key =
      load_calls({Caller::torch},
                 "sdpa = scaled_dot_product_attention(q[2, 8, 512, 64], torch.randn(2, 8, 512, 64, "
                 "dtype=torch.half), v[2, 8, 512, 64])")
          .at(0);
  CHECK(of_key.graphs.at(0).dtype == DataType::f16);
  CHECK_THAT(of_key.notes.at(0), ContainsSubstring("query, value without a dtype: float16 is assumed"));
  CHECK(of_key.keys["one_dtype"] == true);
  CHECK_THAT(usage_error([&] {
               load_calls({Caller::torch, "", DataType::f16}, untyped + ", dtype=bfloat16)");
             }),
             ContainsSubstring("--dtype: \"f16\" is for calls without a type, but the call has bf16"));
  CHECK(load_calls({Caller::torch, "", DataType::f16}, untyped + ", dtype=half)").size() == 1);

  const std::string option = "--torch '" + untyped + ")' --target h100 --quick ";
  const Run run = run_attnprobe(option + "--dtype f16");
  CHECK_THAT(run.out, ContainsSubstring("sdpa fprop b2 h8 s512 d64 f16 bhsd"));
  CHECK_THAT(run.err, !ContainsSubstring("dtype"));
  CHECK_THAT(run_attnprobe(option).err, ContainsSubstring("without a dtype: bf16 is assumed"));
  CHECK_THAT(run_attnprobe(option + "--heads 4").err,
             ContainsSubstring("--torch can be combined only with the field --dtype; --heads is part of the call"));
}

}  // namespace attnprobe::test::python_call_test
