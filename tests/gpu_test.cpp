// What only a real GPU can show. Where there is none these skip, and say so.
#include <fmt/format.h>

#include "attnprobe/worker/preflight.hpp"
#include "catch.hpp"
#include "support.hpp"

using namespace attnprobe;
using namespace attnprobe::test;

namespace {

std::vector<target::Target> gpus() {
  static const std::vector<target::Target> found = worker::device_targets(worker::inspect_driver(60));
  if (found.empty()) WARN("SKIPPED: no GPU on this machine");
  return found;
}

// What must be equal between a real and a simulated walk: everything that cuDNN said, and nothing of time.
Json answer(const Json& result) {
  Json configs = result["engine_configs"];
  return {{"verdict", result["verdict"]},
          {"modes", result["modes"]},
          {"engine_configs", configs},
          {"engines", result["engines"]},
          {"failure", result["failure"]}};
}

}  // namespace

TEST_CASE("real and simulated GPU give the same walk, engine by engine and knob by knob", "[gpu]") {
  if (gpus().empty()) return;
  const TemporaryFolder folder;
  const std::string dumped = folder.path() / "dumped.json";
  REQUIRE(run_attnprobe("targets dump -o " + dumped).exit_code == 0);
  for (const char* config : {"configs/bert.json", "configs/llama3-8b.json", "configs/mistral-7b.json",
                             "configs/two-matmul-forum.json", "configs/mha-bert-legacy.json"}) {
    const std::string walk =
        fmt::format("--config {} --plans none --engines knobs --format json --target ", config);
    const Json real = run_attnprobe(walk + "device:0").json(),
               simulated = run_attnprobe(walk + dumped).json();
    for (size_t i = 0; i < real["results"].size(); ++i) {
      INFO(real["results"][i]["config"]["name"]);
      CHECK(answer(real["results"][i]) == answer(simulated["results"][i]));
    }
  }
}

TEST_CASE("plans are built and loaded on a real GPU", "[gpu]") {
  if (gpus().empty()) return;
  const Json report =
      run_attnprobe("--config configs/sdpa-notebook.json --target device:0 --format json").json();
  const Json& result = report["results"][0];
  CHECK(result["verdict"] == "supported");
  CHECK(result["target"]["kind"] == "device");
  CHECK(result["stages"] == Json({"check", "plan"}));
  bool loaded = false;
  for (const Json& config : result["engine_configs"])
    if (!config["plan"].is_null()) loaded = loaded || config["plan"]["loaded"] == true;
  CHECK(loaded);
}

TEST_CASE("the machine's GPU is the default target", "[gpu]") {
  if (gpus().empty()) return;
  const Json report = run_attnprobe("--heads 8 --seqlen 128 --head-dim 64 --plans none --format json").json();
  REQUIRE(report["results"].size() == gpus().size());
  CHECK(report["results"][0]["target"]["id"] == "device:0");
  CHECK(report["results"][0]["target"]["sm"] == gpus()[0].sm);
}

TEST_CASE("doctor sees the GPU and builds plans on it", "[gpu]") {
  if (gpus().empty()) return;
  const Json diagnosis = run_attnprobe("doctor --format json").json();
  CHECK(!diagnosis["driver"]["gpus"].empty());
  for (const Json& ability : diagnosis["abilities"]) {
    INFO(ability.dump());
    CHECK(ability["ok"] == true);
  }
}
