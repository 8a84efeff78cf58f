// cuDNN's own JSON of an operation graph: its contents, and the error for a wrong value.
#include "catch.hpp"
#include "importers/import.hpp"
#include "support.hpp"

namespace attnprobe::test::backend_json_test {

using namespace attnprobe::importers;

namespace {

Json tensor_json(const std::string& uid) {
  return {{"name", uid},        {"dataType", "CUDNN_DATA_HALF"}, {"dim", {1, 8, 8}},         {"stride", {64, 8, 1}},
          {"isVirtual", false}, {"isByValue", nullptr},          {"isRagged", Json::array()}};
}

Json one_matmul() {
  const Json matmul = {{"operation", "CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR"},
                       {"mathPrec", "CUDNN_DATA_FLOAT"},
                       {"matA", "1"},
                       {"matB", 2},
                       {"matC", "3"},
                       {"mOverride", nullptr}};
  return {{"finalizeMode", "GENERIC"},
          {"tensors", {tensor_json("1"), tensor_json("2"), tensor_json("3")}},
          {"nodes", Json::array({matmul})}};
}

// The usage error for the graph after `change`.
template <class F>
std::string refusal(F change) {
  Json json = one_matmul();
  change(json);
  return usage_error([&] { import_backend_json(json); });
}

}  // namespace

TEST_CASE("cuDNN's JSON: uids are names or numbers, and null means absent", "[import]") {
  const ImportedGraph imported = import_backend_json(one_matmul());
  CHECK(imported.missing.empty());
  REQUIRE(imported.graph.operations.size() == 1);
  const auto& matmul = std::get<graph::Matmul>(imported.graph.operations[0]);
  CHECK(matmul.a == 1);
  CHECK(matmul.b == 2);
  CHECK(matmul.c == 3);
  CHECK_FALSE(matmul.m_override);
  CHECK(imported.graph.tensors.at(0).dims == std::vector<int64_t>{1, 8, 8});
}

TEST_CASE("cuDNN's JSON: unknown parts are noted with their location", "[import]") {
  Json json = one_matmul();
  json["tensors"][1]["colour/shade"] = 7;
  CHECK(import_backend_json(json).missing ==
        std::vector<std::string>{"\"/tensors/1/colour~1shade\", which attnprobe does not know"});
}

TEST_CASE("cuDNN's JSON: a wrong value is reported with its location and allowed values", "[import]") {
  CHECK(refusal([](Json&) {}) == "no error");
  CHECK(refusal([](Json& j) { j = 3; }) == "operationGraph: 3 is not an object");
  CHECK(refusal([](Json& j) { j.erase("nodes"); }) == "operationGraph: the key \"nodes\" is missing");
  CHECK(refusal([](Json& j) { j["nodes"] = 5; }) == "operationGraph/nodes: 5 is not an array");
  CHECK(refusal([](Json& j) { j["tensors"][0]["name"] = "x"; }) ==
        "operationGraph/tensors/0/name: \"x\" is not a tensor's name, which is its uid");
  CHECK(refusal([](Json& j) { j["tensors"][0].erase("dim"); }) ==
        "operationGraph/tensors/0: the key \"dim\" is missing");
  CHECK(refusal([](Json& j) { j["tensors"][0]["dim"][1] = 8.5; }) ==
        "operationGraph/tensors/0/dim/1: 8.5 is not an integer");
  CHECK(refusal([](Json& j) { j["tensors"][0]["dim"] = 8; }) ==
        "operationGraph/tensors/0/dim: 8 is not an array of integers");
  CHECK(refusal([](Json& j) {
          j["tensors"][0]["stride"] = {1, 1};
        }) == "operationGraph/tensors/0/stride: [1,1] is not 3 integers, one for each of \"dim\"");
  CHECK(refusal([](Json& j) { j["tensors"][2]["isVirtual"] = 1; }) ==
        "operationGraph/tensors/2/isVirtual: 1 is not a boolean; allowed: true, false");
  CHECK(refusal([](Json& j) { j["tensors"][2]["isRagged"] = "1"; }) ==
        "operationGraph/tensors/2/isRagged: \"1\" is not an array of at most one tensor");
  CHECK_THAT(refusal([](Json& j) { j["tensors"][0]["dataType"] = "CUDNN_DATA_HALFF"; }),
             StartsWith("operationGraph/tensors/0/dataType: \"CUDNN_DATA_HALFF\" is not a known value; allowed: ") &&
                 EndsWith("(did you mean \"CUDNN_DATA_HALF\"?)"));
  CHECK_THAT(refusal([](Json& j) { j["nodes"][0]["operation"] = "CONV"; }),
             StartsWith("operationGraph/nodes/0/operation: \"CONV\" is not a known value; allowed: ") &&
                 ContainsSubstring("\"CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR\""));
  CHECK(refusal([](Json& j) { j["nodes"][0]["matB"] = nullptr; }) ==
        "operationGraph/nodes/0/matB: null is not a tensor's name, which is its uid");
  CHECK_THAT(refusal([](Json& j) { j["nodes"][0]["matB"] = 9; }),
             StartsWith("operationGraph: port b of matmul is tensor 9, which is in no list of tensors"));
}

}  // namespace attnprobe::test::backend_json_test
