// The catalogue of GPUs, and user files.
#include "gpu/target.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"

namespace attnprobe::test::target_test {

using namespace attnprobe::gpu;

namespace {

using Ids = std::vector<std::string>;

Ids ids(const std::vector<Target>& targets) {
  Ids result;
  for (const auto& t : targets) result.push_back(t.id);
  return result;
}

// A target file in the catalogue's form, after `change`.
template <class F>
std::string refusal(F change) {
  Json json = to_json(*find("l40s"));
  change(json);
  return usage_error([&] { parse_target(json.dump(), "my.json"); });
}

std::string unknown(const std::string& selection) {
  return usage_error([&] { simulated_targets(selection); });
}

}  // namespace

// ---- the catalogue

TEST_CASE("The catalogue has the common GPUs", "[target]") {
  for (const char* id :
       {"t4",      "a100-40gb", "a100",         "a10",      "a30",        "rtx3090", "l4",    "l40s",
        "rtx4090", "h100",      "h100-pcie",    "h100-nvl", "h200",       "gh200",   "b200",  "gb200",
        "b300",    "rtx5090",   "rtx-pro-6000", "gb10",     "orin",       "thor",    "rubin", "b100",
        "h20",     "h800",      "a800",         "a40",      "l20",        "l40",     "v100",  "orin-nx",
        "rtx4080", "rtx3080",   "rtx5080",      "rtx5070",  "rtx6000-ada"}) {
    INFO(id);
    REQUIRE(find(id) != nullptr);
    CHECK(find(id)->id == id);
  }
}

TEST_CASE("Ids and aliases are unique, lower-case words", "[target]") {
  std::set<std::string> names{"all", "representative", "each-sm", "device"};
  for (const auto& t : catalogue()) {
    Ids all = t.aliases;
    all.push_back(t.id);
    for (const auto& name : all) {
      INFO(name);
      CHECK(names.insert(name).second);
      CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
    }
  }
}

TEST_CASE("Aliases find their target", "[target]") {
  size_t aliases = 0;
  for (const auto& t : catalogue())
    for (const auto& alias : t.aliases) {
      CHECK(find(alias) == &t);
      ++aliases;
    }
  CHECK(aliases > 0);
  CHECK(find("") == nullptr);
  CHECK(find("l40ss") == nullptr);
}

TEST_CASE("A GPU is found by common spellings", "[target]") {
  for (const char* word : {"4090", "RTX 4090", "rtx-4090", "NVIDIA GeForce RTX 4090"})
    CHECK(find(word) == find("rtx4090"));
  CHECK(find("L40S") == find("l40s"));
  CHECK(find("NVIDIA H100 80GB HBM3") == find("h100"));
  for (const auto& [word, id] : std::map<const char*, const char*>{{"RTX 6000 Ada", "rtx6000-ada"},
                                                                   {"NVIDIA RTX 6000 Ada Generation", "rtx6000-ada"},
                                                                   {"A6000", "rtx-a6000"},
                                                                   {"RTX PRO 6000", "rtx-pro-6000"},
                                                                   {"5070 Ti", "rtx5070ti"},
                                                                   {"GeForce RTX 5070", "rtx5070"},
                                                                   {"2080 Ti", "rtx2080ti"},
                                                                   {"Tesla V100-SXM2-16GB", "v100"},
                                                                   {"Jetson Orin NX", "orin-nx"},
                                                                   {"Orin", "orin"},
                                                                   {"L40", "l40"},
                                                                   {"VR200", "rubin"},
                                                                   {"NVIDIA H20", "h20"}}) {
    INFO(word);
    REQUIRE(find(word) != nullptr);
    CHECK(find(word)->id == id);
  }
  for (const auto& t : catalogue()) {
    INFO(t.id);
    CHECK(find(t.name) == &t);
  }
  const auto ids = [](const char* selection) {
    std::vector<std::string> list;
    for (const auto& t : simulated_targets(selection)) list.push_back(t.id);
    return list;
  };
  CHECK(ids("sm_89") == std::vector<std::string>{"l20", "l4", "l40", "l40s", "rtx4060", "rtx4070", "rtx4080", "rtx4090",
                                                 "rtx6000-ada"});
  CHECK(ids("8.9") == ids("sm89"));
  CHECK(ids("Ada Lovelace") == ids("sm_89"));
}

TEST_CASE("The catalogue is in order of SM, then id", "[target]") {
  const auto& all = catalogue();
  CHECK(std::is_sorted(all.begin(), all.end(),
                       [](const Target& a, const Target& b) { return std::pair(a.sm, a.id) < std::pair(b.sm, b.id); }));
}

TEST_CASE("Targets have the compute capabilities of their architectures", "[target]") {
  const std::map<std::string, int> sm{{"t4", 75},       {"a100", 80},  {"a30", 80},    {"a10", 86},    {"rtx3090", 86},
                                      {"orin", 87},     {"l4", 89},    {"l40s", 89},   {"h100", 90},   {"h200", 90},
                                      {"gh200", 90},    {"b200", 100}, {"gb200", 100}, {"b300", 103},  {"thor", 110},
                                      {"rtx5090", 120}, {"gb10", 121}, {"rubin", 107}, {"v100", 70},   {"h20", 90},
                                      {"b100", 100},    {"a40", 86},   {"l20", 89},    {"orin-nx", 87}};
  for (const auto& [id, expected] : sm) {
    INFO(id);
    REQUIRE(find(id) != nullptr);
    CHECK(find(id)->sm == expected);
  }
}

TEST_CASE("Every property in the catalogue has a described source", "[target]") {
  for (const auto& t : catalogue()) {
    INFO(t.id);
    CHECK(t.kind == Kind::simulated);
    CHECK_FALSE(t.name.empty());
    CHECK_FALSE(t.architecture.empty());
    CHECK(t.file.empty());
    CHECK(t.sources.size() == t.properties.size());
    for (const auto& [property, value] : t.properties.items()) {
      INFO(property);
      REQUIRE(t.sources.contains(property));
      const std::string source = t.sources[property];
      REQUIRE(t.references.contains(source));
      CHECK_FALSE(t.references[source].value("title", "").empty());
    }
  }
}

TEST_CASE("The H200 in the catalogue has its measured values", "[target]") {
  const Json measured = Json::parse(fixture("h200-measured.json"));
  for (const auto& [property, value] : measured.items()) {
    INFO(property);
    CHECK(find("h200")->properties[property] == value);
  }
}

// ---- selections

TEST_CASE("Targets are selected by id, alias, list or set", "[target]") {
  CHECK(ids(simulated_targets("l40s")) == Ids{"l40s"});
  CHECK(ids(simulated_targets("h200,l40s,t4")) == Ids{"h200", "l40s", "t4"});
  CHECK(ids(simulated_targets("l40s,h200,l40s")) == Ids{"l40s", "h200"});
  CHECK(simulated_targets("all").size() == catalogue().size());
}

TEST_CASE("The representative set has one GPU per generation", "[target]") {
  CHECK(ids(simulated_targets("representative")) == Ids{"a100", "l40s", "h200", "b200", "rtx5090"});
}

TEST_CASE("The set each-sm has one GPU per compute capability", "[target]") {
  CHECK(ids(simulated_targets("each-sm")) == Ids{"v100", "rtx2080ti", "a100", "a10", "orin", "l40s", "h200", "b200",
                                                 "b300", "rubin", "thor", "rtx5090", "gb10"});
  CHECK(simulated_targets("each-sm,h100").size() == 14);
}

TEST_CASE("An unknown target is refused with the nearest known one", "[target]") {
  CHECK(unknown("l40ss") ==
        "--target: \"l40ss\" is not a target (did you mean \"l40s\"?); allowed: device:0, device:all, all, "
        "representative, each-sm, a GPU of `attnprobe targets list`, an architecture or sm_90, or a .json file");
  CHECK_THAT(unknown("l40s,h2000"), ContainsSubstring("\"h2000\" is not a target (did you mean \"h200\"?)"));
  CHECK_THAT(unknown("voodoo2"), StartsWith("--target: \"voodoo2\" is not a target; allowed: "));
  CHECK_THAT(unknown(""), StartsWith("--target: \"\" is not a target; allowed: "));
}

// ---- files

TEST_CASE("A JSON file of only properties is a target named after the file", "[target]") {
  const Target t = parse_target(fixture("h200-measured.json"), "gpus/my-h200.json");
  CHECK(t.id == "my-h200");
  CHECK(t.name == "NVIDIA H200");
  CHECK(t.sm == 90);
  CHECK(t.kind == Kind::simulated);
  CHECK(t.file == "gpus/my-h200.json");
  CHECK(t.properties["maxSharedMemoryPerBlockOptin"] == 232448);
}

TEST_CASE("A target file is accepted wherever a target name is", "[target]") {
  const TemporaryFolder folder;
  const auto path = folder.file("mine.json", fixture("h200-measured.json")).string();
  CHECK(ids(simulated_targets("l40s," + path)) == Ids{"l40s", "mine"});
  CHECK(usage_error([] { simulated_targets("nowhere.json"); }) ==
        "nowhere.json: cannot be opened: No such file or directory");
  CHECK(usage_error([] { simulated_targets("./nowhere"); }) ==
        "./nowhere: cannot be opened: No such file or directory");
}

TEST_CASE("A file with the id of another selected target is not silently dropped", "[target]") {
  const TemporaryFolder folder;
  const auto path = folder.file("l40s.json", fixture("h200-measured.json")).string();
  size_t count = 0;
  const std::string message = usage_error([&] { count = simulated_targets("l40s," + path).size(); });
  CHECK((count == 2 || message != "no error"));
}

TEST_CASE("A target round-trips through the catalogue's format", "[target]") {
  for (const auto& t : catalogue())
    CHECK(to_json(parse_target(to_json(t).dump(), "x.json")).dump() == to_json(t).dump());
}

TEST_CASE("Errors of target files name file and location", "[target]") {
  CHECK(refusal([](Json& j) { j["schema"] = "attnprobe/target/2"; }) ==
        "my.json: /schema: \"attnprobe/target/2\" is not a known value; allowed: \"attnprobe/target/1\" (did you mean "
        "\"attnprobe/target/1\"?)");
  CHECK(refusal([](Json& j) { j.erase("properties"); }) == "my.json: the key \"properties\" is missing");
  CHECK(refusal([](Json& j) { j["properties"] = 3; }) ==
        "my.json: /properties: 3 is not the object of a device property JSON");
  CHECK(refusal([](Json& j) { j["properties"].erase("deviceVer"); }) ==
        "my.json: /properties: the key \"deviceVer\" is missing");
  CHECK(refusal([](Json& j) { j["properties"]["multiProcessorCount"] = 0; }) ==
        "my.json: /properties/multiProcessorCount: 0 is not a positive integer");
  CHECK(refusal([](Json& j) { j["properties"]["warpSize"] = 32.5; }) ==
        "my.json: /properties/warpSize: 32.5 is neither an integer, a text nor three integers");
  CHECK(refusal([](Json& j) { j["aliases"] = 5; }) == "my.json: /aliases: 5 is not an array of texts");
  CHECK(refusal([](Json& j) { j["id"] = 5; }) == "my.json: /id: 5 is not text");
  CHECK(refusal([](Json& j) { j["sm"] = 90; }) == "my.json: /sm: 90 contradicts deviceVer 890");
}

TEST_CASE("A target file with a duplicate or unknown key is refused", "[target]") {
  CHECK(
      refusal([](Json& j) { j["nmae"] = "x"; }) ==
      "my.json: /nmae: unknown key \"nmae\" (did you mean \"name\"?); allowed: \"schema\", \"properties\", \"id\", "
      "\"name\", \"aliases\", \"architecture\", \"representative\", \"matmul_rates\", \"sources\", \"references\", \"sm\"");
  CHECK(refusal([](Json& j) { j["sources"] = 5; }) == "my.json: /sources: 5 is not an object");
  CHECK(usage_error([] { parse_target(R"({"deviceVer": 890, "deviceVer": 900})", "my.json"); }) ==
        "my.json: /deviceVer: the key \"deviceVer\" appears twice in one object");
}

TEST_CASE("A target file may be compressed, and its name drops the extensions", "[target]") {
  const TemporaryFolder folder;
  const auto path = folder.file("mine.json", fixture("h200-measured.json")).string();
  REQUIRE(shell("gzip -k " + path + " && xz -k " + path).exit_code == 0);
  for (const char* ending : {"", ".gz", ".xz"}) CHECK(ids(simulated_targets(path + ending)) == Ids{"mine"});
}

TEST_CASE("Errors of property files name the location in the file", "[target]") {
  auto bare = [](const char* key, const Json& value) {
    Json json = Json::parse(fixture("h200-measured.json"));
    json[key] = value;
    return usage_error([&] { parse_target(json.dump(), "my.json"); });
  };
  CHECK(bare("deviceVer", "9.0") == "my.json: /deviceVer: \"9.0\" is not a positive integer");
  CHECK_THAT(bare("deviceName", 5), StartsWith("my.json: /deviceName: "));
  CHECK(usage_error([] { parse_target("{}", "my.json"); }) == "my.json: the key \"deviceVer\" is missing");
  CHECK(usage_error([] { parse_target("[1]", "my.json"); }) == "my.json: [1] is not an object");
  CHECK_THAT(usage_error([] { parse_target("{", "my.json"); }), StartsWith("my.json:1: not valid JSON: "));
}

TEST_CASE("Extents are three integers", "[target]") {
  CHECK_THAT(refusal([](Json& j) {
               j["properties"]["maxGridSize"] = {1, 2};
             }),
             StartsWith("my.json: /properties/maxGridSize: [1,2]"));
  CHECK_THAT(refusal([](Json& j) {
               j["properties"]["maxGridSize"] = {"x", 2, 3};
             }),
             StartsWith("my.json: /properties/maxGridSize: [\"x\",2,3]"));
}

// ---- measured targets

TEST_CASE("A measured GPU becomes a target with measured numbers", "[target]") {
  const Target t = measured_target(fixture("h200-measured.json"), 6016, "cuDNN 9.19");
  CHECK(t.id == "nvidia-h200");
  CHECK(t.name == "NVIDIA H200");
  CHECK(t.sm == 90);
  CHECK(t.file.empty());
  CHECK(t.properties["memoryBusWidth"] == 6016);
  CHECK(t.sources.size() == t.properties.size());
  for (const auto& [property, source] : t.sources.items()) CHECK(source == "measured");
  CHECK(t.references["measured"]["note"] == "cuDNN 9.19");
  CHECK(to_json(parse_target(to_json(t).dump(), "x.json")).dump() == to_json(t).dump());
}

TEST_CASE("The bus width from cuDNN is not replaced", "[target]") {
  Json properties = Json::parse(fixture("h200-measured.json"));
  properties["memoryBusWidth"] = 5120;
  CHECK(measured_target(properties.dump(), 6016, "").properties["memoryBusWidth"] == 5120);
}

TEST_CASE("The id of a measured GPU is a word", "[target]") {
  auto id_of = [](const char* name) {
    Json properties = Json::parse(fixture("h200-measured.json"));
    properties["deviceName"] = name;
    return measured_target(properties.dump(), 384, "").id;
  };
  CHECK(id_of("NVIDIA RTX PRO 6000 Blackwell Workstation Edition") ==
        "nvidia-rtx-pro-6000-blackwell-workstation-edition");
  CHECK(id_of("Tesla V100-SXM2-16GB") == "tesla-v100-sxm2-16gb");
  CHECK(id_of("Orin (nvgpu)") == "orin-nvgpu");
}

}  // namespace attnprobe::test::target_test
