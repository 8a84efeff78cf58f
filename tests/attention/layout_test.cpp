// Layouts and masks by name or in full, expectations, and the conversion of a spec to JSON, options and the schema.
#include "attention/layout.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::test::layout_test {

using namespace attnprobe::attention;

namespace {

constexpr TensorShape shape{2, 3, 5, 7};  // batch, heads, seqlen, head_dim

// b2 h6/3 s4/5 d8/16 with additional members.
AttentionSpec spec_with(const std::string& members) {
  return parse_configs(
             R"({"batch": 2, "heads_q": 6, "heads_kv": 3, "seqlen_q": 4, "seqlen_kv": 5, "head_dim_qk": 8,
                           "head_dim_v": 16, )" +
                 members + "}",
             "x.json")
      .at(0)
      .spec;
}

std::string refusal(const std::string& members) {
  return usage_error([&] { spec_with(members); });
}

Mask mask(const std::string& json) {
  return spec_with("\"mask\": " + json).mask;
}

// Every config in the repository.
std::vector<AttentionConfig> shipped_configs() {
  std::vector<AttentionConfig> all;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "configs"))
    if (entry.path().extension() == ".json")
      for (auto& config : load_configs(entry.path())) all.push_back(std::move(config));
  return all;
}

std::vector<AttentionSpec> shipped_and_odd_specs() {
  std::vector<AttentionSpec> specs;
  for (const auto& config : shipped_configs()) specs.push_back(config.spec);
  for (
      const char* members :
      {R"("name": "it's odd, \"really\"", "layout": "bshd_bhsd_sbhd", "o_layout": "sbhd")",
       R"("layout": {"q": "bhsd", "k": {"strides": [960, 8, 192, 1]}, "v": "bshd"}, "o_dtype": "f32", "scale": 0.1)",
       R"("layout": {"q": {"strides": [1, 2, 3, 1]}, "k": "bhsd", "v": "sbhd", "o": {"strides": [9, 8, 7, 1]}})",
       R"("mask": {"causal": true, "window_left": 3, "padding": true, "seqlens_q": [4, 0], "seqlens_kv": [5, 1]})",
       R"("mask": {"window_left": 0, "window_right": 7, "alignment": "bottom_right"}, "stats": true)",
       R"("expect": {"l40s": "unsupported", "default": "unsupported"}, "pass": "fprop_train", "dtype": "bf16")",
       R"("heads_v": 2, "scale": "tensor", "stats": true)",
       R"("scale": "none", "bias": "none")",
       R"("bias": "b11s", "alibi": true)",
       R"("bias": {"shape": "bhss", "dtype": "f32", "grad": true}, "pass": "bprop", "dtype": "bf16")",
       R"("pass": "bprop", "do_dtype": "f32", "dqkv_dtype": "bf16", "do_layout": "sbhd", "dqkv_layout": "bshd_bhsd_sbhd")",
       R"("pass": "bprop", "do_layout": {"strides": [384, 16, 96, 1]}, "deterministic": true,
          "dqkv_layout": {"q": {"strides": [192, 8, 48, 1]}, "k": "bhsd", "v": "sbhd"})",
       R"("layout": "thd", "mask": "padding", "ragged_offsets": "i64", "ragged_stats": false, "stats": true)",
       R"("layout": "thd", "mask": "padding_causal", "pass": "bprop", "max_total_seqlen_q": 7, "max_total_seqlen_kv": 9)",
       R"("layout": "thd_bshd_bshd", "o_layout": "bshd", "mask": "padding")",
       R"("layout": {"q": "bshd", "k": "thd", "v": "sbhd", "o": "thd"})",
       R"("softcap": 30, "sink": true, "max_logit": true, "sum_exp": true)",
       R"("score_mod": "document", "mask": "causal")",
       R"("score_mod": {"kind": "causal", "grad": false}, "pass": "bprop", "sink": true, "softcap": 0.5)",
       R"("block_mask": true, "pattern": "sdpa_unified")",
       R"("dropout": 0.125, "mask": "causal")",
       R"("dropout": {"probability": 0.3, "seed": "i32", "dump": true}, "pass": "bprop")",
       R"("dropout": {"probability": 0.3, "form": "mask"})",
       R"("dropout": {"probability": 0.3, "seed": "constant"}, "pattern": "mha", "pass": "fprop_train")",
       R"("pattern": "mha", "softmax": false, "bias": "1hss", "mask": "padding_causal")",
       R"("pattern": "mha", "pass": "bprop", "mask": "padding")",
       R"("paged": 2, "mask": "padding")",
       R"("paged": {"block_size": 4, "v": false, "layout": "bshd", "packed_table": true}, "mask": "padding")",
       R"("dtype": "fp8_e4m3")",
       R"("dtype": "fp8_e5m2", "o_dtype": "bf16", "sink": true)",
       R"("dtype": "fp8_e4m3", "o_dtype": "f16", "do_dtype": "fp8_e5m2", "dqkv_dtype": "f16", "pass": "bprop")",
       R"("dtype": "fp8_e4m3", "fp8": "mxfp8", "o_dtype": "bf16", "pass": "bprop", "mask": "causal")",
       R"("dtype": "fp8_e4m3", "fp8": "current")",
       R"("pattern": "two_matmul")",
       R"("dtype": "f32", "pattern": "sdpa_composite")"})
    specs.push_back(spec_with(members));
  return specs;
}

// Everything that a config can express, equal for specs with the same question.
std::string everything(const AttentionSpec& spec) {
  const Json strides = {q_strides(spec),   k_strides(spec),  v_strides(spec),  o_strides(spec),
                        d_o_strides(spec), dq_strides(spec), dk_strides(spec), dv_strides(spec)};
  return to_json(spec).dump() + strides.dump() + graph::hash(build::build_graph(spec, {91900}).graph);
}

// Splits a command line with a real shell.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  FILE* pipe = popen(("printf '%s\\n' " + line).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string word;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c == '\n')
      words.push_back(std::exchange(word, {}));
    else
      word += static_cast<char>(c);
  }
  REQUIRE(pclose(pipe) == 0);
  return words;
}

bool has_jsonschema() {
  return std::system("python3 -c 'import jsonschema' > /dev/null 2>&1") == 0;
}

// Whether each document is valid under config_schema(), according to python3-jsonschema.
std::vector<bool> valid_under_schema(const std::vector<Json>& documents) {
  const TemporaryFolder folder;
  const auto schema = folder.file("schema.json", config_schema().dump());
  const auto list = folder.file("documents.json", Json(documents).dump());
  const auto out = folder.path() / "out.json";
  const auto script = folder.file("validate.py",
                                  "import json, sys, jsonschema\n"
                                  "schema, documents = (json.load(open(p)) for p in sys.argv[1:3])\n"
                                  "jsonschema.Draft202012Validator.check_schema(schema)\n"
                                  "validator = jsonschema.Draft202012Validator(schema)\n"
                                  "json.dump([validator.is_valid(d) for d in documents], open(sys.argv[3], 'w'))\n");
  const std::string command =
      "python3 " + script.string() + " " + schema.string() + " " + list.string() + " " + out.string();
  REQUIRE(std::system(command.c_str()) == 0);
  return Json::parse(read_text(out)).get<std::vector<bool>>();
}

}  // namespace

// ---- layouts

TEST_CASE("Strides follow the order of the axes", "[layout]") {
  CHECK(strides_of("bshd", shape) == Strides{105, 7, 21, 1});
  CHECK(strides_of("bhsd", shape) == Strides{105, 35, 7, 1});
  CHECK(strides_of("sbhd", shape) == Strides{21, 7, 42, 1});
  CHECK(strides_of("hbsd", shape) == Strides{35, 70, 7, 1});
}

TEST_CASE("A digit interleaves tensors at its position", "[layout]") {
  CHECK(strides_of("bs3hd", shape) == Strides{315, 7, 63, 1});
  CHECK(strides_of("bsh3d", shape) == Strides{315, 21, 63, 1});
  CHECK(strides_of("sb3hd", shape) == Strides{63, 7, 126, 1});
  CHECK(strides_of("sbh3d", shape) == Strides{63, 21, 126, 1});
  CHECK(strides_of("bs2hd", shape) == Strides{210, 7, 42, 1});
}

TEST_CASE("A ragged tensor has the strides of a padded batch", "[layout]") {
  CHECK(strides_of("thd", shape) == Strides{105, 7, 21, 1});
  CHECK(strides_of("t3hd", shape) == Strides{315, 7, 63, 1});
  CHECK(strides_of("th3d", shape) == Strides{315, 21, 63, 1});
  CHECK(strides_of("t2hd", shape) == Strides{210, 7, 42, 1});
  CHECK(strides_of("th2d", shape) == Strides{210, 14, 42, 1});
}

TEST_CASE("Axes that are not a layout have no strides", "[layout]") {
  for (const char* axes : {"", "bshdd", "bsh", "bsdh", "bbhd", "bs4hd", "bs33hd", "bshd3", "BSHD", "bs-hd", "td", "tsd",
                           "bthd", "tshd", "htd", "tthd", "t4hd", "THD"}) {
    INFO(axes);
    CHECK_FALSE(strides_of(axes, shape));
  }
}

TEST_CASE("A layout name determines the axes of Q, K and V", "[layout]") {
  using Axes = std::array<std::string, 3>;
  CHECK(split_layout_name("bshd") == Axes{"bshd", "bshd", "bshd"});
  CHECK(split_layout_name("bs3hd") == Axes{"bs3hd", "bs3hd", "bs3hd"});
  CHECK(split_layout_name("bshd_bs2hd") == Axes{"bshd", "bs2hd", "bs2hd"});
  CHECK(split_layout_name("bhsd_bshd") == Axes{"bhsd", "bshd", "bshd"});
  CHECK(split_layout_name("bshd_bhsd_sbhd") == Axes{"bshd", "bhsd", "sbhd"});
  CHECK(split_layout_name("thd") == Axes{"thd", "thd", "thd"});
  CHECK(split_layout_name("th3d") == Axes{"th3d", "th3d", "th3d"});
  CHECK(split_layout_name("thd_th2d") == Axes{"thd", "th2d", "th2d"});
  CHECK(split_layout_name("thd_bshd_sbhd") == Axes{"thd", "bshd", "sbhd"});
}

TEST_CASE("A digit in the wrong group is not a layout name", "[layout]") {
  for (const char* name : {"bs2hd", "bs2hd_bshd", "bs3hd_bs3hd", "bshd_bs3hd", "bshd_bs2hd_bshd", "bshd_", "_bshd",
                           "bshd_bshd_bshd_bshd", "t2hd", "thd_t3hd", "t3hd_t3hd", "thd_t2hd_thd"})
    CHECK_FALSE(split_layout_name(name));
}

TEST_CASE("Every layout name in messages is valid", "[layout]") {
  for (const auto& name : common_layout_names()) {
    INFO(name);
    CHECK(split_layout_name(name));
  }
}

TEST_CASE("Each tensor has strides for its own extents", "[layout]") {
  const AttentionSpec spec = spec_with(R"("layout": "bshd")");
  CHECK(q_strides(spec) == Strides{6 * 4 * 8, 8, 6 * 8, 1});
  CHECK(k_strides(spec) == Strides{3 * 5 * 8, 8, 3 * 8, 1});
  CHECK(v_strides(spec) == Strides{3 * 5 * 16, 16, 3 * 16, 1});
  CHECK(o_strides(spec) == Strides{6 * 4 * 16, 16, 6 * 16, 1});
}

TEST_CASE("O follows Q without its interleaving, unless it has a layout", "[layout]") {
  const std::string small = R"({"heads": 2, "seqlen": 3, "head_dim": 8, "layout": "bs3hd"})";
  const AttentionSpec packed = parse_configs(small, "x.json").at(0).spec;
  CHECK(q_strides(packed) == Strides{3 * 3 * 16, 8, 3 * 16, 1});
  CHECK(o_strides(packed) == Strides{3 * 16, 8, 16, 1});
  CHECK(o_strides(spec_with(R"("layout": "bhsd")")) == Strides{6 * 4 * 16, 4 * 16, 16, 1});
  CHECK(o_strides(spec_with(R"("layout": "bhsd", "o_layout": "sbhd")")) == Strides{6 * 16, 16, 2 * 6 * 16, 1});
}

TEST_CASE("Layouts have the same strides as in Transformer Engine", "[layout]") {
  // The formulas of generateMatrixStrides in TransformerEngine's common/fused_attn/utils.cu, by hand for b 2, h 3, s_q
  // 4, s_kv 5, d 8: h·d = 24. "bshd" is JAX's BTNH and "bhsd" its BNTH (jax/_src/cudnn/fused_attention_stablehlo.py).
  // samples/cpp/sdpa/fp16_fwd.cpp of cudnn-frontend has Q, K, V as "bhsd" and O as "sbhd".
  struct Case {
    const char* layout;
    int64_t s_kv;
    Strides q, k, o;  // V has K's
  };
  const Case cases[] = {{"sb3hd", 4, {72, 8, 144, 1}, {72, 8, 144, 1}, {24, 8, 48, 1}},
                        {"sbh3d", 4, {72, 24, 144, 1}, {72, 24, 144, 1}, {24, 8, 48, 1}},
                        {"bs3hd", 4, {288, 8, 72, 1}, {288, 8, 72, 1}, {96, 8, 24, 1}},
                        {"t3hd", 4, {288, 8, 72, 1}, {288, 8, 72, 1}, {96, 8, 24, 1}},
                        {"bsh3d", 4, {288, 24, 72, 1}, {288, 24, 72, 1}, {96, 8, 24, 1}},
                        {"th3d", 4, {288, 24, 72, 1}, {288, 24, 72, 1}, {96, 8, 24, 1}},
                        {"sbhd_sb2hd", 5, {24, 8, 48, 1}, {48, 8, 96, 1}, {24, 8, 48, 1}},
                        {"sbhd_sbh2d", 5, {24, 8, 48, 1}, {48, 16, 96, 1}, {24, 8, 48, 1}},
                        {"bshd_bs2hd", 5, {96, 8, 24, 1}, {240, 8, 48, 1}, {96, 8, 24, 1}},
                        {"thd_t2hd", 5, {96, 8, 24, 1}, {240, 8, 48, 1}, {96, 8, 24, 1}},
                        {"bshd_bsh2d", 5, {96, 8, 24, 1}, {240, 16, 48, 1}, {96, 8, 24, 1}},
                        {"thd_th2d", 5, {96, 8, 24, 1}, {240, 16, 48, 1}, {96, 8, 24, 1}},
                        {"sbhd_sbhd_sbhd", 5, {24, 8, 48, 1}, {24, 8, 48, 1}, {24, 8, 48, 1}},
                        {"bshd_bshd_bshd", 5, {96, 8, 24, 1}, {120, 8, 24, 1}, {96, 8, 24, 1}},
                        {"thd_thd_thd", 5, {96, 8, 24, 1}, {120, 8, 24, 1}, {96, 8, 24, 1}},
                        {"thd_bshd_bshd", 5, {96, 8, 24, 1}, {120, 8, 24, 1}, {96, 8, 24, 1}},
                        {"sbhd_bshd_bshd", 5, {24, 8, 48, 1}, {120, 8, 24, 1}, {24, 8, 48, 1}},
                        {"bshd_sbhd_sbhd", 5, {96, 8, 24, 1}, {24, 8, 48, 1}, {96, 8, 24, 1}},
                        {"thd_sbhd_sbhd", 5, {96, 8, 24, 1}, {24, 8, 48, 1}, {96, 8, 24, 1}},
                        {"bhsd_bhsd_bhsd", 5, {96, 32, 8, 1}, {120, 40, 8, 1}, {96, 32, 8, 1}}};
  for (const auto& [layout, s_kv, q, k, o] : cases) {
    INFO(layout);
    const Json config = {{"batch", 2},        {"heads", 3},    {"seqlen_q", 4},
                         {"seqlen_kv", s_kv}, {"head_dim", 8}, {"layout", layout}};
    const AttentionSpec spec = parse_configs(config.dump(), "x.json").at(0).spec;
    CHECK(q_strides(spec) == q);
    CHECK(k_strides(spec) == k);
    CHECK(v_strides(spec) == k);
    CHECK(o_strides(spec) == o);
    // Gradients have the layouts of their tensors, unless they have their own.
    CHECK(d_o_strides(spec) == o);
    CHECK(dq_strides(spec) == q);
    CHECK(dk_strides(spec) == k);
    CHECK(dv_strides(spec) == k);
  }
}

TEST_CASE("Gradients may have layouts of their own", "[layout]") {
  // b 2, h 6/3, s 4/5, d 8/16.
  //   dQ {2,6,4,8}, dK {2,3,5,8}, dV {2,3,5,16}, dO {2,6,4,16}
  struct Case {
    const char* members;
    Strides d_o, dq, dk, dv;
  };
  const Case cases[] = {
      {R"("layout": "bshd")", {384, 16, 96, 1}, {192, 8, 48, 1}, {120, 8, 24, 1}, {240, 16, 48, 1}},
      {R"("o_layout": "sbhd")", {96, 16, 192, 1}, {192, 8, 48, 1}, {120, 8, 24, 1}, {240, 16, 48, 1}},
      {R"("o_layout": "sbhd", "do_layout": "bhsd")",
       {384, 64, 16, 1},
       {192, 8, 48, 1},
       {120, 8, 24, 1},
       {240, 16, 48, 1}},
      {R"("do_layout": {"strides": [9, 8, 7, 1]})", {9, 8, 7, 1}, {192, 8, 48, 1}, {120, 8, 24, 1}, {240, 16, 48, 1}},
      {R"("dqkv_layout": "bhsd")", {384, 16, 96, 1}, {192, 32, 8, 1}, {120, 40, 8, 1}, {240, 80, 16, 1}},
      {R"("dqkv_layout": "bshd_bhsd_sbhd")", {384, 16, 96, 1}, {192, 8, 48, 1}, {120, 40, 8, 1}, {48, 16, 96, 1}},
      {R"("layout": "bhsd", "dqkv_layout": {"q": "sbhd", "k": {"strides": [5, 4, 3, 1]}, "v": "thd"})",
       {384, 64, 16, 1},
       {48, 8, 96, 1},
       {5, 4, 3, 1},
       {240, 16, 48, 1}}};
  for (const auto& [members, d_o, dq, dk, dv] : cases) {
    INFO(members);
    const AttentionSpec spec = spec_with(R"("pass": "bprop", )" + std::string(members));
    CHECK(d_o_strides(spec) == d_o);
    CHECK(dq_strides(spec) == dq);
    CHECK(dk_strides(spec) == dk);
    CHECK(dv_strides(spec) == dv);
  }
}

TEST_CASE("Strides may be given explicitly", "[layout]") {
  const AttentionSpec spec = spec_with(R"("layout": {"q": {"strides": [900, 30, 60, 1]}, "k": "bhsd", "v": "bshd"})");
  CHECK(q_strides(spec) == Strides{900, 30, 60, 1});
  CHECK(k_strides(spec) == Strides{3 * 5 * 8, 5 * 8, 8, 1});
  CHECK(o_strides(spec) == Strides{6 * 4 * 16, 16, 6 * 16, 1});  // bshd, because Q's own strides do not determine O
}

TEST_CASE("An unknown layout is refused with the known ones", "[layout]") {
  CHECK(refusal(R"("layout": "bshdd")") ==
        "x.json: /layout: \"bshdd\" is not a known value; allowed: \"bshd\", \"bhsd\", \"sbhd\", \"bs3hd\", "
        "\"bsh3d\", \"sb3hd\", \"sbh3d\", \"bshd_bs2hd\", \"bshd_bsh2d\", \"sbhd_sb2hd\", \"sbhd_sbh2d\", \"thd\", "
        "\"t3hd\", \"th3d\", \"thd_t2hd\", \"thd_th2d\" (did you mean \"bshd\"?)");
  CHECK(refusal(R"("layout": {"q": "bshd", "k": "bshd"})") == "x.json: /layout: the key \"v\" is missing");
  CHECK_THAT(refusal(R"("o_layout": "bshd_bshd")"),
             StartsWith("x.json: /o_layout: \"bshd_bshd\" is not the layout of one tensor"));
  CHECK_THAT(
      refusal(R"("layout": {"q": "bshd", "k": {"stride": [1]}, "v": "bshd"})"),
      StartsWith(
          "x.json: /layout/k/stride: unknown key \"stride\" (did you mean \"strides\"?); allowed: \"strides\", \"axes\""));
  CHECK(refusal(R"("o_layout": {"strides": [1, 2, 3]})") ==
        "x.json: /o_layout/strides: [1,2,3] is not four strides, in the order batch, heads, seqlen, head_dim");
  CHECK_THAT(refusal(R"("o_layout": {"strides": [1, 2, -3, 1]})"),
             StartsWith("x.json: /o_layout/strides/2: -3 is out of range"));
}

// ---- masks

TEST_CASE("Masks have names", "[mask]") {
  CHECK_FALSE(mask("\"none\"").has_diagonal());
  CHECK(mask("\"causal\"").window_right == 0);
  CHECK_FALSE(mask("\"causal\"").window_left);
  CHECK(mask("\"causal_bottom_right\"").alignment == Alignment::bottom_right);
  CHECK(mask("\"padding\"").padding);
  CHECK_FALSE(mask("\"padding\"").has_diagonal());
  CHECK(mask("\"padding_causal\"").padding);
  CHECK(mask("\"padding_causal_bottom_right\"").window_right == 0);
}

TEST_CASE("A mask may be an object", "[mask]") {
  const Mask m = mask(R"({"causal": true, "window_left": 3, "alignment": "bottom_right", "padding": true,
                          "seqlens_q": [4, 1], "seqlens_kv": [5, 0]})");
  CHECK(m.window_left == 3);
  CHECK(m.window_right == 0);
  CHECK(m.alignment == Alignment::bottom_right);
  CHECK(m.seqlens_q == std::vector<int64_t>{4, 1});
  CHECK(m.seqlens_kv == std::vector<int64_t>{5, 0});
}

TEST_CASE("A mask object equal to a named mask gets that name", "[mask]") {
  for (const auto& [name, named] : named_masks()) CHECK(mask_name(named) == name);
  CHECK(mask_name(mask(R"({"causal": true, "padding": true})")) == "padding_causal");
  CHECK_FALSE(mask_name(mask(R"({"window_left": 3})")));
  CHECK_FALSE(mask_name(mask(R"({"padding": true, "seqlens_q": [1, 1]})")));
}

TEST_CASE("Contradictory masks are refused", "[mask]") {
  CHECK(refusal(R"("mask": {"causal": true, "window_right": 2})") ==
        "x.json: /mask/window_right: 2 contradicts \"causal\": true, which is window_right 0");
  CHECK(refusal(R"("mask": {"padding": true, "seqlens_q": [1, 2, 3]})") ==
        "x.json: /mask: \"seqlens_q\" has 3 lengths for a batch of 2");
  CHECK(refusal(R"("mask": {"padding": true, "seqlens_kv": [1, 6]})") ==
        "x.json: /mask: \"seqlens_kv\" contains 6, more than the sequence length 5");
  CHECK(refusal(R"("mask": {"seqlens_kv": [1, 2]})") ==
        "x.json: /mask: \"seqlens_kv\" is given without \"padding\": true");
}

TEST_CASE("Masks with wrong members are refused", "[mask]") {
  CHECK_THAT(refusal(R"("mask": "casual")"), EndsWith("(did you mean \"causal\"?)"));
  CHECK_THAT(
      refusal(R"("mask": {"window": 3})"),
      StartsWith("x.json: /mask/window: unknown key \"window\" (did you mean \"window_left\"?); allowed: \"causal\""));
  CHECK_THAT(refusal(R"("mask": {"window_left": -1})"), StartsWith("x.json: /mask/window_left: -1 is out of range"));
  CHECK_THAT(refusal(R"("mask": {"alignment": "left"})"),
             StartsWith("x.json: /mask/alignment: \"left\" is not a known value"));
  CHECK(refusal(R"("mask": {"padding": "yes"})") ==
        "x.json: /mask/padding: \"yes\" is not a boolean; allowed: true, false");
  CHECK(refusal(R"("mask": {"seqlens_q": 4})") == "x.json: /mask/seqlens_q: 4 is not an array of lengths");
  CHECK_THAT(refusal(R"("mask": {"seqlens_q": [1, "2"]})"),
             StartsWith("x.json: /mask/seqlens_q/1: \"2\" is not an integer"));
}

// ---- expectations and descriptions

TEST_CASE("An expectation applies to all targets or by target", "[config]") {
  CHECK(spec_with(R"("expect": "unsupported")").expect.otherwise == ExpectedVerdict::unsupported);
  const Expectation expect = spec_with(R"("expect": {"t4": "unsupported", "l40s": "supported"})").expect;
  CHECK(expect.otherwise == ExpectedVerdict::supported);
  CHECK(expect.by_target == std::map<std::string, ExpectedVerdict>{{"t4", ExpectedVerdict::unsupported},
                                                                   {"l40s", ExpectedVerdict::supported}});
  CHECK(spec_with(R"("expect": {"default": "unsupported"})").expect.otherwise == ExpectedVerdict::unsupported);
  CHECK_FALSE(spec_with(R"("pass": "fprop")").expect.is_given);
  CHECK(expect.is_given);
  CHECK(spec_with(R"("expect": {"t4@9.8": "no"})").expect.by_target.at("t4@9.8") == ExpectedVerdict::no);
  CHECK(
      refusal(R"("expect": {"t4": "maybe"})") ==
      "x.json: /expect/t4: \"maybe\" is not a known value; allowed: \"supported\", \"unsupported\", \"yes\", \"but\", "
      "\"no\", \"any\"");
}

TEST_CASE("A spec is described in one line", "[config]") {
  CHECK(describe(spec_with(R"("mask": "padding", "layout": "bshd")")) ==
        "sdpa fprop b2 h6/3 s4/5 d8/16 f16 bshd padding");
  CHECK(describe(spec_with(R"("mask": {"causal": true, "window_left": 3}, "o_dtype": "f32")")) ==
        "sdpa fprop b2 h6/3 s4/5 d8/16 f16->f32 bshd causal left 3");
}

// ---- from a spec to JSON and options

TEST_CASE("The normalised JSON of a spec is read as the same spec", "[config][shipped]") {
  for (const auto& spec : shipped_and_odd_specs()) {
    INFO(to_json(spec).dump());
    const AttentionSpec back = parse_configs(to_json(spec).dump(), "back.json").at(0).spec;
    CHECK(everything(back) == everything(spec));
  }
}

TEST_CASE("The options of a spec are read as the same spec", "[config][shipped]") {
  for (AttentionSpec spec : shipped_and_odd_specs()) {
    spec.name = name_of(spec.pattern);  // name, source and expectation are not part of the command
    spec.source.clear();
    spec.expect = {};
    const auto words = shell_words(to_options(spec));
    INFO(to_options(spec));
    std::vector<Override> overrides;
    for (size_t i = 0; i + 1 < words.size(); i += 2) {
      const auto field =
          std::find_if(fields().begin(), fields().end(), [&](const Field& f) { return option_of(f.name) == words[i]; });
      REQUIRE(field != fields().end());
      overrides.push_back(parse_override(field->name, words[i + 1]));
    }
    const auto configs = configs_from_options(overrides);
    REQUIRE(configs.size() == 1);
    CHECK(everything(configs[0].spec) == everything(spec));
  }
}

TEST_CASE("Options use shorthands for equal pairs and omit defaults", "[config]") {
  const auto configs = parse_configs(
      R"({"heads": 12, "seqlen_q": 1, "seqlen_kv": 512, "head_dim": 64, "mask": {"window_left": 3}})", "x.json");
  CHECK(to_options(configs.at(0).spec) ==
        R"(--heads 12 --seqlen-q 1 --seqlen-kv 512 --head-dim 64 --mask '{"window_left":3}')");
}

TEST_CASE("Shipped configs have unique names and expectations for known targets", "[config][shipped]") {
  std::set<std::string> names;
  for (const auto& config : shipped_configs()) {
    INFO(config.origin.file << " " << config.origin.pointer);
    CHECK(names.insert(config.spec.name).second);
    CHECK_FALSE(config.spec.source.empty());
    for (const auto& [id, verdict] : config.spec.expect.by_target) {
      const gpu::Target* known = gpu::find(id);
      REQUIRE(known != nullptr);
      CHECK(known->id == id);  // an alias would never match a result's target
    }
  }
  CHECK(names.size() > 20);
}

TEST_CASE("The schema accepts what the parser accepts", "[config][schema]") {
  if (!has_jsonschema()) {
    WARN("SKIPPED: python3 has no jsonschema (Debian: python3-jsonschema)");
    return;
  }
  std::vector<Json> documents;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "configs"))
    if (entry.path().extension() == ".json")
      documents.push_back(Json::parse(read_text(entry.path()), nullptr, true, true));
  for (const auto& spec : shipped_and_odd_specs()) documents.push_back(to_json(spec));
  for (const char* text :
       {R"({"scale": "none"})", R"({"scale": ["none", 0.5]})", R"({"bias": "none"})", R"({"bias": {}})",
        R"({"score_mod": "none"})", R"({"dropout": "none"})", R"({"dropout": 0})", R"({"paged": "none"})",
        R"({"paged": {}})", R"({"paged": [16, {"k": false}]})", R"({"alibi": [true, false]})"})
    documents.push_back(Json::parse(text));
  const auto valid = valid_under_schema(documents);
  REQUIRE(valid.size() == documents.size());
  for (size_t i = 0; i < valid.size(); ++i) {
    INFO(documents[i].dump());
    CHECK(valid[i]);
  }
}

TEST_CASE("The schema refuses what the parser refuses", "[config][schema]") {
  if (!has_jsonschema()) {
    WARN("SKIPPED: python3 has no jsonschema (Debian: python3-jsonschema)");
    return;
  }
  std::vector<Json> documents;
  for (const char* text : {R"({"dtyp": "f16"})",
                           R"({"batch": 0})",
                           R"({"batch": "8"})",
                           R"({"dtype": "f64"})",
                           R"({"batch": []})",
                           R"([])",
                           R"({"configs": []})",
                           R"({"defaults": {}})",
                           R"({"mask": {"window": 3}})",
                           R"({"mask": "casual"})",
                           R"({"name": ["a"]})",
                           R"({"layout": {"q": "bshd"}})",
                           R"({"o_layout": {"strides": [1, 2, 3]}})",
                           R"({"expect": {"t4": "maybe"}})",
                           R"({"stats": 1})",
                           R"({"scale": "1"})",
                           R"({"pass": "dgrad"})",
                           R"({"do_layout": {"strides": [1]}})",
                           R"({"dqkv_layout": {"q": "bshd", "k": "bshd"}})",
                           R"({"dqkv_layout": {"q": "bshd", "k": "bshd", "v": "bshd", "o": "bshd"}})",
                           R"({"ragged_offsets": "f32"})",
                           R"({"ragged_stats": 1})",
                           R"({"max_total_seqlen_q": 0})",
                           R"({"bias": "hss"})",
                           R"({"bias": {"dtype": "fp8_e4m3"}})",
                           R"({"bias": {"dims": "1hss"}})",
                           R"({"alibi": "yes"})",
                           R"({"softcap": 0})",
                           R"({"score_mod": "relu6"})",
                           R"({"score_mod": {"grad": true}})",
                           R"({"dropout": 1})",
                           R"({"dropout": {"form": "mask"}})",
                           R"({"dropout": {"probability": 0.5, "seed": 7}})",
                           R"({"paged": 0})",
                           R"({"paged": {"layout": "thd"}})",
                           R"({"fp8": "e4m3"})",
                           R"({"softmax": "off"})",
                           R"({"heads_v": 0})"})
    documents.push_back(Json::parse(text));
  const auto valid = valid_under_schema(documents);
  REQUIRE(valid.size() == documents.size());
  for (size_t i = 0; i < valid.size(); ++i) {
    INFO(documents[i].dump());
    CHECK_FALSE(valid[i]);
  }
}

}  // namespace attnprobe::test::layout_test
