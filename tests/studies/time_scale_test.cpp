// Maps coloured by time, drawn from given numbers.
#include "studies/limits/time_scale.hpp"

#include <fstream>

#include "attention/config.hpp"
#include "browser.hpp"
#include "gpu/catalogue.hpp"
#include "studies/limits/limits_text.hpp"
#include "support.hpp"

namespace attnprobe::test::time_scale_test {

using namespace attnprobe::limits;

namespace {

struct Drawn {
  Question question;
  Limits found;
};

// Two rows of three points: 1, 2 and 4 ms below; 1 ms and two refused points above.
Drawn timed_map() {
  Drawn drawn;
  Question& question = drawn.question;
  question.configs = attention::configs_from_options({{"heads", 8}, {"seqlen", 64}, {"head_dim", 64}});
  question.vary = read_axes({"head_dim=64,128"}, "limits");
  question.axis = read_axes({"seqlen=64:192:64"}, "limits").front();
  question.targets = {*gpu::find("h200")};
  question.cudnns.emplace_back();
  question.times = true;
  Limits& found = drawn.found;
  found.labels = {"yes", "no"};
  found.of_label = {
      {.word = answer::Word::yes, .category = {}, .reason = {}, .source = "cuDNN", .engine = 8},
      {.word = answer::Word::no, .category = "head_dim", .reason = "too large", .source = "cuDNN", .engine = {}}};
  found.asked = found.cells = 6;
  for (const int head_dim : {64, 128}) {
    Row row;
    row.varied = {head_dim};
    const bool is_low = head_dim == 64;
    row.runs = is_low ? std::vector<limits::Run>{{64, 192, 64, 0, 0}}
                      : std::vector<limits::Run>{{64, 64, 64, 0, 0}, {128, 192, 64, 0, 1}};
    for (const auto& run : row.runs)
      for (int64_t n = run.first; n <= run.last; n += run.step)
        row.asked[n] = found.of_label[static_cast<size_t>(run.label)];
    row.times[64] = {.first_ms = 1, .fastest_ms = 1, .fastest_engine = 8};
    if (is_low) {
      row.times[128] = {.first_ms = 2, .fastest_ms = 1.5, .fastest_engine = 5};
      row.times[192] = {.first_ms = 4, .fastest_ms = 4, .fastest_engine = 8};
    }
    found.rows.push_back(std::move(row));
  }
  return drawn;
}

}  // namespace

TEST_CASE("Times are on a logarithmic scale", "[limits]") {
  const Drawn drawn = timed_map();
  const limits::TimeScale scale(drawn.found);
  REQUIRE_FALSE(scale.empty());
  CHECK(scale.shortest_ms() == 1);
  CHECK(scale.longest_ms() == 4);
  CHECK(scale.share_of(2) == Approx(0.5));
  CHECK(scale.digit(1) == "0");
  CHECK(scale.digit(2) == "5");
  CHECK(scale.digit(4) == "9");
  CHECK(scale.colour(1) == limits::TimeScale::stops().front());
  CHECK(scale.colour(4) == limits::TimeScale::stops().back());
  CHECK(limits::TimeScale::colour_at(1.0 / 3) == limits::TimeScale::stops()[1]);
  CHECK(limits::TimeScale(Limits()).empty());
}

TEST_CASE("A map of times has digits, colours and the faster choices", "[limits]") {
  const auto& [question, found] = timed_map();
  const std::string text = limits::map_text(question, found, {});
  CHECK_THAT(text, ContainsSubstring("     128 0··\n"));
  CHECK_THAT(text, ContainsSubstring("      64 059\n"));
  CHECK_THAT(text, ContainsSubstring("0–9 time of the first choice, from 1 ms to 4 ms in equal ratios"));
  const std::string svg = limits::map_svg(question, found);
  CHECK_THAT(svg, ContainsSubstring("<title>head_dim 64: 128 to 128: yes, 2 ms, engine 5 1.5 ms</title>"));
  CHECK_THAT(svg, ContainsSubstring("<title>head_dim 128: 128 to 192: no</title>"));
  CHECK_THAT(svg, ContainsSubstring("fill=\"#fff1a8\""));
  const std::string page = limits::map_html(question, found, "attnprobe limits …");
  CHECK_THAT(page, ContainsSubstring(R"("by":["answer","time"])"));
  CHECK_THAT(page, ContainsSubstring(R"("shortest_ms":1.0,"longest_ms":4.0)"));
  CHECK_THAT(page, ContainsSubstring(R"("ms":2.0,"fastest_ms":1.5,"fastest_engine":5)"));
  const Json json = limits::limits_json(question, found, "attnprobe limits …");
  CHECK(json["rows"][0]["times"][1]["fastest_engine"] == 5);
}

TEST_CASE("A map of times works in a browser", "[limits][page][browser][slow]") {
  const TemporaryFolder folder;
  const auto& [question, found] = timed_map();
  const std::string page = (folder.path() / "times.html").string();
  std::ofstream(page) << limits::map_html(question, found, "attnprobe limits …");
  check_in_browser("tests/report/check_map.py " + page);
}

}  // namespace attnprobe::test::time_scale_test
