// Changes that might fix a config, and those that did.
#include "ask/further/changes.hpp"

#include <algorithm>

#include "answer/reasons.hpp"
#include "attention/config.hpp"
#include "attention/fields.hpp"
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

TEST_CASE("Each feature has a change that does without it", "[suggest]") {
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
  };
  for (const auto& [members, text] : cases) {
    INFO(members);
    CHECK(has(changes_of(spec_of(members)), text));
  }
}

TEST_CASE("Padded head dimensions keep the scale of the true ones", "[suggest]") {
  const auto spec = spec_of(R"("head_dim_qk": 100, "head_dim_v": 65)");
  const auto padded = changed(spec, "head dimensions padded with zeros to 104 and 72, the scale kept");
  CHECK(padded.head_dim_qk == 104);
  CHECK(padded.head_dim_v == 72);
  CHECK(attention::scale_of(padded) == 0.1);
}

TEST_CASE("Sequences padded by a change keep their lengths behind the mask", "[suggest]") {
  const auto padded =
      changed(spec_of(R"("head_dim": 64, "batch": 2)"), "sequences padded to 64 and 64, with a padding mask");
  CHECK(padded.seqlen_q == 64);
  CHECK(padded.mask.padding);
  CHECK(padded.mask.seqlens_kv == std::vector<int64_t>{10, 10});
}

TEST_CASE("Strides that were spelt out may give way to contiguous ones", "[suggest]") {
  const auto spec =
      spec_of(R"("head_dim": 64, "layout": {"q": {"strides": [1280, 640, 64, 1]}, "k": "bhsd", "v": "bhsd"})");
  CHECK(attention::q_strides(changed(spec, "contiguous tensors in layout bshd")) ==
        attention::Strides{1280, 64, 128, 1});
}

TEST_CASE("Every kind of change may be kept from being made", "[suggest]") {
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

TEST_CASE("Ways out are asked, compiled, and the cheapest come first", "[suggest]") {
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
  CHECK_THAT(kept.out, ContainsSubstring("no change of one or two fields makes it work"));
  const Run unknown = run_attnprobe("suggest --heads 4 --seqlen 256 --head-dim 100 --keep head");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("--keep: \"head\" is not a kind of change"));
}

TEST_CASE("Two changes are made together where one is not enough", "[suggest]") {
  const Run both = run_attnprobe(
      "suggest --heads 4 --seqlen 256 --head-dim 100 --dtype fp8_e4m3 --target a100 --keep cudnn,target --format json");
  const Json result = both.json()["results"][0];
  const auto& ways = result["ways_out"];
  const auto is_meant = [](const Json& way) { return way["kinds"] == Json{"head_dim", "dtype"}; };
  CHECK(std::any_of(ways.begin(), ways.end(), is_meant));
  for (const auto& way : ways) CHECK(way["changes"].size() == 2);
}

TEST_CASE("The config that works is written", "[suggest]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "works.json").string();
  CHECK(run_attnprobe("suggest --heads 4 --seqlen 256 --head-dim 100 --target h100 -o " + file).exit_code == 0);
  const Json again = run_attnprobe("--config " + file + " --target h100 --format json").json();
  CHECK(again["results"][0]["usable"] == "yes");
  CHECK(again["results"][0]["config"]["head_dim_qk"] == 104);
}

TEST_CASE("The change in a reason's help is a kind of change that is tried", "[suggest]") {
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
