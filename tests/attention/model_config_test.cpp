// Models' config.json files, of packages and repositories, as attention configs.
#include "attention/model_config.hpp"

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::model_config_test {

using namespace attnprobe::attention;

namespace {

std::string lines_of(const std::vector<AttentionConfig>& configs) {
  std::string lines;
  for (const auto& one : configs) lines += one.spec.name + ": " + describe(one.spec) + "\n";
  return lines;
}

std::string lines_of(const Json& model) {
  return lines_of(parse_configs(json_text(model), "model/config.json"));
}

}  // namespace

TEST_CASE("A model's config.json gives prefill, decode and training configs", "[config][model]") {
  const Json models = load_json((source_dir() / "tests/fixtures/models/models.json").string());
  CHECK(models.size() >= 25);
  for (const auto& model : models) {
    INFO(model["model"].get<std::string>());
    CHECK(Json(split(lines_of(model["config"]), '\n')) == model["asks"]);
  }
}

}  // namespace attnprobe::test::model_config_test
