// Which simulated GPUs were compared with a real one.
#include "gpu/comparisons.hpp"

#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"
#include "version_rules.hpp"

namespace attnprobe::test::comparisons_test {

TEST_CASE("a simulated GPU states whether it was compared with a real one", "[gpu]") {
  CHECK_THAT(
      gpu::compared_text(*gpu::find("h200")),
      ContainsSubstring("compared with a real h200 (12,000 configs with cuDNN 9.14.0, 9.19.0, 9.26.1: no difference)"));
  CHECK(gpu::compared_text(*gpu::find("gh200")) == "never compared with a real one (sm_90 was: h100, h200)");
  CHECK(gpu::compared_text(*gpu::find("b200")) == "never compared with a real one");
}

TEST_CASE("an unreadable comparison is reported with its location", "[gpu]") {
  const auto message = [](const char* entry) {
    return internal_error(
        [&] { gpu::parse_comparisons(std::string(R"({"comment": "c", "comparisons": [)") + entry + "]}"); });
  };
  CHECK_THAT(
      message(
          R"({"gpu": "h900", "cudnn": "9.19.0", "configs": 1, "engine_configs": 1, "different": 0, "source": "s"})"),
      ContainsSubstring("/comparisons/0/gpu") && ContainsSubstring("h900"));
  CHECK_THAT(
      message(R"({"gpu": "h200", "cudnn": "nine", "configs": 1, "engine_configs": 1, "different": 0, "source": "s"})"),
      ContainsSubstring("/comparisons/0/cudnn") && ContainsSubstring("nine"));
}

}  // namespace attnprobe::test::comparisons_test
