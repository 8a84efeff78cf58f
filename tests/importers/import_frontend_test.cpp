// cudnn-frontend's JSON. The fixture has its real graphs, each with the hash of attnprobe's graph for the same cuDNN
// and GPU. When the fixture was made, those were compared with what cudnn-frontend passed to cuDNN.
#include <filesystem>
#include <fstream>
#include <random>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "build/build.hpp"
#include "graph_text.hpp"
#include "importers/cudnn_frontend/import_frontend.hpp"
#include "support.hpp"

namespace attnprobe::test::import_frontend_test {

using namespace attnprobe::graph;
using namespace attnprobe::importers;
using attnprobe::test::contains;
using attnprobe::test::operations;
using attnprobe::test::Words;

namespace {

const std::vector<Json>& frontend_fixture() {
  static const std::vector<Json> lines = [] {
    std::vector<Json> parsed;
    std::istringstream text(test::unpacked_fixture("frontend-graphs.jsonl.xz"));
    for (std::string line; std::getline(text, line);) parsed.push_back(Json::parse(line));
    return parsed;
  }();
  return lines;
}

const Json& fixture_graph(const std::string& name) {
  for (const Json& line : frontend_fixture())
    if (line["name"] == name) return line["frontend"];
  throw std::runtime_error("no graph of that name in the fixture: " + name);
}

std::string bytes_of(const std::string& hexadecimal) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16));
  return bytes;
}

// The usage error, or "".
std::string refusal(const Json& json) {
  try {
    import_frontend_json(json);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    return e.what();
  }
  return "";
}

bool noted(const FrontendGraph& graph, const std::string& part) {
  for (const auto& note : graph.notes)
    if (contains(note, part)) return true;
  return false;
}

Json frontend_tensor(const std::vector<int64_t>& dim, const std::vector<int64_t>& stride, bool is_virtual = false) {
  return {{"name", ""},
          {"data_type", nullptr},
          {"dim", dim},
          {"stride", stride},
          {"is_virtual", is_virtual},
          {"is_pass_by_value", false},
          {"pass_by_value", nullptr},
          {"reordering_type", "NONE"},
          {"uid", 0},
          {"uid_assigned", false}};
}

// O = relu(Q K) V; the dims of intermediate tensors must be inferred.
Json primitive_graph() {
  Json json = {{"context",
                {{"name", "two matmuls"},
                 {"io_data_type", "HALF"},
                 {"intermediate_data_type", "FLOAT"},
                 {"compute_data_type", "FLOAT"}}},
               {"json_version", "1.0"},
               {"cudnn_backend_version", "9.19.0"},
               {"cudnn_frontend_version", 12300}};
  json["nodes"] = Json::array({
      {{"tag", "MATMUL"}, {"name", "one"}, {"inputs", {{"A", "q"}, {"B", 7}}}, {"outputs", {{"C", "s"}}}},
      {{"tag", "POINTWISE"},
       {"mode", "RELU_FWD"},
       {"compute_data_type", "FLOAT"},
       {"inputs", {{"IN_0", "s"}}},
       {"outputs", {{"OUT_0", "p"}}}},
      {{"tag", "MATMUL"}, {"inputs", {{"A", "p"}, {"B", "v"}}}, {"outputs", {{"C", "o"}}}},
  });
  json["tensors"] = {{"q", frontend_tensor({2, 3, 64, 32}, {6144, 2048, 32, 1})},
                     {"7", frontend_tensor({2, 3, 32, 64}, {6144, 2048, 1, 32})},
                     {"v", frontend_tensor({2, 3, 64, 16}, {3072, 1024, 16, 1})},
                     {"s", frontend_tensor({}, {}, true)},
                     {"p", frontend_tensor({}, {}, true)},
                     {"o", frontend_tensor({}, {})}};
  json["tensors"]["7"]["uid"] = 7;
  json["tensors"]["7"]["uid_assigned"] = true;
  json["tensors"]["p"]["data_type"] = "HALF";
  return json;
}

}  // namespace

TEST_CASE("frontend json: every real graph becomes the graph that cudnn-frontend passes to cuDNN") {
  REQUIRE(frontend_fixture().size() >= 60);
  for (const Json& line : frontend_fixture()) {
    INFO(line["name"]);
    if (!line.contains("hash")) continue;
    const FrontendGraph imported = import_frontend_json(line["frontend"]);
    REQUIRE(imported.spec);
    const build::BuildContext context{imported.cudnn_version, line["sm"].get<int>()};
    CHECK(hash(build::build_graph(*imported.spec, context).graph) == line["hash"].get<std::string>());
    if (!line.contains("serialized")) continue;
    const std::string bytes = bytes_of(line["serialized"]);
    REQUIRE(is_frontend_serialization(bytes));
    const FrontendGraph serialized = import_frontend_json(read_frontend_serialization(bytes));
    CHECK(hash(build::build_graph(*serialized.spec, context).graph) == line["hash"].get<std::string>());
    REQUIRE(serialized.stored_plan);
    CHECK(serialized.stored_plan->contains("operationGraph"));
  }
}

TEST_CASE("frontend json: an imported config round-trips") {
  for (const Json& line : frontend_fixture()) {
    INFO(line["name"]);
    const FrontendGraph imported = import_frontend_json(line["frontend"]);
    const auto again = attention::parse_configs(attention::to_json(*imported.spec).dump(), "again");
    REQUIRE(again.size() == 1);
    const build::BuildContext context{91900, 90};
    CHECK(hash(build::build_graph(again[0].spec, context).graph) ==
          hash(build::build_graph(*imported.spec, context).graph));
  }
}

TEST_CASE("frontend json: older versions are read by their own fields") {
  const FrontendGraph window = import_frontend_json(fixture_graph("window (cudnn-frontend 10800)"));
  CHECK(window.frontend_version == FrontendVersion(10800));
  CHECK(window.tags == Words{"SDPA_FWD"});
  CHECK(window.spec->pass == attention::Pass::fprop_train);
  CHECK(window.spec->mask.window_left == 99);
  CHECK(window.spec->mask.window_right == 0);
  CHECK(window.spec->pattern == attention::Pattern::sdpa_composite);
  const FrontendGraph bottom = import_frontend_json(fixture_graph("bottom right (cudnn-frontend 10800)"));
  CHECK(bottom.spec->mask.alignment == attention::Alignment::bottom_right);
  CHECK(bottom.spec->mask.window_right == 0);
  CHECK(bottom.spec->pass == attention::Pass::fprop);

  // Neither JSON has ragged offsets; only the first has other evidence of them.
  const FrontendGraph ragged = import_frontend_json(fixture_graph("bprop ragged (cudnn-frontend 11200)"));
  CHECK(ragged.spec->q.axes == "thd");
  CHECK(noted(ragged, "concluded"));
  const FrontendGraph padded = import_frontend_json(fixture_graph("padding (cudnn-frontend 11200)"));
  CHECK(padded.spec->q.axes == "bshd");
  CHECK(noted(padded, "unknown"));
}

TEST_CASE("frontend json: a block mask, which has no port, is found") {
  size_t found = 0;
  for (const Json& line : frontend_fixture()) {
    const FrontendGraph imported = import_frontend_json(line["frontend"]);
    if (!imported.spec->block_mask) continue;
    ++found;
    CHECK(imported.spec->dtype != DataType::u8);
    const bool has_port = line["frontend"]["nodes"][0]["inputs"].contains("Block_mask");  // 1.32
    CHECK(noted(imported, "block mask") == !has_port);
  }
  CHECK(found > 0);
}

TEST_CASE("frontend json: primitive nodes become operations, with the properties that cudnn-frontend infers") {
  const FrontendGraph imported = import_frontend_json(primitive_graph());
  CHECK(imported.name == "two matmuls");
  CHECK(imported.cudnn_version == CudnnVersion(91900));
  CHECK_FALSE(imported.spec);
  REQUIRE(imported.graph);
  const OpGraph& graph = *imported.graph;
  CHECK(operations(graph) == Words{"matmul", "relu_fwd", "matmul"});
  const auto& first = test::operation<Matmul>(graph, 0);
  CHECK(first.b == 7);
  CHECK(test::text(graph, tensor(graph, first.a)) == "f16 2x3x64x32 6144,2048,32,1");
  CHECK(test::text(graph, tensor(graph, first.c)) == "f32 2x3x64x64 12288,4096,64,1 virtual");
  const auto& relu = test::operation<Pointwise>(graph, 1);
  CHECK(test::text(graph, tensor(graph, *relu.y)) == "f16 2x3x64x64 12288,4096,64,1 virtual");
  const auto& second = test::operation<Matmul>(graph, 2);
  CHECK(test::text(graph, tensor(graph, second.c)) == "f16 2x3x64x16 3072,1024,16,1");
}

TEST_CASE("frontend json: graphs without attention are named") {
  Json json = primitive_graph();
  json["nodes"][1] = {{"tag", "CONV_FPROP"}, {"inputs", nullptr}, {"outputs", nullptr}};
  const FrontendGraph imported = import_frontend_json(json);
  CHECK_FALSE(imported.spec);
  CHECK_FALSE(imported.graph);
  CHECK(noted(imported, "no attention: node 1 is CONV_FPROP"));
}

TEST_CASE("frontend json: a wrong value is reported with its location and allowed values") {
  CHECK(contains(refusal(Json::array()), "\"context\" and \"nodes\""));
  const Json good = fixture_graph("causal (cudnn-frontend 11700)");
  CHECK(refusal(good).empty());
  auto changed = [&](const std::string& pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    return refusal(json);
  };
  CHECK(
      contains(changed("/nodes/0/padding_mask", 3), "/nodes/0/padding_mask: 3 is not a boolean; allowed: true, false"));
  CHECK(contains(changed("/nodes/0/left_bound", 0),
                 "/nodes/0/left_bound: 0 is out of range; allowed: an integer from 1"));
  CHECK(contains(changed("/nodes/0/attn_scale_value", "3E0000"), "eight hexadecimal digits"));
  CHECK(contains(changed("/nodes/0/diagonal_alignment", "MIDDLE"), "\"TOP_LEFT\", \"BOTTOM_RIGHT\""));
  CHECK(contains(changed("/nodes/0/implementation", "BEST"), "\"UNIFIED\""));
  CHECK(contains(changed("/nodes/0/inputs/K", "nowhere"), "a key of /tensors"));
  CHECK(contains(changed("/nodes/0/inputs/K", nullptr), "/nodes/0/inputs: the key \"K\" is missing"));
  CHECK(contains(changed("/nodes/0/inputs", 1), "/nodes/0/inputs: 1 is not allowed"));
  CHECK(contains(changed("/nodes/0/tag", 1), "/nodes/0/tag"));
  CHECK(contains(changed("/nodes", "x"), "/nodes: \"x\" is not allowed; allowed: an array"));
  CHECK(contains(changed("/cudnn_backend_version", "nine"), "MAJOR.MINOR.PATCH"));
  const std::string k = "/tensors/" + good["nodes"][0]["inputs"]["K"].get<std::string>();
  CHECK(contains(changed(k + "/dim", Json({2, 2, 256})), k + "/stride"));
  CHECK(contains(changed(k + "/dim", Json({2, 2, 256, 32})), "64 along axis 3"));
  CHECK(contains(changed(k + "/dim/0", -1), k + "/dim/0: -1 is out of range; allowed: an integer from 1"));
  CHECK(contains(changed(k + "/data_type", "FLOAT"), "the type of Q"));
  CHECK(
      contains(changed(k + "/data_type", "INT4"), k + "/data_type: \"INT4\" is not a known value; allowed: \"HALF\""));
}

TEST_CASE("frontend json: removed or swapped parts give only an error") {
  const std::vector<Json> values = {nullptr, -1, 1.5, "x", Json::array(), Json::object(), true, uint64_t(1) << 63};
  for (const char* name : {"causal (cudnn-frontend 11700)", "bprop ragged (cudnn-frontend 11200)"}) {
    const Json flat = fixture_graph(name).flatten();
    for (const auto& [pointer, old] : flat.items())
      for (const Json& value : values) {
        Json json = fixture_graph(name);
        json[Json::json_pointer(pointer)] = value;
        refusal(json);  // checks that an error is a usage error
      }
  }
  const Json primitive = primitive_graph().flatten();
  for (const auto& [pointer, old] : primitive.items())
    for (const Json& value : values) {
      Json json = primitive_graph();
      json[Json::json_pointer(pointer)] = value;
      refusal(json);
    }
}

TEST_CASE("frontend json: damaged serialized graphs are refused") {
  auto refused = [](const std::string& bytes) -> std::string {
    try {
      read_frontend_serialization(bytes);
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::usage);
      return e.what();
    }
    return "";
  };
  std::string good;
  for (const Json& line : frontend_fixture())
    if (good.empty() && line.contains("serialized")) good = bytes_of(line["serialized"]);
  REQUIRE_FALSE(good.empty());
  CHECK(refused(good).empty());
  CHECK(contains(refused(good.substr(0, good.size() / 2)), "damaged at byte"));
  CHECK(contains(refused(good + "x"), "damaged at byte"));
  CHECK(contains(refused("{\"context\": {}}"), "does not begin like one"));
  CHECK(contains(refused("{i\x01"
                         "a" +
                         std::string(100000, '[')),
                 "nested deeper"));
  CHECK(contains(refused("{i\x01"
                         "a[$Z#l\x7f\xff\xff\xff"),
                 "elements"));
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    for (int j = 0; j < 3; ++j) bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    try {
      import_frontend_json(read_frontend_serialization(bytes));
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::usage);
    }
  }
}

}  // namespace attnprobe::test::import_frontend_test
