// Follows advice that names a cuDNN version: with that version, the reason for the advice no longer applies.
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "attention/config.hpp"
#include "attention/random_config.hpp"
#include "catch.hpp"
#include "rules/framework_gates.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::test::version_advice_test {

using namespace attnprobe::rules;

namespace {

const std::vector<CudnnVersion> versions{{8, 9, 0},  {8, 9, 4},  {8, 9, 7},  {9, 1, 0},  {9, 4, 0},
                                         {9, 7, 1},  {9, 8, 0},  {9, 10, 1}, {9, 12, 0}, {9, 14, 0},
                                         {9, 19, 0}, {9, 24, 0}, {9, 27, 0}};
const std::vector<int> gpus{75, 80, 89, 90, 100, 103, 120};

struct Asked {
  attention::AttentionSpec spec;
  CudnnVersion cudnn;
  int sm = 0;
  std::string words;
};

std::vector<Asked> random_questions(uint64_t count) {
  std::vector<Asked> asked;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const Json config = attention::random_newer_config(seed);
    const auto spec = attention::parse_configs(config.dump(), "random").at(0).spec;
    const CudnnVersion cudnn = versions[seed % versions.size()];
    const int sm = gpus[seed % gpus.size()];
    asked.push_back({spec, cudnn, sm, config.dump() + " cuDNN " + cudnn.text() + " sm " + std::to_string(sm)});
  }
  return asked;
}

bool has(const std::vector<KnownBug>& bugs, const std::string& id) {
  return std::any_of(bugs.begin(), bugs.end(), [&](const KnownBug& bug) { return bug.id == id; });
}

// The first version that a text recommends: "use cuDNN 9.13 or newer, or no dropout".
std::optional<CudnnVersion> version_in(const std::string& advice) {
  static const std::regex named(R"([Uu]se cuDNN (\d+\.\d+(\.\d+)?)( or newer)?)");
  std::smatch found;
  if (!std::regex_search(advice, found, named)) return std::nullopt;
  return CudnnVersion::parse(found[1].str());
}

}  // namespace

TEST_CASE("advice: with the first version that the rules name, no version rule applies", "[rules][advice]") {
  size_t followed = 0;
  for (const Asked& asked : random_questions(3000)) {
    if (unmet_requirements(asked.spec, asked.cudnn, asked.sm).empty()) continue;
    const auto first = first_version(asked.spec, asked.cudnn, asked.sm);
    if (!first || *first <= asked.cudnn) continue;
    ++followed;
    const auto left = unmet_requirements(asked.spec, *first, asked.sm);
    if (!left.empty()) FAIL_CHECK(asked.words << ": told " << first->text() << ", and there: " << left.front().text);
  }
  CHECK(followed > 300);
}

TEST_CASE("advice: a known bug is absent from its fixed version and the version in its advice", "[rules][advice]") {
  std::set<std::string> followed;
  for (const Asked& asked : random_questions(3000))
    for (const KnownBug& bug : known_bugs(asked.spec, asked.cudnn, asked.sm)) {
      const auto fixed_in = CudnnVersion::parse(bug.fixed_in), told = version_in(bug.advice);
      for (const auto& version : {fixed_in, told}) {
        if (!version) continue;
        followed.insert(bug.id);
        if (has(known_bugs(asked.spec, *version, asked.sm), bug.id))
          FAIL_CHECK(asked.words << ": " << bug.id << " is still there in " << version->text());
      }
    }
  CHECK(followed.size() > 15);
}

TEST_CASE("advice: a framework's rule that names a cuDNN accepts that version", "[rules][advice]") {
  size_t followed = 0;
  for (const FrameworkGate& gate : framework_gates()) {
    const ChosenGate chosen = choose_gates({gate.framework}, "test").at(0);
    for (const Asked& asked : random_questions(300)) {
      const auto answer_with = [&](CudnnVersion cudnn, int sm) {
        return answer_of_gate(chosen, describe_gate_call(gate, asked.spec, cudnn, sm, Json::object()), cudnn);
      };
      for (const GateRefusal& refusal : answer_with(asked.cudnn, asked.sm).refusals) {
        const auto told = version_in(refusal.change);
        // Advice that requires more than that cuDNN is not checked here.
        if (!told || refusal.change.find("without") != std::string::npos) continue;
        ++followed;
        const bool wants_hopper = refusal.change.find("Hopper") != std::string::npos;
        const auto again = answer_with(*told, wants_hopper ? 90 : asked.sm).refusals;
        if (std::any_of(again.begin(), again.end(), [&](const auto& other) { return other.id == refusal.id; }))
          FAIL_CHECK(gate.framework << ", " << refusal.id << ": \"" << refusal.change << "\"; " << asked.words);
      }
    }
  }
  CHECK(followed > 100);
}

}  // namespace attnprobe::test::version_advice_test
