// Properties of every config of the random generator: its question is unchanged by all conversions and their inverses.
#include "attention/random_config.hpp"
#include "attention/fields.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::random_config_test {

TEST_CASE("random configs: normalising and parsing again changes neither configs nor graphs", "[random][slow]") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Json config = attention::random_config(seed);
    INFO("seed " << seed << ": " << config.dump());
    const auto spec = attention::parse_configs(config.dump(), "random").at(0).spec;
    const Json normalised = to_json(spec);
    const auto again = attention::parse_configs(normalised.dump(), "normalised").at(0).spec;
    CHECK(to_json(again) == normalised);
    for (const CudnnVersion version : std::initializer_list<CudnnVersion>{90800, 91900, 92800}) {
      const build::BuildContext context{version, 90};
      const auto graph = build::build_graph(spec, context).graph;
      CHECK(hash(build::build_graph(again, context).graph) == hash(graph));
      CHECK(hash(graph::from_json(to_json(graph))) == hash(graph));
    }
  }
}

TEST_CASE("random configs: the generator is identical on every machine and covers every feature", "[random]") {
  std::map<std::string, int> keys;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const Json config = attention::random_config(seed);
    for (const auto& [key, value] : config.items()) ++keys[key];
  }
  for (const char* key : {"alibi",   "bias",     "block_mask", "deterministic",  "dqkv_layout", "dropout",
                          "fp8",     "heads_kv", "layout",     "mask",           "max_logit",   "max_total_seqlen_q",
                          "o_dtype", "paged",    "pass",       "ragged_offsets", "scale",       "score_mod",
                          "sink",    "softcap",  "sum_exp"}) {
    INFO(key);
    CHECK(keys[key] > 10);
  }
  CHECK(attention::random_config(1).dump() == attention::random_config(1).dump());
}

}  // namespace attnprobe::test::random_config_test
