// Features of a config other than sizes, types and masks. Tests every form of every field, its normalised form, cross
// products, and the error for each refusal.
#include <algorithm>
#include <map>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "catch.hpp"

namespace attnprobe::test::features_test {

using namespace attnprobe::attention;

namespace {

std::vector<AttentionConfig> parse(const std::string& members) {
  return parse_configs(
      R"({"batch": 2, "heads": 6, "seqlen": 8, "head_dim": 16)" + (members.empty() ? "" : ", " + members) + "}",
      "f.json");
}

AttentionSpec one(const std::string& members) {
  const auto configs = parse(members);
  REQUIRE(configs.size() == 1);
  return configs[0].spec;
}

std::string refusal(const std::string& members) {
  return usage_error([&] { parse(members); });
}

// The normalised value of a field, or "absent".
std::string normalised(const AttentionSpec& spec, const std::string& field) {
  const Json json = to_json(spec);
  return json.contains(field) ? json[field].dump() : "absent";
}

struct Reading {
  const char *members, *field, *normal;
};

// Members of a config, and the normalised value of one field.
const Reading readings[] = {
    // passes and types
    {R"("pass": "bprop")", "pass", R"("bprop")"},
    {R"("dtype": "f32")", "o_dtype", R"("f32")"},
    {R"("dtype": "fp8_e5m2")", "dtype", R"("fp8_e5m2")"},
    {R"("dtype": "fp8_e4m3", "o_dtype": "bf16")", "o_dtype", R"("bf16")"},
    {R"("pass": "fprop")", "do_dtype", "absent"},
    {R"("pass": "bprop", "dtype": "bf16")", "do_dtype", R"("bf16")"},
    {R"("pass": "bprop", "dtype": "fp8_e4m3", "o_dtype": "f16")", "do_dtype", R"("fp8_e4m3")"},
    {R"("pass": "bprop", "dtype": "fp8_e4m3", "do_dtype": "fp8_e5m2")", "do_dtype", R"("fp8_e5m2")"},
    {R"("pass": "bprop", "dtype": "fp8_e4m3", "o_dtype": "f16")", "dqkv_dtype", R"("f16")"},
    {R"("pass": "bprop", "dqkv_dtype": "f32")", "dqkv_dtype", R"("f32")"},
    {R"("heads_v": 3)", "heads_v", "3"},
    {"", "heads_v", "absent"},
    // layouts
    {R"("pass": "bprop")", "do_layout", "absent"},
    {R"("pass": "bprop", "do_layout": "bhsd")", "do_layout", R"("bhsd")"},
    {R"("pass": "bprop", "do_layout": {"strides": [768, 16, 96, 1]})", "do_layout", R"({"strides":[768,16,96,1]})"},
    {R"("pass": "bprop", "dqkv_layout": "bshd_bs2hd")", "dqkv_layout", R"("bshd_bs2hd")"},
    {R"("pass": "bprop", "dqkv_layout": {"q": "bhsd", "k": "bhsd", "v": "sbhd"})", "dqkv_layout",
     R"("bhsd_bhsd_sbhd")"},
    {R"("pass": "bprop", "dqkv_layout": {"q": {"strides": [1, 2, 3, 1]}, "k": "bhsd", "v": "sbhd"})", "dqkv_layout",
     R"({"q":{"strides":[1,2,3,1]},"k":"bhsd","v":"sbhd"})"},
    {R"("layout": "thd")", "layout", R"("thd")"},
    {R"("layout": "thd")", "o_layout", R"("thd")"},
    {R"("layout": "t3hd")", "o_layout", R"("thd")"},
    {R"("layout": "thd")", "ragged_offsets", R"("i32")"},
    {R"("layout": "thd", "ragged_offsets": "i64")", "ragged_offsets", R"("i64")"},
    {R"("ragged_offsets": "i64")", "ragged_offsets", "absent"},
    {R"("layout": "thd")", "ragged_stats", "true"},
    {R"("layout": "thd", "ragged_stats": false)", "ragged_stats", "false"},
    {R"("layout": {"q": "bshd", "k": "thd", "v": "bshd"})", "ragged_stats", "true"},
    {R"("layout": "thd")", "ragged_shared", "absent"},
    {R"("layout": "thd", "ragged_shared": true)", "ragged_shared", "true"},
    {R"("layout": {"q": {"strides": [99, 16, 48, 1], "axes": "thd"}, "k": "thd", "v": "thd"})", "layout",
     R"({"q":{"strides":[99,16,48,1],"axes":"thd"},"k":"thd","v":"thd"})"},
    {R"("pass": "bprop", "mask": {"padding": true, "padding_after_stats": true})", "mask",
     R"({"alignment":"top_left","padding":true,"padding_after_stats":true})"},
    {R"("pass": "bprop", "layout": "thd", "max_total_seqlen_q": 12)", "max_total_seqlen_q", "12"},
    {R"("pass": "bprop", "layout": "thd", "max_total_seqlen_kv": 13)", "max_total_seqlen_kv", "13"},
    // scale
    {"", "scale", "0.25"},
    {R"("scale": 2)", "scale", "2.0"},
    {R"("scale": "tensor")", "scale", R"("tensor")"},
    {R"("scale": "none")", "scale", R"("none")"},
    // bias
    {R"("bias": "none")", "bias", "absent"},
    {R"("bias": "b1ss")", "bias", R"({"shape":"b1ss","grad":false})"},
    {R"("bias": {})", "bias", R"({"shape":"1hss","grad":false})"},
    {R"("bias": {"shape": "b11s", "dtype": "f32"})", "bias", R"({"shape":"b11s","dtype":"f32","grad":false})"},
    {R"("bias": {"shape": "b1ss", "strides": [0, 64, 8, 1]})", "bias",
     R"({"shape":"b1ss","strides":[0,64,8,1],"grad":false})"},
    {R"("bias": {"dtype": "bf16", "grad": true})", "bias", R"({"shape":"1hss","dtype":"bf16","grad":true})"},
    // booleans and numbers
    {R"("alibi": true)", "alibi", "true"},
    {R"("alibi": false)", "alibi", "absent"},
    {R"("softcap": 50)", "softcap", "50.0"},
    {"", "softcap", "absent"},
    {R"("sink": true)", "sink", "true"},
    {R"("block_mask": true)", "block_mask", "true"},
    {R"("max_logit": true)", "max_logit", "true"},
    {R"("sum_exp": true)", "sum_exp", "true"},
    {R"("pass": "bprop", "deterministic": true)", "deterministic", "true"},
    {"", "stats", "false"},
    {R"("stats": true)", "stats", "true"},
    {R"("pass": "fprop_train")", "stats", "true"},
    {R"("pass": "bprop")", "stats", "absent"},
    {"", "softmax", "absent"},
    {R"("pattern": "mha", "softmax": false)", "softmax", "false"},
    // score modifiers
    {R"("score_mod": "none")", "score_mod", "absent"},
    {R"("score_mod": "arrow")", "score_mod", R"({"kind":"arrow","grad":true})"},
    {R"("score_mod": {"kind": "causal", "grad": false})", "score_mod", R"({"kind":"causal","grad":false})"},
    // dropout
    {R"("dropout": "none")", "dropout", "absent"},
    {R"("dropout": 0)", "dropout", "absent"},
    {R"("dropout": {"probability": 0, "form": "mask"})", "dropout", "absent"},
    {R"("dropout": 0.5)", "dropout", R"({"probability":0.5,"form":"philox","dump":false})"},
    {R"("dropout": {"probability": 0.5, "seed": "i32", "dump": true})", "dropout",
     R"({"probability":0.5,"form":"philox","seed":"i32","dump":true})"},
    {R"("dropout": {"probability": 0.5, "form": "mask"})", "dropout",
     R"({"probability":0.5,"form":"mask","dump":false})"},
    // paged
    {R"("paged": "none")", "paged", "absent"},
    {R"("paged": {"k": false, "v": false})", "paged", "absent"},
    {R"("paged": 16)", "paged", R"({"block_size":16,"k":true,"v":true,"layout":"bhsd","packed_table":false})"},
    {R"("paged": {})", "paged", R"({"block_size":64,"k":true,"v":true,"layout":"bhsd","packed_table":false})"},
    {R"("paged": {"layout": "sbhd"})", "paged",
     R"({"block_size":64,"k":true,"v":true,"layout":"sbhd","packed_table":false})"},
    {R"("paged": {"block_size": 4, "v": false, "layout": "bshd", "packed_table": true})", "paged",
     R"({"block_size":4,"k":true,"v":false,"layout":"bshd","packed_table":true})"},
    // fp8: the scaling follows O, unless it is given
    {"", "fp8", "absent"},
    {R"("dtype": "fp8_e4m3")", "fp8", R"("delayed")"},
    {R"("dtype": "fp8_e4m3", "o_dtype": "f16")", "fp8", R"("current")"},
    {R"("dtype": "fp8_e4m3", "fp8": "current")", "fp8", R"("current")"},
    {R"("dtype": "fp8_e5m2", "o_dtype": "bf16", "fp8": "mxfp8")", "fp8", R"("mxfp8")"},
};

struct Refusal {
  const char *members, *message;
};

const char* const words_of_score_mod =
    R"("causal", "arrow", "document", "relative_position", "head_factor", "score_factor", "mask_i32", )"
    R"("mask_boolean", "mask_byte_boolean", "mask_i8", "relu", "tanh", "sigmoid", "gelu", "swish", "abs", "sqrt", "sin", "exp", )"
    R"("pow", "max")";

// Invalid values.
const Refusal bad_values[] = {
    {R"("do_dtype": "i8")",
     R"(/do_dtype: "i8" is not a known value; allowed: "f16", "bf16", "f32", "fp8_e4m3", "fp8_e5m2")"},
    {R"("dqkv_dtype": 16)",
     R"(/dqkv_dtype: 16 is not a known value; allowed: "f16", "bf16", "f32", "fp8_e4m3", "fp8_e5m2" (did you mean "f16"?))"},
    {R"("heads_v": 0)", "/heads_v: 0 is out of range; allowed: an integer from 1 to 2147483647"},
    {R"("do_layout": "bshd_bshd")",
     R"(/do_layout: "bshd_bshd" is not the layout of one tensor; allowed: "bshd", "bhsd", "sbhd", … or {"strides": [b, h, s, d]})"},
    {R"("dqkv_layout": {"q": "bshd", "k": "bshd"})", R"(/dqkv_layout: the key "v" is missing)"},
    {R"("dqkv_layout": {"q": "bshd", "k": "bshd", "v": "bshd", "o": "bshd"})",
     R"(/dqkv_layout/o: unknown key "o"; allowed: "q", "k", "v")"},
    {R"("ragged_offsets": "u8")", R"(/ragged_offsets: "u8" is not a known value; allowed: "i32", "i64")"},
    {R"("ragged_stats": "no")", R"(/ragged_stats: "no" is not a boolean; allowed: true, false)"},
    {R"("max_total_seqlen_q": 0)", "/max_total_seqlen_q: 0 is out of range; allowed: an integer from 1 to 2147483647"},
    {R"("max_total_seqlen_kv": "8")", R"(/max_total_seqlen_kv: "8" is not an integer from 1 to 2147483647)"},
    {R"("scale": "by_value")", R"(/scale: "by_value" is not a scale; allowed: a number, "tensor", "none")"},
    {R"("scale": true)", R"(/scale: true is not a scale; allowed: a number, "tensor", "none")"},
    {R"("bias": "hss")",
     R"(/bias: "hss" is not the shape of a bias; allowed: four letters, each the axis or 1: "bhss", "1hss", "b1ss", "11ss", "b11s", …)"},
    {R"("bias": "bsss")",
     R"(/bias: "bsss" is not the shape of a bias; allowed: four letters, each the axis or 1: "bhss", "1hss", "b1ss", "11ss", "b11s", …)"},
    {R"("bias": true)",
     R"(/bias: true is not the shape of a bias; allowed: four letters, each the axis or 1: "bhss", "1hss", "b1ss", "11ss", "b11s", …)"},
    {R"("bias": {"shape": 4})",
     R"(/bias/shape: 4 is not the shape of a bias; allowed: four letters, each the axis or 1: "bhss", "1hss", "b1ss", "11ss", "b11s", …)"},
    {R"("bias": {"dtype": "fp8_e4m3"})",
     R"(/bias/dtype: "fp8_e4m3" is not a known value; allowed: "f16", "bf16", "f32")"},
    {R"("bias": {"grad": 1})", "/bias/grad: 1 is not a boolean; allowed: true, false"},
    {R"("bias": {"dims": "1hss"})",
     R"(/bias/dims: unknown key "dims"; allowed: "shape", "dtype", "strides", "grad", "grad_dtype")"},
    {R"("bias": {"strides": [0, 1]})",
     "/bias/strides: [0,1] is not four strides, in the order batch, heads, seqlen_q, seqlen_kv"},
    {R"("layout": {"q": {"strides": [1, 2, 3, 1], "axes": "bshd"}, "k": "bshd", "v": "bshd"})",
     R"(/layout/q/axes: "bshd" is not a ragged layout; allowed with strides: "thd", …)"},
    {R"("ragged_shared": true)", R"(/ragged_shared: given without a ragged layout ("thd"))"},
    {R"("ragged_shared": true, "layout": {"q": "thd", "k": "thd", "v": "thd", "o": "bshd"})",
     "/ragged_shared: Q and O (or K and V) share offsets only if both are ragged and their tokens have equally many elements"},
    {R"("alibi": 1)", "/alibi: 1 is not a boolean; allowed: true, false"},
    {R"("softcap": 0)", "/softcap: 0 is out of range; allowed: above 0"},
    {R"("softcap": -1.5)", "/softcap: -1.5 is out of range; allowed: above 0"},
    {R"("softcap": "50")", R"(/softcap: "50" is not a number)"},
    {R"("sink": "yes")", R"(/sink: "yes" is not a boolean; allowed: true, false)"},
    {R"("block_mask": 128)", "/block_mask: 128 is not a boolean; allowed: true, false"},
    {R"("max_logit": null)", "/max_logit: null is not a boolean; allowed: true, false"},
    {R"("sum_exp": 1)", "/sum_exp: 1 is not a boolean; allowed: true, false"},
    {R"("deterministic": "true")", R"(/deterministic: "true" is not a boolean; allowed: true, false)"},
    {R"("score_mod": {"grad": true})", R"(/score_mod: the key "kind" is missing)"},
    {R"("score_mod": {"kind": "relu", "grad": 0})", "/score_mod/grad: 0 is not a boolean; allowed: true, false"},
    {R"("score_mod": {"kind": "relu", "scale": 2})",
     R"(/score_mod/scale: unknown key "scale"; allowed: "kind", "grad")"},
    {R"("dropout": 1)", "/dropout: 1 is out of range; allowed: a probability of being dropped, from 0 to below 1"},
    {R"("dropout": -0.1)",
     "/dropout: -0.1 is out of range; allowed: a probability of being dropped, from 0 to below 1"},
    {R"("dropout": true)", "/dropout: true is not a number"},
    {R"("dropout": {"form": "mask"})", R"(/dropout: the key "probability" is missing)"},
    {R"("dropout": {"probability": 1.5})",
     "/dropout/probability: 1.5 is out of range; allowed: a probability of being dropped, from 0 to below 1"},
    {R"("dropout": {"probability": 0.5, "form": "rng"})",
     R"(/dropout/form: "rng" is not a known value; allowed: "philox", "mask")"},
    {R"("dropout": {"probability": 0.5, "seed": 7})",
     R"(/dropout/seed: 7 is not a known value; allowed: "i64", "i32", "by_value", "constant")"},
    {R"("dropout": {"probability": 0.5, "dump": "x"})", R"(/dropout/dump: "x" is not a boolean; allowed: true, false)"},
    {R"("dropout": {"p": 0.5})", R"(/dropout/p: unknown key "p"; allowed: "probability", "form", "seed", "dump")"},
    {R"("paged": 0)", "/paged: 0 is out of range; allowed: an integer from 1 to 2147483647"},
    {R"("paged": "16")", R"(/paged: "16" is not an integer from 1 to 2147483647)"},
    {R"("paged": {"block_size": 1.5})", "/paged/block_size: 1.5 is not an integer from 1 to 2147483647"},
    {R"("paged": {"k": 1})", "/paged/k: 1 is not a boolean; allowed: true, false"},
    {R"("paged": {"layout": "thd"})", R"(/paged/layout: "thd" is not a known value; allowed: "bhsd", "bshd", "sbhd")"},
    {R"("paged": {"layout": 3})", "/paged/layout: 3 is not text"},
    {R"("paged": {"packed_table": 1})", "/paged/packed_table: 1 is not a boolean; allowed: true, false"},
    {R"("paged": {"blocks": 8})",
     R"(/paged/blocks: unknown key "blocks"; allowed: "block_size", "k", "v", "layout", "packed_table")"},
    {R"("dtype": "fp8_e4m3", "fp8": true)",
     R"(/fp8: true is not a known value; allowed: "delayed", "current", "mxfp8")"},
    {R"("softmax": "off")", R"(/softmax: "off" is not a boolean; allowed: true, false)"},
};

// Values that are valid separately but not together.
const Refusal bad_together[] = {
    {R"("pass": "bprop", "paged": 16)", "/paged: a paged cache has no backward pass"},
    {R"("block_mask": true, "pattern": "sdpa_composite")",
     "/block_mask: only the forward pass of cuDNN's unified SDPA operation supports one"},
    {R"("block_mask": true, "pass": "bprop")",
     "/block_mask: only the forward pass of cuDNN's unified SDPA operation supports one"},
    {R"("block_mask": true, "pass": "bprop", "pattern": "sdpa_unified")",
     "/block_mask: only the forward pass of cuDNN's unified SDPA operation supports one"},
    {R"("fp8": "delayed")", R"(/fp8: given with dtype "f16", which is not fp8)"},
    {R"("fp8": "mxfp8", "dtype": "bf16")", R"(/fp8: given with dtype "bf16", which is not fp8)"},
    {R"("pass": "bprop", "max_total_seqlen_q": 8)", R"(/max_total_seqlen_q: given without a ragged layout ("thd"))"},
    {R"("pass": "bprop", "max_total_seqlen_kv": 8)", R"(/max_total_seqlen_kv: given without a ragged layout ("thd"))"},
    {R"("softmax": false)", R"(/softmax: false is for pattern "mha" only; "two_matmul" never has one)"},
    {R"("softmax": false, "pattern": "sdpa_unified")",
     R"(/softmax: false is for pattern "mha" only; "two_matmul" never has one)"},
    {R"("softmax": false, "pattern": "two_matmul")",
     R"(/softmax: false is for pattern "mha" only; "two_matmul" never has one)"},
    {R"("softmax": false, "pattern": "mha", "pass": "bprop")",
     R"(/softmax: pattern "mha" has no backward pass without a softmax)"},
    {R"("pattern": "two_matmul", "bias": "1hss")",
     R"(/bias: pattern "two_matmul" has no bias: there is nothing between its two matmuls)"},
    {R"("pattern": "two_matmul", "dropout": 0.5)",
     R"(/dropout: pattern "two_matmul" has no dropout: there is nothing between its two matmuls)"},
    {R"("pattern": "two_matmul", "scale": "tensor")",
     R"(/scale: pattern "two_matmul" has no scale: there is nothing between its two matmuls)"},
    {R"("pattern": "two_matmul", "pass": "bprop")", R"(/pass: pattern "two_matmul" has no backward pass)"},
    {R"("pass": "fprop_train", "stats": false)",
     R"(/stats: false contradicts pass "fprop_train", which is the pass with statistics)"},
    {R"("layout": "t3hd", "heads_kv": 3)",
     R"(/layout: "t3hd" interleaves Q, K and V, so they need equal heads and lengths; heads are 6 and 3, lengths 8 and 8)"},
    {R"("layout": "thd_t2hd", "head_dim_v": 8)",
     "/layout: interleaved K and V need one head dimension; they have 16 and 8"},
};

// Features that only flash attention has, and the field that the refusal names.
const std::pair<const char*, const char*> flash_only[] = {
    {R"("alibi": true)", "alibi"},           {R"("softcap": 2)", "softcap"},
    {R"("score_mod": "relu")", "score_mod"}, {R"("sink": true)", "sink"},
    {R"("block_mask": true)", "block_mask"}, {R"("max_logit": true)", "max_logit"},
    {R"("sum_exp": true)", "sum_exp"},       {R"("paged": 16)", "paged"},
    {R"("layout": "thd")", "layout"},        {R"("dtype": "fp8_e4m3")", "dtype"}};

}  // namespace

// ---- reading

TEST_CASE("Every form of a field reads as its normalised form", "[config][features]") {
  for (const auto& [members, field, normal] : readings) {
    INFO(members << " " << field);
    CHECK(normalised(one(members), field) == normal);
  }
}

TEST_CASE("The normalised form of every field is unchanged by reading", "[config][features]") {
  for (const auto& reading : readings) {
    INFO(reading.members);
    const Json json = to_json(one(reading.members));
    CHECK(to_json(parse_configs(json.dump(), "back.json").at(0).spec).dump() == json.dump());
  }
}

TEST_CASE("Requested features are in the spec", "[config][features]") {
  const AttentionSpec dropout = one(R"("dropout": {"probability": 0.25, "form": "mask", "seed": "constant"})");
  REQUIRE(dropout.dropout);
  CHECK(dropout.dropout->probability == 0.25);
  CHECK(dropout.dropout->form == DropoutForm::mask);
  CHECK(seed_form(dropout) == SeedForm::constant);
  CHECK(seed_form(one(R"("dropout": 0.5)")) == SeedForm::i64);
  CHECK(seed_form(one(R"("dropout": 0.5, "pattern": "mha")")) == SeedForm::constant);
  CHECK(seed_form(one(R"("dropout": {"probability": 0.5, "seed": "i32"}, "pattern": "mha")")) == SeedForm::i32);
  CHECK(heads_v(one("")) == 6);
  CHECK(heads_v(one(R"("heads_kv": 3)")) == 3);
  CHECK(heads_v(one(R"("heads_v": 2)")) == 2);
  CHECK(one(R"("scale": "none")").scale_form == ScaleForm::none);
  CHECK(one(R"("scale": "tensor")").scale_form == ScaleForm::tensor);
}

TEST_CASE("A bias is broadcast where its shape says 1", "[config][features]") {
  using Dims = std::array<int64_t, 4>;
  const std::pair<const char*, Dims> cases[] = {{"bhss", {2, 6, 4, 8}}, {"1hss", {1, 6, 4, 8}}, {"b1ss", {2, 1, 4, 8}},
                                                {"11ss", {1, 1, 4, 8}}, {"b11s", {2, 1, 1, 8}}, {"1hs1", {1, 6, 4, 1}},
                                                {"1111", {1, 1, 1, 1}}};
  for (const auto& [shape, dims] : cases) {
    INFO(shape);
    CHECK(bias_dims(one(std::string(R"("seqlen_q": 4, "bias": ")") + shape + "\"")) == dims);
  }
}

TEST_CASE("Any of the four tensors makes a problem ragged", "[config][features]") {
  const std::pair<const char*, bool> cases[] = {
      {R"("layout": "bshd")", false},
      {R"("layout": "thd_bshd_bshd")", true},
      {R"("layout": {"q": "bshd", "k": "thd", "v": "bshd"})", true},
      {R"("layout": {"q": "bshd", "k": "bshd", "v": "thd"})", true},
      {R"("o_layout": "thd")", true},
      {R"("layout": "thd", "o_layout": "bshd")", true},
      {R"("layout": {"q": {"strides": [768, 16, 96, 1]}, "k": "bshd", "v": "bshd"})", false}};
  for (const auto& [members, ragged] : cases) {
    INFO(members);
    CHECK(is_ragged(one(members)) == ragged);
  }
}

TEST_CASE("Features expand in the cross product too, as words and objects", "[config][features]") {
  struct Product {
    const char* members;
    std::vector<std::string> names;
  };
  const Product products[] = {
      {R"("pass": ["fprop", "bprop"])", {"n[pass=fprop]", "n[pass=bprop]"}},
      {R"("bias": ["none", "1hss", {"shape": "b1ss"}])",
       {"n[bias=none]", "n[bias=1hss]", R"(n[bias={"shape":"b1ss"}])"}},
      {R"("dropout": [0, 0.5, {"probability": 0.5, "form": "mask"}])",
       {"n[dropout=0]", "n[dropout=0.5]", R"(n[dropout={"probability":0.5,"form":"mask"}])"}},
      {R"("paged": ["none", 16], "alibi": [false, true])",
       {"n[paged=none,alibi=false]", "n[paged=none,alibi=true]", "n[paged=16,alibi=false]", "n[paged=16,alibi=true]"}},
      {R"("scale": ["none", "tensor", 0.5])", {"n[scale=none]", "n[scale=tensor]", "n[scale=0.5]"}},
      {R"("layout": ["bshd", "thd"], "score_mod": ["relu", {"kind": "exp"}])",
       {"n[layout=bshd,score_mod=relu]", R"(n[layout=bshd,score_mod={"kind":"exp"}])", "n[layout=thd,score_mod=relu]",
        R"(n[layout=thd,score_mod={"kind":"exp"}])"}},
      {R"("dtype": ["fp8_e4m3", "fp8_e5m2"], "fp8": ["current", "mxfp8"])",
       {"n[dtype=fp8_e4m3,fp8=current]", "n[dtype=fp8_e4m3,fp8=mxfp8]", "n[dtype=fp8_e5m2,fp8=current]",
        "n[dtype=fp8_e5m2,fp8=mxfp8]"}}};
  for (const auto& [members, names] : products) {
    std::vector<std::string> found;
    for (const auto& config : parse(std::string(R"("name": "n", )") + members)) found.push_back(config.spec.name);
    CHECK(found == names);
  }
  const auto biased = parse(R"("bias": ["none", "b1ss"])");
  CHECK_FALSE(biased.at(0).spec.bias);
  CHECK(biased.at(1).spec.bias->shape == "b1ss");
}

TEST_CASE("A contradiction in a cross product is reported at its element", "[config][features]") {
  CHECK(refusal(R"("pass": "bprop", "paged": ["none", 16])") == "f.json: /paged/1: a paged cache has no backward pass");
  CHECK(refusal(R"("dropout": [0.5, 1.5])") ==
        "f.json: /dropout/1: 1.5 is out of range; allowed: a probability of being dropped, from 0 to below 1");
}

// ---- refusals

TEST_CASE("A bad value of a feature is refused with location, value and allowed values", "[config][features][errors]") {
  for (const auto& [members, message] : bad_values) {
    INFO(members);
    CHECK(refusal(members) == std::string("f.json: ") + message);
  }
  CHECK(refusal(R"("score_mod": "relu6")") ==
        std::string("f.json: /score_mod: \"relu6\" is not a known value; allowed: ") + words_of_score_mod +
            " (did you mean \"relu\"?)");
  CHECK(refusal(R"("score_mod": {"kind": 3})") ==
        std::string("f.json: /score_mod/kind: 3 is not a known value; allowed: ") + words_of_score_mod);
}

TEST_CASE("Contradictory features are refused", "[config][features][errors]") {
  for (const auto& [members, message] : bad_together) {
    INFO(members);
    CHECK(refusal(members) == std::string("f.json: ") + message);
  }
}

TEST_CASE("Features of flash attention are refused for other patterns", "[config][features][errors]") {
  for (const char* pattern : {"mha", "two_matmul"}) {
    for (const auto& [members, field] : flash_only) {
      INFO(pattern << " " << members);
      CHECK(refusal(std::string(R"("pattern": ")") + pattern + "\", " + members) ==
            std::string("f.json: /") + field + ": pattern \"" + pattern + "\" has no " + field +
                ": only flash attention (sdpa) does");
    }
  }
}

TEST_CASE("Features of flash attention are accepted for its patterns", "[config][features][errors]") {
  for (const char* pattern : {"sdpa", "sdpa_unified", "sdpa_composite"}) {
    for (const auto& [members, field] : flash_only) {
      if (std::string(field) == "block_mask" && std::string(pattern) == "sdpa_composite") continue;
      INFO(pattern << " " << members);
      CHECK(refusal(std::string(R"("pattern": ")") + pattern + "\", " + members) == "no error");
    }
  }
}

TEST_CASE("Legacy attention has bias, dropout and a backward pass", "[config][features]") {
  for (const char* members : {R"("bias": "1hss")", R"("dropout": 0.5)", R"("pass": "bprop")", R"("softmax": false)",
                              R"("pass": "bprop", "mask": "padding_causal", "bias": {"grad": true}, "dropout": 0.5)"}) {
    INFO(members);
    CHECK(refusal(std::string(R"("pattern": "mha", )") + members) == "no error");
  }
}

TEST_CASE("A flag that disables a feature never contradicts", "[config][features]") {
  CHECK(refusal(R"("pattern": "two_matmul", "alibi": false, "bias": "none", "dropout": 0, "paged": "none",
                   "sink": false, "score_mod": "none", "block_mask": false)") == "no error");
  CHECK(refusal(R"("pass": "bprop", "paged": {"k": false, "v": false})") == "no error");
}

// ---- one-line descriptions

TEST_CASE("Features are in the one-line description", "[config][features]") {
  const std::string sdpa = "sdpa fprop b2 h6 s8 d16 f16 bshd";
  const std::pair<const char*, std::string> cases[] = {
      {"", sdpa},
      {R"("bias": "b1ss")", sdpa + " bias b1ss"},
      {R"("alibi": true, "softcap": 30, "sink": true)", sdpa + " alibi softcap sink"},
      {R"("score_mod": "arrow")", sdpa + " score_mod arrow"},
      {R"("block_mask": true)", sdpa + " block_mask"},
      {R"("dropout": 0.5)", sdpa + " dropout"},
      {R"("dropout": {"probability": 0.5, "form": "mask"})", sdpa + " dropout mask"},
      {R"("stats": true, "max_logit": true, "sum_exp": true)", sdpa + " stats max_logit sum_exp"},
      {R"("paged": 16)", sdpa + " paged 16"},
      {R"("layout": "thd", "mask": "padding")", "sdpa fprop b2 h6 s8 d16 f16 thd padding"},
      {R"("pass": "bprop", "deterministic": true, "bias": {"grad": true})",
       "sdpa bprop b2 h6 s8 d16 f16 bshd bias 1hss dbias deterministic"},
      {R"("bias": {"grad": true}, "deterministic": true)", sdpa + " bias 1hss"},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8")",
       "sdpa fprop b2 h6 s8 d16 fp8_e4m3->bf16 bshd mxfp8"},
      {R"("pattern": "mha", "softmax": false)", "mha fprop b2 h6 s8 d16 f16 bshd no softmax"}};
  for (const auto& [members, line] : cases) CHECK(describe(one(members)) == line);
}

}  // namespace attnprobe::test::features_test
