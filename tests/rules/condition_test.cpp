// The predicate language of the version rules, and its flat problem.
#include <algorithm>

#include "rules/condition.hpp"
#include "rules/flat_problem.hpp"
#include "version_rules.hpp"

namespace attnprobe::test::condition_test {

using namespace attnprobe::rules;

namespace {

JsonView place_of(const Json& condition) {
  return {condition, {.name = "here", .kind = ErrorKind::internal}};
}

std::string refused_condition(const char* text) {
  const Json json = Json::parse(text);
  return internal_error([&] { check_condition(place_of(json)); });
}

// A flat problem with some given values.
Json problem_with(const char* text) {
  const Case c = case_of(base);
  return laid_over(describe_problem(c.spec, c.cudnn, c.sm), Json::parse(text));
}

bool holds_in(const char* condition, const char* problem) {
  const Json json = Json::parse(condition);
  check_condition(place_of(json));
  return holds(json, problem_with(problem));
}

}  // namespace

// ---- conditions

TEST_CASE("A condition holds if all its members hold", "[rules]") {
  CHECK(holds_in(R"({"pass": "fprop"})", "{}"));
  CHECK_FALSE(holds_in(R"({"pass": "bprop"})", "{}"));
  CHECK(holds_in(R"({"pass": "fprop", "sm": 90})", "{}"));
  CHECK_FALSE(holds_in(R"({"pass": "fprop", "sm": 89})", "{}"));
  CHECK(holds_in(R"({"any": [{"sm": 80}, {"sm": 90}]})", "{}"));
  CHECK_FALSE(holds_in(R"({"any": [{"sm": 80}, {"sm": 89}]})", "{}"));
  CHECK(holds_in(R"({"all": [{"sm": 90}, {"batch": 2}]})", "{}"));
  CHECK_FALSE(holds_in(R"({"all": [{"sm": 90}, {"batch": 3}]})", "{}"));
  CHECK(holds_in(R"({"not": {"sm": 80}})", "{}"));
  CHECK_FALSE(holds_in(R"({"not": {"sm": 90, "batch": 2}})", "{}"));
}

TEST_CASE("A condition may hold unless the known keys exclude it", "[rules]") {
  const auto may_hold_with = [](const char* condition, const char* known) {
    const Json json = Json::parse(condition);
    check_condition(place_of(json));
    return may_hold(json, Json::parse(known));
  };
  CHECK(may_hold_with(R"({"pass": "bprop", "head_dim_qk": {"above": 128}})", R"({"head_dim_qk": 192})"));
  CHECK_FALSE(may_hold_with(R"({"pass": "bprop", "head_dim_qk": {"above": 128}})", R"({"head_dim_qk": 64})"));
  CHECK(may_hold_with(R"({"any": [{"seqlen_q": 1}, {"seqlen_kv": 1}]})", R"({"seqlen_q": 2})"));
  CHECK_FALSE(may_hold_with(R"({"any": [{"seqlen_q": 1}, {"seqlen_kv": 1}]})", R"({"seqlen_q": 2, "seqlen_kv": 2})"));
  CHECK(may_hold_with(R"({"not": {"sm": 90, "batch": 2}})", R"({"sm": 90})"));
  CHECK_FALSE(may_hold_with(R"({"not": {"sm": 90, "batch": 2}})", R"({"sm": 90, "batch": 2})"));
  CHECK(may_hold_with(R"({"seqlen_q": {"above": "seqlen_kv"}})", R"({"seqlen_q": 2})"));
  CHECK_FALSE(may_hold_with(R"({"seqlen_q": {"above": "seqlen_kv"}})", R"({"seqlen_q": 2, "seqlen_kv": 2})"));
}

TEST_CASE("Operators compare with numbers and with other keys", "[rules]") {
  CHECK(holds_in(R"({"sm": {"min": 90, "max": 90}})", "{}"));
  CHECK_FALSE(holds_in(R"({"sm": {"above": 90}})", "{}"));
  CHECK_FALSE(holds_in(R"({"sm": {"below": 90}})", "{}"));
  CHECK(holds_in(R"({"sm": {"above": 89, "below": 91}})", "{}"));
  CHECK(holds_in(R"({"seqlen_q": {"above": "seqlen_kv"}})", R"({"seqlen_q": 513})"));
  CHECK_FALSE(holds_in(R"({"seqlen_q": {"above": "seqlen_kv"}})", "{}"));
  CHECK(holds_in(R"({"seqlen_q": {"equal_to": "seqlen_kv"}})", "{}"));
  CHECK(holds_in(R"({"head_dim_qk": {"not_equal_to": "head_dim_v"}})", R"({"head_dim_v": 32})"));
  CHECK(holds_in(R"({"head_dim_qk": {"multiple_of": 8}})", "{}"));
  CHECK(holds_in(R"({"head_dim_qk": {"not_multiple_of": 48}})", "{}"));
  CHECK(holds_in(R"({"heads_q": {"not_multiple_of": "heads_kv"}})", R"({"heads_kv": 3})"));
  CHECK(holds_in(R"({"sm": {"in": [80, 90]}})", "{}"));
  CHECK_FALSE(holds_in(R"({"sm": {"in": [80]}})", "{}"));
  CHECK(holds_in(R"({"sm": {"not": 80}})", "{}"));
  CHECK(holds_in(R"({"dropout_probability": {"not_multiple_of": 0.0625}})", R"({"dropout_probability": 0.1})"));
  CHECK_FALSE(holds_in(R"({"dropout_probability": {"not_multiple_of": 0.0625}})", R"({"dropout_probability": 0.375})"));
}

TEST_CASE("An unset value fails every operator except set and not", "[rules]") {
  CHECK(holds_in(R"({"window_left": null})", "{}"));
  CHECK(holds_in(R"({"window_left": {"set": false}})", "{}"));
  CHECK(holds_in(R"({"window_left": {"not": 3}})", "{}"));
  for (const char* operation : {"min", "max", "above", "below", "multiple_of", "not_multiple_of"}) {
    INFO(operation);
    CHECK_FALSE(holds(Json{{"window_left", {{operation, 1}}}}, problem_with("{}")));
    CHECK_FALSE(holds(Json{{"seqlen_q", {{operation, "window_left"}}}}, problem_with("{}")));
  }
  CHECK_FALSE(holds_in(R"({"window_left": {"in": [0]}})", "{}"));
  CHECK_FALSE(holds_in(R"({"window_left": {"not_equal_to": "seqlen_q"}})", "{}"));
  CHECK(holds_in(R"({"window_left": {"set": true, "max": 5}})", R"({"window_left": 5})"));
}

TEST_CASE("An invalid condition is an error", "[rules]") {
  CHECK(refused_condition(R"({"seqlen_k": 5})") ==
        "here: /seqlen_k: unknown key \"seqlen_k\" (did you mean \"seqlen_kv\"?)");
  CHECK_THAT(refused_condition(R"({"sm": {"minimum": 5}})"),
             StartsWith("here: /sm/minimum: unknown operator \"minimum\"; allowed: \"min\", \"max\""));
  CHECK_THAT(refused_condition(R"({"sm": {"mim": 5}})"),
             StartsWith("here: /sm/mim: unknown operator \"mim\" (did you mean \"min\"?); allowed: "));
  CHECK(contains(refused_condition(R"({"pass": "backward"})"),
                 "here: /pass: \"backward\" is not a known value; allowed: \"fprop\""));
  CHECK(contains(refused_condition(R"({"pass": {"in": ["bprop", "x"]}})"),
                 "here: /pass/in/1: \"x\" is not a known value"));
  CHECK(contains(refused_condition(R"({"pass": {"min": 5}})"), "here: /pass/min: \"pass\" is compared as a number"));
  CHECK(contains(refused_condition(R"({"causal": 1})"), "here: /causal: 1 is not a boolean; allowed: true, false"));
  CHECK(contains(refused_condition(R"({"sm": "90"})"), "here: /sm: \"90\" is not a number"));
  CHECK(contains(refused_condition(R"({"sm": {"min": "causal"}})"),
                 "here: /sm/min: \"causal\" is not a number or the name of one"));
  CHECK(contains(refused_condition(R"({"sm": {"min": true}})"),
                 "here: /sm/min: true is not a number or the name of one"));
  CHECK(contains(refused_condition(R"({"sm": {"equal_to": "pass"}})"), "another number"));
  CHECK(
      contains(refused_condition(R"({"sm": {"set": 1}})"), "here: /sm/set: 1 is not a boolean; allowed: true, false"));
  CHECK(contains(refused_condition(R"({"sm": {"in": []}})"), "array of values"));
  CHECK(contains(refused_condition(R"({"sm": {}})"), "no operator"));
  CHECK(contains(refused_condition(R"({"any": []})"), "array of conditions"));
  CHECK(contains(refused_condition(R"({"any": [{}]})"), "non-empty"));
  CHECK(contains(refused_condition(R"({"not": {"x": 1}})"), "unknown key \"x\""));
  CHECK(contains(refused_condition("{}"), "non-empty"));
  CHECK(contains(refused_condition("[]"), "object"));
}

// ---- the flat problem

TEST_CASE("A flat problem has every key with a value of its type", "[rules]") {
  const Json problem = problem_with("{}");
  CHECK(problem.size() == problem_keys().size());
  for (const auto& key : problem_keys()) {
    INFO(key.name);
    REQUIRE(problem.contains(key.name));
    CHECK_FALSE(key.help.empty());
    const Json& value = problem.at(key.name);
    if (value.is_null()) continue;
    CHECK(value.is_boolean() == (key.kind == KeyKind::boolean));
    CHECK(value.is_number() == (key.kind == KeyKind::number));
    if (key.kind == KeyKind::text)
      CHECK(std::find(key.values.begin(), key.values.end(), value.get<std::string>()) != key.values.end());
  }
}

TEST_CASE("The flat problem has the config's values", "[rules]") {
  const auto flat = [](const char* changes) {
    const Case c = case_of(laid_over(base, Json::parse(changes)));
    return describe_problem(c.spec, c.cudnn, c.sm);
  };
  const Json window = flat(R"({"mask": {"window_left": 127}, "heads_kv": 2, "seqlen_q": 1})");
  CHECK(window["window_left"] == 127);
  CHECK(window["window_right"].is_null());
  CHECK(window["causal"] == false);
  CHECK(window["gqa"] == true);
  CHECK(window["decode"] == true);
  CHECK(flat(R"({"mask": "causal_bottom_right"})")["causal"] == true);
  CHECK(flat(R"({"mask": "causal_bottom_right"})")["bottom_right"] == true);
  const Json ragged = flat(R"({"layout": "thd", "mask": "padding", "pass": "bprop", "ragged_stats": false})");
  CHECK(ragged["ragged"] == true);
  CHECK(ragged["ragged_stats"] == false);
  CHECK(ragged["stats"] == false);  // an input in bprop
  CHECK(ragged["dqkv_dtype"] == "f16");
  const Json fp8 = flat(R"({"dtype": "fp8_e4m3", "o_dtype": "bf16"})");
  CHECK(fp8["fp8"] == true);
  CHECK(fp8["fp8_scaling"] == "current");
  CHECK(fp8["dqkv_dtype"].is_null());
  CHECK(flat("{}")["fp8_scaling"].is_null());
  const Json dropout = flat(R"({"dropout": 0.25, "softcap": 30})");
  CHECK(dropout["dropout_probability"] == 0.25);
  CHECK(dropout["dropout_form"] == "philox");
  CHECK(dropout["dropout_seed"] == "i64");
  CHECK(dropout["modifier"] == true);
  CHECK(dropout["score_mod"].is_null());
}

TEST_CASE("Keys on queries and keys follow the lengths of each batch entry", "[rules]") {
  const auto flat = [](const char* changes) {
    const Case c = case_of(laid_over(base, Json::parse(changes)));
    return describe_problem(c.spec, c.cudnn, c.sm);
  };
  const Json mixed =
      flat(R"({"batch": 2, "seqlen": 512, "mask": {"window_left": 20, "padding": true, "seqlens_q": [40, 512],
               "seqlens_kv": [512, 40]}})");
  CHECK(mixed["queries_over_keys"] == 472);
  CHECK(mixed["unused_query_tile"] == true);
  CHECK(mixed["rows_without_keys"] == true);
  CHECK(mixed["tile_without_keys"] == true);  // the last tile begins at key 384 - 20, behind 128
  CHECK(mixed["shortest_queries"] == 40);
  const Json fewer =
      flat(R"({"batch": 2, "seqlen": 512, "mask": {"window_left": 20, "padding": true, "seqlens_q": [40, 40],
               "seqlens_kv": [512, 40]}})");
  CHECK(fewer["queries_over_keys"] == 0);
  CHECK(fewer["rows_without_keys"] == false);
  CHECK(fewer["tile_without_keys"] == true);  // unused rows count
  CHECK(flat(R"({"mask": "padding"})")["queries_over_keys"].is_null());
  CHECK(flat(R"({"seqlen_q": 512, "seqlen_kv": 256})")["queries_over_keys"] == 256);
  CHECK(flat(R"({"seqlen_q": 512, "seqlen_kv": 256})")["unused_query_tile"] == false);
  CHECK(flat(R"({"mask": "padding"})")["unused_query_tile"].is_null());
  CHECK(flat(R"({"mask": {"window_left": 200}})")["tile_without_keys"] == false);
  CHECK(flat(R"({"seqlen_q": 512, "seqlen_kv": 256})")["shortest_queries"] == 512);
}

}  // namespace attnprobe::test::condition_test
