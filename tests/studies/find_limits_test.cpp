// Limits found by asking cuDNN are the same as when every value is asked.
#include "studies/limits/find_limits.hpp"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "ask/chosen_libraries.hpp"
#include "ask/named_targets.hpp"
#include "base/text.hpp"
#include "browser.hpp"
#include "studies/limits/limits_text.hpp"
#include "support.hpp"

namespace attnprobe::test::find_limits_test {

using namespace attnprobe::limits;

namespace {

Question question(const std::string& axis, const std::vector<std::string>& vary, const std::string& targets,
                  const std::vector<attention::Override>& fields) {
  Question asked;
  asked.axis = read_axes({axis}, "limits").front();
  asked.vary = read_axes(vary, "--vary");
  asked.configs = attention::configs_from_options(fields);
  asked.targets = asking::named_targets(targets, 60);
  asking::PlanOptions options;
  asked.cudnns = asking::choose_libraries({""}, asked.targets, options);
  return asked;
}

}  // namespace

TEST_CASE("Axes are fields with values, ranges or defaults", "[limits]") {
  const auto axes = read_axes({"mask=none,causal,pass,head_dim=8:64:8", "layout=bshd"}, "--vary");
  REQUIRE(axes.size() == 4);
  CHECK(axes[0].name == "mask");
  CHECK(axes[0].values == std::vector<Json>{"none", "causal"});
  CHECK(axes[1].values == std::vector<Json>{"fprop", "fprop_train", "bprop"});
  CHECK(count_of(axes[2]) == 8);
  CHECK(value_at(axes[2], 7) == 64);
  CHECK_FALSE(axes[2].range_is_usual);
  CHECK(read_axes({"seqlen_q"}, "limits").front().range_is_usual);

  const auto refusal = [](const std::string& words) { return usage_error([&] { read_axes({words}, "limits"); }); };
  CHECK_THAT(refusal("hed_dim"),
             ContainsSubstring("limits: \"hed_dim\" is not a field that can be varied (did you mean \"head_dim\"?)"));
  CHECK_THAT(refusal("head_dim=64:8"), ContainsSubstring("limits head_dim: \"64:8\" is descending"));
  CHECK_THAT(refusal("head_dim,head_dim"), ContainsSubstring("head_dim is named twice"));
  CHECK_THAT(refusal("dropout"), ContainsSubstring("name them: dropout=VALUE,VALUE"));
}

TEST_CASE("Limits of the head dimension equal those found by asking every head dimension", "[limits]") {
  const Question asked = question("head_dim=1:160", {"pass=fprop,bprop", "mask=none,causal"}, "a100",
                                  {{"heads", 4}, {"seqlen", 256}, {"head_dim", 64}});
  const Limits found = find_limits(asked, {}, {});
  REQUIRE(found.rows.size() == 4);
  CHECK(found.cells == 4 * 160);
  CHECK(found.asked == found.cells);
  // Asks every value, as a user would.
  for (const std::string pass : {"fprop", "bprop"}) {
    const Run all =
        run_attnprobe(fmt::format("--heads 4 --seqlen 256 --head-dim 1:160 --mask none,causal --pass {} --target a100 "
                                  "--quick --format jsonl",
                                  pass));
    std::map<std::string, std::string> answers;
    std::istringstream lines(all.out);
    for (std::string line; std::getline(lines, line);) {
      const Json result = Json::parse(line);
      if (!result.contains("config")) continue;
      const Json& config = result["config"];
      answers[fmt::format("{} {} {}", json_text(config["mask"]), result["target"]["id"].get<std::string>(),
                          config["head_dim_qk"].get<int64_t>())] = result["usable"].get<std::string>();
    }
    REQUIRE(answers.size() == 2 * 160);
    size_t different = 0;
    for (const Row& row : found.rows)
      if (row.varied[0] == pass)
        for (size_t i = 0; i < 160; ++i)
          different +=
              name_of(point_at(found, row, asked.axis, i).word) ==
                      answers.at(fmt::format("{} {} {}", json_text(row.varied[1]), asked.targets[row.target].id, i + 1))
                  ? 0
                  : 1;
    CHECK(different == 0);
  }
  // Equal rows share one line, and each end has its reason.
  const std::string text = limits::limits_text(asked, found, {});
  CHECK_THAT(text, ContainsSubstring("Embedding dim per head for q and k is not a multiple of 8 (cuDNN)"));
  CHECK(found.lines.size() < found.rows.size());
  const Json json = limits::limits_json(asked, found, "attnprobe limits …");
  REQUIRE(json["rows"].size() == 4);
  CHECK(json["rows"][0]["runs"].size() >= 2);
  CHECK(json["rows"][0]["edges"][0].contains("reason"));
}

TEST_CASE("K/V head counts are all divisors of the query head count", "[limits]") {
  const std::vector<attention::Override> fields{
      {"seqlen", 1024}, {"head_dim", 128}, {"dtype", "bf16"}, {"mask", "causal"}, {"heads_kv", 1}};
  for (const auto& [heads, divisors] : std::vector<std::pair<int, std::string>>{
           {40, "1, 2, 4, 5, 8, 10, 20, 40"}, {60, "1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60"}}) {
    auto all = fields;
    all.push_back({"heads_q", heads});
    const Question asked = question("heads_kv=1:512", {}, "rtx4090", all);
    const std::string text = limits::limits_text(asked, find_limits(asked, {}, {}), {});
    CHECK_THAT(text, ContainsSubstring(fmt::format("rtx4090  {}  [1]", divisors)));
    CHECK_THAT(text, EndsWith("Asked all 512 values.\n"));
  }
}

TEST_CASE("Skipped values of a long range are printed as not asked", "[limits]") {
  Question asked = question("seqlen_q=1:2000", {}, "h100",
                            {{"heads", 2}, {"seqlen_q", 1}, {"seqlen_kv", 96}, {"head_dim", 64}, {"pass", "fprop"}});
  const Limits found = find_limits(asked, {}, {});
  REQUIRE(found.rows.size() == 1);
  for (const int64_t always : {1, 3, 32, 96, 192, 255, 256, 257, 1023, 1025, 2000})
    CHECK(found.rows[0].asked.count(always) == 1);
  CHECK_THAT(limits::limits_text(asked, found, {}),
             ContainsSubstring(" of 2000 asked)") && ContainsSubstring("The others were not asked: "));
  const Json run = limits::limits_json(asked, found, "")["rows"][0]["runs"][0];
  CHECK(run["asked"].get<int64_t>() < run["count"].get<int64_t>());
  // Many rows together are also sampled.
  asked.axis = read_axes({"seqlen_q=1:200"}, "limits").front();
  asked.cells_in_full = 199;
  CHECK(find_limits(asked, {}, {}).asked < 100);
}

TEST_CASE("Range ends that no config allows are refused before any allocation", "[limits]") {
  const auto refusal = [](const std::string& words) { return usage_error([&] { read_axes({words}, "limits"); }); };
  for (const char* field : {"head_dim", "window_left", "page_size", "token_gap"})
    CHECK_THAT(refusal(std::string(field) + "=1:9223372036854775807"),
               StartsWith(fmt::format("limits {}: 9223372036854775807 is out of range", field)));
  CHECK_THAT(refusal("head_dim=1:1000000000,5"), ContainsSubstring("values"));
  // A wide step counts as one step.
  BoundarySearch search({1, 1'000'000'001, 50'000'000}, {});
  while (!search.wanted().empty())
    for (const int64_t value : search.wanted()) search.tell(value, value > 500'000'000);
  CHECK(search.label_of(1'000'000'001) == 1);
}

TEST_CASE("A varied mask does not drop a window, and token_gap does not drop a layout", "[limits]") {
  const std::string problem = " --heads 2 --seqlen 64 --head-dim 64 --target a100";
  const Run mask =
      run_attnprobe("limits head_dim=64,128 --vary mask=none,causal --mask '{\"window_left\":8}'" + problem);
  CHECK(mask.exit_code == 2);
  CHECK_THAT(mask.err, ContainsSubstring("--vary mask: \"causal\" would drop {\"window_left\":8}"));
  const Run causal = run_attnprobe("limits mask --causal" + problem);
  CHECK(causal.exit_code == 2);
  CHECK_THAT(causal.err, ContainsSubstring("--causal adds to mask, which is varied"));
  const Run gap = run_attnprobe("limits token_gap=0:8:8 --layout sbhd" + problem);
  CHECK(gap.exit_code == 2);
  CHECK_THAT(gap.err, ContainsSubstring("limits token_gap: it sets the strides of layout bshd"));
}

TEST_CASE("Values in steps of one are all asked", "[limits]") {
  const Question asked =
      question("dtype=f16,bf16,f32", {}, "h100", {{"heads", 4}, {"seqlen", 256}, {"head_dim", 64}, {"pass", "bprop"}});
  const Limits found = find_limits(asked, {}, {});
  REQUIRE(found.rows.size() == 1);
  CHECK(found.asked == 3);
  CHECK(found.rows[0].points[0].word == answer::Word::yes);
  CHECK(found.rows[0].points[2].word == answer::Word::no);
  CHECK_FALSE(found.rows[0].points[2].reason.empty());
}

TEST_CASE("A value that contradicts another is invalid, with the reason", "[limits]") {
  const Question asked =
      question("head_dim_v=8:96:8", {}, "h100",
               {{"heads", 4}, {"seqlen", 256}, {"head_dim_qk", 64}, {"head_dim_v", 64}, {"layout", "bs3hd"}});
  const Limits found = find_limits(asked, {}, {});
  CHECK(point_at(found, found.rows[0], asked.axis, 0).word == answer::Word::invalid);
  CHECK_THAT(point_at(found, found.rows[0], asked.axis, 0).reason, ContainsSubstring("interleaved"));
  CHECK(point_at(found, found.rows[0], asked.axis, 7).word == answer::Word::yes);
  CHECK(found.asked == 1);  // an invalid config is not asked
}

TEST_CASE("The command prints runs, reasons and maps", "[limits]") {
  const std::string problem = " --heads 4 --seqlen 256 --pass bprop --target a100 ";
  const Run table = run_attnprobe("limits head_dim=1:200" + problem);
  CHECK(table.exit_code == 0);
  CHECK_THAT(table.out, ContainsSubstring("8–128 step 8"));
  CHECK_THAT(table.out, ContainsSubstring("reasons"));
  const Run map = run_attnprobe("limits head_dim=8:320:8,seqlen_kv=64:512:64" + problem);
  CHECK(map.exit_code == 0);
  CHECK_THAT(map.out, ContainsSubstring("     128 ████████\n"));
  CHECK_THAT(map.out, ContainsSubstring("     136 ········\n"));
  const Run svg = run_attnprobe("limits head_dim=8:320:8,seqlen_kv=64:512:64 --format svg" + problem);
  CHECK_THAT(svg.out, ContainsSubstring("<title>head_dim 128: 64 to 512: yes</title>"));
  const Run no_map = run_attnprobe("limits head_dim --format svg" + problem);
  CHECK(no_map.exit_code == 2);
  CHECK_THAT(no_map.err, ContainsSubstring("--format svg draws a map"));
  CHECK_THAT(run_attnprobe("limits head_dim --format html" + problem).err,
             ContainsSubstring("--format html draws a map"));
  CHECK_THAT(run_attnprobe("limits head_dim,seqlen,batch" + problem).err,
             ContainsSubstring("accepts one field, or two for a map"));
}

TEST_CASE("A missing shape is assumed, and reported", "[limits]") {
  const Run table = run_attnprobe("limits head_dim=8:64:8 --target a100");
  CHECK(table.exit_code == 0);
  CHECK_THAT(table.out, ContainsSubstring("(heads 8, seqlen 1024, by default)"));
  const Run given = run_attnprobe("limits head_dim=8:64:8 --seqlen 256 --target a100 --format json");
  const Json json = Json::parse(given.out);
  CHECK(json["assumed"] == Json::array({"heads 8"}));
  CHECK_THAT(json["command"].get<std::string>(), ContainsSubstring("--seqlen 256 --heads 8 "));
  CHECK(json["widest_unasked"] == 0);  // so few numbers are all asked
  const Run half = run_attnprobe("limits head_dim --heads-q 8 --seqlen 256 --target a100");
  CHECK(half.exit_code == 2);
  CHECK_THAT(half.err, ContainsSubstring("\"heads_kv\" is missing"));
}

TEST_CASE("A column that covers all values of a field states this once", "[limits]") {
  const Run table = run_attnprobe("limits head_dim=32:96:32 --vary mask --target a100");
  CHECK_THAT(table.out, ContainsSubstring("  all 6  a100"));
  CHECK_THAT(table.out, ContainsSubstring("  all of mask: none, causal, causal_bottom_right, padding,"));
}

TEST_CASE("Consecutive skipped numbers are counted within ranges", "[limits]") {
  Limits found;
  Row row;
  row.runs = {{8, 64, 8, 0, 0}, {1, 63, 1, 8, 1}};
  for (const int64_t value : {8, 16, 64, 1, 63}) row.asked[value];
  found.rows.push_back(row);
  CHECK(widest_unasked(found) == 61);  // 2 … 62; the multiples of 8 among them belong to another run
  found.rows[0].asked[30];
  CHECK(widest_unasked(found) == 32);
}

TEST_CASE("Times are available only for real GPUs and maps", "[limits]") {
  const std::string map =
      "limits head_dim=60:128:34,seqlen=64:128:64 --heads 2 --pattern sdpa_composite --by time --target h200";
  const Run simulated = run_attnprobe(map);
  CHECK(simulated.exit_code == 2);
  CHECK_THAT(simulated.err,
             ContainsSubstring(
                 "by time on h200: timing needs a real GPU, and this one is simulated; allowed: device:0, device:all"));
  const Run line = run_attnprobe("limits head_dim --heads 2 --seqlen 64 --by time --target h200");
  CHECK(line.exit_code == 2);
  CHECK_THAT(line.err, ContainsSubstring("--by time colours a map, of two fields"));
  // A test's stand-in for a GPU runs every plan of every point, and has no clock.
  const Run ran = run_attnprobe(map, {{"ATTNPROBE_TEST_PLANS", "right"}});
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, ContainsSubstring("     128 ██\n"));
  CHECK_THAT(ran.out, ContainsSubstring("      94 ··\n"));
  CHECK_THAT(ran.out, ContainsSubstring("asked 6 of 6 cells"));
  CHECK_THAT(ran.err, ContainsSubstring("8 plans"));
}

TEST_CASE("A map's page has each point, and works in a browser", "[limits][page][browser][slow]") {
  const TemporaryFolder folder;
  const std::string page = (folder.path() / "map.html").string();
  const std::string map = "limits head_dim=8:320:8,seqlen_kv=64:1024:64 --heads 4 --seqlen-q 256 --pass bprop ";
  REQUIRE(run_attnprobe(map + "--target a100,t4 --format html -o " + page).exit_code == 0);
  CHECK_THAT(read_text(page), ContainsSubstring("\"by\":[\"answer\",\"engine\",\"category\"]"));
  CHECK_THAT(run_attnprobe(map + "--target t4 --by category --format html").out,
             ContainsSubstring("\"by\":[\"answer\",\"category\"]"));
  check_in_browser("tests/report/check_map.py " + page);
}

}  // namespace attnprobe::test::find_limits_test
