// Lengths in every spelling, and the cost of rounding them up.
#include "studies/plans/workload.hpp"

#include <fmt/format.h>

#include <fstream>

#include "support.hpp"

namespace attnprobe::test::workload_test {

attention::AttentionSpec spec_of(const std::string& json) {
  return attention::parse_configs(json, "test").at(0).spec;
}

TEST_CASE("lengths are words, ranges with steps, and lines of a file with counts", "[plans_bill]") {
  using plans::Length;
  CHECK(plans::read_lengths("512") == std::vector<Length>{{512, 1}});
  CHECK(plans::read_lengths("1k:4k:x2") == std::vector<Length>{{1024, 1}, {2048, 1}, {4096, 1}});
  CHECK(plans::read_lengths("3:5,4,100:300:100") ==
        std::vector<Length>{{3, 1}, {4, 2}, {5, 1}, {100, 1}, {200, 1}, {300, 1}});
  const TemporaryFolder folder;
  const std::string file = folder.path() / "lengths.txt";
  std::ofstream(file) << "# of yesterday\n128 40\n  64:192:64   2\n\n";
  CHECK(plans::read_lengths(file) == std::vector<Length>{{64, 2}, {128, 42}, {192, 2}});
  std::ofstream(file) << "128\n12x\n";
  CHECK_THROWS_WITH(plans::read_lengths(file), ContainsSubstring(file + ":2: \"12x\" is not a length; allowed: 512"));
  CHECK_THROWS_WITH(plans::read_lengths("5:3"), ContainsSubstring("--lengths: \"5:3\" is not a length"));
  CHECK_THROWS_WITH(plans::read_lengths("0"), ContainsSubstring("from 1 to 2147483648"));
  CHECK_THROWS_WITH(plans::read_lengths("1:1000000"), ContainsSubstring("more than 100000 lengths"));
}

TEST_CASE("only keys vary in a decoding step, and also queries in self-attention", "[plans_bill]") {
  const auto decode =
      plans::shapes_of(spec_of(R"({"heads": 4, "seqlen_q": 1, "seqlen_kv": 7, "head_dim": 64})"), {{99, 1}});
  CHECK(decode.front().spec.seqlen_q == 1);
  CHECK(decode.front().spec.seqlen_kv == 99);
  const auto prefill = plans::shapes_of(spec_of(R"({"heads": 4, "seqlen": 7, "head_dim": 64})"), {{99, 1}});
  CHECK(prefill.front().spec.seqlen_q == 99);
  CHECK(prefill.front().spec.seqlen_kv == 99);
}

TEST_CASE("padded tokens are masked by the causal mask or a padding mask, or padding is impossible", "[plans_bill]") {
  const auto shape = [](const char* mask, int64_t queries) {
    auto spec = spec_of(fmt::format(R"({{"heads": 4, "seqlen_q": {}, "seqlen_kv": 100, "head_dim": 64, "mask": "{}"}})",
                                    queries, mask));
    return plans::Shape{spec, {100, 1}};
  };
  CHECK_FALSE(plans::padded(shape("causal", 100), 128)->spec.mask.padding);
  CHECK(plans::padded(shape("none", 100), 128)->spec.mask.padding);
  CHECK(plans::padded(shape("none", 1), 128)->spec.seqlen_kv == 128);
  CHECK(plans::padded(shape("causal", 50), 128)->spec.mask.padding);
  CHECK_FALSE(plans::padded(shape("causal_bottom_right", 50), 128));
}

TEST_CASE("families are padded separately, and unpaddable lengths are unchanged", "[plans_bill]") {
  const auto spec = [](const char* fields) {
    return spec_of(fmt::format(R"({{"heads": 4, "head_dim": 64, {}}})", fields));
  };
  const std::vector<plans::Length> lengths{{10, 1}, {60, 3}, {64, 1}, {100, 1}};
  auto shapes = plans::shapes_of(spec(R"("seqlen_q": 1, "seqlen_kv": 7)"), lengths);
  const auto prefill = plans::shapes_of(spec(R"("seqlen": 7, "mask": "causal")"), lengths);
  shapes.insert(shapes.end(), prefill.begin(), prefill.end());
  const auto fixed = plans::shapes_of(spec(R"("seqlen_q": 3, "seqlen_kv": 7, "mask": "causal_bottom_right")"), lengths);
  shapes.insert(shapes.end(), fixed.begin(), fixed.end());
  CHECK(plans::family_of(shapes[0]) == plans::family_of(shapes[3]));
  CHECK(plans::family_of(shapes[0]) != plans::family_of(shapes[4]));
  const auto found = plans::bucketings(shapes).front();
  CHECK(found.name == "multiples of 64");
  CHECK(found.shapes.size() == 4 + 2 + 2);
  CHECK(found.lengths == std::vector<int64_t>{64, 128});
  CHECK(found.adds_padding);  // lengths of the decoding step
}

TEST_CASE("rounding up is measured in operations, and the cheapest lengths are found", "[plans_bill]") {
  const auto shapes = plans::shapes_of(spec_of(R"({"heads": 4, "seqlen_q": 1, "seqlen_kv": 7, "head_dim": 64})"),
                                       {{10, 1}, {60, 3}, {64, 1}, {100, 1}});
  const auto found = plans::bucketings(shapes);
  // 10 + 180 + 64 + 100 = 354 keys; to multiples of 64: 64 + 192 + 64 + 128 = 448.
  REQUIRE(found.front().name == "multiples of 64");
  CHECK(found.front().lengths == std::vector<int64_t>{64, 128});
  CHECK(found.front().work == Approx(448.0 / 354));
  const auto two = std::find_if(found.begin(), found.end(), [](const auto& b) { return b.name == "2 lengths"; });
  REQUIRE(two != found.end());
  // {64, 100}: 64 + 192 + 64 + 100 = 420; {60, 100}: 60 + 180 + 100 + 100 = 440; {10, 100}: 510.
  CHECK(two->lengths == std::vector<int64_t>{64, 100});
  CHECK(two->work == Approx(420.0 / 354));
}

}  // namespace attnprobe::test::workload_test
