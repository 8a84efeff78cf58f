#include "studies/hunt/condition_search.hpp"

#include <algorithm>
#include <numeric>

#include "attention/config.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "rules/condition.hpp"
#include "rules/flat_problem.hpp"
#include "run/data.hpp"
#include "studies/hunt/fence.hpp"
#include "studies/hunt/variations.hpp"
#include "studies/reduce/reduce.hpp"

using namespace attnprobe;
using namespace attnprobe::hunt;

namespace {

// A simulated cuDNN that fails if the condition holds, and is otherwise correct.
class Imagined {
 public:
  explicit Imagined(Json when) : when_(std::move(when)) {}

  Trial trial_of(const Probe& probe) const {
    Trial trial;
    trial.seed = probe.seed;
    trial.gpu = "h100";
    trial.cudnn = "9.14.0";
    trial.data = probe.data;
    trial.config = reduce::fields_of(probe.spec);
    const Json problem = rules::describe_problem(probe.spec, CudnnVersion{9, 14, 0}, 90);
    trial.seen = rules::holds(when_, problem) ? rules::Seen::wrong_result : rules::Seen::right;
    return trial;
  }

  std::vector<Trial> operator()(const std::vector<Probe>& probes) const {
    std::vector<Trial> trials;
    for (const auto& probe : probes) trials.push_back(trial_of(probe));
    return trials;
  }

 private:
  Json when_;
};

// The region around the first failing random config.
Region region_of(const Json& when) {
  const Imagined cudnn(when);
  std::vector<Trial> known;
  for (auto& probe : draw_probes(1, 1500)) {
    give_lengths(probe.spec);
    known.push_back(cudnn.trial_of(probe));
  }
  const auto failing = std::find_if(known.begin(), known.end(), [](const Trial& trial) { return fails(trial); });
  REQUIRE(failing != known.end());
  return fence(*failing, known, 90, cudnn, {});
}

// The number of random configs for which the found condition and the true one differ.
size_t misjudged(const Region& region, const Json& when) {
  size_t wrong = 0;
  for (const auto& probe : draw_probes(500'000, 1000)) {
    const Json problem = rules::describe_problem(probe.spec, CudnnVersion{9, 14, 0}, 90);
    if (rules::holds(condition_of(region.literals), problem) != rules::holds(when, problem)) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("A census names the lengths that a run would choose") {
  size_t compared = 0;
  for (auto& probe : draw_probes(1, 60)) {
    if (!probe.spec.mask.padding || probe.spec.paged || is_fp8(probe.spec)) continue;
    const auto graph = build::build_graph(probe.spec, {{9, 28, 0}, 90}).graph;
    const auto chosen = run::plan_data(graph, {}).lengths;
    give_lengths(probe.spec);
    CHECK(std::equal(chosen.q.begin(), chosen.q.end(), probe.spec.mask.seqlens_q.begin()));
    CHECK(std::equal(chosen.kv.begin(), chosen.kv.end(), probe.spec.mask.seqlens_kv.begin()));
    CHECK(probe.spec.mask.seqlens_q.size() == chosen.q.size());
    CHECK(reduce::spec_of(reduce::fields_of(probe.spec)));
    if (probe.spec.max_total_seqlen_q)
      CHECK(*probe.spec.max_total_seqlen_q >= std::accumulate(chosen.q.begin(), chosen.q.end(), int64_t{0}));
    ++compared;
  }
  CHECK(compared >= 5);
}

TEST_CASE("The region of ragged backward above head dimension 128 is found with its bound") {
  const Json when = {{"pass", "bprop"}, {"ragged", true}, {"head_dim_v", {{"min", 136}}}};
  const Region region = region_of(when);
  INFO(condition_of(region.literals).dump());
  CHECK(region.is_confirmed);
  CHECK(misjudged(region, when) == 0);
}

TEST_CASE("The region of sizes that are not a multiple is found") {
  const Json when = {{"pass", {{"not", "bprop"}}}, {"causal", true}, {"seqlen_kv", {{"not_multiple_of", 64}}}};
  const Region region = region_of(when);
  INFO(condition_of(region.literals).dump());
  CHECK(misjudged(region, when) <= 5);
}

TEST_CASE("The region of a comparison between two sizes is found") {
  const Json when = {{"padding", true}, {"seqlen_q", {{"above", "seqlen_kv"}}}};
  const Region region = region_of(when);
  INFO(condition_of(region.literals).dump());
  CHECK(misjudged(region, when) <= 5);
}

TEST_CASE("For sets that no conjunction separates, no condition is found") {
  std::vector<Example> examples;
  for (const auto& probe : draw_probes(1, 40))
    for (const bool fails : {true, false})
      examples.push_back({rules::describe_problem(probe.spec, CudnnVersion{9, 14, 0}, 90), fails});
  CHECK_FALSE(find_condition(examples).has_value());
}

TEST_CASE("Each variation changes the config, and simpler ones are marked") {
  const auto spec = attention::parse_configs(
                        R"({"pass": "bprop", "heads": 4, "seqlen": 300, "head_dim": 64, "bias": "11ss"})", "test")
                        .at(0)
                        .spec;
  const Json fields = reduce::fields_of(spec);
  bool drops_bias = false;
  for (const auto& variation : variations_of(fields)) {
    CHECK(variation.fields != fields);
    if (variation.what == "without bias") drops_bias = variation.is_simpler;
  }
  CHECK(drops_bias);
}
