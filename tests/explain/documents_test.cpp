// Documents that imply a question: a model's config.json, XLA's custom calls.
#include <string>

#include "answer_to_text.hpp"
#include "base/notebook.hpp"
#include "catch.hpp"
#include "explain/documents.hpp"
#include "explain/explained.hpp"
#include "support.hpp"

namespace attnprobe::test::documents_test {

using namespace attnprobe::explain;

namespace {

Json fields_of(const std::string& text) {
  Json fields = Json::object();
  const auto documents = questions_of_document(text);
  REQUIRE_FALSE(documents.empty());
  for (const auto& one : documents.front().question.fields) fields[one.field] = one.value;
  return fields;
}

// By rule.
Explained explained(const std::string& text) {
  return explain::explain("a document", "a document", [&](const auto& take, std::string*) { take(text); }, {false, ""});
}

std::string call_of(const std::string& target, const std::string& operands, const std::string& config) {
  return "  fmha = (bf16[2,6,2048,128]{3,2,1,0}, u8[0]{0}) custom-call(Arg_0.1, Arg_1.2, Arg_2.3), custom_call_target=\"" +
         target + "\", operand_layout_constraints={" + operands +
         "}, backend_config={\"operation_queue_id\":\"0\",\"cudnn_fmha_backend_config\":{\"fmha_scale\":2," + config +
         "}}\n";
}

const std::string score =
    R"("intermediate_tensor_shape":{"element_type":"BF16","dimensions":["2","6","2048","1024"],"tuple_shapes":[]})";

}  // namespace

TEST_CASE("A model's config.json becomes a question about its prefill", "[explain]") {
  const std::string llama = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "max_position_embeddings": 2048, "torch_dtype": "bfloat16", "transformers_version": "4.40.0"})";
  const Json fields = fields_of(llama);
  CHECK(fields["heads_q"] == 32);
  CHECK(fields["heads_kv"] == 8);
  CHECK(fields["head_dim_qk"] == 128);
  CHECK(fields["seqlen_q"] == 2048);
  CHECK(fields["dtype"] == "bf16");
  CHECK(fields["mask"] == Json{{"causal", true}});
  const Explained answered = explained(llama);
  CHECK(answered.is_established());
  REQUIRE_FALSE(answered.answer.refusals.empty());
  CHECK_THAT(answered.answer.refusals.front().headline, ContainsSubstring("supports this attention on h100, by rule"));
  CHECK_THAT(answered.answer.told.front(), StartsWith("a model's config.json (LlamaForCausalLM): heads_q 32"));
  CHECK_THAT(answered.answer.asked, ContainsSubstring("assumed: a prefill of 2048 tokens, a causal mask, an H100"));
  CHECK_THAT(answered.answer.command, StartsWith("attnprobe --heads-q 32 --heads-kv 8"));
  const Explained odd = explained(R"({"num_attention_heads": 10, "hidden_size": 3210})");
  REQUIRE_FALSE(odd.answer.refusals.empty());
  CHECK(odd.answer.refusals.front().id == "head_dim_8");
  CHECK_THAT(odd.answer.refusals.front().headline, ContainsSubstring("a multiple of 8"));
}

TEST_CASE("Models name the same sizes differently", "[explain]") {
  const Json mistral = fields_of(R"({"num_attention_heads": 32, "head_dim": 128, "sliding_window": 4096})");
  CHECK(mistral["mask"] == Json{{"causal", true}, {"window_left", 4095}});
  CHECK_FALSE(
      fields_of(R"({"num_attention_heads": 32, "head_dim": 128, "sliding_window": 4096, "use_sliding_window": false})")
          ["mask"]
              .contains("window_left"));
  const Json deepseek = fields_of(
      R"({"num_attention_heads": 128, "hidden_size": 7168, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128})");
  CHECK(deepseek["head_dim_qk"] == 192);
  CHECK(deepseek["head_dim_v"] == 128);
  const Json gemma = fields_of(
      R"({"text_config": {"num_attention_heads": 8, "head_dim": 256, "attn_logit_softcapping": 50.0, "torch_dtype": "float16"}})");
  CHECK(gemma["softcap"] == 50.0);
  CHECK(gemma["dtype"] == "f16");
  CHECK_FALSE(fields_of(R"({"architectures": ["BertForMaskedLM"], "num_attention_heads": 12, "hidden_size": 768})")
                  .contains("mask"));
  for (const char* other : {R"({"hidden_size": 4096})", R"({"num_attention_heads": "32", "head_dim": 128})", "{", "[]",
                            R"({"num_attention_heads": 7, "hidden_size": 4096})"})
    CHECK(questions_of_document(other).empty());
}

TEST_CASE("XLA custom calls are read with their backend_config", "[explain]") {
  const std::string hlo = call_of(
      "__cudnn$fmhaScaleBiasSoftmaxDropout",
      "bf16[2,2048,6,128]{3,2,1,0}, bf16[2,1024,2,128]{3,2,1,0}, bf16[2,1024,2,64]{3,2,1,0}, bf16[1,6,2048,1024]{3,2,1,0}",
      R"("dropout_rate":0.25,)" + score + R"(,"mask_type":"PADDING_CAUSAL","sliding_window_length":17)");
  const Json fields = fields_of("ENTRY main {\n" + hlo + "}\n");
  CHECK(fields["batch"] == 2);
  CHECK(fields["heads_q"] == 6);
  CHECK(fields["heads_kv"] == 2);
  CHECK(fields["seqlen_q"] == 2048);
  CHECK(fields["seqlen_kv"] == 1024);
  CHECK(fields["head_dim_qk"] == 128);
  CHECK(fields["head_dim_v"] == 64);
  CHECK(fields["dropout"] == 0.25);
  CHECK(fields["bias"] == "1hss");
  CHECK(fields["pass"] == "fprop");
  CHECK(fields["mask"] == Json{{"causal", true}, {"padding", true}, {"window_left", 16}});
  // StableHLO with escaped quotes.
  const std::string stable =
      "jax 0.6.0 on an A100\n%3:2 = stablehlo.custom_call @__cudnn$fmhaSoftmaxBackward(%0, %1, %2) {backend_config = "
      "\"{\\22cudnn_fmha_backend_config\\22: {\\22intermediate_tensor_shape\\22: {\\22element_type\\22: \\22BF16\\22, "
      "\\22dimensions\\22: [\\224\\22, \\224\\22, \\221024\\22, \\221024\\22]}, \\22mask_type\\22: \\22NO_MASK\\22}}\"} : "
      "(tensor<4x1024x4x320xbf16>, tensor<4x1024x4x320xbf16>, tensor<4x1024x4x320xbf16>) -> (tensor<4x4x1024x320xbf16>)\n";
  CHECK(fields_of(stable)["head_dim_qk"] == 320);
  CHECK(fields_of(stable)["pass"] == "bprop");
  const Explained answered = explained(stable);
  REQUIRE_FALSE(answered.answer.refusals.empty());
  CHECK(answered.answer.refusals.front().id == "head_dim_bprop");
  CHECK_THAT(answered.answer.refusals.front().headline, ContainsSubstring("this is sm_80"));
  CHECK_THAT(answered.answer.told.front(), ContainsSubstring("XLA's custom call __cudnn$fmhaSoftmaxBackward (line 2)"));
  // Equal calls count once; a name without a call does not count.
  CHECK(questions_of_document(hlo + hlo).size() == 1);
  CHECK(questions_of_document("__cudnn$fmhaSoftmax failed").empty());
}

TEST_CASE("A notebook is read as its cells display it", "[explain]") {
  const Json notebook = {
      {"cells",
       {{{"cell_type", "code"},
         {"source",
          {"q = torch.randn(2, 16, 1024, 64, device='cuda', dtype=torch.float32)\n",
           "F.scaled_dot_product_attention(q, q, q)\n"}},
         {"outputs",
          {{{"output_type", "error"},
            {"traceback", {"\u001b[0;31mRuntimeError\u001b[0m: No available kernel. Aborting execution."}}}}}}}},
      {"nbformat", 4}};
  CHECK(
      text_of_notebook(notebook.dump()) ==
      "q = torch.randn(2, 16, 1024, 64, device='cuda', dtype=torch.float32)\n"
      "F.scaled_dot_product_attention(q, q, q)\n\u001b[0;31mRuntimeError\u001b[0m: No available kernel. Aborting execution.\n");
  CHECK(text_of_notebook(R"({"cells": 3})").empty());
  CHECK(may_be_notebook("\n{ \"cells\": ["));
  CHECK(may_be_notebook("{\"nbformat_minor\": 5"));
  CHECK_FALSE(may_be_notebook("{\"cells_of\": 3"));
  CHECK_FALSE(may_be_notebook("[{\"cells\": 3}]"));
  const Explained answered = explained(notebook.dump());
  REQUIRE_FALSE(answered.answer.refusals.empty());
  CHECK(answered.answer.refusals.front().id == "torch:dtype");
  CHECK(answered.answer.refusals.front().first_line == 3);
  // Pictures make a notebook large.
  Json large = notebook;
  large["cells"].insert(large["cells"].begin(),
                        {{"outputs", {{{"data", {{"image/png", std::string(size_t{5} << 20, 'A')}}}}}}});
  CHECK(explained(large.dump()).answer.refusals.front().id == "torch:dtype");
}

TEST_CASE("A call in Transformer Engine's debug output is answered", "[explain]") {
  std::string log = fixture("te-pytorch-log.txt");
  const Explained logged = explained(log);
  REQUIRE_FALSE(logged.calls.empty());
  CHECK(logged.calls.front().framework == "te");
  CHECK(logged.calls.front().line == 2);
  CHECK_THAT(logged.calls.front().call, ContainsSubstring("sdpa fprop"));
  CHECK_THAT(logged.calls.front().answered, ContainsSubstring("Transformer Engine 2.18"));
}

}  // namespace attnprobe::test::documents_test
