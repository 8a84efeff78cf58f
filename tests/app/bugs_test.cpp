// Known bugs as a list, and their experiments on absent GPUs.
#include <fmt/format.h>

#include <set>

#include "rules/bug_sightings.hpp"
#include "support.hpp"

namespace attnprobe::test::bugs_test {

using rules::BugSighting;
using rules::Seen;

TEST_CASE("each built-in sighting belongs to a known bug", "[bugs]") {
  std::set<std::string> known;
  for (const auto& bug : rules::known_bug_rules()) known.insert(bug.entry.id);
  for (const auto& sighting : rules::bug_sightings()) {
    INFO(sighting.bug);
    CHECK(known.contains(sighting.bug));
    CHECK(CudnnVersion::parse(sighting.cudnn));
    CHECK(sighting.date.size() == 10);
  }
}

TEST_CASE("conditions on versions and GPUs are separated from the others", "[bugs]") {
  const Json when =
      Json::parse(R"({"pass": "bprop", "sm": {"min": 90, "below": 100}, "cudnn": {"min": 91900, "below": 92600}})");
  CHECK(rules::may_apply(when, {}, {}));
  CHECK(rules::may_apply(when, CudnnVersion(91900), 90));
  CHECK_FALSE(rules::may_apply(when, CudnnVersion(92600), 90));
  CHECK_FALSE(rules::may_apply(when, CudnnVersion(91900), 100));
  CHECK_FALSE(rules::may_apply(when, {}, 80));
  CHECK(rules::versions_text(when) == "from 9.19.0 before 9.26.0");
  const Json any = Json::parse(R"({"any": [{"cudnn": {"min": 91900, "max": 92400}}, {"cudnn": 92500}]})");
  CHECK(rules::may_apply(any, CudnnVersion(92500), {}));
  CHECK_FALSE(rules::may_apply(any, CudnnVersion(92501), {}));
  CHECK(rules::versions_text(any) == "from 9.19.0 to 9.24.0; 9.25.0");
  CHECK(rules::versions_text(Json::object()) == "every version");
}

TEST_CASE("a sighting replaces an older one of the same bug, GPU and cuDNN", "[bugs]") {
  const BugSighting old{"a", "h200", false, "9.9.0", "13.0", "2026-01-01", Seen::wrong_result, "x"};
  BugSighting again = old, other = old;
  again.seen = Seen::right;
  again.date = "2026-02-02";
  other.cudnn = "9.10.0";
  const auto merged = rules::merged({other, old}, {again});
  REQUIRE(merged.size() == 2);
  CHECK(merged[0].cudnn == "9.9.0");  // by version, not alphabetically
  CHECK(merged[0].seen == Seen::right);
  const auto read = rules::parse_sightings(rules::sightings_text(merged), "file");
  REQUIRE(read.size() == 2);
  CHECK(read[1].cudnn == "9.10.0");
}

TEST_CASE("bugs of a framework's cuDNN on a GPU are those whose conditions can hold there", "[bugs]") {
  const Run run = run_attnprobe("bugs --cudnn 9.19 --target h200 --format json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  std::set<std::string> ids;
  const Json report = run.json();
  for (const Json& bug : report["bugs"]) ids.insert(bug["id"].get<std::string>());
  CHECK(ids.contains("bprop_negative_lse_hopper"));
  CHECK_FALSE(ids.contains("decode_kv_heads_blackwell"));
  CHECK_FALSE(ids.contains("9_14_0_window"));
  const Run unknown = run_attnprobe("bugs run row_maxima --target h200");
  CHECK(unknown.exit_code == 2);
  CHECK(contains(unknown.err, R"("row_maxima" is not the name of a known bug (did you mean "row_maxima_alone"?))"));
}

TEST_CASE("bugs for a framework are those that its calls can hit, and set an exit code", "[bugs]") {
  const auto ids_for = [](const std::string& options, int exit_code) {
    const Run run = run_attnprobe("bugs " + options + " --format json");
    INFO(run.err);
    CHECK(run.exit_code == exit_code);
    std::set<std::string> ids;
    const Json report = run.json();
    for (const Json& bug : report["bugs"]) ids.insert(bug["id"].get<std::string>());
    return ids;
  };
  const auto torch = ids_for("--for torch==2.11 --target h200", 1);
  CHECK(torch.contains("bprop_negative_lse_hopper"));
  CHECK_FALSE(torch.contains("fp8_sink_hopper"));  // PyTorch's call has neither
  CHECK_FALSE(torch.contains("score_power"));
  const TemporaryFolder folder;
  const auto lock = folder.file("my.lock", "torch==2.11.0\nnvidia-cudnn-cu13==9.28.1.4\n");
  const auto newer = ids_for(fmt::format("--for {} --target h200", lock.string()), 1);
  CHECK_FALSE(newer.contains("bprop_negative_lse_hopper"));  // the pinned cuDNN applies, not the release's
  CHECK(newer.contains("dropout_resolution"));
}

TEST_CASE("an experiment on a simulated GPU shows only crashes and compile failures", "[bugs]") {
  const Run run = run_attnprobe("bugs run fp8_sink_hopper bprop_document --target h200 --format json");
  INFO(run.out << run.err);
  std::map<std::string, Json> seen;
  const Json report = run.json();
  for (const Json& experiment : report["experiments"]) seen[experiment["bug"].get<std::string>()] = experiment;
  REQUIRE(seen.size() == 2);
  CHECK(seen["bprop_document"]["seen"] == "not_run");  // the wrong result would appear only in a run
  CHECK(seen["bprop_document"]["agreement"] == "not_answered");
  if (seen["fp8_sink_hopper"]["cudnn"].get<std::string>().starts_with("9.19")) {
    CHECK(seen["fp8_sink_hopper"]["seen"] == "does_not_compile");
    CHECK(seen["fp8_sink_hopper"]["agreement"] == "as_known");
    CHECK(run.exit_code == 0);
  }
}

TEST_CASE("every experiment is a valid command line", "[bugs]") {
  // All are read before the first is asked.
  const Run run = run_attnprobe("bugs run --target t4 --format json");
  INFO(run.err);
  CHECK((run.exit_code == 0 || run.exit_code == 1));
  CHECK(run.json()["experiments"].size() > 10);
}

}  // namespace attnprobe::test::bugs_test
