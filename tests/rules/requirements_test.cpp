// Version rules: the data is valid, every entry applies only to the right problems, and rules do not change cuDNN's
// answer.
#include <algorithm>
#include <set>

#include "attention/frontends.hpp"
#include "build/build.hpp"
#include "rules/flat_problem.hpp"
#include "rules/framework_rules.hpp"
#include "version_rules.hpp"

namespace attnprobe::test::requirements_test {

using namespace attnprobe::rules;
using answer::Verdict;

namespace {

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
Case of_release(Case c, const std::string& release) {
  c.spec.frontend = release;
  return c;
}
std::string refusal(const Case& c) {
  const auto answer = frontend_answer(c.spec, c.cudnn, c.sm);
  return answer ? answer->id : "no such pattern";
}

}  // namespace

// ---- the data

TEST_CASE("The data of the version rules is consistent, and every entry has a source", "[rules]") {
  CHECK(requirement_rules().size() > 120);
  CHECK(known_bug_rules().size() > 20);
  CHECK(frontend_rules().rules.size() > 90);
  const auto sound = [](const Source& source) {
    const bool page = source.url.starts_with("https://") || source.url.starts_with("pkg:"),
               command = source.url.starts_with("attnprobe ");
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
  for (const char* framework : {"cudnn-frontend", "transformer-engine"}) {
    const FrameworkRules& rules = framework_rules(framework);
    INFO(framework);
    for (const auto& rule : rules.rules) sound(rule.source);
    for (const auto& need : rules.unified) sound(need.source);
    for (const auto& fact : rules.facts) sound(fact.source);
    for (const auto& rule : rules.forced_configs) sound(rule.source);
  }
  for (const auto& rule : frontend_rules().rules) CHECK(answer_of(frontend_rules(), rule).refuses);
}

TEST_CASE("A mistake in the data is an error that names the entry", "[rules]") {
  const auto requirements = [](const std::string& entry) {
    return internal_error([&] { parse_requirements(R"({"comment": "", "requirements": [)" + entry + "]}"); });
  };
  const std::string source = R"("source": {"text": "t", "url": "u"}, "affected": {"sm": 1}, "unaffected": [{}])";
  const std::string whole =
      R"({"id": "a", "feature": "f", "when": {"paged": true}, "needs": {"cudnn": "9.5.0"}, )" + source + "}";
  CHECK(requirements(whole) == "no error");
  CHECK(contains(requirements(whole + "," + whole), "\"a\" is there twice"));
  CHECK(requirements("") == "requirements.json: /requirements: no entries");
  CHECK(contains(requirements("{}"), "requirements.json: /requirements/0: the key \"id\" is missing"));
  CHECK(contains(requirements(R"({"id": "a"})"), "requirements.json, a: the key \"feature\" is missing"));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    return requirements(text);
  };
  CHECK(contains(replaced(R"("paged": true)", R"("pagd": true)"), "did you mean \"paged\""));
  CHECK(contains(replaced(R"("paged": true)", R"("paged": true, "paged": false)"), "twice in one object"));
  CHECK(contains(replaced("9.5.0", "9.5"),
                 "requirements.json, a: /needs/cudnn: \"9.5\" is not a version such as \"9.14.0\""));
  CHECK(contains(replaced(R"("cudnn": "9.5.0")", ""), "requirements.json, a: /needs: it is empty"));
  CHECK(contains(replaced(R"("cudnn": "9.5.0")", R"("sm": {"min": 90})"), "go together"));
  CHECK(contains(replaced(R"("cudnn": "9.5.0")", R"("cudnn": "9.5.0", "never": "Use bf16.")"), "is the only key"));
  CHECK(contains(replaced(R"("cudnn": "9.5.0")", R"("never": true)"), "text"));
  CHECK(contains(replaced(R"("cudnn")", R"("cuda")"), "requirements.json, a: /needs/cuda: unknown key \"cuda\""));
  CHECK(contains(replaced(R"("url": "u")", R"("uri": "u")"), "\"url\" is missing"));
  CHECK(contains(replaced(R"("text": "t")", R"("text": " ")"),
                 "requirements.json, a: /source/text: \" \" is not a non-empty text"));
  CHECK(contains(replaced(R"("unaffected": [{}])", R"("unaffected": [])"),
                 "an example that is not affected is required"));
  CHECK(contains(internal_error([] { parse_known_bugs("{"); }), "known_bugs.json:1: not valid JSON: "));
  CHECK(contains(internal_error([] { parse_framework_rules(R"({"comment": ""})", "cudnn-frontend/1.json"); }),
                 "is missing"));
}

TEST_CASE("The symptoms of a known bug are data", "[rules]") {
  const auto bug = [](const std::string& shows) {
    return parse_known_bugs(
        R"({"comment": "c", "known_bugs": [{"id": "a", )" + shows +
        R"("what": "w", "when": {"cudnn": 91000}, "advice": "a", "source": {"text": "t", "url": "u"},
                               "affected": {"cudnn": "9.10.0"}, "unaffected": [{"cudnn": "9.11.0"}]}]})");
  };
  using Shows = std::vector<BugShows>;
  CHECK(bug("").front().shows == Shows{BugShows::wrong_results});
  CHECK(bug(R"("shows": ["crash", "not_compiled"], )").front().shows == Shows{BugShows::crash, BugShows::not_compiled});
  CHECK(contains(internal_error([&] { bug(R"("shows": ["crashes"], )"); }), "\"hang\", \"not_compiled\", \"refused\""));
  CHECK(contains(internal_error([&] { bug(R"("shows": [], )"); }), "at least one is required"));
  REQUIRE(find_known_bug("fp8_empty_tile_hopper") != nullptr);
  CHECK(find_known_bug("fp8_empty_tile_hopper")->shows == Shows{BugShows::hang});
  CHECK(find_known_bug("no_such_bug") == nullptr);
  for (const auto& rule : known_bug_rules()) {
    INFO(rule.entry.id);
    const bool compiles = std::find(rule.shows.begin(), rule.shows.end(), BugShows::not_compiled) == rule.shows.end();
    CHECK_FALSE((rule.entry.of_compiling && compiles));
  }
}

// ---- problems to which each entry applies or does not apply

TEST_CASE("Every requirement is unmet in its example but met in similar problems", "[rules]") {
  for (const auto& rule : requirement_rules()) {
    const std::string& id = rule.entry.id;
    INFO(id);
    Case example = affected(rule.examples);
    CHECK(lacks(example, id));
    for (const Case& other : unaffected(rule.examples)) {
      INFO(describe(other.spec) << " cuDNN " << other.cudnn << " sm " << other.sm);
      CHECK_FALSE(lacks(other, id));
    }
    // The version itself, if nothing else is required.
    if (!rule.sm.is_null()) continue;
    if (rule.cudnn_from.is_known()) {
      example.cudnn = rule.cudnn_from;
      CHECK_FALSE(lacks(example, id));
      example.cudnn = CudnnVersion::from_number(rule.cudnn_from.number() - 1);
      CHECK(lacks(example, id));
    }
    if (rule.cudnn_below.is_known()) {
      example.cudnn = rule.cudnn_below;
      CHECK(lacks(example, id));
      example.cudnn = CudnnVersion::from_number(rule.cudnn_below.number() - 1);
      CHECK_FALSE(lacks(example, id));
    }
  }
}

TEST_CASE("Every known bug affects its example but not similar problems", "[rules]") {
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
    example.cudnn = CudnnVersion::parse(rule.entry.fixed_in).value();
    CHECK_FALSE(has_bug(example, id));
  }
}

TEST_CASE("Every rule of cudnn-frontend is the first to refuse its example, but not similar problems", "[rules]") {
  for (const std::string& release : attention::frontend_releases) {
    size_t reached = 0;
    for (const auto& rule : frontend_rules(release).rules) {
      if (rule.examples.affected.is_null()) continue;
      const std::string& id = rule.id;
      INFO(id << " of " << release);
      ++reached;
      CHECK(refusal(of_release(affected(rule.examples), release)) == id);
      for (const Case& other : unaffected(rule.examples)) {
        INFO(describe(other.spec) << " cuDNN " << other.cudnn << " sm " << other.sm);
        CHECK(refusal(of_release(other, release)) != id);
      }
    }
    CHECK(reached > 90);
  }
}

TEST_CASE("Every requirement of the unified operation makes its example composite, but not similar problems",
          "[rules]") {
  const auto choice = [](const Case& c) { return build::choose_as_frontend(c.spec, {c.cudnn, c.sm}); };
  for (const std::string& release : attention::frontend_releases)
    for (const auto& need : frontend_rules(release).unified) {
      INFO(need.id << " of " << release);
      const bool never = !need.cudnn_from.is_known();
      const std::string reason = never
                                     ? "the unified form of cudnn-frontend " + release + " has no " + need.feature
                                     : "supports " + need.feature + " only from cuDNN " + need.cudnn_from.short_text();
      const auto composite = choice(of_release(affected(need.examples), release));
      CHECK(composite.spec.pattern == attention::Pattern::sdpa_composite);
      CHECK(contains(composite.choice, reason));
      for (const Case& other : unaffected(need.examples))
        CHECK_FALSE(contains(choice(of_release(other, release)).choice, reason));
    }
}

TEST_CASE("A plain config has no requirement and no bug, and is not refused", "[rules]") {
  for (const char* changes :
       {"{}", R"({"mask": "causal"})", R"({"pass": "bprop", "dtype": "bf16"})",
        R"({"mask": "padding", "layout": "thd", "sm": 89})", R"({"mask": "padding", "layout": "thd", "sm": 120})"}) {
    INFO(changes);
    const Case c = case_of(laid_over(base, Json::parse(changes)));
    CHECK(ids(unmet_requirements(c.spec, c.cudnn, c.sm)).empty());
    CHECK(ids(known_bugs(c.spec, c.cudnn, c.sm)).empty());
    CHECK(refusal(c).empty());
  }
}

TEST_CASE("cudnn-frontend has no rules for patterns that it does not have", "[rules]") {
  for (const char* changes :
       {R"({"pattern": "mha"})", R"({"pattern": "two_matmul"})", R"({"pattern": "sdpa_unified", "pass": "bprop"})"}) {
    INFO(changes);
    const Case c = case_of(laid_over(base, Json::parse(changes)));
    CHECK_FALSE(frontend_answer(c.spec, c.cudnn, c.sm));
  }
  const Case c = case_of(base);
  REQUIRE(frontend_answer(c.spec, c.cudnn, c.sm));
  CHECK(frontend_answer(c.spec, c.cudnn, c.sm)->version == "1.32.0");
}

TEST_CASE("A refusal by cudnn-frontend has its first and last release", "[rules]") {
  Case c =
      case_of(laid_over(base, Json::parse(R"({"dtype": "fp8_e4m3", "layout": "thd", "mask": "padding", "sm": 120})")));
  const auto answer = [&](const char* release) {
    c.spec.frontend = release;
    return frontend_answer(c.spec, c.cudnn, c.sm).value();
  };
  CHECK(answer("1.23").id == "fp8_ragged_sm12x");
  CHECK(answer("1.23").version == "1.23.0");
  CHECK(answer("1.27").until == "1.27");
  CHECK(answer("1.27").from.empty());
  CHECK(answer("1.27").source.text == "cudnn-frontend 1.27.0, sdpa_support_surface.h line 165");
  CHECK(answer("1.27").source.url.starts_with("https://github.com/NVIDIA/cudnn-frontend/blob/v1.27.0/include/"));
  CHECK_FALSE(answer("1.28").refuses);
  c = case_of(laid_over(
      base, Json::parse(
                R"({"layout": {"q": {"strides": [528392, 66049, 129, 1]}, "k": "bshd", "v": "bshd", "o": "bshd"}})")));
  CHECK_FALSE(answer("1.31").refuses);
  CHECK(answer("1.32").from == "1.32");
  CHECK(answer("1.32").until.empty());
  CHECK(answer("1.32").message == "Q: stride ");
}

TEST_CASE("The data covers exactly the allowed releases of cudnn-frontend", "[rules]") {
  const FrameworkRules& newest = frontend_rules();
  CHECK(newest.version == attention::frontend_releases.back() + ".0");
  CHECK(newest.oldest == attention::frontend_releases.front());
  CHECK(attention::nearest_frontend("1.9") == "1.23");
  CHECK(attention::nearest_frontend("0.9") == "1.23");
  CHECK(attention::nearest_frontend("1.27") == "1.27");
  CHECK(attention::nearest_frontend("1.40") == "1.32");
}

TEST_CASE("Without a cudnn-frontend release, the newest that works with the cuDNN is used and named", "[rules]") {
  Case asked = case_of(laid_over(base, Json::parse(R"({"pass": "bprop", "mask": "padding", "cudnn": "9.8.0"})")));
  const auto release = [&] { return frontend_answer(asked.spec, asked.cudnn, asked.sm)->version; };
  const auto choice = [&] { return build::choose_as_frontend(asked.spec, {asked.cudnn, asked.sm}).choice; };
  CHECK(release() == "1.23.0");
  CHECK(contains(choice(), "as cudnn-frontend 1.23 builds it, because backward graphs of newer releases fail"));
  CHECK_FALSE(has_bug(asked, "padding_twice"));
  asked.spec.frontend = "1.32";
  CHECK(has_bug(asked, "padding_twice"));
  CHECK_FALSE(contains(choice(), "builds it"));
  asked.spec.frontend.reset();
  asked.cudnn = {9, 10, 2};
  CHECK(release() == "1.32.0");
  CHECK_FALSE(contains(choice(), "builds it"));
}

TEST_CASE("A requirement names the feature, the requirement and the actual value", "[rules]") {
  const auto sentence = [](const char* changes, const std::string& id) {
    const Case c = case_of(laid_over(base, Json::parse(changes)));
    for (const auto& requirement : unmet_requirements(c.spec, c.cudnn, c.sm))
      if (requirement.id == id) return requirement.text;
    return std::string("met");
  };
  CHECK(sentence(R"({"paged": 64, "mask": "padding", "cudnn": "9.2.1"})", "paged") ==
        "paged K/V needs cuDNN 9.5.0; this is 9.2.1");
  CHECK(sentence(R"({"pass": "bprop", "layout": "thd", "mask": "padding", "cudnn": "9.14.0", "sm": 89})",
                 "ragged_bprop_below_hopper") ==
        "bprop of ragged (THD) tensors below Hopper needs cuDNN 9.18.1; this is 9.14.0");
  CHECK(sentence(R"({"pass": "bprop", "dtype": "f32"})", "f32_bprop") == "no cuDNN so far has bprop in f32");
  const std::string mxfp8 = R"({"dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8", "sm": )";
  CHECK(sentence((mxfp8 + "100}").c_str(), "mxfp8") == "MXFP8 attention needs cuDNN 9.21.0; this is 9.19.0");
  CHECK(sentence((mxfp8 + "90}").c_str(), "mxfp8") ==
        "MXFP8 attention needs cuDNN 9.21.0 and datacenter Blackwell; this is 9.19.0 on sm_90");
  CHECK(sentence(R"({"dtype": "fp8_e4m3", "sm": 89})", "fp8") == "fp8 attention needs Hopper or newer; this is sm_89");
  CHECK(sentence(R"({"heads_kv": 2, "cudnn": "8.9.6"})", "gqa") ==
        "grouped heads (GQA, MQA) need cuDNN 8.9.7; this is 8.9.6");
}

// ---- frameworks' files

TEST_CASE("Rules of a framework are found by name and version", "[rules]") {
  CHECK(framework_rules("cudnn-frontend", "1.23").version == "1.23.0");
  CHECK(&framework_rules("cudnn-frontend", "1.32.0") == &frontend_rules());
  CHECK(&framework_rules("cudnn-frontend", "1.26") == &frontend_rules("1.26"));
  CHECK(contains(internal_error([] { framework_rules("cudnn-frontend", "1.33"); }), "no rules of cudnn-frontend 1.33"));
  CHECK(framework_rules("transformer-engine").framework == "transformer-engine");
  CHECK(contains(internal_error([] { framework_rules("cudnn-frontend", "1.2"); }), "no rules of cudnn-frontend 1.2"));
  CHECK(contains(internal_error([] { framework_rules("jacks"); }), "no rules of jacks"));
  CHECK(contains(internal_error([] { frontend_rules().fact("nothing"); }), "no fact \"nothing\""));
}

TEST_CASE("A framework's gate is one data file with keys, messages with values, and lines or functions", "[rules]") {
  const std::string file = R"({"comment": "", "framework": "f", "version": "2.1.0", "base_url": "https://x/",
    "keys": {"heads": {"kind": "number", "help": "h"}, "form": {"kind": "text", "values": ["a", "b"], "help": "f"}},
    "rules": [{"file": "lib/gate.py", "function": "check", "when": {"form": "a"}, "rules": [
      {"id": "r", "line": 12, "pass": "backward", "message": "{heads} heads in {form}", "when": {"heads": {"above": 8}},
       "affected": {"heads": 9}, "unaffected": [{"heads": 8}]}]}]})";
  const FrameworkRules rules = parse_framework_rules(file, "f/2.1.json");
  REQUIRE(rules.rules.size() == 1);
  const FrameworkRule& rule = rules.rules[0];
  CHECK(rule.source.text == "f 2.1.0, gate.py, check line 12");
  CHECK(rule.source.url == "https://x/lib/gate.py#L12");
  CHECK(rule.pass == "backward");
  const Json nine{{"heads", 9}, {"form", "a"}};
  REQUIRE(refusals_of(rules, nine).size() == 1);
  CHECK(filled(rule.message, nine, CudnnVersionAs::number) == "9 heads in a");
  CHECK(refusals_of(rules, {{"heads", 8}, {"form", "a"}}).empty());
  CHECK(refusals_of(rules, {{"heads", 9}, {"form", "b"}}).empty());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = file;
    text.replace(text.find(from), from.size(), to);
    return internal_error([&] { parse_framework_rules(text, "f/2.1.json"); });
  };
  CHECK(with("9}", "9}") == "no error");
  CHECK(contains(with("{heads} heads", "{head} heads"), "f/2.1.json, r: /message: \"{head}\" is not a key"));
  CHECK(contains(with(R"("form": "a")", R"("form": "c")"),
                 "/when/form: \"c\" is not a known value; allowed: \"a\", \"b\""));
  CHECK(contains(with(R"({"above": 8})", R"({"over": 8})"), "unknown operator"));
  CHECK(contains(with(R"("pass": "backward")", R"("pass": "bprop")"),
                 "f/2.1.json, r: /pass: \"bprop\" is not a known value; allowed: \"\", \"forward\", \"backward\""));
  CHECK(contains(with(R"("base_url": "https://x/")", R"("url": "https://x/")"), "a line needs"));
  CHECK(contains(
      with(R"("kind": "number")", R"("kind": "integer")"),
      "f/2.1.json: /keys/heads/kind: \"integer\" is not a known value; allowed: \"boolean\", \"number\", \"text\""));
  CHECK(contains(with(R"("affected": {"heads": 9}, )", ""), "\"affected\" is missing"));
  CHECK(contains(with(R"("comment": "")", R"("comment": "", "fact": [])"),
                 "f/2.1.json: /fact: unknown key \"fact\" (did you mean \"facts\"?)"));
}

// ---- in addition to cuDNN's answer

namespace {

// 9.19's answers; other versions violate other rules.
bool is_9_19() {
  static const CudnnVersion version = probe_one(R"({"heads": 8, "seqlen": 128, "head_dim": 64})", "h200").cudnn_version;
  return version >= 91900 && version < 92000;
}

}  // namespace

TEST_CASE("A supported config has no unmet requirements", "[rules][probe]") {
  if (!is_9_19()) return;
  for (const auto& result : probe_all(
           R"({"heads": 8, "seqlen": 512, "head_dim": 64, "layout": "thd", "mask": "padding"})", "rtx5090,l40s")) {
    INFO(result.target.id);
    CHECK(result.verdict == Verdict::supported);
    CHECK(result.requirements.empty());
    CHECK(result.warnings.empty());
    REQUIRE(result.frontend);
    CHECK_FALSE(result.frontend->refuses);
  }
}

TEST_CASE("A refusal by cuDNN includes its requirement", "[rules][probe]") {
  if (!is_9_19()) return;
  const auto result = probe_one(
      R"({"heads": 8, "seqlen": 512, "head_dim": 128, "dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8"})",
      "b200");
  CHECK(result.verdict != Verdict::supported);
  CHECK(ids(result.requirements) == std::set<std::string>{"mxfp8"});
  CHECK(contains(result.requirements.at(0).text, "needs cuDNN 9.21.0"));
  REQUIRE(result.frontend);
  CHECK(result.frontend->id == "mxfp8_version");
}

TEST_CASE("A known bug is a warning for any verdict", "[rules][probe]") {
  if (!is_9_19()) return;
  const auto decode =
      R"({"heads_q": 32, "heads_kv": 4, "seqlen_q": 1, "seqlen_kv": 4096, "head_dim": 128, "dtype": "bf16"})";
  const auto results = probe_all(decode, "b200,h200");
  REQUIRE(results.size() == 2);
  CHECK(results[0].verdict == Verdict::supported);
  CHECK(ids(results[0].warnings) == std::set<std::string>{"decode_kv_heads_blackwell"});
  CHECK(results[0].warnings[0].source.url == "https://github.com/pytorch/pytorch/issues/193893");
  CHECK(results[1].verdict == Verdict::supported);
  CHECK(results[1].warnings.empty());
  const auto crashed = probe_one(
      R"({"heads": 8, "seqlen": 512, "head_dim": 64, "dropout": {"probability": 0.125, "seed": "constant"}})", "b200");
  CHECK(crashed.verdict == Verdict::crashed);
  CHECK(ids(crashed.warnings).contains("constant_seed"));
}

TEST_CASE("A bug of a form that only an older cudnn-frontend builds is not reported for a newer one", "[rules]") {
  const auto told = [](const char* frontend) {
    const Json config = laid_over(base, {{"dtype", "f32"}, {"frontend", frontend}});
    const Case one = case_of(config);
    return ids(known_bugs(one.spec, one.cudnn, one.sm)).contains("unified_f32");
  };
  CHECK(told("1.26"));  // uses the unified form for f32
  CHECK_FALSE(told("1.27"));
  CHECK_FALSE(told("1.32"));
}

TEST_CASE("A warning is shown without details", "[rules][probe]") {
  if (!is_9_19()) return;
  const Run run = run_attnprobe(
      "--heads-q 32 --heads-kv 4 --seqlen-q 1 --seqlen-kv 4096 --head-dim 128 --dtype bf16 --target b200,h200");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "but on b200: known bug: Decode (one query) with fewer than 8 K/V heads"));
  CHECK(contains(run.out, "  but   yes\n"));
  CHECK(contains(run.out, "[decode_kv_heads_blackwell]"));
  CHECK(contains(run.out, "Use cuDNN 9.25.1 or newer"));
}

TEST_CASE("A GPU newer than cuDNN is distinguished from a kernel that does not compile", "[rules][probe]") {
  if (!is_9_19()) return;
  const Run run =
      run_attnprobe("--heads 8 --seqlen 512 --head-dim 128 --dtype bf16 --target rubin --plans first --quick");
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "the GPU is newer than this cuDNN"));
  CHECK(contains(run.out, "needs cuDNN 9.26.0; this is 9.19.0"));
  CHECK_FALSE(contains(run.out, "a bug of this cuDNN"));
}

TEST_CASE("A config that cudnn-frontend refuses but cuDNN supports is noted", "[rules][probe]") {
  if (!is_9_19()) return;
  const auto result = probe_one(R"({"heads": 8, "seqlen": 512, "head_dim": 64, "alibi": true})", "h200");
  CHECK(result.verdict == Verdict::supported);
  REQUIRE(result.frontend);
  CHECK(result.frontend->refuses);
  CHECK(result.frontend->id == "alibi");
}

TEST_CASE("docs/how-it-works.md lists every key of a problem", "[rules]") {
  const std::string page = read_text(source_dir() / "docs" / "how-it-works.md");
  for (const auto& key : problem_keys()) {
    INFO(key.name);
    CHECK(contains(page, "`" + key.name + "`"));
  }
}

}  // namespace attnprobe::test::requirements_test
