// Version rules: that the data means something, that every entry applies where it should and nowhere else,
// and that they stand beside cuDNN's answer without changing it.
#include <algorithm>
#include <set>

#include "attnprobe/attention/config.hpp"
#include "attnprobe/attention/fields.hpp"
#include "attnprobe/cudnn/library_info.hpp"
#include "attnprobe/diagnose/condition.hpp"
#include "attnprobe/diagnose/problem.hpp"
#include "attnprobe/diagnose/requirements.hpp"
#include "attnprobe/error.hpp"
#include "attnprobe/text.hpp"
#include "support.hpp"

using namespace attnprobe;
using namespace attnprobe::diagnose;
using namespace attnprobe::test;
using worker::Verdict;

namespace {

// A config, a cuDNN and a GPU, as an example of the data gives them.
struct Case {
  attention::AttentionSpec spec;
  int64_t cudnn = 0;
  int sm = 0;
};

// What the examples of the data lie over.
const Json base{{"batch", 2},        {"heads_q", 8},      {"heads_kv", 8},    {"seqlen_q", 512},
                {"seqlen_kv", 512},  {"head_dim_qk", 64}, {"head_dim_v", 64}, {"dtype", "f16"},
                {"cudnn", "9.19.0"}, {"sm", 90}};

Json laid_over(Json below, const Json& above) {
  for (const auto& [key, value] : above.items())
    if (value.is_null())
      below.erase(key);
    else
      below[key] = value;
  return below;
}

Case case_of(Json json) {
  Case made;
  const auto version = parse_version(json.at("cudnn"));
  REQUIRE(version);
  made.cudnn = *version;
  made.sm = json.at("sm").get<int>();
  json.erase("cudnn");
  json.erase("sm");
  made.spec = attention::parse_configs(json.dump(), "example").at(0).spec;
  return made;
}

Case affected(const Examples& examples) {
  return case_of(laid_over(base, examples.affected));
}

std::vector<Case> unaffected(const Examples& examples) {
  std::vector<Case> cases;
  for (const Json& change : examples.unaffected)
    cases.push_back(case_of(laid_over(laid_over(base, examples.affected), change)));
  return cases;
}

template <class T>
std::set<std::string> ids(const std::vector<T>& entries) {
  std::set<std::string> found;
  for (const auto& entry : entries) found.insert(entry.id);
  return found;
}

bool lacks(const Case& c, const std::string& id) {
  return ids(unmet_requirements(c.spec, c.cudnn, c.sm)).contains(id);
}
bool has_bug(const Case& c, const std::string& id) {
  return ids(known_bugs(c.spec, c.cudnn, c.sm)).contains(id);
}
std::string refusal(const Case& c) {
  const auto answer = frontend_answer(c.spec, c.cudnn, c.sm);
  return answer ? answer->id : "no such pattern";
}

template <class Function>
std::string internal_error(const Function& function) {
  try {
    function();
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::internal);
    return e.what();
  }
  return "no error";
}

std::string refused_condition(const char* text) {
  return internal_error([&] { check_condition(Json::parse(text), "here"); });
}

// A flat problem with some values of its own.
Json problem_with(const char* text) {
  const Case c = case_of(base);
  return laid_over(describe_problem(c.spec, c.cudnn, c.sm), Json::parse(text));
}

bool holds_in(const char* condition, const char* problem) {
  const Json json = Json::parse(condition);
  check_condition(json, "here");
  return holds(json, problem_with(problem));
}

}  // namespace

// ---- conditions

TEST_CASE("A condition holds where all its members do", "[rules]") {
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
  CHECK(
      holds_in(R"({"dropout_probability": {"not_multiple_of": 0.0625}})", R"({"dropout_probability": 0.1})"));
  CHECK_FALSE(holds_in(R"({"dropout_probability": {"not_multiple_of": 0.0625}})",
                       R"({"dropout_probability": 0.375})"));
}

TEST_CASE("A value that is not set fails every operator but set and not", "[rules]") {
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

TEST_CASE("A condition that means nothing is an error", "[rules]") {
  CHECK(refused_condition(R"({"seqlen_k": 5})") ==
        "here: unknown key \"seqlen_k\" (did you mean \"seqlen_kv\"?)");
  CHECK(refused_condition(R"({"sm": {"minimum": 5}})") == "here: unknown operator \"minimum\" of \"sm\"");
  CHECK(refused_condition(R"({"sm": {"mim": 5}})") ==
        "here: unknown operator \"mim\" of \"sm\" (did you mean \"min\"?)");
  CHECK(contains(refused_condition(R"({"pass": "backward"})"), "\"pass\" is never \"backward\""));
  CHECK(contains(refused_condition(R"({"pass": {"in": ["bprop", "x"]}})"), "is never \"x\""));
  CHECK(contains(refused_condition(R"({"pass": {"min": 5}})"), "is no number"));
  CHECK(contains(refused_condition(R"({"causal": 1})"), "\"causal\" is a boolean, not 1"));
  CHECK(contains(refused_condition(R"({"sm": "90"})"), "\"sm\" is a number"));
  CHECK(contains(refused_condition(R"({"sm": {"min": "causal"}})"), "\"causal\" is no number"));
  CHECK(contains(refused_condition(R"({"sm": {"min": true}})"), "wants a number"));
  CHECK(contains(refused_condition(R"({"sm": {"equal_to": "pass"}})"), "another number"));
  CHECK(contains(refused_condition(R"({"sm": {"set": 1}})"), "true or false"));
  CHECK(contains(refused_condition(R"({"sm": {"in": []}})"), "array of values"));
  CHECK(contains(refused_condition(R"({"sm": {}})"), "no operator"));
  CHECK(contains(refused_condition(R"({"any": []})"), "array of conditions"));
  CHECK(contains(refused_condition(R"({"any": [{}]})"), "not empty"));
  CHECK(contains(refused_condition(R"({"not": {"x": 1}})"), "unknown key \"x\""));
  CHECK(contains(refused_condition("{}"), "not empty"));
  CHECK(contains(refused_condition("[]"), "object"));
}

// ---- the flat problem

TEST_CASE("A flat problem has every key, with a value of its kind", "[rules]") {
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
      CHECK(std::find(key.values.begin(), key.values.end(), value) != key.values.end());
  }
}

TEST_CASE("The flat problem says what the config says", "[rules]") {
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
  CHECK(ragged["stats"] == false);  // an input there
  CHECK(ragged["dqkv_dtype"] == "f16");
  const Json fp8 = flat(R"({"dtype": "fp8_e4m3", "o_dtype": "bf16"})");
  CHECK(fp8["fp8"] == true);
  CHECK(fp8["fp8_scaling"] == "current");
  CHECK(fp8["dqkv_dtype"].is_null());
  CHECK(flat("{}")["fp8_scaling"].is_null());
  const Json dropout = flat(R"({"dropout": 0.25, "softcap": 30})");
  CHECK(dropout["dropout_probability"] == 0.25);
  CHECK(dropout["dropout_form"] == "philox");
  CHECK(dropout["modifier"] == true);
  CHECK(dropout["score_mod"].is_null());
}

// ---- the data

TEST_CASE("The data of the version rules is sound, and every entry has a source", "[rules]") {
  CHECK(requirement_rules().size() > 40);
  CHECK(known_bug_rules().size() > 20);
  CHECK(frontend_rules().size() > 90);
  const auto sound = [](const Source& source) {
    const bool page = source.url.starts_with("https://"), command = source.url.starts_with("attnprobe ");
    CHECK_FALSE(source.text.empty());
    CHECK((page || command));
  };
  for (const auto& rule : requirement_rules()) {
    INFO(rule.entry.id);
    sound(rule.entry.source);
    CHECK_FALSE(rule.entry.needs.empty());
    CHECK(rule.examples.affected.is_object());
  }
  for (const auto& rule : known_bug_rules()) {
    INFO(rule.entry.id);
    sound(rule.entry.source);
    CHECK(rule.entry.what.ends_with("."));
    CHECK(rule.entry.advice.ends_with("."));
    CHECK(rule.examples.affected.is_object());
  }
  for (const auto& rule : frontend_rules()) {
    INFO(rule.entry.id);
    sound(rule.entry.source);
    CHECK(rule.entry.refuses);
  }
}

TEST_CASE("A slip in the data is an error that names the entry", "[rules]") {
  const auto requirements = [](const std::string& entry) {
    return internal_error([&] { parse_requirements(R"({"comment": "", "requirements": [)" + entry + "]}"); });
  };
  const std::string source =
      R"("source": {"text": "t", "url": "u"}, "affected": {"sm": 1}, "unaffected": [{}])";
  const std::string whole =
      R"({"id": "a", "feature": "f", "when": {"paged": true}, "needs": {"cudnn": "9.5.0"}, )" + source + "}";
  CHECK(requirements(whole) == "no error");
  CHECK(contains(requirements(whole + "," + whole), "\"a\" is there twice"));
  CHECK(requirements("") == "requirements.json: no entries");
  CHECK(contains(requirements("{}"), "has no \"id\""));
  CHECK(contains(requirements(R"({"id": "a"})"), "requirements.json, a: \"feature\" is missing"));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    return requirements(text);
  };
  CHECK(contains(replaced(R"("paged": true)", R"("pagd": true)"), "did you mean \"paged\""));
  CHECK(contains(replaced(R"("paged": true)", R"("paged": true, "paged": false)"), "twice in one object"));
  CHECK(contains(replaced("9.5.0", "9.5"), "wants a version"));
  CHECK(contains(replaced(R"("cudnn": "9.5.0")", ""), "\"needs\" is empty"));
  CHECK(contains(replaced(R"("cudnn": "9.5.0")", R"("sm": {"min": 90})"), "go together"));
  CHECK(contains(replaced(R"("cudnn")", R"("cuda")"), "unknown member \"cuda\""));
  CHECK(contains(replaced(R"("url": "u")", R"("uri": "u")"), "\"url\" is missing"));
  CHECK(contains(replaced(R"("text": "t")", R"("text": " ")"), "wants a text"));
  CHECK(contains(replaced(R"("unaffected": [{}])", R"("unaffected": [])"), "one that is not"));
  CHECK(contains(internal_error([] { parse_known_bugs("{"); }), "known_bugs.json: "));
  CHECK(contains(internal_error([] { parse_frontend_rules(R"({"comment": ""})"); }), "is missing"));
}

TEST_CASE("Versions are read as cudnnGetVersion gives them", "[rules]") {
  CHECK(parse_version("9.14.0") == 91400);
  CHECK(parse_version("9.18.1") == 91801);
  CHECK_FALSE(parse_version("9.14"));
  CHECK_FALSE(parse_version("9.14.0x"));
  CHECK_FALSE(parse_version(""));
}

// ---- every entry, where it applies and where not

TEST_CASE("Every requirement is unmet in its example and not beside it", "[rules]") {
  for (const auto& rule : requirement_rules()) {
    const std::string& id = rule.entry.id;
    INFO(id);
    Case example = affected(rule.examples);
    CHECK(lacks(example, id));
    for (const Case& other : unaffected(rule.examples)) {
      INFO(describe(other.spec) << " cuDNN " << other.cudnn << " sm " << other.sm);
      CHECK_FALSE(lacks(other, id));
    }
    // The version itself, where nothing else is needed.
    if (!rule.sm.is_null()) continue;
    if (rule.cudnn_from > 0) {
      example.cudnn = rule.cudnn_from;
      CHECK_FALSE(lacks(example, id));
      example.cudnn = rule.cudnn_from - 1;
      CHECK(lacks(example, id));
    }
    if (rule.cudnn_below > 0) {
      example.cudnn = rule.cudnn_below;
      CHECK(lacks(example, id));
      example.cudnn = rule.cudnn_below - 1;
      CHECK_FALSE(lacks(example, id));
    }
  }
}

TEST_CASE("Every known bug concerns its example and not what lies beside it", "[rules]") {
  for (const auto& rule : known_bug_rules()) {
    const std::string& id = rule.entry.id;
    INFO(id);
    Case example = affected(rule.examples);
    CHECK(has_bug(example, id));
    for (const Case& other : unaffected(rule.examples)) {
      INFO(describe(other.spec) << " cuDNN " << other.cudnn << " sm " << other.sm);
      CHECK_FALSE(has_bug(other, id));
    }
    if (rule.entry.fixed_in.empty()) continue;
    example.cudnn = parse_version(rule.entry.fixed_in).value();
    CHECK_FALSE(has_bug(example, id));
  }
}

TEST_CASE("Every rule of cudnn-frontend is the first to refuse its example, and not beside it", "[rules]") {
  size_t reached = 0;
  for (const auto& rule : frontend_rules()) {
    if (rule.examples.affected.is_null()) continue;
    const std::string& id = rule.entry.id;
    INFO(id);
    ++reached;
    CHECK(refusal(affected(rule.examples)) == id);
    for (const Case& other : unaffected(rule.examples)) {
      INFO(describe(other.spec) << " cuDNN " << other.cudnn << " sm " << other.sm);
      CHECK(refusal(other) != id);
    }
  }
  CHECK(reached > 90);
}

TEST_CASE("What is plain needs nothing, has no bug and is refused by nobody", "[rules]") {
  for (const char* changes : {"{}", R"({"mask": "causal"})", R"({"pass": "bprop", "dtype": "bf16"})",
                              R"({"mask": "padding", "layout": "thd", "sm": 89})",
                              R"({"mask": "padding", "layout": "thd", "sm": 120})"}) {
    INFO(changes);
    const Case c = case_of(laid_over(base, Json::parse(changes)));
    CHECK(ids(unmet_requirements(c.spec, c.cudnn, c.sm)).empty());
    CHECK(ids(known_bugs(c.spec, c.cudnn, c.sm)).empty());
    CHECK(refusal(c).empty());
  }
}

TEST_CASE("cudnn-frontend says nothing about patterns that it has not", "[rules]") {
  for (const char* pattern : {"mha", "two_matmul"}) {
    const Case c = case_of(laid_over(base, Json{{"pattern", pattern}}));
    CHECK_FALSE(frontend_answer(c.spec, c.cudnn, c.sm));
  }
  const Case c = case_of(base);
  REQUIRE(frontend_answer(c.spec, c.cudnn, c.sm));
  CHECK(frontend_answer(c.spec, c.cudnn, c.sm)->version == "1.23.0");
}

TEST_CASE("A requirement names feature, need and what this is", "[rules]") {
  const auto sentence = [](const char* changes, const std::string& id) {
    const Case c = case_of(laid_over(base, Json::parse(changes)));
    for (const auto& requirement : unmet_requirements(c.spec, c.cudnn, c.sm))
      if (requirement.id == id) return requirement.text;
    return std::string("met");
  };
  CHECK(sentence(R"({"paged": 64, "mask": "padding", "cudnn": "9.2.1"})", "paged") ==
        "paged K/V needs cuDNN 9.5.0; this is 9.2.1");
  CHECK(sentence(R"({"layout": "thd", "mask": "padding", "cudnn": "9.14.0", "sm": 89})",
                 "ragged_below_hopper") ==
        "the ragged (THD) layout below Hopper needs cuDNN 9.18.1; this is 9.14.0");
  const std::string mxfp8 = R"({"dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8", "sm": )";
  CHECK(sentence((mxfp8 + "100}").c_str(), "mxfp8") ==
        "MXFP8 attention needs cuDNN 9.21.0 and datacenter Blackwell; this is 9.19.0");
  CHECK(sentence((mxfp8 + "90}").c_str(), "mxfp8") ==
        "MXFP8 attention needs cuDNN 9.21.0 and datacenter Blackwell; this is 9.19.0 on sm_90");
  CHECK(sentence(R"({"dtype": "fp8_e4m3", "sm": 89})", "fp8") ==
        "fp8 attention needs cuDNN 9.1.0 and Hopper or newer; this is sm_89");
}

TEST_CASE("docs/versions.md lists every key of a problem", "[rules]") {
  const std::string page = read_text(source_dir() / "docs" / "versions.md");
  for (const auto& key : problem_keys()) {
    INFO(key.name);
    CHECK(contains(page, "`" + key.name + "`"));
  }
}
