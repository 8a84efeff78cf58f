#include "explain/choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace attnprobe::explain {

std::string setting_without_cudnn(const std::string& program) {
  for (const rules::FrameworkGate& gate : rules::framework_gates())
    if (program == gate.title || program == gate.title + " SDPA") return gate.without;
  return "";
}

void add_choice(TextAnswer& answer, const ToldQuestion& question, const TextFacts& facts) {
  if (!facts.asks_choice || is_failure(facts.trouble) || question.framework.empty() || !answer.refusals.empty()) return;
  const rules::ChosenGate chosen = rules::choose_gates({question.framework}, "the text").front();
  const std::vector<std::string> choices = rules::choices_of(chosen);
  if (choices.empty()) return;
  Refusal refusal =
      reading("", Layer::framework, chosen.gate->title, fmt::format("{}: {}", rules::title_of(chosen), choices.back()));
  refusal.means = fmt::format("{}", fmt::join(choices.begin(), choices.end() - 1, ". "));
  if (!refusal.means.empty()) refusal.means += ".";
  refusal.next = "to select cuDNN: " + chosen.gate->by_name.back().text;
  if (!chosen.gate->without.empty()) refusal.next += "; to exclude it: " + chosen.gate->without;
  refusal.source = "lib/rules/frameworks";
  refusal.first_line = 1;
  refusal.times = 1;
  answer.refusals.push_back(std::move(refusal));
  answer.asked = fmt::format("{}'s rules", rules::title_of(chosen));
  if (question.framework.find("==") == std::string::npos) answer.asked += "; assumed: the newest known release";
  answer.command = answer.missing = "";
}

}  // namespace attnprobe::explain
