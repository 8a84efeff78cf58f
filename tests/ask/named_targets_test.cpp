#include "ask/named_targets.hpp"

#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"

namespace attnprobe::test::named_targets_test {

namespace {

std::vector<gpu::Target> targets(const std::string& list) {
  return asking::named_targets(list, 60);
}

}  // namespace

TEST_CASE("two different targets with one id are refused with both locations", "[targets]") {
  const TemporaryFolder folder;
  Json json = to_json(*gpu::find("h200"));
  const std::string same = folder.file("same.json", json.dump());
  json["properties"]["multiProcessorCount"] = 1;
  const std::string mine = folder.file("mine.json", json.dump());
  CHECK(usage_error([&] { targets("h200," + mine); }) ==
        "--target: two targets are called \"h200\" and differ: attnprobe's own and " + mine + "; give " + mine +
            " a different \"id\"");
  CHECK(contains(usage_error([&] { targets(mine + ",t4,all"); }), mine + " and attnprobe's own; give " + mine));
  CHECK(contains(usage_error([&] { targets(same + "," + mine); }), same + " and " + mine));
  // A target that is named twice is asked once.
  CHECK(targets("h200,t4,h200," + same).size() == 2);
  CHECK(targets("all,representative").size() == gpu::catalogue().size());
}

}  // namespace attnprobe::test::named_targets_test
