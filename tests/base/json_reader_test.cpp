// The strict reader of JSON: refused texts, and the place in each error.
#include "base/json_reader.hpp"

#include <fmt/format.h>

#include "base/input.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::json_reader_test {

namespace {

std::string refusal(const std::string& text, const JsonRules& rules = {}) {
  return usage_error([&] { parse_json(text, {"a.json"}, rules); });
}

template <class F>
std::string refused(const Json& json, F read) {
  return usage_error([&] { read(JsonView(json, {"a.json"})); });
}

}  // namespace

TEST_CASE("Strict JSON gives the same result as the JSON library", "[json]") {
  const std::string text =
      R"({"b": [1, -2, 3.5, "x\u00e9", true, null, {}, []], "a": {"b": {"c": [[{"d": 18446744073709551615}]]}}})";
  CHECK(parse_json(text, {"a.json"}) == Json::parse(text));
  CHECK(parse_json(text, {"a.json"}).dump() == Json::parse(text).dump());
  CHECK(parse_json("3", {"a.json"}) == 3);
  CHECK(parse_json("[{\"a\": 1}, {\"a\": 2}] // equal keys of two objects", {"a.json"}).size() == 2);
}

TEST_CASE("Strict JSON can allow comments", "[json]") {
  CHECK(refusal("[1, /* two */ 2]") == "no error");
  CHECK_THAT(refusal("[1, /* two */ 2]", {.comments = false}), StartsWith("a.json:1: not valid JSON: "));
}

TEST_CASE("A duplicate key is refused at its location", "[json]") {
  CHECK(refusal(R"({"a": 1, "a": 2})") == "a.json: /a: the key \"a\" appears twice in one object");
  CHECK(refusal(R"([3, {"a": {"x/y": 1}, "b": [[], {"x/y": 1, "x/y": 1}]}])") ==
        "a.json: /1/b/1/x~1y: the key \"x/y\" appears twice in one object");
  CHECK(refusal(R"([{"a": [{"b": 1}, {"b": 2, "c": 3, "b": 4}]}])") ==
        "a.json: /0/a/1/b: the key \"b\" appears twice in one object");
}

TEST_CASE("Nesting beyond the limit is refused", "[json]") {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(refusal(nested(256)) == "no error");
  CHECK_THAT(refusal(nested(257)), StartsWith("a.json: /0/0/0/") && EndsWith(": nested deeper than 256"));
  CHECK(refusal(R"({"a": [{"b": [[1]]}]})", {.deepest = 5}) == "no error");
  CHECK(refusal(R"({"a": [{"b": [[1]]}]})", {.deepest = 4}) == "a.json: /a/0/b/0: nested deeper than 4");
  // The deepest allowed file; a recursive reader would overflow its stack.
  CHECK_THAT(refusal(std::string(4 << 20, '[')), EndsWith("nested deeper than 256"));
}

TEST_CASE("Text that is not JSON is refused with the line, or quoted", "[json]") {
  CHECK_THAT(refusal("{\n\"a\": tru\n}"), StartsWith("a.json:2: not valid JSON: syntax error"));
  CHECK_THAT(refusal("{} {}"), StartsWith("a.json:1: not valid JSON: "));
  CHECK_THAT(refusal("\"\xff\""), StartsWith("a.json:1: not valid JSON: "));
  CHECK_THAT(refusal("1e999"), StartsWith("a.json"));
  const JsonSource option{"--mask", " at ", false};
  CHECK_THAT(usage_error([&] { parse_json("{\"causal\"", option); }),
             StartsWith("--mask: {\"causal\" is not valid JSON: syntax error"));
}

TEST_CASE("A JSON file may be compressed and must be complete", "[json]") {
  const TemporaryFolder folder;
  const auto file = folder.file("a.json", R"({"a": [1, 2]})").string();
  REQUIRE(shell(fmt::format("gzip -k {0} && xz -k {0}", file)).exit_code == 0);
  for (const char* ending : {"", ".gz", ".xz"}) CHECK(load_json(file + ending) == Json::parse(R"({"a": [1, 2]})"));
  REQUIRE(shell(fmt::format("head -c 60 {0}.xz > {0}.cut.xz", file)).exit_code == 0);
  CHECK_THAT(usage_error([&] { load_json(file + ".cut.xz"); }), StartsWith(file + ".cut.xz: its xz data is "));
  CHECK(usage_error([&] { load_json(file + ".zst"); }) == file + ".zst: cannot be opened: No such file or directory");
  CHECK_THAT(usage_error([&] { load_json(folder.path().string()); }), ContainsSubstring(": cannot be read: "));
}

TEST_CASE("A view's errors name location, value and allowed values", "[json]") {
  const Json json = Json::parse(R"({"a": [1, {"x/y": "z"}], "big": 18446744073709551615})");
  using View = JsonView;
  CHECK(refused(json, [](const View& v) { v.at("b"); }) == "a.json: the key \"b\" is missing");
  CHECK(refused(json, [](const View& v) { v.at("a").at("b"); }) == R"(a.json: /a: [1,{"x/y":"z"}] is not an object)");
  CHECK(refused(json, [](const View& v) { v.at("a").at(1).at("x/y").integer(); }) ==
        "a.json: /a/1/x~1y: \"z\" is not an integer");
  CHECK(refused(json, [](const View& v) { v.at("a").at(0).integer(2, 5); }) ==
        "a.json: /a/0: 1 is out of range; allowed: an integer from 2 to 5");
  CHECK(refused(json, [](const View& v) { v.at("big").integer(); }) ==
        "a.json: /big: 18446744073709551615 is out of range; allowed: an integer of 64 bits");
  CHECK(refused(json, [](const View& v) { v.at("a").at(0).boolean(); }) ==
        "a.json: /a/0: 1 is not a boolean; allowed: true, false");
  CHECK(refused(json, [](const View& v) { v.at("a").texts(); }) == "a.json: /a/0: 1 is not text");
  CHECK(refused(json, [](const View& v) {
          v.at("a").at(1).at("x/y").word({"zz", "y"});
        }) == R"(a.json: /a/1/x~1y: "z" is not a known value; allowed: "zz", "y")");
  CHECK(refused(json, [](const View& v) {
          v.only_keys({"a", "bag"});
        }) == R"(a.json: /big: unknown key "big" (did you mean "bag"?); allowed: "a", "bag")");
  const Json long_text = std::string(3000, 'x');
  CHECK(refused(long_text, [](const View& v) { v.boolean(); }).size() < 300);
  const JsonView in_graph(json, {"operationGraph", ""});
  CHECK(usage_error([&] { in_graph.at("a").boolean(); }) ==
        R"(operationGraph/a: [1,{"x/y":"z"}] is not a boolean; allowed: true, false)");
}

TEST_CASE("An object refuses unread keys", "[json]") {
  const Json json = Json::parse(R"({"uid": 1, "data_type": "f16", "datatype": "f16"})");
  JsonObject object(JsonView(json, {"a.json"}));
  CHECK(object.take("uid").integer() == 1);
  CHECK_FALSE(object.find("name"));
  CHECK(object.left() == std::vector<std::string>{"data_type", "datatype"});
  CHECK(object.find("data_type")->text() == "f16");
  CHECK(
      usage_error([&] { object.finish(); }) ==
      R"(a.json: /datatype: unknown key "datatype" (did you mean "data_type"?); allowed: "uid", "name", "data_type")");
  CHECK(usage_error([&] { object.take("dims"); }) == "a.json: the key \"dims\" is missing");
  CHECK(usage_error([&] { JsonObject(JsonView(json, {"a.json"}).at("uid")); }) == "a.json: /uid: 1 is not an object");
}

TEST_CASE("Members for which null means absent", "[json]") {
  const Json json = Json::parse(R"({"none": null, "b": true, "t": "x", "i": 3, "n": 1.5, "l": [1, 2]})");
  const JsonView view(json, {"a.json"});
  for (const char* absent : {"none", "nowhere"}) {
    CHECK_FALSE(view.find_set(absent));
    CHECK(view.boolean_or(absent, true));
    CHECK(view.text_or(absent, "y") == "y");
    CHECK_FALSE(view.optional_integer(absent));
    CHECK_FALSE(view.optional_number(absent));
    CHECK(view.elements_or_none(absent).empty());
  }
  CHECK(view.boolean_or("b", false));
  CHECK(view.text_or("t", "y") == "x");
  CHECK(view.optional_integer("i") == 3);
  CHECK(view.optional_number("n") == 1.5);
  CHECK(view.elements_or_none("l").size() == 2);
  CHECK(view.at("l").integers() == std::vector<int64_t>{1, 2});
  CHECK(usage_error([&] { view.boolean_or("i", false); }) == "a.json: /i: 3 is not a boolean; allowed: true, false");
  CHECK(usage_error([&] { view.text_or("i", ""); }) == "a.json: /i: 3 is not text");
  CHECK(usage_error([&] { view.optional_integer("n"); }) == "a.json: /n: 1.5 is not an integer");
  CHECK(usage_error([&] { view.optional_number("t"); }) == "a.json: /t: \"x\" is not a number");
  CHECK(usage_error([&] { view.elements_or_none("t"); }) == "a.json: /t: \"x\" is not an array");
  CHECK(usage_error([&] { view.at("l").text_or("t", ""); }) == "a.json: /l: [1,2] is not an object");
  CHECK(usage_error([&] { view.at("l").members(); }) == "a.json: /l: [1,2] is not an object");
  CHECK(view.members().front().second.where() == "a.json: /none");
}

TEST_CASE("The suggested word is a likely typo, for any case and length", "[json]") {
  const std::vector<std::string> types{"f16", "bf16", "f32"};
  CHECK(nearest("BF16", types) == "bf16");
  CHECK(nearest("fp16", types) == "f16");
  CHECK(nearest("o", {"q", "k"}).empty());
  CHECK(nearest("head", {"batch", "heads_q"}) == "heads_q");
  CHECK(nearest(std::string(10'000'000, 'f'), types).empty());
}

TEST_CASE("A very long key is truncated in the error message", "[json]") {
  const std::string key(20 << 20, 'k');
  const Json json = {{key, 1}};
  const std::string why = refused(json, [](const JsonView& v) { v.only_keys({"a"}); });
  CHECK(why.size() < 700);
  CHECK_THAT(why, StartsWith("a.json: /kkk") && ContainsSubstring("unknown key \"kkk"));
  CHECK(refusal("{\"" + key + "\": 1, \"" + key + "\": 2}").size() < 700);
  CHECK(refusal("{\"a\": " + key).size() < 700);
}

TEST_CASE("An object with too many keys is refused, because keys are compared pairwise", "[json]") {
  const auto object = [](size_t keys) {
    std::string text = "[{\"k0\": 0";
    for (size_t i = 1; i < keys; ++i) text += fmt::format(",\"k{}\":0", i);
    return text + "}]";
  };
  CHECK(refusal(object(4096)) == "no error");
  CHECK(refusal(object(200'000)) == "a.json: /0: an object of more than 4096 keys");
  CHECK(parse_json_leniently(object(200'000)).is_discarded());
}

TEST_CASE("Lenient JSON stops at the depth where the strict reader throws", "[json]") {
  CHECK(parse_json_leniently(R"({"a": [1, {"b": null}], "a": 2})") == Json({{"a", 2}}));
  for (const char* broken : {"", "{", "{} {}", "\"\xff\"", "1e999", "[1] // two", "nul"}) {
    INFO(broken);
    CHECK(parse_json_leniently(broken).is_discarded());
  }
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(parse_json_leniently(nested(256)).is_array());
  CHECK(parse_json_leniently(nested(257)).is_discarded());
  CHECK(parse_json_leniently(nested(1 << 20)).is_discarded());
}

TEST_CASE("Deeply nested JSON crashes no reader", "[json]") {
  const TemporaryFolder folder;
  const size_t depth = 100'000;
  const std::string deep = std::string(depth, '[') + std::string(depth, ']');
  const std::string report = R"({"schema":"attnprobe/report/1","results":)" + deep + "}";
  const std::string cells = R"({"schema":"attnprobe/cells/1","axes":)" + deep + "}\n";
  const std::string head =
      "I! CuDNN (v91900 56) function cudnnBackendFinalizeGraphVisualize() called:\ni!     apiLog: "
      "type=json; val=";
  const auto file = [&](const char* name, const std::string& text) { return folder.file(name, text).string(); };
  const std::pair<std::string, std::string> cases[] = {
      {"--config " + file("c.json", deep), "nested deeper than 256"},
      {"matrix --out " + (folder.path() / "m").string() + " " + file("d.json", "{\"config_files\":" + deep + "}"),
       "nested deeper than 256"},
      {"--heads 1 --seqlen 8 --head-dim 8 --target " + file("t.json", deep), "nested deeper than 256"},
      {"diff " + file("r.json", report) + " " + file("r2.json", report), "nested deeper than 256"},
      {"diff " + file("cells.jsonl", cells) + " " + file("cells2.jsonl", cells), "nested deeper than 256"},
      {"replay --list " + file("doc.json", deep), "nested deeper than 256"},
      {"explain " + file("g.log", head + "{\"operationGraph\":" + deep + "}\ni! Time: x\n"), ""},
      {"replay --list " + file("f.log", "x {\"context\":" + deep + ",\"nodes\":[]}\n"), ""},
      {"replay --list " + file("u.bin", "{i\001a" + deep), "nested deeper than 64"},
      {"--te " + file("te.json", deep), "nested deeper than 256"}};
  for (const auto& [arguments, message] : cases) {
    const Run run = run_attnprobe(arguments);
    INFO(arguments << "\n" << run.err << run.out);
    CHECK(run.exit_code <= 2);
    CHECK(contains(run.err, message));
    CHECK_FALSE(contains(run.err, "critical"));
  }
  // An option's text is one argument, 128 KiB at most.
  const Run option =
      shell(fmt::format("{} --heads 1 --seqlen 8 --head-dim 8 --mask $(head -c 100000 /dev/zero | tr "
                        "'\\0' '[')",
                        program()));
  CHECK(option.exit_code == 2);
  CHECK_THAT(option.err, ContainsSubstring("--mask at /0/0") && ContainsSubstring("nested deeper than 256"));
  // A leading space hides that it is JSON; its depth is the same.
  CHECK(shell(fmt::format("{} --heads 1 --seqlen 8 --head-dim 8 --mask \" $(head -c 100000 /dev/zero | tr '\\0' '[')\"",
                          program()))
            .exit_code == 2);
}

}  // namespace attnprobe::test::json_reader_test
