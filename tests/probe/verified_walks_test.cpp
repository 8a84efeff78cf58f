// Every graph of verified-walks-cudnn-9.19.json on every GPU in it. The product's own builders and walk must give the
// findings of an independent program with its own wiring, cell by cell.
#include <fmt/format.h>

#include <algorithm>

#include "answer/reasons.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "graph_edits.hpp"
#include "support.hpp"
#include "worker/client.hpp"

namespace attnprobe::test::verified_walks_test {

using answer::Answer;

namespace {

// "2 24=7 256": engine, knobs by type, workspace. The fixture writes mode A's results this way, in order.
std::vector<std::string> viable_of_mode_a(const Answer& result) {
  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& config : result.findings.engine_configs) {
    const auto rank = config.rank.find("A");
    if (rank == config.rank.end() || !config.check.supported) continue;
    std::string knobs;
    for (const auto& [type, name] : {std::pair("14", "STAGES"), std::pair("24", "KERNEL_CFG")})
      if (const auto knob = config.knobs.find(name); knob != config.knobs.end())
        knobs += fmt::format("{}{}={}", knobs.empty() ? "" : ",", type, knob->second);
    ranked.emplace_back(rank->second,
                        fmt::format("{} {} {}", config.engine, knobs, config.workspace_bytes.value_or(-1)));
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> texts;
  for (auto& [rank, text] : ranked) texts.push_back(std::move(text));
  return texts;
}

// The first reasons of all the engine's configs that mode A proposed and cuDNN rejected.
std::string first_reasons(const Answer& result, int64_t engine) {
  std::string reasons;
  for (const auto& config : result.findings.engine_configs)
    if (config.engine == engine && !config.check.supported && !config.reasons.empty() &&
        config.rank.find("A") != config.rank.end())
      reasons += config.reasons.front().status + "; " + config.reasons.front().reason + "\n";
  return reasons;
}

void check_cell(const Answer& result, const Json& cell) {
  CHECK(mode_counts(result, "A") == cell["A"].get<std::string>());
  CHECK(mode_counts(result, "FALLBACK") == cell["FALLBACK"].get<std::string>());
  CHECK(viable_of_mode_a(result) == cell["configs"].get<std::vector<std::string>>());
  for (const Json& reason : cell["reasons"])
    for (const auto& engine : split(reason["engines"].get<std::string>(), ','))
      CHECK(contains(first_reasons(result, std::stoll(engine)),
                     reason["status"].get<std::string>() + "; " + reason["reason"].get<std::string>()));
}

void check_target(const std::string& id) {
  const Json verified = Json::parse(test::fixture("verified-walks-cudnn-9.19.json"));
  const gpu::Target& target = *gpu::find(id);
  constexpr auto timeout = worker::Client::Seconds(60);
  auto client = std::make_unique<worker::Client>(target, timeout);
  const CudnnVersion version = client->open(cudnn_path(), target).version;
  if (version.number() / 100 != 919) {
    WARN("SKIPPED: the verified walks are of cuDNN 9.19, this is " << version);
    return;
  }
  probe::WalkOptions options;
  options.modes = {"A", "FALLBACK"};
  options.sweep_where_none = false;
  for (const Json& walk : verified["walks"]) {
    INFO(walk["graph"] << " on " << id);
    const auto configs = attention::parse_configs(walk["config"].dump(), "fixture");
    auto graph = build::build_graph(configs.at(0).spec, {version, target.sm}).graph;
    if (walk.contains("edit")) edit_graph(graph, walk["edit"]);
    if (walk["ops"] != 0) CHECK(graph.operations.size() == walk["ops"].get<size_t>());
    Answer result;
    try {
      result.findings = client->walk(graph, options);
    } catch (const worker::WorkerLost& lost) {
      REQUIRE(walk.contains("crashes"));
      REQUIRE(walk["crashes"].contains(id));
      CHECK(contains(lost.end.text(), walk["crashes"][id].get<std::string>()));
      client = std::make_unique<worker::Client>(target, timeout);
      client->open(cudnn_path(), target);
      continue;
    }
    if (walk.contains("fails")) {
      REQUIRE(result.findings.failure);
      CHECK(result.findings.failure->cudnn.status == walk["fails"]["status"].get<std::string>());
      CHECK(contains(result.findings.failure->cudnn.last_error, walk["fails"]["reason"].get<std::string>()));
    } else {
      REQUIRE(walk["cells"].contains(id));  // otherwise it must crash, as in the fixture
      check_cell(result, walk["cells"][id]);
    }
  }
}

}  // namespace

TEST_CASE("every reason of the verified walks is in the catalogue", "[verified]") {
  const Json verified = Json::parse(test::fixture("verified-walks-cudnn-9.19.json"));
  size_t reasons = 0;
  for (const Json& walk : verified["walks"]) {
    if (!walk.contains("cells")) continue;
    for (const Json& cell : walk["cells"])
      for (const Json& reason : cell["reasons"]) {
        INFO(walk["graph"] << ": " << reason["reason"]);
        CHECK(answer::find_reason({reason["status"], reason["reason"]}) != nullptr);
        ++reasons;
      }
  }
  CHECK(reasons > 300);
}

TEST_CASE("266 graphs give the answers of an independent program: H200", "[verified][answers]") {
  check_target("h200");
}
TEST_CASE("266 graphs give the answers of an independent program: B200", "[verified][answers]") {
  check_target("b200");
}
TEST_CASE("266 graphs give the answers of an independent program: RTX 5090", "[verified][answers]") {
  check_target("rtx5090");
}
TEST_CASE("266 graphs give the answers of an independent program: L40S", "[verified][answers]") {
  check_target("l40s");
}
TEST_CASE("266 graphs give the answers of an independent program: A100", "[verified][answers]") {
  check_target("a100");
}
TEST_CASE("266 graphs give the answers of an independent program: T4", "[verified][answers]") {
  check_target("t4");
}

}  // namespace attnprobe::test::verified_walks_test
