// The gates of frameworks. Every rule matches exactly its own examples. Also tests the words of --framework and the
// conversion of a config to a framework's call. tests/rules/check_framework_files.py evaluates the same examples.
#include "rules/framework_gates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attention/config.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "rules/condition.hpp"
#include "support.hpp"

namespace attnprobe::test::framework_gates_test {

using namespace attnprobe::rules;

namespace {

constexpr CudnnVersion asked_cudnn{9, 19, 0};

ChosenGate chosen(const std::string& word) {
  return choose_gates({word}, "--framework").at(0);
}

Json call_of(const ChosenGate& gate, const std::string& config, int sm, CudnnVersion cudnn = asked_cudnn) {
  const auto spec = attention::parse_configs(config, "test").at(0).spec;
  return describe_gate_call(*gate.gate, spec, cudnn, sm, Json::object());
}

GateAnswer answer(const std::string& word, const std::string& config, int sm, CudnnVersion cudnn = asked_cudnn) {
  const ChosenGate gate = chosen(word);
  return answer_of_gate(gate, call_of(gate, config, sm, cudnn), cudnn);
}

std::string refused_words(const std::string& word) {
  try {
    choose_gates({word}, "--framework");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    return e.what();
  }
  return "";
}

std::string with_dropout(const std::string& dropout, const std::string& pass = "fprop_train") {
  return R"({"batch": 2, "heads_q": 32, "heads_kv": 8, "seqlen": 4096, "head_dim": 96, "dtype": "bf16", "mask": "causal",
             "pass": ")" +
         pass + R"(", "dropout": )" + dropout + "}";
}

constexpr const char* plain = R"({"heads": 8, "seqlen": 1024, "head_dim": 64, "dtype": "bf16", "mask": "causal"})";

bool has_note(const GateAnswer& found, const std::string& part) {
  return std::any_of(found.notes.begin(), found.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("every framework rule matches its affected example and none of its unaffected ones", "[rules]") {
  size_t count = 0;
  for (const FrameworkGate& gate : framework_gates())
    for (const FrameworkRule& rule : gate.rules) {
      INFO(gate.framework << ", " << rule.id);
      CHECK(rule.source.url.starts_with("https://"));
      if (rule.examples.affected.is_null()) continue;
      ++count;
      Json affected = gate.base;
      affected.update(rule.examples.affected);
      CHECK(holds(rule.when, affected));
      for (const Json& change : rule.examples.unaffected) {
        Json unaffected = affected;
        unaffected.update(change);
        INFO(unaffected.dump());
        CHECK_FALSE(holds(rule.when, unaffected));
      }
      if (gate.all_reasons) continue;
      // The framework stops at this rule in every release with the rule.
      for (const GateRelease& release : gate.releases) {
        const auto rules = rules_in_order(gate, release.version);
        const auto own = std::find(rules.begin(), rules.end(), &rule);
        if (own == rules.end()) continue;
        const auto first =
            std::find_if(rules.begin(), rules.end(), [&](const FrameworkRule* r) { return holds(r->when, affected); });
        INFO(release.version << " stops at " << (*first)->id);
        CHECK(*first == &rule);
      }
    }
  CHECK(framework_gates().size() >= 14);
  CHECK(count > 220);
}

TEST_CASE("an ordinary call is not refused by the newest release of any framework", "[rules]") {
  for (const FrameworkGate& gate : framework_gates()) {
    INFO(gate.framework);
    const std::string newest = gate.releases.empty() ? "" : gate.releases.back().version;
    for (const FrameworkRule* rule : rules_in_order(gate, newest)) {
      INFO(rule->id);
      CHECK_FALSE(holds(rule->when, gate.base));
    }
    CHECK(gate.preferences.empty() == !gate.unread.empty());
  }
}

TEST_CASE("frameworks and releases are read in common spellings", "[rules]") {
  for (const char* word : {"torch==2.11", "torch 2.11", "torch@2.11.0", "PyTorch 2.11", "pytorch==v2.11.0",
                           "torch==2.11.0+cu130", "Torch = 2.11"}) {
    INFO(word);
    CHECK(title_of(chosen(word)) == "PyTorch 2.11.0");
    CHECK(words_of({chosen(word)}) == "torch==2.11.0");
  }
  CHECK(title_of(chosen("torch")) == "PyTorch 2.15.0");
  CHECK(title_of(chosen("te")) == "Transformer Engine 2.20.2");
  CHECK(title_of(chosen("Transformer Engine")) == "Transformer Engine 2.20.2");
  CHECK(title_of(chosen("transformer_engine 2.5")) == "Transformer Engine 2.5.0");
  CHECK(title_of(chosen("CUDA.jl")) == "cuDNN.jl 6.3.0");
  CHECK(title_of(chosen("jax==0.12")) == "JAX 0.12.0.1");  // a post-release of 0.12.0
  CHECK(title_of(chosen("xla")) == "XLA");
  CHECK(title_of(chosen("torch==2.5")) == "PyTorch 2.5.1");
  const auto several = choose_gates({"torch,jax@0.10", "keras"}, "--framework");
  CHECK(words_of(several) == "torch==2.15.0,jax==0.10,keras==3.15.1");
  const auto known = std::count_if(framework_gates().begin(), framework_gates().end(),
                                   [](const FrameworkGate& gate) { return gate.unread.empty(); });
  CHECK(choose_gates({"all"}, "--framework").size() == static_cast<size_t>(known));
  CHECK(words_of(choose_gates({"all"}, "--framework")) == "all");
}

TEST_CASE("an unknown release gets the rules of the newest known release before it, and the answer says so",
          "[rules]") {
  const ChosenGate newer = chosen("torch==2.16");
  CHECK(title_of(newer) == "PyTorch 2.16 (rules of 2.15.0)");
  CHECK(words_of({newer}) == "torch==2.16");
  CHECK(title_of(chosen("torch==2.13.4")) == "PyTorch 2.13.4 (rules of 2.13.0)");
  const GateAnswer told = answer("torch==2.16", with_dropout("0.1"), 90);
  CHECK(told.takes == Takes::refused);
  CHECK(has_note(told, "the rules of release 2.16 are not known; those of 2.15.0 are used"));
}

TEST_CASE("a release older than all known ones and a framework without rules get the answer unknown", "[rules]") {
  const GateAnswer old = answer("torch==1.13", plain, 90);
  CHECK(old.takes == Takes::unknown);
  CHECK(old.text ==
        "PyTorch 1.13: its rules are not known; the nearest known release is 2.0.0 (--framework torch==2.0.0)");
  CHECK(old.title == "PyTorch 1.13");
  CHECK(words_of({chosen("torch==1.13")}) == "torch==1.13");
  CHECK(answer("jax==0.4.20", plain, 90).text ==
        "JAX 0.4.20: its rules are not known; the nearest known release is 0.4.31 (--framework jax==0.4.31)");
  CHECK(answer("te==1.13", plain, 90).takes == Takes::unknown);
  CHECK(answer("xla==1.0", plain, 90).text ==
        "XLA 1.0: its rules are not known; only the current rules are, of no release (--framework xla)");
  CHECK(answer("xla", plain, 90).takes != Takes::unknown);
  const GateAnswer closed = answer("tensorrt==10.13", plain, 90);
  CHECK(closed.takes == Takes::unknown);
  CHECK(closed.text == "TensorRT 10.13: its rules are not known (it is closed source)");
  const Run run = run_attnprobe("--heads 8 --seqlen 1024 --head-dim 64 --target h100 --quick --framework torch==1.13");
  CHECK_THAT(run.out, ContainsSubstring("PyTorch 1.13: its rules are not known"));
  CHECK_THAT(run.out, ContainsSubstring("but: PyTorch 1.13"));
  CHECK_THAT(run.out, !ContainsSubstring("source:"));
}

TEST_CASE("PyTorch before 2.5 has no cuDNN attention, or one that an environment variable enables", "[rules]") {
  CHECK(answer("torch==2.1", plain, 90).text ==
        "PyTorch 2.1 (rules of 2.0.0) does not ask cuDNN for any call: this PyTorch has no cuDNN attention");
  const GateAnswer experiment = answer("torch==2.4", plain, 90);
  CHECK(experiment.text == "PyTorch 2.4.1 refuses any call, unless TORCH_CUDNN_SDPA_ENABLED=1 is in the environment");
  CHECK(experiment.taken_from == "2.5.0");
}

TEST_CASE("PyTorch 2.5.0 prefers flash attention to cuDNN below Hopper", "[rules]") {
  const CudnnVersion cudnn{9, 1, 0};
  const std::string masked = R"({"heads": 4, "seqlen": 1024, "head_dim": 64, "dtype": "f16", "bias": "b1ss"})";
  const GateAnswer taken = answer("torch==2.5.0", masked, 89, cudnn);
  CHECK(taken.takes == Takes::yes);
  CHECK(
      taken.text ==
      "PyTorch 2.5.0 asks cuDNN, second in PyTorch's order, because flash attention refuses the call; enable_cudnn_sdp(False) excludes cuDNN");
  CHECK(answer("torch==2.5.0", plain, 89, cudnn).takes == Takes::by_name);  // flash attention supports it
  CHECK(answer("torch==2.5.0", plain, 90, cudnn).takes == Takes::yes);
  CHECK(answer("torch==2.5.1", masked, 89, cudnn).takes == Takes::by_name);

  // "2.5" may be either.
  const GateAnswer either = answer("torch==2.5", masked, 89, cudnn);
  CHECK(either.takes == Takes::by_name);
  CHECK(either.text == answer("torch==2.5.1", masked, 89, cudnn).text + "; " + taken.text);
  CHECK(has_note(either, "name the patch release: 2 releases of PyTorch differ here"));
  CHECK(words_of({chosen("torch==2.5")}) == "torch==2.5");
  const GateAnswer same =
      answer("torch==2.5", R"({"heads": 4, "seqlen": 64, "head_dim": 136, "dtype": "f16"})", 89, cudnn);
  CHECK(same.text == "PyTorch 2.5.1 refuses head dimensions 136/136 (limit 128)");
  CHECK_FALSE(has_note(same, "name the patch release"));
}

TEST_CASE("another backend that the call enables runs instead", "[rules]") {
  const ChosenGate gate = chosen("torch==2.15");
  const auto refused = [&](const Json& call) {
    const auto spec = attention::parse_configs(R"({"heads": 8, "seqlen": 64, "head_dim": 65})", "test").at(0).spec;
    return answer_of_gate(gate, describe_gate_call(*gate.gate, spec, {9, 26, 0}, 90, call), {9, 26, 0});
  };
  const Json all_off{{"flash_sdp_enabled", false}, {"mem_efficient_sdp_enabled", false}, {"math_sdp_enabled", false}};
  const GateAnswer alone = refused(all_off);
  CHECK(alone.instead ==
        "no other backend is enabled, so the call raises \"No available kernel. Aborting execution.\"");
  CHECK(alone.refusals.at(0).status == "exception");
  CHECK(has_note(alone, "Inductor's cache key does not include the backend (pytorch#185449)"));
  Json none = all_off;
  none["cudnn_sdp_enabled"] = false;
  CHECK_THAT(refused(none).instead, ContainsSubstring("No viable backend for scaled_dot_product_attention was found."));
  const auto left = [&](const char* key) {
    Json call = all_off;
    call[key] = true;
    return refused(call);
  };
  CHECK(left("math_sdp_enabled").instead == "math attention runs instead");
  CHECK(left("math_sdp_enabled").refusals.at(0).status == "falls back");
  CHECK(left("flash_sdp_enabled").instead == "flash attention runs instead, or the call raises if flash refuses it");
  CHECK_FALSE(has_note(refused(Json{{"nested", false}}), "Inductor"));
}

TEST_CASE("an unknown framework or a missing release is refused with the allowed values", "[rules]") {
  CHECK_THAT(refused_words("pytorh"), ContainsSubstring("--framework: \"pytorh\" is an unknown framework (did you "
                                                        "mean \"pytorch\"?); allowed: \"all\", \"cudnn.jl\""));
  CHECK_THAT(refused_words("torch==new"),
             ContainsSubstring("\"new\" is not a release; allowed: numbers such as 2.11.0"));
  CHECK_THAT(refused_words("torch,PyTorch"), ContainsSubstring("PyTorch 2.15.0 is named twice"));
  CHECK_THAT(refused_words(""), ContainsSubstring("\"\" is an unknown framework"));
}

TEST_CASE("PyTorch refuses dropout 0.1 from 2.12 on, and accepts 0.125", "[rules]") {
  const GateAnswer refused = answer("torch", with_dropout("0.1"), 89);
  CHECK(refused.takes == Takes::refused);
  CHECK(refused.text == "PyTorch 2.15.0 refuses dropout 0.1 (not a multiple of 1/16), since 2.12.0");
  CHECK(refused.instead == "flash, memory-efficient or math attention runs instead");
  CHECK(refused.refused_since == "2.12.0");
  CHECK(refused.taken_from.empty());
  REQUIRE(refused.refusals.size() == 1);
  CHECK(refused.refusals[0].change == "use a dropout in steps of 1/16, such as 0.125");
  CHECK(refused.refusals[0].since == "2.12.0");
  CHECK_THAT(refused.source.text, ContainsSubstring("check_cudnn_dropout"));
  CHECK(has_note(refused, "pass enable_gqa=True"));  // 32 heads over 8
  CHECK(has_note(refused, "PyTorch 2.15.0 ships cuDNN 9.26.0; asked: 9.19.0 (--cudnn 9.26.0 asks that one"));
  CHECK(answer("torch==2.11", with_dropout("0.1"), 100).takes == Takes::yes);
  CHECK_FALSE(has_note(answer("torch==2.11", with_dropout("0.1"), 100), "ships cuDNN"));

  for (const char* pass : {"fprop", "fprop_train", "bprop"}) {
    INFO(pass);
    CHECK(answer("torch", with_dropout("0.125", pass), 90).takes == Takes::yes);
    CHECK(answer("torch", with_dropout("0.125", pass), 100).text ==
          "PyTorch 2.15.0 asks cuDNN; it ships cuDNN 9.26.0, but 9.19.0 answers here");
    CHECK(answer("torch", with_dropout("0.125", pass), 100, CudnnVersion{9, 26, 1}).text ==
          "PyTorch 2.15.0 asks cuDNN");
    const GateAnswer ada = answer("torch", with_dropout("0.125", pass), 89);
    CHECK(ada.takes == Takes::by_name);
    CHECK(ada.text ==
          "PyTorch 2.15.0 uses cuDNN on sm_89 with cuDNN 9.19.0 only if you select it: "
          "sdpa_kernel(SDPBackend.CUDNN_ATTENTION)");
  }
}

TEST_CASE("a refusal has the first and last release that refuse exactly this call", "[rules]") {
  const std::string wide = R"({"heads": 8, "seqlen": 1024, "head_dim": 256, "dtype": "bf16"})";
  // Hopper: refused up to 2.7, accepted from 2.8, and refused again from 2.14 with a cuDNN before 9.22.1.
  const GateAnswer old = answer("torch==2.7", wide, 90);
  CHECK(old.takes == Takes::refused);
  CHECK(old.refused_since.empty());
  CHECK(old.taken_from == "2.8.0");
  const GateAnswer now = answer("torch", wide, 90);
  CHECK(now.refused_since == "2.14.0");
  CHECK(
      now.text ==
      "PyTorch 2.15.0 refuses head dimensions 256/256 on sm_90 with cuDNN 9.19.0, since 2.14.0 (with its own cuDNN 9.26.0, it asks cuDNN)");
  // The reverse: the cuDNN asked here is newer than the release's.
  CHECK(answer("torch==2.10", plain, 90).text ==
        "PyTorch 2.10.0 asks cuDNN (with its own cuDNN 9.10.2, it uses cuDNN only if you select it)");
  CHECK(answer("torch", wide, 90, CudnnVersion{9, 26, 0}).takes == Takes::yes);
  CHECK(answer("torch", wide, 89).refused_since.empty());  // always
}

TEST_CASE("a config that no call of the framework can express is neither refused nor a yes", "[rules]") {
  const GateAnswer window = answer(
      "torch", R"({"heads": 8, "seqlen": 1024, "head_dim": 64, "mask": {"causal": true, "window_left": 128}})", 90);
  CHECK(window.takes == Takes::not_in_call);
  CHECK(window.text == "PyTorch 2.15.0 has no argument for a sliding window");
  CHECK_THAT(window.source.text, ContainsSubstring("signature of torch.nn.functional.scaled_dot_product_attention"));
  const GateAnswer capped = answer("jax", R"({"heads": 8, "seqlen": 1024, "head_dim": 64, "softcap": 30})", 90);
  CHECK(capped.text == "JAX 0.12.0.1 has no argument for softcap");
  // Together with a refusal, both are reported.
  const GateAnswer both = answer("torch", R"({"heads": 8, "seqlen": 1024, "head_dim": 65, "sink": true})", 90);
  CHECK(both.takes == Takes::refused);
  CHECK(
      both.text ==
      "PyTorch 2.15.0 refuses head dimensions 65/65 (not multiples of 8); its call has no argument for an attention sink");
  const std::string trained = R"({"heads": 8, "seqlen": 1024, "head_dim": 128, "dtype": "bf16", "pass": "bprop"})";
  CHECK(answer("vllm", trained, 100).text == "vLLM 0.33.0 has no argument for training (it is for inference)");
  // Transformer Engine's call has arguments for them.
  CHECK(answer("te", R"({"heads": 8, "seqlen": 1024, "head_dim": 64, "sink": true})", 90).takes == Takes::yes);
}

TEST_CASE("a config becomes the framework call that requests it", "[rules]") {
  const ChosenGate torch = chosen("torch"), jax = chosen("jax"), engine = chosen("te");
  const Json inference = call_of(torch, plain, 90);
  CHECK(inference["requires_grad"] == false);
  CHECK(inference["enable_gqa"] == false);
  CHECK(inference["mask_rank"].is_null());
  const Json masked = call_of(
      torch,
      R"({"batch": 3, "heads": 8, "heads_kv": 2, "seqlen": 512, "head_dim": 64, "bias": "1hs1", "pass": "bprop"})", 90);
  CHECK(masked["requires_grad"] == true);
  CHECK(masked["enable_gqa"] == true);
  CHECK(masked["mask_rank"] == 4);
  CHECK(masked["mask_batch"] == 1);
  CHECK(masked["mask_heads"] == 8);
  CHECK(masked["mask_rows"] == 512);
  CHECK(masked["mask_columns"] == 1);
  const std::string ragged =
      R"({"batch": 4, "heads": 8, "seqlen": 512, "head_dim": 64, "layout": "thd", "mask": "padding_causal"})";
  CHECK(call_of(torch, ragged, 90)["nested"] == true);
  CHECK(call_of(jax, ragged, 90)["packed"] == true);
  CHECK(call_of(jax, ragged, 90)["seqlen_q_given"] == true);
  CHECK(call_of(engine, ragged, 90)["qkv_format"] == "thd");
  CHECK(call_of(engine, ragged, 90)["attn_mask_type"] == "padding_causal");
  const Json packed = call_of(engine, R"({"heads": 8, "seqlen": 512, "head_dim": 64, "layout": "sb3hd"})", 90);
  CHECK(packed["qkv_layout_group"] == "3hd");
  CHECK(packed["qkv_format"] == "sbhd");
  const std::string decoding =
      R"({"batch": 8, "heads": 32, "heads_kv": 8, "seqlen_q": 1, "seqlen_kv": 2048, "head_dim": 128,
                                   "dtype": "bf16", "mask": "padding", "paged": {"block_size": 16}})";
  const Json paged = call_of(chosen("flashinfer"), decoding, 100);
  CHECK(paged["call"] == "decode_auto");
  CHECK(paged["page_size"] == 16);
  CHECK(paged["group"] == 4);
  CHECK(paged["units"] == 64);
  CHECK(call_of(engine, decoding, 90)["kv_cache"] == true);
  CHECK(answer("vllm", decoding, 100).text == "vLLM 0.33.0 does not ask cuDNN for language models");
  // Values from the call itself take precedence.
  const auto spec =
      attention::parse_configs(R"({"heads": 8, "heads_kv": 2, "seqlen": 512, "head_dim": 64})", "test").at(0).spec;
  const Json given = describe_gate_call(*torch.gate, spec, asked_cudnn, 90, {{"enable_gqa", false}});
  CHECK(answer_of_gate(torch, given, asked_cudnn).text ==
        "PyTorch 2.15.0 refuses 8 heads of Q over 2 of K and V without enable_gqa=True, since 2.8.0");
}

TEST_CASE("Transformer Engine's table before 2.20 refuses offsets beyond 31 bits until cuDNN 9.5", "[rules]") {
  const auto ragged = [](int64_t seqlen) {
    return fmt::format(
        R"({{"heads": 64, "seqlen": {}, "head_dim": 128, "dtype": "bf16", "layout": "thd", "mask": "padding"}})",
        seqlen);
  };
  const auto refuses = [&](int64_t seqlen, CudnnVersion cudnn) {
    const auto refusals = answer("te==2.19", ragged(seqlen), 90, cudnn).refusals;
    return std::any_of(refusals.begin(), refusals.end(),
                       [](const auto& refusal) { return refusal.id == "table_wide_offsets"; });
  };
  CHECK(refuses(524288, {9, 4, 0}));
  CHECK_FALSE(refuses(131072, {9, 4, 0}));
  CHECK_FALSE(refuses(524288, {9, 5, 0}));
}

TEST_CASE("JAX and its internal function are named separately", "[rules]") {
  CHECK(answer("jax", plain, 90).text == "JAX 0.12.0.1 uses cuDNN only if you select it: implementation='cudnn'");
  CHECK_THAT(answer("jax", with_dropout("0.1"), 90).by_name,
             ContainsSubstring("jax.nn.dot_product_attention has no such call"));
  const GateAnswer wide = answer("jax", R"({"heads": 8, "seqlen": 1024, "head_dim": 256, "dtype": "bf16"})", 89);
  CHECK(wide.text == "JAX 0.12.0.1 refuses head dimension 256 on sm_89");
  CHECK(wide.instead.empty());  // an exception
  CHECK(has_note(answer("jax==0.12", plain, 90, CudnnVersion{9, 10, 0}),
                 "JAX 0.12.0.1 requires cuDNN 9.12.0 or newer; asked: 9.10.0"));
}

TEST_CASE("varlen_attn's ragged offsets above 32 bits overflow in PyTorch 2.14 and raise in 2.15", "[rules]") {
  const auto packed = [](int batch) {
    return fmt::format(
        R"({{"batch": {}, "heads": 32, "seqlen": 16384, "head_dim": 128, "layout": "thd", "mask": "padding",
                            "dtype": "bf16"}})",
        batch);
  };
  const CudnnVersion cudnn{9, 26, 0};
  const GateAnswer raised = answer("torch-varlen==2.15", packed(64), 90, cudnn);
  CHECK(raised.takes == Takes::refused);
  CHECK(
      raised.text ==
      "PyTorch varlen_attn 2.15.0 refuses tensors of more than 2147483647 elements: it declares their ragged offsets as int32, since 2.15.0");
  CHECK(raised.refusals.at(0).status == "exception");
  CHECK_THAT(raised.refusals.at(0).change, ContainsSubstring("split the batch"));
  CHECK(raised.instead.empty());
  CHECK(answer("torch-varlen==2.14", packed(64), 90, cudnn).takes == Takes::wrong);
  CHECK(answer("torch-varlen==2.15", packed(31), 90, cudnn).takes == Takes::yes);
  CHECK(answer("torch-varlen==2.15", packed(32), 90, cudnn).takes == Takes::refused);  // 2147483648
}

TEST_CASE("Transformer Engine's JAX layer uses cuDNN by default from 2.10 on", "[rules]") {
  CHECK(answer("te-jax", plain, 90).text == "Transformer Engine JAX 2.20.2 asks cuDNN");
  CHECK(answer("te-jax==2.9", plain, 90).text ==
        "Transformer Engine JAX 2.9.0 uses cuDNN only if you select it: NVTE_FUSED_ATTN=1 in the environment");
  const std::string sink = R"({"heads": 8, "seqlen": 1024, "head_dim": 64, "sink": true})";
  CHECK(answer("te-jax==2.9", sink, 90).text ==
        "Transformer Engine JAX 2.9.0 does not ask cuDNN for an attention sink");
  CHECK(answer("te-jax", sink, 90).takes == Takes::yes);
  const GateAnswer narrow =
      answer("te-jax==2.4", R"({"heads": 8, "seqlen": 64, "head_dim_qk": 192, "head_dim_v": 128})", 90);
  CHECK(narrow.text == "Transformer Engine JAX 2.4.0 refuses V with a different head dimension (192/128)");
  CHECK(narrow.instead.empty());  // an assertion
}

TEST_CASE("a mistake in a framework's file is an error with its location", "[rules]") {
  const auto problem_of = [](const std::string& text) {
    try {
      parse_framework_gate(text, "frameworks/mine.json");
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::internal);
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string source = R"({"text": "read", "url": "https://example.org"})";
  const auto file = [&](const std::string& rule, const std::string& extra = "") {
    return R"({"comment": "c", "framework": "mine", "title": "Mine", "names": [], "instead": "", "by_name": [{"text": "so"}],
      "url": "https://example.org", "prefers_cudnn": [{"id": "p", "from": "", "below": "", "first": true, "text": "t", "source": )" +
           source +
           R"(}], "keys": {"switch": {"kind": "boolean", "help": "a switch"}}, "needs_keys": {}, "base": {"sm": 90},
      "releases": [{"version": "1.0"}], "rules": [)" +
           rule + "]" + extra + "}";
  };
  const auto rule = [&](const std::string& when, const std::string& what) {
    return R"({"id": "r", "from": "", "below": "", "pass": "", "status": "falls back", "when": )" + when +
           R"(, "what": ")" + what + R"(", "message": "", "change": "c", "source": )" + source +
           R"(, "affected": {"switch": true}, "unaffected": [{"switch": false}]})";
  };
  CHECK(problem_of(file(rule(R"({"switch": true})", "sm_{sm}"))).empty());
  CHECK_THAT(problem_of(file(rule(R"({"swich": true})", "x"))),
             ContainsSubstring("unknown key \"swich\" (did you mean \"switch\"?)"));
  CHECK_THAT(problem_of(file(rule(R"({"switch": 3})", "x"))),
             ContainsSubstring("frameworks/mine.json, r: /when/switch"));
  CHECK_THAT(problem_of(file(rule(R"({"switch": true})", "sm_{gpu}"))), ContainsSubstring("\"{gpu}\" is not a key"));
  CHECK_THAT(problem_of(file(rule(R"({"switch": true})", "x"), R"(, "more": 1)")), ContainsSubstring("more"));
  CHECK(release_numbers("0.7.2.post1") > release_numbers("0.7.2"));
  CHECK(release_numbers("0.12.0.1") > release_numbers("0.12.0"));
  CHECK_FALSE(release_numbers("2.x").has_value());
}

}  // namespace attnprobe::test::framework_gates_test
