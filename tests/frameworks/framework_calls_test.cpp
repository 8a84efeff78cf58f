// Calls of PyTorch and JAX: they give the graphs in these programs' logs, the keys of their gates, and an error for an
// invalid call.
#include "frameworks/calls/framework_calls.hpp"

#include "answer/question.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "graph/op_graph.hpp"
#include "replay/replay.hpp"
#include "rules/framework_gates.hpp"
#include "rules/gate_demands.hpp"
#include "support.hpp"

namespace attnprobe::test::framework_calls_test {

using namespace attnprobe::frameworks;

namespace {

constexpr CudnnVersion logged_cudnn{9, 19, 0};

std::vector<std::string> hashes_of(const FrameworkCall& call) {
  std::vector<std::string> hashes;
  for (const auto& spec : call.graphs)
    hashes.push_back(graph::hash(build::build_graph(spec, {logged_cudnn, 90}).graph));
  return hashes;
}

std::vector<std::string> hashes_in_log(const std::string& name) {
  const auto replay =
      replay::read_replay((source_dir() / "tests/fixtures/logs/frameworks" / (name + ".log.xz")).string());
  std::vector<std::string> hashes;
  for (const auto& graph : replay.graphs) hashes.push_back(graph::hash(graph.logged.imported->graph));
  return hashes;
}

FrameworkCall torch_call(const std::string& json) {
  return parse_calls({Caller::torch}, json, "call.json").at(0);
}
FrameworkCall jax_call(const std::string& json) {
  return parse_calls({Caller::jax}, json, "call.json").at(0);
}

rules::GateAnswer gate_of(const std::string& word, const FrameworkCall& call, int sm) {
  const auto chosen = rules::choose_gates({word}, "--framework").at(0);
  return rules::answer_of_gate(
      chosen, rules::describe_gate_call(*chosen.gate, call.graphs.at(0), logged_cudnn, sm, call.keys), logged_cudnn);
}

// A tensor from a projection, with (batch, length, heads, head dimension) in memory.
std::string projected(int64_t b, int64_t h, int64_t s, int64_t d, bool requires_grad = false) {
  return Json{{"shape", {b, h, s, d}}, {"strides", {s * h * d, d, h * d, 1}}, {"requires_grad", requires_grad}}.dump();
}

std::string call_with(const std::string& q, const std::string& k, const std::string& v, const std::string& rest) {
  return R"({"query": )" + q + R"(, "key": )" + k + R"(, "value": )" + v + ", " + rest + "}";
}
std::string self_attention(const std::string& tensor, const std::string& rest) {
  return call_with(tensor, tensor, tensor, rest);
}

}  // namespace

TEST_CASE("a call of PyTorch gives the graphs in PyTorch's log", "[frameworks]") {
  const std::string f16 = R"("dtype": "torch.float16")", bf16 = R"("dtype": "torch.bfloat16")";
  const std::string packed = R"({"shape": [2, 12, 512, 64], "strides": [1179648, 64, 2304, 1]})";
  const std::pair<const char*, std::string> calls[] = {
      {"pytorch-bias-f16",
       self_attention(projected(2, 8, 512, 64),
                      f16 + R"(, "attn_mask": {"shape": [2, 8, 512, 512], "dtype": "torch.float16"})")},
      {"pytorch-train-bias-broadcast-bf16",
       self_attention(projected(2, 8, 512, 64, true),
                      bf16 + R"(, "attn_mask": {"shape": [1, 1, 512, 512], "dtype": "bfloat16"})")},
      {"pytorch-cross-attention-f16",
       call_with(projected(2, 10, 4096, 64), projected(2, 10, 77, 64), projected(2, 10, 77, 64), f16)},
      {"pytorch-mla-bf16", call_with(projected(1, 16, 512, 192), projected(1, 16, 512, 192), projected(1, 16, 512, 128),
                                     bf16 + R"(, "is_causal": true)")},
      {"pytorch-nested-f16", self_attention("[3, 8, 512, 64]", f16 + R"(, "nested_lengths": [100, 250, 512])")},
      {"pytorch-odd-shapes-f16",
       call_with(projected(3, 5, 333, 80), projected(3, 5, 257, 80), projected(3, 5, 257, 80), f16)},
      {"pytorch-packed-projection-f16", self_attention(packed, f16)},
      {"pytorch-decode-gqa-f16", call_with(projected(8, 32, 1, 128), projected(8, 8, 4000, 128),
                                           projected(8, 8, 4000, 128), f16 + R"(, "enable_gqa": true)")},
      {"pytorch-train-gqa-bf16",
       call_with(projected(2, 16, 1024, 128, true), projected(2, 4, 1024, 128, true), projected(2, 4, 1024, 128, true),
                 bf16 + R"(, "is_causal": true, "enable_gqa": true)")}};
  for (const auto& [log, json] : calls) {
    INFO(log << "\n" << json);
    CHECK(hashes_of(torch_call(json)) == hashes_in_log(log));
  }
}

TEST_CASE("a dropout in the graphs is rounded to PyTorch's single precision", "[frameworks]") {
  auto call = torch_call(self_attention(projected(2, 8, 512, 128, true), R"("dtype": "bf16", "dropout_p": 0.1)"));
  CHECK(call.graphs.at(0).dropout->probability == 0.1);
  // 0.1 as a float, and the backward graph's scale 1 / (1 - p) computed from it.
  call.graphs.at(0).dropout->probability = 0.10000000149011612;
  call.graphs.at(1).dropout->probability = 0.10000002384185791;
  CHECK(hashes_of(call) == hashes_in_log("pytorch-train-dropout-bf16"));
}

TEST_CASE("a call of JAX gives the graphs in JAX's log", "[frameworks]") {
  const std::string f16 = R"("dtype": "float16")", bf16 = R"("dtype": "bfloat16")";
  const std::pair<const char*, std::string> calls[] = {
      {"jax-train-bias-f16",
       self_attention("[2, 512, 8, 64]",
                      f16 + R"(, "bias": {"shape": [1, 8, 512, 512], "dtype": "float16"}, "grad": true)")},
      {"jax-train-padding-bf16",
       self_attention("[2, 512, 8, 64]",
                      bf16 + R"(, "query_seq_lengths": [400, 512], "key_value_seq_lengths": true, "grad": true)")},
      {"jax-odd-shapes-f16", call_with("[3, 333, 5, 80]", "[3, 257, 5, 80]", "[3, 257, 5, 80]", f16)}};
  for (const auto& [log, json] : calls) {
    INFO(log << "\n" << json);
    CHECK(hashes_of(jax_call(json)) == hashes_in_log(log));
  }
  // From 0.11.1 on, a mask without a bias has no gradient.
  const auto masked = [&](const std::string& release) {
    return jax_call(self_attention("[2, 512, 8, 64]",
                                   bf16 + R"(, "mask": [2, 1, 512, 512], "grad": true, "jax": ")" + release + "\""))
        .graphs.at(1)
        .bias->grad;
  };
  CHECK_FALSE(masked("0.12.0.1"));
  CHECK_FALSE(masked("0.11.1"));
  CHECK(masked("0.11.0"));
  // A log does not show the size of a window.
  const auto window =
      jax_call(self_attention("[1, 2048, 8, 128]", bf16 + R"(, "is_causal": true, "local_window_size": [256, 0])"));
  CHECK(window.graphs.at(0).mask.window_left == 256);
  CHECK(window.graphs.at(0).mask.window_right == 0);
}

TEST_CASE("the gate is asked about the call itself, not only about the config", "[frameworks]") {
  const std::string grouped =
      R"("query": [2, 8, 512, 64], "key": [2, 2, 512, 64], "value": [2, 2, 512, 64], "dtype": "bf16")";
  CHECK(gate_of("torch", torch_call("{" + grouped + "}"), 90).text ==
        "PyTorch 2.15.0 refuses 8 heads of Q over 2 of K and V without enable_gqa=True, since 2.8.0");
  CHECK(gate_of("torch", torch_call("{" + grouped + R"(, "enable_gqa": true})"), 90).takes == rules::Takes::yes);
  CHECK(gate_of("torch", torch_call("{" + grouped + R"(, "enable_gqa": true})"), 89).takes == rules::Takes::by_name);
  CHECK(
      gate_of("torch", torch_call("{" + grouped + R"(, "enable_gqa": true, "backend": "CUDNN_ATTENTION"})"), 89).text ==
      "PyTorch 2.15.0 asks cuDNN, as the call selects it; it ships cuDNN 9.26.0, but 9.19.0 answers here");
  // A list is a set unless it sets the priority; the remaining backends determine the effect of a refusal.
  const auto among = [&](const std::string& backends) {
    return gate_of("torch", torch_call("{" + grouped + R"(, "enable_gqa": true, "backend": )" + backends + "}"), 89);
  };
  const std::string both = R"(["CUDNN_ATTENTION", "MATH"])";
  CHECK(among(both).takes == rules::Takes::by_name);
  CHECK_THAT(among(both).text, ContainsSubstring("without set_priority the list is a set, not an order"));
  CHECK(among(both + R"(, "set_priority": true)").takes == rules::Takes::yes);
  CHECK(among(R"(["MATH", "CUDNN_ATTENTION"], "set_priority": true)").takes == rules::Takes::by_name);
  CHECK(among(R"("FLASH_ATTENTION")").refusals.at(0).id == "switched_off");
  const auto alone = gate_of("torch", torch_call("{" + grouped + R"(, "backend": "CUDNN_ATTENTION"})"), 90);
  CHECK(alone.instead ==
        "no other backend is enabled, so the call raises \"No available kernel. Aborting execution.\"");
  CHECK(alone.refusals.at(0).status == "exception");
  CHECK(gate_of("torch", torch_call("{" + grouped + R"(, "backend": ["CUDNN_ATTENTION", "FLASH_ATTENTION"]})"), 90)
            .instead == "flash attention runs instead, or the call raises if flash refuses it");
  // Flash attention supports no mask, so cuDNN gets the call, though it comes last on this GPU.
  const auto behind = gate_of(
      "torch",
      torch_call(
          "{" + grouped +
          R"(, "enable_gqa": true, "attn_mask": [512, 512], "backend": ["FLASH_ATTENTION", "CUDNN_ATTENTION"]})"),
      89);
  CHECK(behind.takes == rules::Takes::yes);
  CHECK_THAT(behind.text,
             ContainsSubstring("because flash attention, the only other enabled backend, refuses the call"));
  const std::string plain =
      R"("query": [2, 8, 512, 64], "key": [2, 8, 512, 64], "value": [2, 8, 512, 64], "dtype": "bf16")";
  const auto refused_by = [&](const std::string& rest) {
    const auto answer = gate_of("torch", torch_call("{" + plain + ", " + rest + "}"), 90);
    return answer.refusals.empty() ? std::string() : answer.refusals.front().id;
  };
  CHECK(refused_by(R"("attn_mask": {"shape": [512, 512], "requires_grad": true})") == "mask_requires_grad");
  CHECK(refused_by(R"("attn_mask": {"shape": [2, 4, 512, 512]})") == "mask_shape");
  CHECK(refused_by(R"("attn_mask": {"shape": [512, 300]})") == "mask_lengths");
  CHECK(refused_by(R"("attn_mask": {"shape": [2, 1, 512, 512], "strides": [0, 0, 512, 0], "dtype": "bool"})") ==
        "last_stride");
  CHECK(refused_by(R"("attn_mask": {"shape": [512, 512], "dtype": "torch.bool"})").empty());
  CHECK(refused_by(R"("deterministic": true)") == "deterministic");
  CHECK(refused_by(R"("cudnn_sdp_enabled": false)") == "switched_off");
  CHECK(refused_by(R"("nested_lengths": [100, 512])") == "nested_not_enabled");
}

TEST_CASE("only forward, or both passes if a gradient is needed", "[frameworks]") {
  const std::string q = R"({"shape": [2, 8, 512, 64], "dtype": "bfloat16", "requires_grad": true})";
  const std::string other = R"({"shape": [2, 8, 512, 64], "dtype": "bfloat16"})";
  const auto both =
      torch_call(R"({"name": "layer", "query": )" + q + R"(, "key": )" + other + R"(, "value": )" + other + "}");
  REQUIRE(both.graphs.size() == 2);
  CHECK(both.graphs[0].pass == attention::Pass::fprop_train);
  CHECK(both.graphs[1].pass == attention::Pass::bprop);
  CHECK(both.graphs[0].name == "layer, forward");
  CHECK(both.graphs[1].name == "layer, backward");
  CHECK(both.graphs[0].q.axes == "bhsd");
  CHECK(both.keys["query_requires_grad"] == true);
  const auto without = torch_call(R"({"query": )" + q + R"(, "key": )" + other + R"(, "value": )" + other +
                                  R"(, "grad_enabled": false})");
  REQUIRE(without.graphs.size() == 1);
  CHECK(without.graphs[0].pass == attention::Pass::fprop);
  CHECK(without.keys["query_requires_grad"] == false);
}

TEST_CASE("calls are read from the lines of a program, without duplicates", "[frameworks]") {
  const std::string line =
      R"(attnprobe-torch {"torch": "2.11.0+cu130", "query": [1, 8, 64, 64], "key": [1, 8, 64, 64], "value": [1, 8, 64, 64], "dtype": "f16"})";
  const std::string other =
      R"([rank0]: attnprobe-torch {"query": [1, 8, 128, 64], "key": [1, 8, 64, 64], "value": [1, 8, 64, 64], "dtype": "f16"})";
  const auto calls =
      parse_calls({Caller::torch}, "step 1\n" + line + "\nloss 3.2\n" + other + "\n" + line + "\r\n", "train.log");
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].times == 2);
  CHECK(calls[0].release == "2.11.0+cu130");
  CHECK(calls[0].name == "call[0]");
  CHECK(calls[1].origin.pointer == "4");
  CHECK(parse_calls({Caller::torch}, other, "train.log").at(0).graphs.at(0).seqlen_q ==
        128);  // a line that begins like JSON
  CHECK(rules::title_of(rules::choose_gates({"torch==" + calls[0].release}, "x").at(0)) == "PyTorch 2.11.0");
  CHECK(rules::title_of(rules::choose_gates({"torch==2.16.0a0+git123"}, "x").at(0)) ==
        "PyTorch 2.16.0 (rules of 2.15.0)");
}

TEST_CASE("a report around a program is not one call", "[frameworks]") {
  const std::string report =
      "Training goes NaN (cuDNN attention)\n\nimport torch\nq = torch.randn(1, 8, 704, 64, device=\"cuda\", dtype=torch.bfloat16)\n"
      "out = torch.nn.functional.scaled_dot_product_attention(q, q, q)\n";
  const auto calls = parse_calls({Caller::torch}, report, "report.txt");
  REQUIRE(calls.size() == 1);
  CHECK(calls.front().graphs.front().seqlen_q == 704);
}

TEST_CASE("a meaningless call is an error with its location", "[frameworks]") {
  const std::string tensor = "[2, 8, 512, 64]";
  const std::pair<std::string, const char*> cases[] = {
      {"nothing here", R"(call.json: no call found; allowed: JSON, a line "attnprobe-torch {…}")"},
      {R"({"query": [2, 8, 512, 64]})", "\"key\""},
      {self_attention(tensor, R"("dtype": "f16", "dropout": 0.1)"),
       "unknown key \"dropout\" (did you mean \"dropout_p\"?)"},
      {self_attention(tensor, R"("dtype": "f17")"),
       "call.json: /dtype: \"f17\" is not a known value; allowed: \"f16\""},
      {self_attention("\"q\"", R"("dtype": "f16")"),
       "/query: \"q\" is not a tensor with its sizes, as in q[2, 8, 1024, 64]"},
      {self_attention(tensor, R"("dtype": "f16", "dropout_p": 1.5)"),
       "/dropout_p: 1.5 is out of range; allowed: 0 to below 1"},
      {self_attention("[8, 64]", R"("dtype": "f16")"),
       "a tensor of 2 dimensions; allowed: 4 (batch, heads, length, head dimension)"},
      {self_attention("[2, 8, 0, 64]", R"("dtype": "f16")"), "/query/2: 0 is out of range"},
      {call_with(tensor, "[2, 8, 512, 32]", tensor, R"("dtype": "f16")"),
       "/key: its head dimension is 32; allowed: the query's, 64"},
      {self_attention(tensor, R"("dtype": "f16", "is_causal": true, "attn_mask": [512, 512])"),
       "/attn_mask: PyTorch accepts attn_mask or is_causal=True, not both"},
      {self_attention(R"({"shape": [2, 8, 512, 64], "strides": [1]})", R"("dtype": "f16")"),
       "/query/strides: 1 strides for 4 dimensions"},
      {"train\nattnprobe-torch {\"query\": [1,2,}\n", "call.json:2: "}};
  for (const auto& [json, message] : cases) {
    INFO(json);
    CHECK_THAT(usage_error([&, &text = json] { parse_calls({Caller::torch}, text, "call.json"); }),
               ContainsSubstring(message));
  }
  CHECK_THAT(usage_error([] {
               parse_calls({Caller::jax},
                           R"({"query": [2, 512, 8, 64], "key": [2, 512, 8, 64], "value": [2, 512, 8, 64],
    "dtype": "bf16", "query_seq_lengths": [1]})",
                           "call.json");
             }),
             ContainsSubstring("/query_seq_lengths: 1 lengths for a batch of 2"));
  CHECK_THAT(usage_error([&] {
               parse_calls({Caller::jax},
                           call_with("[2, 512, 8, 64]", "[2, 512, 8, 64]", "[2, 512, 8, 128]", R"("dtype": "bf16")"),
                           "call.json");
             }),
             ContainsSubstring("call.json: /value: its shape differs from the key's; JAX requires the same"));
  CHECK_THAT(usage_error([&] {
               parse_calls({Caller::jax},
                           self_attention("[2, 512, 8, 64]",
                                          R"("dtype": "bf16", "mask": {"shape": [512, 512], "dtype": "float32"})"),
                           "call.json");
             }),
             ContainsSubstring("/mask: a mask that is not bool"));
}

TEST_CASE("options --torch and --jax ask about a call's graphs and its gate", "[frameworks]") {
  const std::string call =
      R"('{"torch": "2.15.0", "query": {"shape": [2, 32, 4096, 96], "requires_grad": true}, "key": [2, 8, 4096, 96], "value": [2, 8, 4096, 96], "dtype": "bfloat16", "is_causal": true, "dropout_p": )";
  const Run refused = run_attnprobe("--torch " + call + "0.1, \"enable_gqa\": true}' --target 4090 --quick");
  INFO(refused.out << refused.err);
  CHECK(refused.exit_code == 0);
  CHECK(refused.out.starts_with("PyTorch 2.15.0 refuses dropout 0.1 (not a multiple of 1/16), since 2.12.0; flash,"));
  const Run run =
      run_attnprobe("--torch " + call + "0.125, \"enable_gqa\": true}' --target 4090,h100,b200 --quick --format json");
  REQUIRE(run.exit_code == 0);
  const Json results = run.json()["results"];
  REQUIRE(results.size() == 6);
  CHECK(results[0]["config"]["name"] == "call, forward");
  CHECK(results[3]["config"]["pass"] == "bprop");
  CHECK(results[1]["usable"] == "yes");
  CHECK(results[1]["frameworks"][0]["takes"] == "yes");
  const std::string reproduce = results[4]["reproduce"];
  CHECK_THAT(reproduce, StartsWith("attnprobe --torch '{"));
  CHECK_THAT(reproduce, ContainsSubstring("--framework torch==2.15.0 --target h100"));
  CHECK(shell(program() + reproduce.substr(9)).exit_code == 0);

  const Run jax = run_attnprobe(
      R"(--jax - --target h200 --quick)", {},
      R"({"jax": "0.12.0", "query": [2, 512, 8, 64], "key": [2, 512, 8, 64], "value": [2, 512, 8, 64], "dtype": "bf16", "implementation": "cudnn"})");
  INFO(jax.out << jax.err);
  CHECK(jax.exit_code == 0);
  CHECK(jax.out.starts_with("JAX 0.12.0.1 asks cuDNN, as the call selects it\n"));

  const Run both = run_attnprobe("--torch {} --heads 8");
  CHECK(both.exit_code == 2);
  CHECK_THAT(both.err,
             ContainsSubstring("--torch can be combined only with the field --dtype; --heads is part of the call"));
  CHECK_THAT(run_attnprobe("--torch /nowhere.json").err, ContainsSubstring("/nowhere.json: cannot be opened"));
  const Run graph = run_attnprobe("--torch " + call + "0.125}' --dump-graph json");
  CHECK(graph.exit_code == 0);
  CHECK(graph.json().size() == 2);
}

TEST_CASE("a framework's release is judged with its own cudnn-frontend", "[frameworks]") {
  const auto frontend_of = [](const std::string& words) {
    return rules::frontend_of(rules::choose_gates({words}, "--framework"));
  };
  CHECK(frontend_of("torch==2.14") == "1.26");
  CHECK(frontend_of("torch==2.15") == "1.30");
  CHECK(frontend_of("te==2.17") == "1.25");
  CHECK(frontend_of("jax==0.12") == "1.26");
  CHECK(frontend_of("torch==2.11") == "1.23");  // it pins 1.18, which is older than all known releases
  CHECK(frontend_of("torch==2.14,jax==0.12") == "1.26");
  CHECK_FALSE(frontend_of("torch==2.15,jax==0.12"));
  CHECK_FALSE(frontend_of("keras"));

  const auto noted = [&](const std::string& word, const std::string& answered) {
    const auto chosen = rules::choose_gates({word}, "--framework").at(0);
    auto answer = gate_of(word, torch_call(self_attention(projected(2, 8, 128, 64), R"("dtype": "float16")")), 90);
    answer.notes.clear();
    note_frontend(answer, chosen, answered);
    return answer.notes.empty() ? answer.frontend : answer.frontend + ": " + answer.notes.front();
  };
  CHECK(noted("torch==2.15", "1.30") ==
        "1.30: PyTorch 2.15.0 contains cudnn-frontend 1.30 (strings of its libtorch_cuda.so)");
  CHECK(
      noted("torch==2.11", "1.23") ==
      "1.18: PyTorch 2.11.0 contains cudnn-frontend 1.18 (strings of its libtorch_cuda.so; pull request 173708); 1.23, the "
      "nearest that attnprobe knows, answers for it");
  CHECK(
      noted("torch==2.14", "1.32") ==
      "1.26: PyTorch 2.14.1 contains cudnn-frontend 1.26 (strings of its libtorch_cuda.so; pull request 189574); 1.32 "
      "answers (--frontend 1.26 is that one)");
  CHECK(noted("torch==2.16", "1.30").empty());

  CHECK(rules::release_words("torch", "2.11.0+cu130") == "2.11.0+cu130, compiled with cudnn-frontend 1.18");
  CHECK(rules::release_words("torch", "2.99.0") == "2.99.0");
  CHECK(rules::release_words("keras", "3.15.1") == "3.15.1");

  const auto gates = rules::choose_gates({"torch==2.14"}, "--framework");
  const auto adopted = [&](const std::string& config) {
    auto spec = attention::parse_configs(config, "test").at(0).spec;
    answer::adopt_frontend(spec, gates);
    return spec.frontend;
  };
  CHECK(adopted(R"({"heads": 8, "seqlen": 512, "head_dim": 64})") == "1.26");
  CHECK(adopted(R"({"heads": 8, "seqlen": 512, "head_dim": 64, "frontend": "1.32"})") == "1.32");
  CHECK_FALSE(adopted(R"({"heads": 8, "seqlen": 512, "head_dim": 64, "pattern": "mha"})"));
}

}  // namespace attnprobe::test::framework_calls_test
