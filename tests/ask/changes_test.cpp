// Changes that might fix a config, and those that did.
#include "ask/further/changes.hpp"

#include <algorithm>

#include "answer/reasons.hpp"
#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/text.hpp"
#include "cudnn/library_info.hpp"
#include "support.hpp"

namespace attnprobe::test::changes_test {

using namespace attnprobe::asking;

namespace {

attention::AttentionSpec spec_of(const std::string& members) {
  return attention::parse_configs("{\"heads\": 2, \"seqlen\": 10, " + members + "}", "x.json").at(0).spec;
}

bool has(const std::vector<Change>& changes, const std::string& text) {
  return std::any_of(changes.begin(), changes.end(), [&](const Change& change) { return change.text == text; });
}

attention::AttentionSpec changed(const attention::AttentionSpec& spec, const std::string& text) {
  attention::AttentionSpec other = spec;
  for (const auto& change : changes_of(spec))
    if (change.text == text) change.make(other);
  return other;
}

}  // namespace

TEST_CASE("The cheapest changes come first", "[suggest]") {
  const auto changes =
      changes_of(spec_of(R"("head_dim": 68, "o_dtype": "f32", "pattern": "two_matmul", "layout": "sbhd")"));
  CHECK(std::is_sorted(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; }));
  CHECK(has(changes, "Q, K and V in layout bshd"));
  CHECK(has(changes, "O in f16, the type of Q, K and V"));
  CHECK(has(changes, "head dimensions padded with zeros to 72 and 72, the scale kept"));
  CHECK(
      has(changes,
          "pattern \"sdpa\" instead of \"two_matmul\" (another computation: it has the softmax between the matmuls)"));
}

TEST_CASE("Each feature has a change that removes it", "[suggest]") {
  const std::pair<const char*, const char*> cases[] = {
      {R"("head_dim": 64, "dropout": {"probability": 0.5, "seed": "i32"})",
       "dropout's seed and offset as 64-bit tensors"},
      {R"("head_dim": 64, "sum_exp": true)", "with the row maxima as an output too"},
      {R"("head_dim": 64, "sum_exp": true)", "statistics instead of row maxima and sums"},
      {R"("head_dim": 64, "pass": "bprop", "deterministic": true)", "without determinism"},
      {R"("head_dim": 64, "pass": "bprop", "bias": {"grad": true})", "without the bias gradient"},
      {R"("head_dim": 64, "softcap": 5)", "without the softcap (another computation)"},
      {R"("head_dim": 64, "dtype": "f32")", "bf16 instead of f32"},
      {R"("head_dim": 64, "dtype": "fp8_e4m3", "o_dtype": "bf16")", "bf16 instead of fp8"},
      {R"("head_dim": 64, "dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8")",
       "one scale per tensor instead of MXFP8"},
      {R"("head_dim": 64, "layout": "thd", "mask": "padding")", "padded instead of ragged tensors"},
      {R"("head_dim": 64, "pattern": "mha", "mask": "causal")", "with a padding mask (full lengths are allowed)"},
      {R"("head_dim": 64, "mask": "causal_bottom_right")",
       "the mask aligned top-left, which is the same for equal lengths"},
      {R"("head_dim": 64, "mask": {"window_left": 9, "window_right": 0})",
       "without the left window, which excludes no key"},
      {R"("head_dim": 64, "mask": "padding", "paged": {"block_size": 48})", "pages of 64 tokens"},
      {R"("head_dim": 64, "heads_kv": 1)", "K and V repeated to 2 heads"},
      {R"("head_dim": 64, "pass": "bprop", "deterministic": true)", "with ordered dQ"},
      {R"("head_dim": 160, "pass": "bprop")",
       "V in two halves of head dimension 80: two calls, each has half of dV, and their other gradients add up"},
      {R"("head_dim_qk": 64, "head_dim_v": 512, "pass": "bprop")",
       "V in four quarters of head dimension 128: four calls, each has a quarter of dV, and their other gradients add "
       "up"},
      {R"("head_dim_qk": 160, "head_dim_v": 128)", "head dimensions padded with zeros to 192 and 128, the scale kept"},
      {R"("head_dim": 64, "mask": {"causal": true, "window_left": 5})", "the mask as a bias tensor without a gradient"},
      {R"("head_dim": 64, "alibi": true)", "ALiBi as a bias tensor without a gradient"},
  };
  for (const auto& [members, text] : cases) {
    INFO(members);
    CHECK(has(changes_of(spec_of(members)), text));
  }
}

TEST_CASE("Padded head dimensions keep the scale of the original ones", "[suggest]") {
  const auto spec = spec_of(R"("head_dim_qk": 100, "head_dim_v": 65)");
  const auto padded = changed(spec, "head dimensions padded with zeros to 104 and 72, the scale kept");
  CHECK(padded.head_dim_qk == 104);
  CHECK(padded.head_dim_v == 72);
  CHECK(attention::scale_of(padded) == 0.1);
}

TEST_CASE("Sequences padded by a change keep their lengths in the mask", "[suggest]") {
  const auto padded =
      changed(spec_of(R"("head_dim": 64, "batch": 2)"), "sequences padded to 64 and 64, with a padding mask");
  CHECK(padded.seqlen_q == 64);
  CHECK(padded.mask.padding);
  CHECK(padded.mask.seqlens_kv == std::vector<int64_t>{10, 10});
}

TEST_CASE("Explicit strides may be replaced by contiguous ones", "[suggest]") {
  const auto spec =
      spec_of(R"("head_dim": 64, "layout": {"q": {"strides": [1280, 640, 64, 1]}, "k": "bhsd", "v": "bhsd"})");
  CHECK(attention::q_strides(changed(spec, "contiguous tensors in layout bshd")) ==
        attention::Strides{1280, 64, 128, 1});
}

TEST_CASE("Every kind of change can be excluded", "[suggest]") {
  const auto kinds = change_kinds();
  for (const char* members :
       {R"("head_dim": 68, "pattern": "mha", "mask": "padding_causal", "layout": "bs3hd")",
        R"("head_dim": 20, "pattern": "sdpa_unified", "pass": "fprop_train", "o_dtype": "f32", "batch": 4)",
        R"("head_dim": 64, "layout": "thd", "mask": "padding", "sink": true, "alibi": true, "block_mask": true)"})
    for (const auto& change : changes_of(spec_of(members))) {
      INFO(change.kind);
      CHECK(std::find(kinds.begin(), kinds.end(), change.kind) != kinds.end());
    }
}

TEST_CASE("Fixes are asked and compiled, and the cheapest come first", "[suggest]") {
  const Run padded = run_attnprobe("suggest --heads 4 --seqlen 256 --head-dim 100 --target h100 --format json");
  CHECK(padded.exit_code == 0);
  const Json result = padded.json()["results"][0];
  CHECK(result["usable"] == "no");
  REQUIRE_FALSE(result["ways_out"].empty());
  const Json& first = result["ways_out"][0];
  CHECK(first["changes"] == Json{"head dimensions padded with zeros to 104 and 104, the scale kept"});
  CHECK(first["compiled"] == true);
  CHECK(first["work"].get<double>() == Approx(1.04));
  // The printed command confirms it.
  const Run again =
      run_attnprobe(first["reproduce"].get<std::string>().substr(std::string("attnprobe ").size()) + " --format json");
  CHECK(again.json()["results"][0]["usable"] == "yes");

  const Run kept =
      run_attnprobe("suggest --heads 4 --seqlen 256 --head-dim 100 --target h100 --keep head_dim,cudnn,target");
  CHECK(kept.exit_code == 1);
  CHECK_THAT(kept.out, ContainsSubstring("no change of one or two fields makes this model work"));
  const Run unknown = run_attnprobe("suggest --heads 4 --seqlen 256 --head-dim 100 --keep head");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("--keep: \"head\" is not a kind of change"));
}

TEST_CASE("Head dimensions of another model are listed nearest first and change nothing else", "[suggest]") {
  const auto spec = spec_of(R"("head_dim_qk": 192, "head_dim_v": 256, "softcap": 5)");
  const auto models = other_models(spec);
  std::vector<std::string> texts;
  for (const auto& model : models) texts.push_back(model.text);
  CHECK(texts.front() == "head dimension 256 (another model)");
  CHECK(std::find(texts.begin(), texts.end(), "head dimensions 192 and 128 (another model)") != texts.end());
  attention::AttentionSpec other = spec;
  models.front().make(other);
  CHECK(other.head_dim_qk == 256);
  CHECK(other.softcap == 5);
  // The scale of a model follows its head dimension.
  CHECK(attention::scale_of(other) == 1.0 / 16);
}

TEST_CASE("A second change of a field does not use a value that the first removed", "[suggest]") {
  const auto spec = spec_of(R"("head_dim": 64, "mask": "padding", "paged": {"block_size": 48}, "dropout": 0.1)");
  const auto changes = changes_of(spec, true);
  for (const auto& one : changes)
    for (const auto& other : changes) {
      if (one.cost > other.cost) continue;
      attention::AttentionSpec both = spec;
      one.make(both);
      other.make(both);
      CHECK_FALSE(attention::describe(both).empty());
    }
}

TEST_CASE("For a model that cuDNN cannot train, the nearest trainable one is suggested", "[suggest]") {
  const std::string asked = "suggest --pass bprop --heads 16 --seqlen 2048 --head-dim 256 --causal -t ";
  const Run json = run_attnprobe(asked + "rtx4090 --keep cudnn --format json");
  CHECK(json.exit_code == 1);  // this model has no way out
  const Json result = json.json()["results"][0];
  CHECK_THAT(result["root_cause"]["reason"].get<std::string>(),
             ContainsSubstring("Embedding dim per head for q and k is not less than equal to 128"));
  REQUIRE(result["ways_out"].size() == 1);
  const Json& way = result["ways_out"][0];
  CHECK(way["changes"] == Json{"head dimension 128 (another model)"});
  CHECK(way["kinds"] == Json{"model"});
  CHECK(way["compiled"] == true);
  // 128 wherever any works, and nearer shapes on single GPUs.
  const Json& models = result["other_models"];
  REQUIRE(models.size() > 1);
  CHECK(models[0]["head_dim_qk"] == 128);
  CHECK(models[0]["head_dim_v"] == 128);
  CHECK(std::find(models[0]["gpus"].begin(), models[0]["gpus"].end(), "rtx4090") != models[0]["gpus"].end());
  CHECK(models[1]["head_dim_qk"] == 192);
  CHECK(models[1]["head_dim_v"] == 128);
  CHECK(models[1]["gpus"] == Json{"b200"});

  const std::string text = run_attnprobe(asked + "rtx4090", {{"COLUMNS", "80"}}).out;
  const size_t none = text.find("no change of one or two fields makes this model work");
  CHECK(none != std::string::npos);
  CHECK(text.find("(another model)") > none);
  CHECK_THAT(text, ContainsSubstring("192/128 on b200"));
  size_t rows = 0;
  for (const auto& line : split(text, '\n')) rows += 1 + (line.empty() ? 0 : line.size() - 1) / 80;
  CHECK(rows <= 24);

  const Json kept = run_attnprobe(asked + "rtx4090 --keep cudnn,model --format json").json()["results"][0];
  CHECK(kept["ways_out"].empty());
  CHECK(kept["other_models"].empty());
  const Run plain = run_attnprobe("--pass bprop --heads 16 --seqlen 2048 --head-dim 256 --causal -t rtx4090");
  CHECK(plain.exit_code == 1);
  CHECK_THAT(plain.out, ContainsSubstring("head dimension 128 (another model)"));
}

TEST_CASE("Splitting V in halves makes a model trainable whose V is too wide for any kernel", "[suggest]") {
  const Run run = run_attnprobe(
      "suggest --pass bprop --heads 16 --seqlen 2048 --head-dim-qk 192 --head-dim-v 256 --causal -t b200 "
      "--keep cudnn,target --format json");
  CHECK(run.exit_code == 0);
  const Json result = run.json()["results"][0];
  CHECK_THAT(result["root_cause"]["reason"].get<std::string>(), ContainsSubstring("Embedding dim per head"));
  REQUIRE_FALSE(result["ways_out"].empty());
  CHECK(
      result["ways_out"][0]["changes"] ==
      Json{"V in two halves of head dimension 128: two calls, each has half of dV, and their other gradients add up"});
  CHECK(result["ways_out"][0]["config"]["head_dim_v"] == 128);
  const Json wider = run_attnprobe(
                         "suggest --pass bprop --heads 8 --seqlen 1000 --head-dim-qk 64 --head-dim-v 512 "
                         "--causal -t a100 --keep cudnn,target --format json")
                         .json()["results"][0];
  REQUIRE_FALSE(wider["ways_out"].empty());
  CHECK_THAT(wider["ways_out"][0]["changes"][0].get<std::string>(), StartsWith("V in four quarters"));
}

TEST_CASE("A softcap that excludes a window works with the mask as a bias", "[suggest]") {
  const Run run = run_attnprobe(
      "suggest --heads 8 --seqlen 1000 --head-dim-qk 256 --head-dim-v 64 --dtype bf16 --softcap 30 -t b200 "
      "--mask '{\"causal\": true, \"window_left\": 511}' --keep cudnn,target --format json");
  const Json result = run.json()["results"][0];
  REQUIRE(result["usable"] == "but");
  CHECK_THAT(result["but"][0]["text"].get<std::string>(), ContainsSubstring("other subgraphs are disabled"));
  REQUIRE_FALSE(result["ways_out"].empty());
  CHECK(result["ways_out"][0]["config"]["bias"]["shape"] == "11ss");
  CHECK(result["ways_out"][0]["config"]["softcap"] == 30);
}

TEST_CASE("A deterministic backward pass with too large a workspace gets ordered dQ", "[suggest][versions]") {
  const auto found = cudnn::find_version("9.27");
  if (!found) {
    WARN("SKIPPED: no cuDNN 9.27 is here");
    return;
  }
  const Run run = run_attnprobe(
      "--pass bprop --heads 16 --seqlen 2048 --head-dim 128 --deterministic true --max-workspace 1M -t h100 --cudnn 9.27 "
      "--format json");
  const Json result = run.json()["results"][0];
  CHECK_THAT(result["root_cause"]["reason"].get<std::string>(), ContainsSubstring("its workspace of 128 MiB"));
  REQUIRE_FALSE(result["ways_out"].empty());
  CHECK(result["ways_out"][0]["changes"] == Json{"with ordered dQ"});
}

TEST_CASE("Two changes are combined if one is not enough", "[suggest]") {
  const Run both = run_attnprobe(
      "suggest --heads 4 --seqlen 256 --head-dim 100 --dtype fp8_e4m3 --target a100 --keep cudnn,target --format json");
  const Json result = both.json()["results"][0];
  const auto& ways = result["ways_out"];
  const auto is_meant = [](const Json& way) { return way["kinds"] == Json{"head_dim", "dtype"}; };
  CHECK(std::any_of(ways.begin(), ways.end(), is_meant));
  for (const auto& way : ways) CHECK(way["changes"].size() == 2);
}

TEST_CASE("A change that only another change makes possible is tried", "[suggest]") {
  const Run run = run_attnprobe(
      "suggest --pass bprop --batch 4 --heads 32 --seqlen-q 100 --seqlen-kv 4096 --head-dim-qk 96 --head-dim-v 512 "
      "--dtype fp8_e4m3 --causal --target h100 --keep cudnn,target --format json");
  const Json result = run.json()["results"][0];
  REQUIRE_FALSE(result["ways_out"].empty());
  CHECK(result["ways_out"][0]["kinds"] == Json{"dtype", "head_dim"});  // fp8 backward graphs cannot split V
  // Two changes that keep the computation come before one that does not.
  const Json ragged =
      run_attnprobe(
          "suggest --batch 2 --heads-q 32 --heads-kv 4 --seqlen 512 --head-dim 32 --dtype f32 --layout thd "
          "--mask padding_causal --block-mask true --target a100 --keep cudnn,target --format json")
          .json()["results"][0];
  REQUIRE(ragged["ways_out"].size() == 2);
  CHECK(ragged["ways_out"][0]["kinds"] == Json{"layout", "block_mask"});  // ragged tensors have no bias
  CHECK(ragged["ways_out"][1]["kinds"] == Json{"block_mask"});
}

TEST_CASE("A config that crashes cuDNN gets a fix without the known bug", "[suggest]") {
  const Run run = run_attnprobe(
      "suggest --heads 8 --seqlen 512 --head-dim 128 --dtype fp8_e4m3 --bias 1hss --target h100 --keep cudnn,target "
      "--format json");
  const Json result = run.json()["results"][0];
  if (result["verdict"] != "crashed") {
    WARN("SKIPPED: this cuDNN does not abort for fp8 attention with a bias");
    return;
  }
  REQUIRE_FALSE(result["ways_out"].empty());
  CHECK(result["ways_out"][0]["changes"] == Json{"bf16 instead of fp8"});
}

TEST_CASE("The config that works is written", "[suggest]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "works.json").string();
  CHECK(run_attnprobe("suggest --heads 4 --seqlen 256 --head-dim 100 --target h100 -o " + file).exit_code == 0);
  const Json again = run_attnprobe("--config " + file + " --target h100 --format json").json();
  CHECK(again["results"][0]["usable"] == "yes");
  CHECK(again["results"][0]["config"]["head_dim_qk"] == 104);
}

TEST_CASE("The change named in a reason's help is one that suggest tries", "[suggest]") {
  const auto kinds = change_kinds();
  size_t count = 0;
  for (const auto& reason : answer::known_reasons())
    for (const auto& kind : reason.changes) {
      INFO(reason.id << " " << kind);
      ++count;
      CHECK_FALSE(reason.help.empty());
      CHECK(std::find(kinds.begin(), kinds.end(), kind) != kinds.end());
    }
  CHECK(count > 30);
}

}  // namespace attnprobe::test::changes_test
