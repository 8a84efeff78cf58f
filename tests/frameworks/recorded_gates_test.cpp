// Calls that the frameworks themselves answered (lab/compare-gates --record): the gates give the same answers.
#include "answer/question.hpp"
#include "catch.hpp"
#include "frameworks/calls/framework_calls.hpp"
#include "gpu/catalogue.hpp"
#include "rules/framework_gates.hpp"
#include "support.hpp"

namespace attnprobe::test::recorded_gates_test {
namespace {

struct RecordedQuestion {
  std::vector<attention::AttentionSpec> graphs;
  Json keys = Json::object();
};

RecordedQuestion question_of(const Json& recorded) {
  if (recorded.contains("jax")) {
    const auto call =
        frameworks::parse_calls({frameworks::Caller::jax}, recorded.at("jax").dump(), "gate-calls.json").at(0);
    return {call.graphs, call.keys};
  }
  return {{attention::parse_configs(recorded.at("config").dump(), "gate-calls.json").at(0).spec}, Json::object()};
}

// The first refusal of the graphs that the public function builds. Transformer Engine's C++ call has its own table,
// rules "table_…".
std::optional<rules::GateRefusal> refusal_of(const Json& recorded) {
  const auto chosen = rules::choose_gates({recorded.at("framework").get<std::string>() +
                                           "==" + recorded.at("release").get<std::string>()},
                                          "gate-calls.json")
                          .at(0);
  const auto version = CudnnVersion::parse(recorded.at("cudnn").get<std::string>()).value();
  const int sm = gpu::find(recorded.at("target").get<std::string>())->sm;
  const RecordedQuestion question = question_of(recorded);
  for (const auto& spec : question.graphs) {
    const auto answer = rules::answer_of_gate(
        chosen, rules::describe_gate_call(*chosen.gate, spec, version, sm, question.keys), version);
    for (const auto& refusal : answer.refusals)
      if (!refusal.id.starts_with("table_")) return refusal;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("gates answer recorded calls as the frameworks did") {
  const Json calls = Json::parse(fixture("gate-calls.json"));
  std::map<std::string, int> taken, refused;
  for (const Json& recorded : calls) {
    CAPTURE(recorded.dump());
    const auto refusal = refusal_of(recorded);
    CHECK(!refusal.has_value() == recorded.at("takes").get<bool>());
    CHECK((refusal ? refusal->id : "") == recorded.at("rule").get<std::string>());
    ++(refusal ? refused : taken)[recorded.at("framework").get<std::string>()];
  }
  for (const char* framework : {"jax", "keras", "flashinfer", "transformer-engine"}) {
    CAPTURE(framework);
    CHECK(taken[framework] > 0);
    CHECK(refused[framework] > 3);
  }
}

}  // namespace attnprobe::test::recorded_gates_test
