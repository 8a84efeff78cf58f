#include "studies/selftest.hpp"
#include "worker/client.hpp"

#include <filesystem>
#include <fstream>

#include "ask/named_targets.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "machine/preflight.hpp"
#include "support.hpp"

namespace attnprobe::test::selftest_test {

namespace {

Json load(const std::string& file) {
  return Json::parse(std::ifstream(file));
}

bool has_gpu() {
  const bool found = !asking::device_targets(worker::inspect_driver(60)).empty();
  if (!found) WARN("SKIPPED: no GPU on this machine");
  return found;
}

}  // namespace

TEST_CASE("a GPU that answers like its catalogue entry has no difference, and the file lists the comparisons",
          "[selftest][cli]") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "sent.json";
  const auto run = run_attnprobe("selftest --target h200 --against h100 --configs 40 -o " + file);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "h200 (NVIDIA H200 SXM 141GB) against h100, cuDNN 9."));
  CHECK(contains(run.out, "40 random configs, "));
  CHECK(contains(run.out, " engine configs: no difference\n"));
  CHECK(contains(run.out, "written to " + file));
  const Json sent = load(file);
  CHECK(sent["schema"] == "attnprobe/selftest/1");
  CHECK(sent["configs"] == 40);
  CHECK(sent["different"] == 0);
  CHECK(sent["against"] == "h100");
  CHECK(sent["engine_configs"] > 200);
  CHECK(sent["supported"] > 20);
}

TEST_CASE("a GPU that answers differently is reported with the config and the difference", "[selftest][cli]") {
  const TemporaryFolder folder;
  // An H200 with an A100's shared memory instead of 227 KiB.
  Json json = to_json(*gpu::find("h200"));
  json["id"] = "small-h200";
  json["properties"]["maxSharedMemoryPerBlockOptin"] = 99 << 10;
  const std::string small = folder.file("small.json", json.dump()), file = folder.path() / "sent.json";
  const auto run = run_attnprobe("selftest --target " + small + " --against h200 --configs 40 -o " + file);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, " configs differ\n"));
  CHECK(contains(run.out, "verdict: unsupported, supported of h200"));
  const Json sent = load(file);
  CHECK(sent["different"] > 10);
  CHECK(sent["differences"][0]["config"].contains("seqlen_q"));
  CHECK(sent["differences"][0]["differences"].size() > 0);
}

TEST_CASE("the self-test reports missing prerequisites", "[selftest][cli][errors]") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "never.json";
  const auto many = run_attnprobe("selftest --target h200,l40s --configs 5 -o " + file);
  CHECK(many.exit_code == 2);
  CHECK(contains(many.err, "--target: \"h200,l40s\" names 2 GPUs; allowed: one"));
  const auto none = run_attnprobe("selftest --target h200 --configs 0");
  CHECK(none.exit_code == 2);
  CHECK(contains(none.err, "--configs"));
  CHECK(!std::filesystem::exists(file));
}

TEST_CASE("the self-test reports a missing GPU", "[selftest][cli][errors]") {
  if (!asking::device_targets(worker::inspect_driver(60)).empty()) return;
  const auto no_gpu = run_attnprobe("selftest");
  CHECK(no_gpu.exit_code == 3);
  CHECK(contains(no_gpu.err, "device:0"));
}

TEST_CASE("this machine's GPU answers like its catalogue entry", "[selftest][real_gpu]") {
  if (!has_gpu()) return;
  const auto run = run_attnprobe("selftest --configs 300");
  INFO(run.out);
  CHECK(run.exit_code == 0);
}

}  // namespace attnprobe::test::selftest_test
