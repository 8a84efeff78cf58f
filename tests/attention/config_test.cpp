// Configs: documents, defaults, shorthands, cross products, overrides and all errors.
#include "attention/config.hpp"

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::config_test {

using namespace attnprobe::attention;

namespace {

// A complete config with additional members: R"("dtype": "bf16")".
std::string config(const std::string& members = "") {
  return R"({"heads": 12, "seqlen": 512, "head_dim": 64)" + (members.empty() ? "" : ", " + members) + "}";
}

std::vector<AttentionConfig> parse(const std::string& text, const std::vector<Override>& overrides = {}) {
  return parse_configs(text, "bert.json", overrides);
}

AttentionSpec one(const std::string& text, const std::vector<Override>& overrides = {}) {
  const auto configs = parse(text, overrides);
  REQUIRE(configs.size() == 1);
  return configs[0].spec;
}

std::string refusal(const std::string& text, const std::vector<Override>& overrides = {}) {
  return usage_error([&] { parse(text, overrides); });
}

std::string option_refusal(std::vector<Override> overrides) {
  overrides.insert(overrides.end(), {{"heads", 12}, {"seqlen", 512}, {"head_dim", 64}});
  return usage_error([&] { configs_from_options(overrides); });
}

std::vector<std::string> names(const std::vector<AttentionConfig>& configs) {
  std::vector<std::string> result;
  for (const auto& c : configs) result.push_back(c.spec.name);
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

// ---- documents

TEST_CASE("One object is one config", "[config]") {
  const auto configs = parse(config(R"("name": "bert")"));
  REQUIRE(configs.size() == 1);
  CHECK(configs[0].spec.name == "bert");
  CHECK(configs[0].origin.file == "bert.json");
  CHECK(configs[0].origin.pointer.empty());
}

TEST_CASE("Each element of an array is a config", "[config]") {
  const auto configs = parse("[" + config(R"("name": "a")") + "," + config(R"("name": "b")") + "]");
  CHECK(names(configs) == Names{"a", "b"});
  CHECK(configs[1].origin.pointer == "/1");
}

TEST_CASE("Configs inherit the defaults and may override them", "[config]") {
  const auto configs = parse(R"({"defaults": {"heads": 4, "seqlen": 8, "head_dim": 64, "dtype": "bf16"},
                                 "configs": [{"name": "a"}, {"name": "b", "dtype": "f16"}]})");
  REQUIRE(configs.size() == 2);
  CHECK(configs[0].spec.dtype == DataType::bf16);
  CHECK(configs[1].spec.dtype == DataType::f16);
  CHECK(configs[1].origin.pointer == "/configs/1");
}

TEST_CASE("The member \"configs\" may be a single object", "[config]") {
  const auto configs = parse(R"({"$schema": "x", "configs": )" + config() + "}");
  REQUIRE(configs.size() == 1);
  CHECK(configs[0].origin.pointer == "/configs");
}

TEST_CASE("Comments are allowed", "[config]") {
  CHECK(one("// BERT\n" + config(R"(/* half */ "dtype": "bf16")")).dtype == DataType::bf16);
}

TEST_CASE("Missing fields of a config have their defaults", "[config]") {
  const AttentionSpec spec = one(config());
  CHECK(spec.name == "sdpa");
  CHECK(spec.pattern == Pattern::sdpa);
  CHECK(spec.pass == Pass::fprop);
  CHECK(spec.batch == 1);
  CHECK(spec.dtype == DataType::f16);
  CHECK(output_type(spec) == DataType::f16);
  CHECK(scale_of(spec) == 0.125);  // 1/sqrt(64)
  CHECK_FALSE(wants_stats(spec));
  CHECK(mask_name(spec.mask) == "none");
  CHECK(spec.expect.otherwise == ExpectedVerdict::supported);
}

TEST_CASE("Training has statistics", "[config]") {
  CHECK(wants_stats(one(config(R"("pass": "fprop_train")"))));
  CHECK(wants_stats(one(config(R"("stats": true)"))));
}

TEST_CASE("A config file may be compressed", "[config]") {
  const TemporaryFolder folder;
  const auto path = folder.file("a.json", config(R"("name": "from-file")")).string();
  REQUIRE(shell("gzip -k " + path + " && xz -k " + path).exit_code == 0);
  for (const char* ending : {".gz", ".xz"}) CHECK(names(load_configs(path + ending)) == Names{"from-file"});
}

TEST_CASE("A config file is read, and a missing one is named", "[config]") {
  const TemporaryFolder folder;
  const auto path = folder.file("a.json", config(R"("name": "from-file")")).string();
  CHECK(names(load_configs(path)) == Names{"from-file"});
  CHECK(usage_error([] { load_configs("nowhere.json"); }) ==
        "nowhere.json: cannot be opened: No such file or directory");
  // A folder means its documents, sorted by name; other files are ignored.
  folder.file("b.json", config(R"("name": "second")"));
  folder.file("notes.txt", "not a config");
  CHECK(names(load_configs(folder.path())) == Names{"from-file", "second"});
  std::filesystem::create_directory(folder.path() / "empty");
  CHECK(usage_error([&] { load_configs(folder.path() / "empty"); }) ==
        (folder.path() / "empty").string() + ": the folder contains no .json file");
}

// ---- shorthands

TEST_CASE("A shorthand sets both of its fields", "[config]") {
  const AttentionSpec spec = one(config());
  CHECK(spec.heads_q == 12);
  CHECK(spec.heads_kv == 12);
  CHECK(spec.seqlen_q == 512);
  CHECK(spec.seqlen_kv == 512);
  CHECK(spec.head_dim_qk == 64);
  CHECK(spec.head_dim_v == 64);
}

TEST_CASE("A field next to a shorthand refines it, in any order", "[config]") {
  for (const char* text : {R"({"heads": 8, "heads_kv": 2, "seqlen": 4, "head_dim": 8})",
                           R"({"heads_kv": 2, "heads": 8, "seqlen": 4, "head_dim": 8})"}) {
    const AttentionSpec spec = one(text);
    CHECK(spec.heads_q == 8);
    CHECK(spec.heads_kv == 2);
  }
}

TEST_CASE("A config's shorthand replaces both fields of the defaults", "[config]") {
  const AttentionSpec spec = one(R"({"defaults": {"heads_q": 8, "heads_kv": 2, "seqlen": 4, "head_dim": 8},
                                     "configs": [{"heads": 4}]})");
  CHECK(spec.heads_q == 4);
  CHECK(spec.heads_kv == 4);
}

TEST_CASE("A config's field refines a shorthand of the defaults", "[config]") {
  const AttentionSpec spec =
      one(R"({"defaults": {"heads": 8, "seqlen": 4, "head_dim": 8}, "configs": [{"heads_kv": 2}]})");
  CHECK(spec.heads_q == 8);
  CHECK(spec.heads_kv == 2);
}

TEST_CASE("A config's layout of O replaces the o_layout of the defaults", "[config]") {
  const AttentionSpec spec = one(R"({"defaults": {"heads": 2, "seqlen": 4, "head_dim": 8, "o_layout": "sbhd"},
      "configs": [{"layout": {"q": "bhsd", "k": "bhsd", "v": "bhsd", "o": "bhsd"}}]})");
  REQUIRE(spec.o);
  CHECK(spec.o->axes == "bhsd");
}

// ---- cross products

TEST_CASE("Arrays make the cross product, the last field fastest", "[config]") {
  const auto configs = parse(config(R"("name": "n", "dtype": ["f16", "bf16"], "mask": ["none", "causal"])"));
  CHECK(names(configs) == Names{"n[dtype=f16,mask=none]", "n[dtype=f16,mask=causal]", "n[dtype=bf16,mask=none]",
                                "n[dtype=bf16,mask=causal]"});
  CHECK(configs[2].spec.dtype == DataType::bf16);
  CHECK(mask_name(configs[2].spec.mask) == "none");
}

TEST_CASE("A cross product without a name is named after its pattern", "[config]") {
  CHECK(names(parse(config(R"("pattern": "mha", "batch": [1, 2])"))) == Names{"mha[batch=1]", "mha[batch=2]"});
}

TEST_CASE("A cross product over a shorthand sets both fields together", "[config]") {
  const auto configs = parse(R"({"heads": 2, "seqlen": [16, 32], "head_dim": 64})");
  REQUIRE(configs.size() == 2);
  CHECK(configs[1].spec.seqlen_q == 32);
  CHECK(configs[1].spec.seqlen_kv == 32);
}

TEST_CASE("Objects may be values of a cross product", "[config]") {
  const auto configs = parse(config(R"("name": "n", "mask": ["causal", {"window_left": 3}])"));
  CHECK(names(configs) == Names{"n[mask=causal]", R"(n[mask={"window_left":3}])"});
}

TEST_CASE("A cross product that is too large is refused", "[config]") {
  Json many = Json::array();
  for (int i = 1; i <= 400; ++i) many.push_back(i);
  const std::string text = R"({"head_dim": 8, "heads": )" + many.dump() + R"(, "seqlen": )" + many.dump() + "}";
  CHECK(refusal(text) ==
        "bert.json: /seqlen: 160000 configs are more than the 100000 that attnprobe allows; "
        "ATTNPROBE_MAX_CONFIGS=160000 allows them");
}

TEST_CASE("Cross products that are too large together are refused before any is expanded", "[config]") {
  Json many = Json::array();
  for (int i = 1; i <= 300; ++i) many.push_back(i);
  const std::string one = R"({"head_dim": 8, "heads": )" + many.dump() + R"(, "seqlen": )" + many.dump() + "}";
  std::string text = "[" + one;
  for (int i = 0; i < 100; ++i) text += "," + one;
  CHECK(refusal(text + "]") ==
        "bert.json: /1/seqlen: 180000 configs are more than the 100000 that attnprobe allows; "
        "ATTNPROBE_MAX_CONFIGS=180000 allows them");
  // Few configs, but each copies the shared name.
  const std::string name(1 << 20, 'n');
  CHECK_THAT(
      refusal(R"({"name": ")" + name + R"(", "head_dim": 8, "seqlen": 8, "heads": )" + many.dump() + "}"),
      StartsWith("bert.json: 3") && ContainsSubstring("bytes for the 300 configs of a cross product are more than "
                                                      "the 268435456"));
}

TEST_CASE("An error in an array names the element", "[config]") {
  CHECK_THAT(refusal(config(R"("batch": [1, 0])")), StartsWith("bert.json: /batch/1: 0 is out of range"));
  CHECK(refusal(config(R"("batch": [[1, 2]])")) == "bert.json: /batch/0: [1,2] is not an integer from 1 to 2147483647");
}

TEST_CASE("An empty array of values is refused", "[config]") {
  CHECK(refusal(config(R"("dtype": [])")) == "bert.json: /dtype: an empty array of values");
}

TEST_CASE("Free text accepts no array", "[config]") {
  CHECK(refusal(config(R"("name": ["a", "b"])")) == "bert.json: /name: accepts one text, not an array");
}

// ---- options

TEST_CASE("An option replaces the file's field", "[config][options]") {
  CHECK(one(config(R"("dtype": "f16")"), {{"dtype", "bf16"}}).dtype == DataType::bf16);
}

TEST_CASE("An option's shorthand replaces the file's fields", "[config][options]") {
  const AttentionSpec spec = one(R"({"heads_q": 8, "heads_kv": 2, "seqlen": 4, "head_dim": 8})", {{"heads", 6}});
  CHECK(spec.heads_q == 6);
  CHECK(spec.heads_kv == 6);
}

TEST_CASE("An option refines the file's shorthand", "[config][options]") {
  const AttentionSpec spec = one(config(), {{"heads_kv", 3}});
  CHECK(spec.heads_q == 12);
  CHECK(spec.heads_kv == 3);
}

TEST_CASE("An option replaces an array of the file", "[config][options]") {
  CHECK(names(parse(config(R"("name": "n", "batch": [1, 2])"), {{"batch", 4}})) == Names{"n"});
}

TEST_CASE("The option --causal is added to the file's mask", "[config][options]") {
  const Override causal{"causal", true};
  const auto words = [&](const std::string& members, std::vector<Override> more = {}) {
    more.push_back(causal);
    return describe(one(config(members), more).mask);
  };
  CHECK(words("") == "causal");
  CHECK(words(R"("mask": "none")") == "causal");
  CHECK(words(R"("mask": "padding")") == "padding_causal");
  CHECK(words(R"("mask": "causal_bottom_right")") == "causal_bottom_right");
  CHECK(words(R"("mask": {"causal": true, "window_left": 511})") == "causal left 511");
  CHECK(one(config(R"("mask": {"padding": true, "seqlens_kv": [100]})"), {causal}).mask.seqlens_kv ==
        std::vector<int64_t>{100});
  // The same with --mask.
  CHECK(words("", {{"mask", "padding"}}) == "padding_causal");
  CHECK(words("", {{"mask", R"({"window_left": 3})"_json}}) == "causal left 3");
  CHECK(refusal(config(), {{"mask", "none"}, causal}) == "--causal: contradicts --mask none");
  CHECK_THAT(refusal(config(R"("mask": {"window_right": 64})"), {causal}),
             StartsWith("--causal and bert.json: /mask at /window_right: 64 contradicts"));
  // Each of several, without duplicates.
  CHECK(names(parse(config(R"("name": "n", "mask": ["none", "causal", "padding"])"), {causal})) ==
        Names{"n[mask=causal]", "n[mask=padding_causal]"});
  CHECK(configs_from_options({{"heads", 2}, {"seqlen", 8}, {"head_dim", 8}, causal}).front().spec.mask.window_right ==
        0);
  CHECK(override_words(causal) == "--causal");
  CHECK(override_words({"mask", R"({"window_left": 3})"_json}) == R"(--mask '{"window_left":3}')");
}

TEST_CASE("A sliding window counts keys as Hugging Face does", "[config][options]") {
  const auto mask = [](const std::string& members, std::vector<Override> more = {}) {
    return describe(one(config(members), more).mask);
  };
  const Override window{"sliding_window", 1024};
  CHECK(mask(R"("sliding_window": 1024)") == "causal left 1023");
  CHECK(mask(R"("mask": {"sliding_window": 1})") == "causal left 0");
  CHECK(mask(R"("sliding_window": null)") == "none");
  CHECK(mask("", {window}) == "causal left 1023");
  CHECK(override_words(window) == "--sliding-window 1024");
  // It adds to the fields next to it and to the defaults, and replaces another window.
  CHECK(mask(R"("mask": "padding_causal", "sliding_window": 8)") == "padding causal left 7");
  CHECK(mask(R"("mask": "causal_bottom_right")", {window}) == "causal left 1023 bottom_right");
  CHECK(mask(R"("mask": {"window_left": 3, "window_right": 2})", {window}) == "band left 1023 right 2");
  CHECK(mask(R"("sliding_window": 8)", {window}) == "causal left 1023");
  CHECK(describe(one(R"({"defaults": {"heads": 1, "seqlen": 8, "head_dim": 8, "mask": "padding"},
                         "configs": [{"sliding_window": 4}]})")
                     .mask) == "padding causal left 3");
  CHECK(parse(config(R"("sliding_window": [4, "8:16:8"])")).size() == 3);
  // Refused, at its place, if it would drop something.
  CHECK(refusal(config(R"("mask": "none", "sliding_window": 8)")) ==
        "bert.json: /sliding_window: contradicts bert.json: /mask none");
  CHECK(refusal(config(R"("mask": {"window_left": 8, "sliding_window": 9})")) ==
        "bert.json: /mask/sliding_window: 9 with window_left; allowed: one of the two");
  CHECK(refusal(config(R"("sliding_window": 0)")) ==
        "bert.json: /sliding_window: 0 is out of range; allowed: an integer from 1 to 2147483647");
  CHECK(refusal(config(R"("causal": false, "mask": "causal")")).find("contradicts window_right 0") !=
        std::string::npos);
  CHECK(
      refusal(config(R"("mask": "sliding_window")")) ==
      R"(bert.json: /mask: "sliding_window" needs a size; allowed: "sliding_window": 1024 in a config, --window 1024)");
}

TEST_CASE("Common spellings of words and sizes are accepted", "[config][options]") {
  const auto spec = one(config(R"("mask": "Causal-Bottom-Right", "layout": "BSHD_BS2HD", "pass": "Backward",
                                  "dtype": "BF16", "bias": "1HSS", "o_layout": "BHSD",
                                  "pattern": "SDPA")"));
  CHECK(describe(spec.mask) == "causal_bottom_right");
  CHECK(spec.k.axes == "bs2hd");
  CHECK(spec.pass == Pass::bprop);
  CHECK(spec.dtype == DataType::bf16);
  CHECK(spec.bias->shape == "1hss");
  CHECK(spec.o->axes == "bhsd");
  CHECK(describe(one(config(R"("mask": "no_mask")")).mask) == "none");
  CHECK(parse_override("seqlen", "1e3").value == 1000);
  CHECK(parse_override("seqlen", "4k").value == 4096);
  CHECK(parse_override("seqlen", "128K,4_096,1.5k,1M").value == Json({131072, 4096, 1536, 1048576}));
  CHECK(parse_override("seqlen", "4kb").value == "4kb");
  CHECK(parse_override("seqlen", "1.3").value == 1.3);
  CHECK(parse_override("name", "4k").value == "4k");
  CHECK(names(parse(R"({"name": "n", "heads": 12, "seqlen": "1k:4k:x2", "head_dim": 64})")) ==
        Names{"n[seqlen=1024]", "n[seqlen=2048]", "n[seqlen=4096]"});
  CHECK(refusal(config(R"("mask": "casual")")).ends_with("(did you mean \"causal\"?)"));
}

TEST_CASE("An option never silently drops part of the file's object", "[config][options]") {
  // A number or word sets only its own member.
  const auto dropout = one(config(R"("dropout": {"probability": 0.1, "seed": "i32"})"), {{"dropout", 0.25}}).dropout;
  REQUIRE(dropout);
  CHECK(dropout->probability == 0.25);
  CHECK(dropout->seed == SeedForm::i32);
  const auto bias = one(config(R"("bias": {"shape": "bhss", "dtype": "f32"})"), {{"bias", "1hss"}}).bias;
  REQUIRE(bias);
  CHECK(bias->shape == "1hss");
  CHECK(bias->dtype == DataType::f32);
  const auto paged =
      parse(config(R"("paged": {"block_size": 64, "layout": "bshd"}, "mask": "padding")"), {{"paged", "16:32:16"}});
  REQUIRE(paged.size() == 2);
  CHECK(paged[1].spec.paged->block_size == 32);
  CHECK(paged[1].spec.paged->layout == "bshd");
  const auto layout =
      one(config(R"("layout": {"q": "bshd", "k": "bshd", "v": "bshd", "o": "bhsd"})"), {{"layout", "sbhd"}});
  CHECK(layout.q.axes == "sbhd");
  CHECK(layout.o->axes == "bhsd");
  // "none" and an object replace the whole.
  CHECK_FALSE(one(config(R"("dropout": {"probability": 0.1, "seed": "i32"})"), {{"dropout", "none"}}).dropout);
  CHECK_FALSE(
      one(config(R"("dropout": {"probability": 0.1, "seed": "i32"})"), {{"dropout", R"({"probability": 0.2})"_json}})
          .dropout->seed);
  const std::string window = config(R"("mask": {"causal": true, "window_left": 511})");
  CHECK(describe(one(window, {{"mask", "none"}}).mask) == "none");
  // The name of a mask implies that there is no window.
  CHECK(
      refusal(window, {{"mask", "padding"}}) ==
      R"(--mask: "padding" would drop {"window_left":511} of bert.json: /mask; allowed: the whole value, as {"padding":true,"window_left":511}, or "none")");
  CHECK(describe(one(config(R"("mask": {"causal": true})"), {{"mask", "padding"}}).mask) == "padding");
}

TEST_CASE("Training expands to both passes", "[config][options]") {
  const auto configs = parse(config(R"("name": "n", "pass": "training", "batch": [1, 2])"));
  CHECK(names(configs) == Names{"n[pass=fprop_train,batch=1]", "n[pass=fprop_train,batch=2]", "n[pass=bprop,batch=1]",
                                "n[pass=bprop,batch=2]"});
  CHECK(configs[0].training == "n[batch=1]");
  CHECK(configs[2].training == "n[batch=1]");
  CHECK(configs[3].training == "n[batch=2]");
  CHECK(configs[3].spec.pass == Pass::bprop);
  const auto words = parse(config(R"("name": "n")"), {{"pass", Json{"fprop", "Train"}}});
  CHECK(names(words) == Names{"n[pass=fprop]", "n[pass=fprop_train]", "n[pass=bprop]"});
  CHECK(words[0].training.empty());
  CHECK(words[1].training == "n");
}

TEST_CASE("Options without a file form a config", "[config][options]") {
  const auto configs = configs_from_options({{"heads", 2}, {"seqlen", Json{16, 32}}, {"head_dim", 8}});
  CHECK(names(configs) == Names{"sdpa[seqlen=16]", "sdpa[seqlen=32]"});
  CHECK(configs[0].origin.file.empty());
}

TEST_CASE("An option's text is read as JSON, a list or text", "[config][options]") {
  CHECK(parse_override("seqlen", "512").value == 512);
  CHECK(parse_override("stats", "true").value == true);
  CHECK(parse_override("dtype", "f16").value == "f16");
  CHECK(parse_override("seqlen", "512,1024").value == Json({512, 1024}));
  CHECK(parse_override("mask", "none,causal").value == Json({"none", "causal"}));
  CHECK(parse_override("mask", R"({"causal": true, "window_left": 3})").value ==
        Json({{"causal", true}, {"window_left", 3}}));
  CHECK(parse_override("seqlen", "[1,2]").value == Json({1, 2}));
}

TEST_CASE("Free text stays text on the command line", "[config][options]") {
  CHECK(parse_override("name", "a,b").value == "a,b");
  CHECK(parse_override("name", "512").value == "512");
  CHECK(parse_override("source", "{x").value == "{x");
}

TEST_CASE("Broken JSON in an option is refused", "[config][options]") {
  CHECK(usage_error([] { parse_override("mask", "{\"causal\""); }) ==
        "--mask: {\"causal\" is not valid JSON: syntax error "
        "while parsing object separator - unexpected end of input; expected ':'");
  CHECK(usage_error([] { parse_override("mask", R"({"causal": true, "causal": false})"); }) ==
        "--mask at /causal: the key \"causal\" appears twice in one object");
}

TEST_CASE("Errors of options name the option", "[config][options]") {
  CHECK_THAT(option_refusal({{"dtype", "fp17"}}), StartsWith("--dtype: \"fp17\" is not a known value"));
  CHECK_THAT(option_refusal({{"heads_kv", 0}}), StartsWith("--heads-kv: 0 is out of range"));
  CHECK_THAT(option_refusal({{"mask", Json({{"causal", 1}})}}), StartsWith("--mask at /causal: 1 is not a boolean"));
  CHECK(option_refusal({{"seqlenn", 1}}) == "--seqlenn: no such field (did you mean \"seqlen\"?)");
  CHECK_THAT(refusal(config(), {{"batch", Json{1, -1}}}), StartsWith("--batch: -1 is out of range"));
}

TEST_CASE("A contradiction caused by an option names the option", "[config][options]") {
  CHECK_THAT(refusal(config(R"("pattern": "mha")"), {{"mask", "causal_bottom_right"}}),
             StartsWith("--mask: pattern \"mha\""));
}

TEST_CASE("A missing field is named as an option", "[config][options]") {
  CHECK(usage_error([] {
          configs_from_options({{"heads", 2}, {"seqlen", 8}});
        }) == "--head-dim: \"head_dim\" is missing");
}

TEST_CASE("Invalid UTF-8 in an option is refused and causes no crash", "[config][options]") {
  CHECK_THAT(option_refusal({parse_override("dtype", "f16\xff")}), StartsWith("--dtype: "));
}

TEST_CASE("A graph's types may be none that a config can have", "[config]") {
  AttentionSpec spec = parse_configs(config(R"("bias": "b1ss")"), "").front().spec;
  CHECK(has_config(spec));
  spec.bias->dtype = DataType::boolean;
  CHECK_FALSE(has_config(spec));
}

// ---- errors

TEST_CASE("An unknown key is reported with its location and the nearest known key", "[config][errors]") {
  const std::string message = refusal("[" + config() + "," + config(R"("dtyp": "f16")") + "]");
  CHECK_THAT(message,
             StartsWith(R"(bert.json: /1/dtyp: unknown key "dtyp" (did you mean "dtype"?); allowed: "name", )"));
  CHECK_THAT(message, EndsWith(R"("override_shapes", "frontend")"));
}

TEST_CASE("An unknown key in the defaults is reported there", "[config][errors]") {
  CHECK_THAT(refusal(R"({"defaults": {"bath": 2}, "configs": [{}]})"),
             StartsWith(R"(bert.json: /defaults/bath: unknown key "bath" (did you mean "batch"?))"));
}

TEST_CASE("An unknown key next to the configs is refused", "[config][errors]") {
  CHECK(
      refusal(R"({"configs": [{}], "default": {}})") ==
      R"(bert.json: /default: unknown key "default" (did you mean "defaults"?); allowed: "configs", "defaults", "$schema")");
}

TEST_CASE("Locations are JSON pointers with escaped slashes and tildes", "[config][errors]") {
  CHECK_THAT(refusal(R"({"a/b~c": 1})"), StartsWith("bert.json: /a~1b~0c: unknown key"));
  CHECK_THAT(refusal(config(R"("mask": {"a/b": 1})")), StartsWith("bert.json: /mask/a~1b: unknown key"));
}

TEST_CASE("A value of the wrong type is quoted with the allowed values", "[config][errors]") {
  const std::string range = " is not an integer from 1 to 2147483647";
  CHECK(refusal(config(R"("batch": "8")")) == "bert.json: /batch: \"8\"" + range);
  CHECK(refusal(config(R"("batch": 8.5)")) == "bert.json: /batch: 8.5" + range);
  CHECK(refusal(config(R"("batch": null)")) == "bert.json: /batch: null" + range);
  CHECK(refusal(config(R"("scale": "1")")) ==
        "bert.json: /scale: \"1\" is not a scale; allowed: a number, \"tensor\", \"none\"");
  CHECK(refusal(config(R"("softcap": "1")")) == "bert.json: /softcap: \"1\" is not a number");
  CHECK(refusal(config(R"("stats": 1)")) == "bert.json: /stats: 1 is not a boolean; allowed: true, false");
  CHECK(refusal(config(R"("name": 1)")) == "bert.json: /name: 1 is not text");
}

TEST_CASE("A number out of range is refused", "[config][errors]") {
  const std::string range = " is out of range; allowed: an integer from 1 to 2147483647";
  CHECK(refusal(config(R"("batch": 0)")) == "bert.json: /batch: 0" + range);
  CHECK(refusal(config(R"("batch": -3)")) == "bert.json: /batch: -3" + range);
  CHECK(refusal(config(R"("batch": 2147483648)")) == "bert.json: /batch: 2147483648" + range);
  CHECK(refusal(config(R"("batch": 18446744073709551615)")) == "bert.json: /batch: 18446744073709551615" + range);
}

TEST_CASE("A number that does not fit in a double is a usage error", "[config][errors]") {
  CHECK_THAT(refusal(config(R"("scale": 1e999)")), StartsWith("bert.json"));
}

TEST_CASE("An unknown value is refused with the list of known values", "[config][errors]") {
  CHECK(
      refusal(config(R"("pass": "pprop")")) ==
      R"(bert.json: /pass: "pprop" is not a known value; allowed: "fprop", "fprop_train", "bprop" (did you mean "fprop"?))");
  CHECK(
      refusal(config(R"("dtype": "fp8_e8m0")")) ==
      R"(bert.json: /dtype: "fp8_e8m0" is not a known value; allowed: "f16", "bf16", "f32", "fp8_e4m3", "fp8_e5m2" (did you mean "fp8_e4m3"?))");
  CHECK_THAT(refusal(config(R"("pattern": 3)")),
             StartsWith(R"(bert.json: /pattern: 3 is not a known value; allowed: "sdpa", )"));
}

TEST_CASE("Invalid JSON is reported with the line", "[config][errors]") {
  CHECK_THAT(refusal("{\n  \"heads\": 12,\n  oops\n}"), StartsWith("bert.json:3: not valid JSON: "));
  CHECK_THAT(refusal("{"), StartsWith("bert.json:1: not valid JSON: "));
  CHECK_THAT(refusal(""), StartsWith("bert.json:1: not valid JSON: "));
}

TEST_CASE("Invalid JSON at the end of a line is reported with that line", "[config][errors]") {
  CHECK_THAT(refusal("{\n  \"name\": \"bert\n}"), StartsWith("bert.json:2: "));
  CHECK_THAT(refusal("{\n  \"stats\": tru\n}"), StartsWith("bert.json:2: "));
}

TEST_CASE("A key that appears twice is refused", "[config][errors]") {
  CHECK(refusal(config(R"("dtype": "f16", "dtype": "bf16")")) ==
        "bert.json: /dtype: the key \"dtype\" appears twice in one object");
  CHECK_THAT(refusal(config(R"("mask": {"padding": true, "padding": false})")),
             StartsWith("bert.json: /mask/padding: the key \"padding\" appears twice"));
}

TEST_CASE("A document without a config is refused", "[config][errors]") {
  CHECK(refusal("[]") == "bert.json: no config in the array");
  CHECK(refusal(R"({"configs": []})") == "bert.json: /configs: no config in the array");
  CHECK(refusal("3") == "bert.json: expected a config object or an array of them, not number");
  CHECK(refusal(R"({"defaults": {}})") == "bert.json: \"defaults\" without \"configs\"");
  CHECK(refusal("[[]]") == "bert.json: /0: a config is an object, not array");
}

TEST_CASE("A missing field is reported with the config's location", "[config][errors]") {
  CHECK(refusal(R"({"heads": 2, "seqlen": 8})") == "bert.json: \"head_dim\" is missing");
  CHECK(refusal(R"([{"heads_q": 2, "seqlen": 8, "head_dim": 64}])") == "bert.json: /0: \"heads_kv\" is missing");
}

// ---- contradictions

TEST_CASE("Disabled statistics contradict the training pass", "[config][errors]") {
  CHECK(refusal(config(R"("pass": "fprop_train", "stats": false)")) ==
        "bert.json: /stats: false contradicts pass \"fprop_train\", which is the pass with statistics");
}

TEST_CASE("A packed layout needs equal heads, lengths and head dimensions", "[config][errors]") {
  CHECK(refusal(config(R"("layout": "bs3hd", "heads_kv": 4)")) ==
        "bert.json: /layout: \"bs3hd\" interleaves Q, K and V, so they need equal heads and lengths; heads are 12 and "
        "4, lengths 512 and 512");
  CHECK_THAT(refusal(config(R"("layout": "bs3hd", "seqlen_q": 1)")),
             StartsWith("bert.json: /layout: \"bs3hd\" interleaves"));
  CHECK(refusal(config(R"("layout": "bshd_bs2hd", "head_dim_v": 32)")) ==
        "bert.json: /layout: interleaved K and V need one head dimension; they have 64 and 32");
}

TEST_CASE("Two matmuls have no mask, scale or statistics", "[config][errors]") {
  const std::string begin = "bert.json: /";
  const std::string nothing = ": there is nothing between its two matmuls";
  auto two = [](const std::string& more) { return refusal(config(R"("pattern": "two_matmul", )" + more)); };
  CHECK(two(R"("mask": "causal")") == begin + "mask: pattern \"two_matmul\" has no mask" + nothing);
  CHECK(two(R"("scale": 1)") == begin + "scale: pattern \"two_matmul\" has no scale" + nothing);
  CHECK(two(R"("stats": true)") == begin + "stats: pattern \"two_matmul\" has no softmax statistics");
  CHECK(two(R"("pass": "fprop_train")") == begin + "pass: pattern \"two_matmul\" has no softmax statistics");
}

TEST_CASE("Legacy attention has no window, bottom-right diagonal or statistics", "[config][errors]") {
  auto mha = [](const std::string& more) { return refusal(config(R"("pattern": "mha", )" + more)); };
  const std::string mask =
      "bert.json: /mask: pattern \"mha\" has no window and no bottom-right diagonal; it supports none, causal, padding, "
      "padding_causal";
  CHECK(mha(R"("mask": {"window_left": 3})") == mask);
  CHECK(mha(R"("mask": {"window_right": 3})") == mask);
  CHECK(mha(R"("mask": "causal_bottom_right")") == mask);
  const std::string stats = "bert.json: /stats: pattern \"mha\" has no softmax statistics; fprop_train stores S itself";
  CHECK(mha(R"("stats": true)") == stats);
  CHECK(mha(R"("stats": true, "pass": "fprop_train")") == stats);
  CHECK(mha(R"("pass": "fprop_train")") == "no error");
  CHECK_FALSE(wants_stats(one(config(R"("pattern": "mha", "pass": "fprop_train")"))));
  CHECK(mha(R"("mask": "padding_causal")") == "no error");
}

TEST_CASE("The unified SDPA operation accepts every mask, and cuDNN decides what it supports", "[config]") {
  for (const auto& [name, mask] : named_masks())
    CHECK(refusal(config(R"("pattern": "sdpa_unified", "mask": ")" + name + "\"")) == "no error");
  CHECK(refusal(config(R"("pattern": "sdpa_unified", "mask": {"window_left": 3, "window_right": 2})")) == "no error");
}

TEST_CASE("A contradiction with a default names the default's location", "[config][errors]") {
  CHECK_THAT(refusal(R"({"defaults": {"mask": "causal"}, "configs": [)" + config(R"("pattern": "two_matmul")") + "]}"),
             StartsWith("bert.json: /defaults/mask: pattern \"two_matmul\""));
}

}  // namespace attnprobe::test::config_test
