#include "run/data.hpp"

#include <fmt/format.h>

#include "attention/config.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::data_test {

TEST_CASE("A graph that no data is made for is not run, and says what it is", "[run]") {
  const std::pair<const char*, const char*> cases[] = {
      {R"("mask": "padding", "cu_seqlens": "both")", "prefix sums of lengths: "},
      {R"("layout": "thd", "mask": "padding", "ragged_unit": "token")", "ragged offsets in tokens: "},
      {R"("pattern": "sdpa_unified", "rope": {"dim": 64})", "rotary embedding: "},
      {R"("dtype": "fp8_e4m3", "pattern": "sdpa_unified")", "fp8 in the unified SDPA operation: "},
      {R"("pass": "fprop_train", "stats_log2": true)", "statistics in log2: "}};
  for (const auto& [members, words] : cases) {
    INFO(members);
    const std::string config = fmt::format(R"({{"batch": 2, "heads": 2, "seqlen": 128, "head_dim": 64, {}}})", members);
    const auto spec = attention::parse_configs(config, "test").front().spec;
    const auto built = build::build_graph(spec, {{9, 28, 0}, 100});
    CHECK_THROWS_WITH(run::plan_data(built.graph, {}), StartsWith(words));
  }
  const auto plain = attention::parse_configs(R"({"heads": 2, "seqlen": 128, "head_dim": 64})", "test").front().spec;
  CHECK_NOTHROW(run::plan_data(build::build_graph(plain, {{9, 28, 0}, 100}).graph, {}));
}

}  // namespace attnprobe::test::data_test
