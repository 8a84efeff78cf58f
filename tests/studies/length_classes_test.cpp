// With known kernels, few lengths are compiled, and predictions for the others are correct.
#include "studies/plans/length_classes.hpp"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "support.hpp"

namespace attnprobe::test::length_classes_test {

using plans::ClassLength;
using plans::Grouping;
using KernelOf = std::function<std::string(int64_t tokens)>;

// The number of compiled lengths until all are known, and whether all predictions are correct.
struct Search {
  size_t compiled = 0, wrong = 0;
};

Search search(int64_t first, int64_t last, int64_t step, const KernelOf& kernel_of,
              Grouping grouping = Grouping::levels_that_agree) {
  std::vector<ClassLength> lengths;
  for (int64_t tokens = first; tokens <= last; tokens += step) lengths.push_back({tokens});
  Search found;
  for (auto wanted = next_to_compile(lengths, grouping); !wanted.empty(); wanted = next_to_compile(lengths, grouping))
    for (const size_t i : wanted) {
      REQUIRE_FALSE(lengths[i].kernel);
      lengths[i].kernel = kernel_of(lengths[i].tokens);
      ++found.compiled;
    }
  const auto kernels = kernels_of(lengths, grouping);
  for (size_t i = 0; i < lengths.size(); ++i) found.wrong += kernels[i] == kernel_of(lengths[i].tokens) ? 0 : 1;
  return found;
}

TEST_CASE("lengths with one kernel need a handful of compiled plans", "[plans_bill]") {
  const auto found = search(1, 500, 1, [](int64_t) { return "a"; });
  CHECK(found.wrong == 0);
  CHECK(found.compiled <= 5);
}

TEST_CASE("multiples of a tile and short lengths have their own kernels", "[plans_bill]") {
  for (const int64_t tile : {64, 128, 256}) {
    const auto found = search(1, 512, 1, [&](int64_t tokens) {
      return fmt::format("{} {}", tokens <= 128 ? "short" : "long", tokens % tile == 0 ? "whole" : "part");
    });
    INFO(tile);
    CHECK(found.wrong == 0);
    CHECK(found.compiled <= 14);
  }
}

TEST_CASE("a bound that is not a multiple of 64 is also found", "[plans_bill]") {
  const auto found = search(1, 3000, 1, [](int64_t tokens) { return tokens < 1371 ? "a" : tokens < 2777 ? "b" : "c"; });
  CHECK(found.wrong == 0);
  CHECK(found.compiled <= 60);
}

TEST_CASE("a kernel for only even lengths is found by their level", "[plans_bill]") {
  const auto found = search(101, 300, 1, [](int64_t tokens) { return tokens % 2 == 0 ? "even" : "odd"; });
  CHECK(found.wrong == 0);
  CHECK(found.compiled <= 12);
}

TEST_CASE("searching each level separately finds kernels that agreement between levels would miss", "[plans_bill]") {
  // No real kernel is like this: multiples of 8 that are not multiples of 16.
  const KernelOf odd = [](int64_t tokens) { return tokens % 16 == 8 ? "b" : "a"; };
  CHECK(search(1, 200, 1, odd).wrong > 0);
  CHECK(search(1, 200, 1, odd, Grouping::each_level).wrong == 0);
}

TEST_CASE("a single length and lengths far apart are all compiled", "[plans_bill]") {
  CHECK(search(77, 77, 1, [](int64_t) { return "a"; }).compiled == 1);
  const auto found = search(64, 8192, 1024, [](int64_t tokens) { return fmt::format("{}", tokens); });
  CHECK(found.compiled == 8);
  CHECK(found.wrong == 0);
}

}  // namespace attnprobe::test::length_classes_test
