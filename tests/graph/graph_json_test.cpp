// OpGraph as JSON, its hash and its drawing.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "attention/config.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::graph_json_test {

using namespace attnprobe::graph;

namespace {

OpGraph graph_of(const std::string& members, CudnnVersion version = 91900) {
  const auto configs =
      attention::parse_configs(R"({"batch": 2, "heads": 3, "seqlen": 8, "head_dim": 16, )" + members + "}", "x.json");
  return build::build_graph(configs.at(0).spec, {version}).graph;
}

OpGraph causal() {
  return graph_of(R"("pattern": "sdpa_composite", "mask": "padding_causal", "pass": "fprop_train")");
}

std::vector<OpGraph> one_of_each_pattern() {
  return {causal(), graph_of(R"("pattern": "sdpa_unified", "mask": "padding")"),
          graph_of(R"("pattern": "mha", "mask": "padding_causal")"), graph_of(R"("pattern": "two_matmul")")};
}

// Together these have every operation, port and attribute, and every property of tensors.
std::vector<OpGraph> every_feature() {
  std::vector<OpGraph> graphs = one_of_each_pattern();
  const std::string composite = R"("pattern": "sdpa_composite", )", unified = R"("pattern": "sdpa_unified", )",
                    bprop = R"("pattern": "sdpa_composite", "pass": "bprop", )", mha = R"("pattern": "mha", )";
  for (const std::string& members : std::vector<std::string>{
           composite + R"("mask": {"window_left": 2, "alignment": "bottom_right", "padding": true})",
           composite + R"("bias": "b1ss", "alibi": true, "softcap": 30, "sink": true)",
           composite + R"("max_logit": true, "sum_exp": true, "stats": true, "sink": true, "mask": "causal")",
           composite + R"("dropout": {"probability": 0.3, "seed": "constant"}, "score_mod": "arrow")",
           composite + R"("dropout": {"probability": 0.3, "form": "mask"}, "score_mod": "document")",
           composite + R"("layout": "thd", "mask": "padding", "stats": true, "ragged_offsets": "i64")",
           composite + R"("paged": {"block_size": 4, "packed_table": true}, "mask": "padding")",
           composite + R"("dtype": "fp8_e4m3", "dropout": 0.5)",
           composite + R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8")",
           composite + R"("mask": {"window_left": 2, "window_right": 3, "alignment": "bottom_right", "padding": true})",
           unified + R"("mask": {"window_left": 2, "window_right": 3}, "softcap": 30, "bias": "1hss")",
           unified + R"("mask": "padding", "sink": true, "max_logit": true, "sum_exp": true, "stats": true)",
           unified + R"("paged": 4, "block_mask": true)",
           unified + R"("dropout": {"probability": 0.25, "dump": true})",
           bprop + R"("mask": "padding_causal", "dropout": 0.5, "sink": true, "bias": {"grad": true})",
           bprop + R"("layout": "thd", "mask": "padding", "max_total_seqlen_q": 9, "max_total_seqlen_kv": 11)",
           bprop + R"("deterministic": true, "score_mod": "gelu", "softcap": 5)",
           bprop + R"("dtype": "fp8_e4m3", "sink": true, "mask": "causal")",
           bprop + R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8")",
           R"("pattern": "sdpa_unified", "pass": "bprop", "layout": "thd", "mask": "padding_causal", "sink": true,
           "max_total_seqlen_q": 9, "max_total_seqlen_kv": 11, "dropout": 0.5, "bias": {"grad": true})",
           mha + R"("mask": "padding_causal", "dropout": 0.5, "pass": "fprop_train", "bias": "1hss")",
           mha + R"("mask": "padding", "dropout": 0.5, "pass": "bprop", "bias": {"grad": true})"})
    for (const CudnnVersion version : std::initializer_list<CudnnVersion>{91900, 92200})
      graphs.push_back(graph_of(members, version));
  // Builders never set these factors, but other programs' graphs may have them.
  OpGraph scaled = graphs.front();
  for (auto& operation : scaled.operations)
    if (auto* pointwise = std::get_if<Pointwise>(&operation)) {
      pointwise->alpha1 = 0.5;
      pointwise->alpha2 = 2;
    }
  graphs.push_back(std::move(scaled));
  return graphs;
}

// The same graph with other uids and another order of tensors.
OpGraph renumbered(const OpGraph& graph) {
  Json json = to_json(graph);
  auto renumber = [](Json& uid) { uid = 10000 - uid.get<int64_t>() * 7; };
  const std::set<std::string> plain{"axis", "constant_seed", "max_total_seqlen_q", "max_total_seqlen_kv"};
  for (Json& t : json["tensors"]) {
    renumber(t["uid"]);
    if (t.contains("ragged_offset")) renumber(t["ragged_offset"]);
  }
  for (const char* list : {"operations", "score_operations"})
    if (json.contains(list))
      for (Json& operation : json[list])
        for (const auto& [key, value] : operation.items())
          if (value.is_number_integer() && plain.count(key) == 0) renumber(value);
  std::reverse(json["tensors"].begin(), json["tensors"].end());
  return from_json(json);
}

Tensor& tensor_named(OpGraph& graph, const std::string& name) {
  const auto found =
      std::find_if(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& t) { return t.name == name; });
  if (found == graph.tensors.end()) throw std::runtime_error("no tensor " + name);
  return *found;
}

// Whether `change` changes the graph's hash.
template <class F>
bool hash_tells(F change) {
  OpGraph graph = causal();
  change(graph);
  return hash(graph) != hash(causal());
}

// Another valid value for the key of an operation; a port refers to the tensor `elsewhere`.
Json changed(const std::string& key, const Json& value, Uid elsewhere) {
  if (key == "mode") return value == "EXP" ? "LOG" : "EXP";
  if (key == "operator") return value == "MUL" ? "ADD" : "MUL";
  if (key == "distribution") return value == "UNIFORM" ? "NORMAL" : "UNIFORM";
  if (key == "comparison") return value == "CMP_EQ" ? "CMP_LT" : "CMP_EQ";
  if (key == "compute") return value == "f64" ? "f16" : "f64";
  if (key == "block_size") return {2, 32};
  if (key == "axis" || key == "constant_seed") return value.get<int64_t>() + 1;
  if (key == "max_total_seqlen_q" || key == "max_total_seqlen_kv") return value.get<int64_t>() + 1;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_float()) return value.get<double>() / 2;
  return elsewhere;
}

// The usage error for a graph's JSON after `change`.
template <class F>
std::string refusal(F change) {
  Json json = to_json(graph_of(R"("pattern": "two_matmul")"));
  change(json);
  return usage_error([&] { from_json(json); });
}

std::string lines_with(const std::string& text, const std::string& part) {
  std::string found;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find(part) != std::string::npos) found += line + "\n";
    begin = end + 1;
  }
  return found;
}

}  // namespace

// ---- hash

TEST_CASE("The hash is 32 hexadecimal digits", "[graph][hash]") {
  const std::string digits = hash(causal());
  CHECK(digits.size() == 32);
  CHECK(digits.find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("The hash ignores uids, names and values of scalars", "[graph][hash]") {
  for (const OpGraph& graph : every_feature()) {
    INFO(to_json(graph).dump());
    CHECK(hash(renumbered(graph)) == hash(graph));
  }
  CHECK_FALSE(hash_tells([](OpGraph& g) { tensor_named(g, "Q").name = "query"; }));
  CHECK_FALSE(hash_tells([](OpGraph& g) { tensor_named(g, "Q").role = Role::none; }));
  CHECK_FALSE(hash_tells([](OpGraph& g) { tensor_named(g, "scale").value = 7.5; }));
  CHECK_FALSE(hash_tells([](OpGraph& g) { tensor_named(g, "scale").value.reset(); }));
  CHECK_FALSE(hash_tells([](OpGraph& g) {
    Tensor unused;
    unused.uid = 99999;
    g.tensors.push_back(unused);
  }));
}

TEST_CASE("The hash includes ragged offsets, but not their uids", "[graph][hash]") {
  auto ragged = [](int64_t extent) {
    OpGraph graph = causal();
    Tensor offsets;
    offsets.uid = 500;
    offsets.data_type = DataType::i32;
    offsets.dims = {extent, 1, 1, 1};
    offsets.strides = {1, 1, 1, 1};
    graph.tensors.push_back(offsets);
    tensor_named(graph, "Q").ragged_offset = 500;
    return graph;
  };
  CHECK(hash(renumbered(ragged(3))) == hash(ragged(3)));
  CHECK(hash(ragged(3)) != hash(ragged(4)));
  CHECK(hash(ragged(3)) != hash(causal()));
}

TEST_CASE("The hash includes every property of a tensor", "[graph][hash]") {
  CHECK(hash_tells([](OpGraph& g) { ++tensor_named(g, "Q").dims[0]; }));
  CHECK(hash_tells([](OpGraph& g) { ++tensor_named(g, "Q").strides[1]; }));
  CHECK(hash_tells([](OpGraph& g) { tensor_named(g, "Q").data_type = DataType::bf16; }));
  CHECK(hash_tells([](OpGraph& g) { tensor_named(g, "Q").alignment = 2; }));
  CHECK(hash_tells([](OpGraph& g) { tensor_named(g, "Stats").is_virtual = true; }));
  CHECK(hash_tells([](OpGraph& g) { tensor_named(g, "scale").by_value = false; }));
  CHECK(hash_tells([](OpGraph& g) { tensor_named(g, "P").reordering = Reordering::F16x16; }));
  CHECK(hash_tells([](OpGraph& g) { tensor_named(g, "Q").ragged_offset = tensor_named(g, "seq_len_q").uid; }));
}

TEST_CASE("The hash includes operations, their modes, types and wiring", "[graph][hash]") {
  CHECK(hash_tells([](OpGraph& g) { std::get<Pointwise>(g.operations[1]).mode = PointwiseMode::DIV; }));
  CHECK(hash_tells([](OpGraph& g) { std::get<Pointwise>(g.operations[2]).axis = 3; }));
  CHECK(hash_tells([](OpGraph& g) { std::get<Pointwise>(g.operations[1]).compute = DataType::f16; }));
  CHECK(hash_tells([](OpGraph& g) { std::get<Matmul>(g.operations[0]).compute = DataType::f16; }));
  CHECK(hash_tells([](OpGraph& g) { std::get<Matmul>(g.operations[0]).m_override.reset(); }));
  CHECK_FALSE(hash_tells([](OpGraph& g) { std::swap(g.operations[2], g.operations[3]); }));
  CHECK(hash_tells([](OpGraph& g) { g.operations.pop_back(); }));
  CHECK(hash_tells(
      [](OpGraph& g) { std::swap(std::get<Pointwise>(g.operations[4]).x, std::get<Pointwise>(g.operations[4]).b); }));
  CHECK(hash_tells([](OpGraph& g) {
    for (auto& operation : g.operations)
      if (auto* reduction = std::get_if<Reduction>(&operation)) reduction->op = ReductionOperator::AMAX;
  }));
}

TEST_CASE("The hash includes every port and attribute of every operation", "[graph][hash]") {
  std::set<std::string> seen;  // "softmax/sink/operations": once each is enough
  for (const OpGraph& graph : every_feature()) {
    const std::string before = hash(graph);
    Json json = to_json(graph);
    const Uid elsewhere = 5000;
    Json other = json["tensors"][0];
    other["uid"] = elsewhere;
    other["alignment"] = 2;
    json["tensors"].push_back(other);
    REQUIRE(hash(from_json(json)) == before);
    for (const char* list : {"operations", "score_operations"}) {
      for (size_t i = 0; json.contains(list) && i < json[list].size(); ++i) {
        const Json operation = json[list][i];
        for (const auto& [key, value] : operation.items()) {
          const std::string kind = operation["kind"];
          if (key == "kind" || !seen.insert(kind + "/" + key + "/" + list).second) continue;
          INFO(kind << "/" << key);
          Json edited = json;
          edited[list][i][key] = changed(key, value, elsewhere);
          CHECK(hash(from_json(edited)) != before);
        }
      }
    }
  }
  // Everything in operation_table.hpp has occurred; a new port or attribute needs a graph above.
  std::map<std::string, int> keys;
  std::set<std::string> pairs;
  for (const auto& place : seen) pairs.insert(place.substr(0, place.rfind('/')));
  for (const auto& pair : pairs) ++keys[pair.substr(0, pair.find('/'))];
  CHECK(keys == std::map<std::string, int>{{"matmul", 7},
                                           {"pointwise", 11},
                                           {"reduction", 4},
                                           {"reshape", 2},
                                           {"rng", 6},
                                           {"paged_cache_load", 4},
                                           {"block_scale_dequantize", 6},
                                           {"diagonal_band_mask", 8},
                                           {"softmax", 6},
                                           {"sdpa_forward", 22},
                                           {"sdpa_backward", 22}});
}

TEST_CASE("The hash includes the operations inside the unified one, and their list", "[graph][hash]") {
  for (const OpGraph& graph : every_feature()) {
    if (graph.score_operations.empty()) continue;
    OpGraph fewer = graph;
    fewer.score_operations.pop_back();
    CHECK(hash(fewer) != hash(graph));
    OpGraph moved = graph;
    moved.operations.insert(moved.operations.end(), graph.score_operations.begin(), graph.score_operations.end());
    moved.score_operations.clear();
    CHECK(hash(moved) != hash(graph));
  }
}

TEST_CASE("The hash ignores the order of operations and tensors", "[graph][hash]") {
  for (OpGraph graph : every_feature()) {
    const std::string before = hash(graph);
    std::reverse(graph.operations.begin(), graph.operations.end());
    std::reverse(graph.score_operations.begin(), graph.score_operations.end());
    std::reverse(graph.tensors.begin(), graph.tensors.end());
    CHECK(hash(graph) == before);
  }
}

TEST_CASE("Graphs of different features have different hashes", "[graph][hash]") {
  std::set<std::string> hashes;
  const auto graphs = every_feature();
  std::set<std::string> texts;
  for (const OpGraph& graph : graphs) {
    Json json = to_json(graph);
    for (Json& t : json["tensors"]) {
      t.erase("name");
      t.erase("value");
    }
    texts.insert(json.dump());
    hashes.insert(hash(graph));
  }
  CHECK(hashes.size() == texts.size());
  CHECK(hashes.size() > 25);
}

TEST_CASE("Hashes are stable across releases", "[graph][hash]") {
  // Reports are compared by these hashes. A change of the hash breaks every stored report, so change it only on
  // purpose.
  CHECK(hash(graph_of(R"("pattern": "two_matmul")")) == "e9b0fe10d1afe467293646dfb4cc8e74");
  CHECK(hash(graph_of(R"("pattern": "sdpa_composite", "mask": "causal")")) == "b64964acabc92f505397c7423b5fc29e");
  CHECK(hash(graph_of(R"("pattern": "sdpa_unified", "mask": "padding", "dtype": "bf16")")) ==
        "fec4e78b962fe1e126edd826b9552417");
}

// ---- JSON

TEST_CASE("A graph round-trips through JSON", "[graph][json]") {
  for (const OpGraph& graph : every_feature()) {
    const std::string text = to_json(graph).dump();
    const OpGraph back = from_json(Json::parse(text));
    CHECK(to_json(back).dump() == text);
    CHECK(hash(back) == hash(graph));
  }
}

TEST_CASE("Infinities round-trip through JSON", "[graph][json]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  OpGraph graph = causal();
  REQUIRE(tensor_named(graph, "fill").value == -infinity);
  tensor_named(graph, "scale").value = infinity;
  OpGraph back = from_json(Json::parse(to_json(graph).dump()));
  CHECK(tensor_named(back, "fill").value == -infinity);
  CHECK(tensor_named(back, "scale").value == infinity);
}

TEST_CASE("Optional properties round-trip through JSON", "[graph][json]") {
  OpGraph graph = causal();
  tensor_named(graph, "Q").ragged_offset = tensor_named(graph, "seq_len_q").uid;
  tensor_named(graph, "Q").reordering = Reordering::F8_128x4;
  tensor_named(graph, "Q").alignment = 4;
  OpGraph back = from_json(to_json(graph));
  CHECK(tensor_named(back, "Q").ragged_offset == tensor_named(graph, "seq_len_q").uid);
  CHECK(tensor_named(back, "Q").reordering == Reordering::F8_128x4);
  CHECK(tensor_named(back, "Q").alignment == 4);
}

TEST_CASE("Roles round-trip through JSON, which stores only roles that the name does not imply", "[graph][json]") {
  OpGraph graph = causal();
  CHECK(tensor_named(graph, "K^T").role == Role::k_transposed);
  CHECK_FALSE(contains(to_json(graph).dump(), "\"role\""));
  OpGraph back = from_json(to_json(graph));
  CHECK(tensor_named(back, "K^T").role == Role::k_transposed);
  tensor_named(graph, "Q").role = Role::none;
  tensor_named(graph, "K^T").name = "key";
  const Json json = to_json(graph);
  CHECK(from_json(json).tensors.size() == graph.tensors.size());
  for (size_t i = 0; i < graph.tensors.size(); ++i) CHECK(from_json(json).tensors[i].role == graph.tensors[i].role);
  CHECK(contains(json.dump(), R"("name":"key","role":"k_transposed")"));
  CHECK(contains(json.dump(), R"("name":"Q","role":"none")"));
}

TEST_CASE("Every role has a unique name, and the name determines the role", "[graph][json]") {
  for (const auto& [role, word] : EnumNames<Role>::table) {
    INFO(word);
    CHECK(role_of_name(display_name(role)) == role);
    CHECK(parse_enum<Role>(word) == role);
  }
  CHECK(role_of_name("my tensor") == Role::none);
}

TEST_CASE("The JSON of an operation uses cuDNN's names", "[graph][json]") {
  CHECK(to_json(causal())["operations"][2].dump() ==
        R"({"kind":"pointwise","mode":"GEN_INDEX","axis":2,"compute":"i32","x":10,"y":11})");
  CHECK(to_json(graph_of(R"("pattern": "sdpa_composite", "dropout": 0.25)"))["operations"][9].dump() ==
        R"({"kind":"rng","distribution":"BERNOULLI","probability":0.75,"seed":3,"offset":4,"y":17})");
  CHECK(to_json(graph_of(R"("pattern": "sdpa_unified", "mask": "causal")", 92100))["score_operations"].dump() ==
        R"([{"kind":"diagonal_band_mask","comparison":"CMP_GE","x":6,"fill":7,"y":8}])");
  CHECK_FALSE(to_json(causal()).contains("score_operations"));
  CHECK(
      to_json(graph_of(R"("pattern": "two_matmul")"))["tensors"][4].dump() ==
      R"({"uid":5,"name":"S","data_type":"f16","dims":[2,3,8,8],"strides":[192,64,8,1],"alignment":16,"virtual":true,)"
      R"("by_value":false,"reordering":"F16x16"})");
}

TEST_CASE("A graph with unknown or missing keys is refused with the location", "[graph][json]") {
  CHECK_THAT(refusal([](Json& j) { j["tensors"][1]["datatype"] = "f16"; }),
             StartsWith("operation graph: /tensors/1/datatype: unknown key \"datatype\" (did you mean \"data_type\"?); "
                        "allowed: \"uid\", \"name\""));
  CHECK(refusal([](Json& j) { j["tensors"][1].erase("dims"); }) ==
        "operation graph: /tensors/1: the key \"dims\" is missing");
  CHECK(refusal([](Json& j) { j["operations"][0].erase("a"); }) ==
        "operation graph: /operations/0: the key \"a\" is missing");
  CHECK_THAT(
      refusal([](Json& j) { j["operations"][0]["d"] = 1; }),
      StartsWith("operation graph: /operations/0/d: unknown key \"d\"") && ContainsSubstring("allowed: \"kind\""));
  CHECK(refusal([](Json& j) { j.erase("tensors"); }) == "operation graph: the key \"tensors\" is missing");
  CHECK(
      refusal([](Json& j) { j["name"] = "x"; }) ==
      "operation graph: /name: unknown key \"name\"; allowed: \"tensors\", \"operations\", \"score_operations\", \"dynamic_shapes\", \"override_shapes\"");
}

TEST_CASE("A graph with unknown values is refused with location, value and allowed values", "[graph][json]") {
  CHECK_THAT(refusal([](Json& j) { j["operations"][1]["kind"] = "conv"; }),
             StartsWith("operation graph: /operations/1/kind: \"conv\" is not a known value; allowed: \"matmul\""));
  CHECK(refusal([](Json& j) { j["operations"][1] = 3; }) == "operation graph: /operations/1: 3 is not an object");
  CHECK_THAT(refusal([](Json& j) { j["tensors"][0]["data_type"] = "f17"; }),
             StartsWith("operation graph: /tensors/0/data_type: \"f17\" is not a known value; allowed: ") &&
                 ContainsSubstring("\"bf16\""));
  CHECK(refusal([](Json& j) { j["tensors"][0]["uid"] = "q"; }) ==
        "operation graph: /tensors/0/uid: \"q\" is not an integer");
  CHECK(refusal([](Json& j) { j["tensors"][0]["value"] = "big"; }) ==
        "operation graph: /tensors/0/value: \"big\" is not a number, \"inf\", \"-inf\" or \"nan\"");
  CHECK(refusal([](Json& j) { j["tensors"][0]["virtual"] = 1; }) ==
        "operation graph: /tensors/0/virtual: 1 is not a boolean; allowed: true, false");
  CHECK(refusal([](Json& j) { j["tensors"][0]["name"] = 7; }) == "operation graph: /tensors/0/name: 7 is not text");
  CHECK(refusal([](Json& j) { j["tensors"][0] = 3; }) == "operation graph: /tensors/0: 3 is not an object");
}

TEST_CASE("Dims and strides must have the same length", "[graph][json]") {
  CHECK(refusal([](Json& j) {
          j["tensors"][0]["strides"] = {1, 1, 1};
        }) == "operation graph: /tensors/0/strides: [1,1,1] is not 4 integers, one for each of \"dims\"");
}

TEST_CASE("A port or ragged offset without a tensor is a usage error", "[graph][json]") {
  CHECK_THAT(refusal([](Json& j) { j["operations"][0]["a"] = 77; }), StartsWith("operation graph: "));
  CHECK_THAT(refusal([](Json& j) { j["operations"][0]["a"] = 77; }), ContainsSubstring("77"));
  CHECK_THAT(refusal([](Json& j) { j["tensors"][0]["ragged_offset"] = 77; }), ContainsSubstring("77"));
}

TEST_CASE("Operations inside the unified one are checked like the others", "[graph][json]") {
  auto refused = [](auto change) {
    Json json = to_json(graph_of(R"("pattern": "sdpa_unified", "softcap": 30)"));
    change(json["score_operations"]);
    return usage_error([&] { from_json(json); });
  };
  CHECK_THAT(refused([](Json& list) { list[1]["kind"] = "conv"; }),
             StartsWith("operation graph: /score_operations/1/kind: \"conv\" is not a known value; allowed: "));
  CHECK(refused([](Json& list) { list[0]["x"] = 77; }) ==
        "operation graph: /score_operations/0/x: port \"x\" names tensor 77, which does not exist");
  CHECK_THAT(refused([](Json& list) { list[0]["z"] = 1; }),
             StartsWith("operation graph: /score_operations/0/z: unknown key \"z\""));
  CHECK(refused([](Json& list) { list = 3; }) == "operation graph: /score_operations: 3 is not an array");
}

TEST_CASE("Two tensors with one uid are refused", "[graph][json]") {
  CHECK_THAT(refusal([](Json& j) { j["tensors"].push_back(Json(j["tensors"][0])); }),
             StartsWith("operation graph: /tensors/5/uid: a second tensor"));
}

TEST_CASE("Lists that are not arrays are a usage error", "[graph][json]") {
  CHECK(refusal([](Json& j) { j["tensors"] = {{"a", 1}}; }) == "operation graph: /tensors: {\"a\":1} is not an array");
  CHECK(refusal([](Json& j) { j["operations"] = 5; }) == "operation graph: /operations: 5 is not an array");
}

TEST_CASE("A fraction is neither a uid nor an extent", "[graph][json]") {
  CHECK_THAT(refusal([](Json& j) { j["tensors"][0]["uid"] = 1.5; }),
             StartsWith("operation graph: /tensors/0/uid: 1.5 is not an integer"));
  CHECK_THAT(refusal([](Json& j) { j["tensors"][0]["dims"][2] = 8.5; }),
             StartsWith("operation graph: /tensors/0/dims/2: 8.5 is not an integer"));
}

// ---- look-ups and the drawing

TEST_CASE("A uid that no tensor has is an internal error", "[graph]") {
  try {
    tensor(causal(), 4711);
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::internal);
    CHECK(std::string(e.what()) == "the operation graph has no tensor with uid 4711");
  }
}

TEST_CASE("The ports of an operation are its inputs, then its outputs", "[graph]") {
  const OpGraph graph = causal();
  std::string text;
  for (const auto& port : ports(graph.operations[0])) text += port.name + (port.is_output ? "!" : "") + " ";
  CHECK(text == "a b m_override n_override c! ");
}

TEST_CASE("The drawing has a box per operation and an ellipse per real tensor", "[graph][dot]") {
  const std::string dot = to_dot(graph_of(R"("pattern": "two_matmul")"), "two");
  CHECK(lines_with(dot, "shape=box") ==
        "  op0 [shape=box, style=\"rounded,filled\", fillcolor=\"#e8f0d8\", label=\"matmul\"];\n"
        "  op1 [shape=box, style=\"rounded,filled\", fillcolor=\"#e8f0d8\", label=\"matmul\"];\n");
  CHECK(lines_with(dot, "shape=ellipse") ==
        "  t1 [shape=ellipse, label=\"Q\\nf16 2x3x8x16\\nstrides 384,16,48,1\"];\n"
        "  t2 [shape=ellipse, label=\"K^T\\nf16 2x3x16x8\\nstrides 384,16,1,48\"];\n"
        "  t3 [shape=ellipse, label=\"V\\nf16 2x3x8x16\\nstrides 384,16,48,1\"];\n"
        "  t4 [shape=ellipse, label=\"O\\nf16 2x3x8x16\\nstrides 384,16,48,1\"];\n");
  CHECK(lines_with(dot, "->") ==
        "  t1 -> op0 [label=\"a\"];\n  t2 -> op0 [label=\"b\"];\n  op0 -> op1 [label=\"S\\nf16 "
        "2x3x8x8\\nF16x16\"];\n"
        "  t3 -> op1 [label=\"b\"];\n  op1 -> t4 [label=\"c\"];\n");
}

TEST_CASE("Unread statistics are dashed in the drawing", "[graph][dot]") {
  const std::string dot = to_dot(graph_of(R"("pattern": "sdpa_composite")"), "x");
  CHECK_THAT(lines_with(dot, "dashed"), ContainsSubstring("label=\"Stats\\nf32 2x3x8x1\""));
}

TEST_CASE("Scalars are drawn with their values", "[graph][dot]") {
  const std::string dot = to_dot(causal(), "x");
  CHECK_THAT(dot, ContainsSubstring("[shape=plaintext, label=\"scale = 0.25\"]"));
  CHECK_THAT(dot, ContainsSubstring("[shape=plaintext, label=\"fill = -inf\"]"));
}

TEST_CASE("Graphviz reads the drawing", "[graph][dot]") {
  if (std::system("dot -V > /dev/null 2>&1") != 0) {
    WARN("SKIPPED: graphviz is not installed");
    return;
  }
  const TemporaryFolder folder;
  int index = 0;
  for (OpGraph graph : one_of_each_pattern()) {
    graph.tensors[0].name = R"(odd "name" \)";
    const auto dot = folder.file(std::to_string(index++) + ".dot", to_dot(graph, R"(a "title" \)"));
    const std::string svg = dot.string() + ".svg", complaints = dot.string() + ".err";
    REQUIRE(std::system(("dot -Tsvg " + dot.string() + " > " + svg + " 2> " + complaints).c_str()) == 0);
    CHECK(read_text(complaints).empty());
    const std::string picture = read_text(svg);
    CHECK_THAT(picture, ContainsSubstring("a &quot;title&quot; \\"));
    CHECK_THAT(picture, ContainsSubstring("odd &quot;name&quot; \\"));
  }
}

}  // namespace attnprobe::test::graph_json_test
