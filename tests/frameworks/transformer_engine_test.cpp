// Transformer Engine's calls: read from JSON and from logs, and answered. The log (te-pytorch-log.txt) was produced
// with Python's repr, in the order of get_attention_backend's run_config (Transformer Engine 2.18 and 2.3). Its line
// breaks, tensor(…), recipe and cache have Transformer Engine's form.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "catch.hpp"
#include "frameworks/transformer_engine/calls.hpp"
#include "support.hpp"
#include "transformer_engine_calls.hpp"

namespace attnprobe::test::transformer_engine_test {

using namespace attnprobe::attention;
using namespace attnprobe::frameworks;

namespace {

using Query = TransformerEngineQuery;

std::string refusal(const Json& call) {
  return usage_error([&] { parse_transformer_engine(call.dump(), "te.json"); });
}

std::string log_refusal(const std::string& text) {
  return usage_error([&] { parse_transformer_engine(text, "log.txt"); });
}

// The answers of `probe --te`, by call and target.
class Answers {
 public:
  Answers(const std::string& file, const std::string& targets)
      : run_(run_attnprobe(fmt::format("--te {} --target {} --format json", file, targets))) {
    INFO(run_.err);
    REQUIRE_FALSE(run_.out.empty());
    json_ = run_.json();
  }

  int exit_code() const { return run_.exit_code; }
  const Json& report() const { return json_; }

  Json at(const std::string& name, const std::string& target) const {
    for (const auto& answer : json_["transformer_engine"])
      if (answer["name"] == name && answer["target"] == target) return answer;
    FAIL("no answer for " << name << " on " << target);
    return {};
  }

 private:
  Run run_;
  Json json_;
};

}  // namespace

TEST_CASE("a call as JSON: the C API's names, long and short words", "[te]") {
  const auto queries = parse_transformer_engine(fixture("te-calls.json"), "te-calls.json");
  REQUIRE(queries.size() == 4);
  const Query& causal = queries[0];
  CHECK(causal.name == "causal-training");
  CHECK(causal.is_training);
  CHECK(causal.q_dtype == DataType::bf16);
  CHECK(causal.qkv_layout == "bshd_bshd_bshd");
  CHECK(causal.o_format == "bshd");
  CHECK(causal.attn_mask_type == NvteMask::causal);
  CHECK(causal.softmax_type == NvteSoftmax::vanilla);
  CHECK(causal.window_size_right == 0);
  CHECK(causal.cuda_graph);
  CHECK(causal.attn_scale == 0.088);
  CHECK(causal.defaults.empty());
  CHECK(queries[2].num_tokens_q == 5000);
  CHECK(query_with(R"("softmax_type": "off-by-one")").softmax_type == NvteSoftmax::off_by_one);
  CHECK(query_with(R"("attn_mask_type": "NVTE_NO_MASK")").attn_mask_type == NvteMask::no_mask);
  CHECK(query_with(R"("attn_mask_type": "NVTE_PADDING_CAUSAL_BOTTOM_RIGHT_MASK")").attn_mask_type ==
        NvteMask::padding_causal_bottom_right);
  CHECK(query_with(R"("name": "mine")").name == "mine");
  CHECK(query_with().name == "te");
}

TEST_CASE("a missing field is listed with its assumed value", "[te]") {
  const Query query = query_with();
  for (const char* field :
       {"scaling_mode", "softmax_type", "window_size_left", "window_size_right", "bottom_right_diagonal",
        "return_max_logit", "cuda_graph", "deterministic", "attn_scale", "do_dtype", "dqkv_dtype"}) {
    INFO(field);
    CHECK(note_on(query.defaults, field) != nullptr);
  }
  CHECK(query.defaults.size() == 11);
  const Query ragged = query_with(R"("qkv_layout": "thd_thd_thd", "o_format": "thd")");
  REQUIRE(note_on(ragged.defaults, "num_tokens_q") != nullptr);
  CHECK(note_on(ragged.defaults, "num_tokens_q")->value == "512");
}

TEST_CASE("a missing required field is an error", "[te]") {
  const std::map<std::string, std::string> context = {
      {"bias_seqlen_q", R"("bias_type": "post_scale_bias", "bias_batch_size": 1, "bias_num_heads": 1,
                           "bias_seqlen_kv": 256)"},
      {"num_pages_k", R"("qkv_layout": "paged_kv_bshd_bshd_bshd")"},
      {"dqkv_dtype", R"("qkv_dtype": "float8e4m3", "do_dtype": "float8e5m2")"},
      {"q_dtype", R"("kv_dtype": "bf16")"}};
  for (const char* field : {"is_training",    "batch_size",     "o_dtype",      "qkv_layout",     "o_format",
                            "do_format",      "dqkv_layout",    "bias_type",    "attn_mask_type", "dropout",
                            "num_attn_heads", "num_gqa_groups", "max_seqlen_q", "max_seqlen_kv",  "head_dim_qk",
                            "head_dim_v",     "bias_seqlen_q",  "num_pages_k",  "dqkv_dtype",     "q_dtype"}) {
    const auto more = context.find(field);
    Json call = call_with(more == context.end() ? "" : more->second);
    if (field == std::string("q_dtype")) call.erase("qkv_dtype");
    call.erase(field);
    INFO(field);
    CHECK_THAT(refusal(call), ContainsSubstring(fmt::format("te.json: \"{}\" is missing", field)));
  }
}

TEST_CASE("errors name file, location, value and allowed values", "[te]") {
  CHECK_THAT(refusal(call_with(R"("qkv_layout": "bshd_bshd_bsdh")")),
             StartsWith("te.json: /qkv_layout: \"bshd_bshd_bsdh\" is not a known value; allowed: ") &&
                 EndsWith("(did you mean \"bshd_bshd_bshd\"?)"));
  CHECK_THAT(refusal(call_with(R"("num_head": 6)")), StartsWith("te.json: /num_head: unknown field"));
  CHECK_THAT(refusal(call_with(R"("window_size_lft": 6)")), ContainsSubstring("did you mean \"window_size_left\"?"));
  CHECK_THAT(refusal(call_with(R"("batch_size": 0)")),
             StartsWith("te.json: /batch_size: 0 is out of range; allowed: an integer from 1 to 2147483647"));
  CHECK_THAT(refusal(call_with(R"("is_training": 1)")),
             StartsWith("te.json: /is_training: 1 is not a boolean; allowed: true, false"));
  CHECK_THAT(refusal(call_with(R"("q_dtype": "bf16")")), ContainsSubstring("given together with"));
  CHECK_THAT(refusal(Json::array({call_with(), call_with(R"("dropout": 2)")})),
             StartsWith("te.json: /1/dropout: 2 is out of range; allowed: a number from 0 to 1"));
  CHECK_THAT(refusal(Json::array({call_with(R"("name": "a")"), call_with(R"("name": "a")")})),
             StartsWith("te.json: /1/name: \"a\" is the name of another call"));
  CHECK_THAT(log_refusal("{\n\"is_training\": tru}"),
             StartsWith("log.txt:2: not valid JSON: ") &&
                 ContainsSubstring("nor is it a log with \"Running with config={…}\""));
  CHECK_THAT(log_refusal(R"({"dropout": 0, "dropout": 1})"), ContainsSubstring("\"dropout\" appears twice"));
  CHECK_THAT(log_refusal("\nRunning with config={'fp8': False"), StartsWith("log.txt:2: the dict after"));
  CHECK_THAT(log_refusal("Running with config={'fp8': False}"), StartsWith("log.txt:1: the dump has no "));
  std::string log = fixture("te-pytorch-log.txt");
  log.replace(log.find("'attn_mask_type': 'causal'"), 26, "'attn_mask_type': 'casual'");
  CHECK_THAT(log_refusal(log), StartsWith("log.txt:2: 'attn_mask_type': \"casual\" is not a known value") &&
                                   ContainsSubstring("did you mean \"causal\"?"));
}

TEST_CASE("calls are read from a PyTorch log", "[te]") {
  const auto queries = parse_transformer_engine(fixture("te-pytorch-log.txt"), "log.txt");
  REQUIRE(queries.size() == 4);

  const Query& llama = queries[0];
  CHECK(llama.times == 2);
  CHECK(llama.origin.pointer == "2");
  CHECK(llama.logged_on == "sm90, cuDNN 9.19.0, Transformer Engine 2.18.0.dev0+d0067d0d");
  CHECK(llama.num_attn_heads == 32);
  CHECK(llama.num_gqa_groups == 8);
  CHECK(llama.attn_mask_type == NvteMask::causal);
  CHECK(llama.window_size_left == -1);
  CHECK(llama.window_size_right == 0);
  CHECK(note_on(llama.defaults, "o_format")->value == "bshd");
  CHECK(note_on(llama.defaults, "cuda_graph") == nullptr);

  const Query& mla = queries[1];
  CHECK(mla.max_seqlen_q == 2208);  // tensor(2208, dtype=torch.int32)
  CHECK(mla.head_dim_qk == 192);
  CHECK(mla.num_tokens_q == 4416);
  CHECK_FALSE(mla.bottom_right_diagonal);  // not in dumps of that version
  CHECK(note_on(mla.defaults, "bottom_right_diagonal") != nullptr);

  const Query& fp8 = queries[2];
  CHECK(fp8.q_dtype == DataType::fp8_e4m3);
  CHECK(fp8.o_dtype == DataType::bf16);
  CHECK(fp8.do_dtype == DataType::fp8_e5m2);
  CHECK(fp8.dqkv_dtype == DataType::bf16);
  CHECK(fp8.scaling_mode == NvteScaling::delayed_tensor_scaling);

  const Query& cached = queries[3];
  CHECK(cached.qkv_layout == "paged_kv_thd_bshd_bshd");
  CHECK(cached.pages_k.page_size == 64);
  CHECK(cached.pages_v.num_pages == 512);
  CHECK(cached.pages_k.max_pages_per_seq == 16);
}

TEST_CASE("other contents of a dump are kept", "[te]") {
  std::string log = fixture("te-pytorch-log.txt");
  const std::string usual = "'context_parallel': False", other = "'context_parallel': True";
  log.replace(log.find(usual), usual.size(), other);
  const auto queries = parse_transformer_engine(log, "log.txt");
  CHECK(queries.size() == 5);  // the second dump of the same call now differs
  CHECK(note_on(queries[0].outside, "context_parallel") != nullptr);
  CHECK(queries[1].outside.empty());
  std::string bias = fixture("te-pytorch-log.txt");
  const std::string none = "'alibi_slopes_shape': None, 'core_attention_bias_type': 'no_bias'";
  bias.replace(bias.find(none), none.size(),
               "'alibi_slopes_shape': torch.Size([32]), 'core_attention_bias_type': 'alibi'");
  const Query slopes = parse_transformer_engine(bias, "log.txt").at(0);
  CHECK(slopes.bias_type == NvteBias::post_scale_bias);
  CHECK(slopes.bias_dims == std::array<int64_t, 4>{1, 32, 4096, 4096});
}

TEST_CASE("answers: 16-bit and FP8 calls with backend and reason", "[te]") {
  const Answers answers("tests/fixtures/te-calls.json", "h200,a100,l40s,b200");
  CHECK(answers.exit_code() == 1);

  const Json causal = answers.at("causal-training", "h200");
  CHECK(causal["backend"] == "F16_arbitrary_seqlen");
  CHECK(causal["why"] == "forward by engine 2, backward by engine 6");
  CHECK(causal["query"]["cuda_graph"] == true);
  CHECK(causal["defaults"].empty());
  CHECK(causal["passes"][1]["config"] == "causal-training.backward");
  for (const char* target : {"a100", "l40s", "b200"})
    CHECK(answers.at("causal-training", target)["backend"] == "F16_arbitrary_seqlen");

  CHECK(answers.at("gemma-training", "h200")["backend"] == "F16_arbitrary_seqlen");
  const Json gemma = answers.at("gemma-training", "a100");
  CHECK(gemma["backend"] == "No_Backend");
  CHECK_THAT(gemma["why"].get<std::string>(),
             StartsWith("backward, cudnn-frontend") && ContainsSubstring("cuDNN itself refuses too: CUDNN_STATUS_"));
  CHECK(gemma["passes"][0]["verdict"] == "supported");
  CHECK(gemma["passes"][1]["verdict"] == "unsupported");
  CHECK_FALSE(gemma["passes"][1]["root_cause"]["reason"].get<std::string>().empty());

  CHECK(answers.at("packed-training", "h200")["backend"] == "F16_arbitrary_seqlen");
  CHECK_THAT(answers.at("packed-training", "a100")["why"].get<std::string>(),
             ContainsSubstring("Transformer Engine refuses: THD needs sm90"));

  CHECK(answers.at("fp8-inference", "h200")["backend"] == "FP8");
  CHECK(answers.at("fp8-inference", "b200")["backend"] == "FP8");
  const Json ada = answers.at("fp8-inference", "l40s");
  CHECK(ada["backend"] == "No_Backend");
  CHECK(ada["passes"][0]["verdict"] == "unsupported");
}

TEST_CASE("answers: a log, as text", "[te]") {
  const Run run = run_attnprobe("--te - --target h200", {}, fixture("te-pytorch-log.txt"));
  INFO(run.err << run.out);
  CHECK_THAT(run.out, ContainsSubstring("nvte_get_fused_attn_backend"));
  CHECK_THAT(run.out, ContainsSubstring("standard input:2; logged on sm90, cuDNN 9.19.0"));
  CHECK_THAT(run.out, ContainsSubstring("; 2 times"));
  CHECK_THAT(run.out, ContainsSubstring("h200  F16_arbitrary_seqlen  forward by engine 2, backward by engine 6"));
  CHECK_THAT(run.out, ContainsSubstring("not passed to cuDNN"));
  // head dimensions 192 and 128, THD
  CHECK_THAT(run.out, ContainsSubstring("standard input:7; logged on sm90, cuDNN 9.8.0, Transformer Engine 2.3.0"));
  CHECK_THAT(run.out, ContainsSubstring("num_tokens_q = 4416, num_tokens_kv = 4416: becomes 8192"));
  CHECK_THAT(run.out, ContainsSubstring("cuda_graph = false"));
}

TEST_CASE("the option --te excludes the other sources of a question", "[te]") {
  const std::string te = "--te tests/fixtures/te-calls.json ";
  const std::pair<std::string, const char*> cases[] = {
      {te + "--heads 8", "--te cannot be combined with"},
      {te + "--config configs/bert.json", "--te cannot be combined with"},
      {te + "--mode B", "--te needs mode A"},
      {"--te /nowhere.json", "/nowhere.json: cannot be opened: No such file or directory"}};
  for (const auto& [arguments, message] : cases) {
    const Run run = run_attnprobe(arguments);
    INFO(arguments << "\n" << run.err);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.err, message));
  }
  const Run drawn = run_attnprobe(te + "--target h200 --dump-graph json");
  CHECK(drawn.exit_code == 0);
  CHECK(drawn.json().size() == 7);
}

TEST_CASE("a call that crashes cuDNN has an unknown backend", "[te]") {
  const Run run = run_attnprobe("--te - --target h200 --format json", {{"ATTNPROBE_TEST_FAULT", "segfault@mode A"}},
                                call_with().dump());
  CHECK(run.exit_code == 4);
  const Json answer = run.json()["transformer_engine"][0];
  CHECK(answer["backend"] == "unknown");
  CHECK_THAT(answer["why"].get<std::string>(), StartsWith("forward, cuDNN gave no answer"));
}

}  // namespace attnprobe::test::transformer_engine_test
