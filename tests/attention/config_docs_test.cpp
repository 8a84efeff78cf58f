// docs/config.md and its examples match the table of fields.
#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/text.hpp"
#include "catch.hpp"

namespace attnprobe::test::config_docs_test {

using namespace attnprobe::attention;

TEST_CASE("docs/config.md has the program's fields", "[config][docs]") {
  const std::string page = read_text(source_dir() / "docs/config.md");
  const std::string begin = "<!-- fields: attnprobe schema config --format md -->\n\n",
                    end = "\n<!-- end of fields -->";
  const size_t from = page.find(begin) + begin.size(), to = page.find(end);
  REQUIRE(to != std::string::npos);
  INFO("put the output of `attnprobe schema config --format md` between the two markers");
  CHECK(page.substr(from, to - from) == config_markdown());
}

TEST_CASE("Every field has a help line and an example that round-trips", "[config][docs]") {
  for (const auto& field : fields()) {
    INFO(field.name);
    CHECK_FALSE(field.help.empty());
    CHECK(field.help.back() != '.');
    CHECK(help_line(field).find('`') == std::string::npos);
    REQUIRE_FALSE(field.example.empty());
    AttentionSpec spec;
    // Some examples also need other fields.
    spec.pass = field.help.rfind("bprop", 0) == 0 ? Pass::bprop : Pass::fprop;
    if (field.name == "fp8") spec.dtype = DataType::fp8_e4m3;
    if (field.name.rfind("ragged", 0) == 0 || field.name.rfind("max_total", 0) == 0) spec.q.axes = "thd";
    const JsonSource source{field.name};
    const Json value = parse_json(field.example, source);
    field.set(spec, {value, source});
    if (!field.stands_for.empty() || !field.member_of.empty()) continue;
    const Json written = field.get(spec);
    REQUIRE_FALSE(written.is_null());
    AttentionSpec again = spec;
    field.set(again, {written, source});
    CHECK(field.get(again) == written);
    if (field.given(spec)) {
      const Json brief = field.brief(spec);
      AttentionSpec back = spec;
      field.set(back, {brief, source});
      CHECK(field.get(back) == written);
    }
  }
}

TEST_CASE("Options write objects as short as possible", "[config][options]") {
  const auto options = [](const std::string& members) {
    return to_options(
        parse_configs(R"({"heads": 2, "seqlen": 8, "head_dim": 16)" + members + "}", "x.json").at(0).spec);
  };
  const std::string size = "--heads 2 --seqlen 8 --head-dim 16";
  CHECK(options("") == size);
  CHECK(options(
            R"(, "pattern": "sdpa", "pass": "fprop", "batch": 1, "dtype": "f16", "layout": "bshd", "mask": "none")") ==
        size);
  CHECK(options(R"(, "bias": {"shape": "b1ss"}, "dropout": {"probability": 0.5, "form": "philox"}, "paged": {})") ==
        size + " --bias b1ss --dropout 0.5 --paged 64");
  CHECK(options(R"(, "bias": {"dtype": "f32"}, "score_mod": {"kind": "relu"})") ==
        size + R"( --bias '{"shape":"1hss","dtype":"f32"}' --score-mod relu)");
  CHECK(options(R"(, "heads_v": 2)") == "--heads-q 2 --heads-kv 2 --heads-v 2 --seqlen 8 --head-dim 16");
  CHECK(options(R"(, "pass": "bprop", "layout": "thd", "max_total_seqlen_q": 7, "ragged_offsets": "i32")") ==
        "--pass bprop --heads 2 --seqlen 8 --head-dim 16 --layout thd --max-total-seqlen-q 7");
}

}  // namespace attnprobe::test::config_docs_test
