// The default answer: one screen of 24 lines by 80 columns.
#include <fmt/format.h>

#include <algorithm>

#include "answer/judge.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "report/formats/screen_text.hpp"

namespace attnprobe::test::screen_test {

using namespace attnprobe::report;

namespace {

answer::Answer answer_on(const std::string& config, const std::string& target, answer::Verdict verdict,
                         const std::string& reason = "") {
  answer::Answer result;
  result.config.spec.name = config;
  result.target.id = result.target.name = target;
  result.target.sm = 90;
  result.verdict = verdict;
  if (verdict != answer::Verdict::supported) {
    result.root_cause.emplace();
    result.root_cause->reason = reason;
    result.root_cause->explanation = "In plain words.";
  }
  answer::weigh(result);
  return result;
}

const rules::Requirement need{
    "paged_9_5", "paging", "cuDNN 9.5.0", "paging needs cuDNN 9.5.0; this is 9.2.1", {"doc", "https://x/3"}};

TextStyle narrow() {
  TextStyle style;
  style.width = 80;
  return style;
}

size_t widest_line(const std::string& text) {
  size_t widest = 0;
  for (const std::string& line : split(text, '\n')) widest = std::max(widest, line.size());
  return widest;
}

}  // namespace

TEST_CASE("A refused config shows the reason, the requirement and the confirmed fixes", "[text]") {
  auto result = answer_on("bert", "a100", answer::Verdict::unsupported, "d is not a multiple of 8");
  result.root_cause->advice = {"head dimension 104\nattnprobe --head-dim 104"};
  result.root_cause->in_general = "Pad it.";
  const std::string text = screen_text({&result}, narrow());
  CHECK(text ==
        "bert\n"
        "no: d is not a multiple of 8\n"
        "  asked  sdpa fprop b1 h0 s0 d0 f16 bshd on a100 (sm_90, simulated)\n"
        "  why    In plain words.\n"
        "  fix    head dimension 104 (probed)\n"
        "         attnprobe --head-dim 104\n");

  result.root_cause->advice.clear();
  CHECK_THAT(screen_text({&result}, narrow()), ContainsSubstring("  fix    Pad it. (untested)\n"));
  result.requirements = {need};
  const std::string by_rule = screen_text({&result}, narrow());
  CHECK_THAT(by_rule, ContainsSubstring("no: d is not a multiple of 8 [paged_9_5]\n") &&
                          ContainsSubstring("  rule   paging needs cuDNN 9.5.0; this is 9.2.1\n"));
  CHECK_THAT(by_rule, !ContainsSubstring("Pad it."));
}

TEST_CASE("A known bug gives a but with its id and advice", "[text]") {
  auto result = answer_on("bert", "h100", answer::Verdict::supported);
  result.warnings = {{"b_1", "It hangs.", "Wait.", "", false, false, {"issue 1", "https://x/1"}}};
  answer::weigh(result);
  const std::string text = screen_text({&result}, narrow());
  CHECK_THAT(text,
             ContainsSubstring("but: known bug: It hangs [b_1]\n") && ContainsSubstring("  fix    Wait (by rule)\n"));
}

TEST_CASE("Several results form a grid, and each distinct reason appears once", "[text]") {
  const auto yes = answer_on("bert", "a100", answer::Verdict::supported);
  auto no = answer_on("bert", "t4", answer::Verdict::unsupported, "too old");
  auto other = answer_on("llama", "t4", answer::Verdict::unsupported, "too old");
  auto unmet = answer_on("llama", "a100", answer::Verdict::unsupported, "too large");
  unmet.config.spec.expect.is_given = true;
  unmet.config.spec.expect.otherwise = attention::ExpectedVerdict::supported;
  CHECK(screen_text({&yes, &no, &unmet, &other}, narrow()) ==
        "       a100  t4\n"
        "bert   yes   no\n"
        "llama  no!   no\n"
        "\n"
        "no on t4: too old\n"
        "\n"
        "no on a100: llama: too large\n");
}

TEST_CASE("Sixteen configs on seven GPUs fit in 24 lines of 80 columns", "[text]") {
  std::vector<answer::Answer> answers;
  for (int config = 0; config < 16; ++config)
    for (const char* target : {"t4", "a100", "l40s", "rtx4090", "h100", "b200", "rtx5090"})
      answers.push_back(
          answer_on(fmt::format("model-{}-of-some-length", config), target,
                    std::string_view(target) == "t4" ? answer::Verdict::unsupported : answer::Verdict::supported,
                    "only Ampere or above is supported for this engine"));
  Results results;
  for (const auto& answer : answers) results.push_back(&answer);
  const std::string text = screen_text(results, narrow());
  CHECK(widest_line(text) <= 80);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 21);  // three are reserved for the footer
  CHECK_THAT(text, ContainsSubstring("\nno on t4: only Ampere or above is supported for this engine\n"));
}

TEST_CASE("GPUs with the same answer are grouped", "[text]") {
  const auto text_of = [](int configs) {
    std::vector<answer::Answer> answers;
    for (int config = 0; config < configs; ++config)
      for (int target = 0; target < 47; ++target)
        answers.push_back(answer_on(fmt::format("model-{}", config), fmt::format("gpu-{}", 10 + target),
                                    target % 5 == 0 ? answer::Verdict::unsupported : answer::Verdict::supported,
                                    "not on this one"));
    Results results;
    for (const auto& answer : answers) results.push_back(&answer);
    std::string text = screen_text(results, narrow());
    CHECK(widest_line(text) <= 80);
    CHECK(std::count(text.begin(), text.end(), '\n') <= 21);
    return text;
  };
  const std::string one = text_of(1), three = text_of(3);
  CHECK_THAT(one,
             StartsWith("model-0\n  no on 10: gpu-10, gpu-15, ") && ContainsSubstring("  yes on 37: gpu-11, gpu-12"));
  CHECK_THAT(three, StartsWith("         gpu-10 +9  gpu-11 +36\nmodel-0  no         yes\n") &&
                        ContainsSubstring("\n  gpu-10 +9: gpu-10, gpu-15, "));
}

TEST_CASE("A grid that is wider than the screen continues below", "[text]") {
  std::vector<answer::Answer> answers;
  for (int config = 0; config < 20; ++config)
    for (int target = 0; target < 20; ++target)
      answers.push_back(answer_on(fmt::format("bert-{}", config), fmt::format("gpu-{}", 10 + target),
                                  config == target ? answer::Verdict::unsupported : answer::Verdict::supported, "no"));
  Results results;
  for (const auto& answer : answers) results.push_back(&answer);
  const std::string text = screen_text(results, narrow());
  CHECK(widest_line(text) <= 80);
  CHECK_THAT(text, ContainsSubstring("gpu-29\n"));
}

}  // namespace attnprobe::test::screen_test
