// A matrix as a static site.
#include "site/site.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "base/text.hpp"
#include "catch.hpp"
#include "matrix_folder.hpp"
#include "site/addresses.hpp"
#include "site/html.hpp"
#include "support.hpp"

namespace attnprobe::test::site_test {

namespace fs = std::filesystem;
using namespace attnprobe::site;

namespace {

struct Told {
  std::string config, target, cudnn, usable, reason;
};

// A report with these answers, as from another version of attnprobe.
std::string report_of(const std::vector<Told>& told) {
  const std::map<std::string, int> sm{{"a100", 80}, {"h200", 90}, {"b200", 100}};
  Json results = Json::array();
  for (const Told& one : told) {
    Json result = {
        {"config", {{"name", one.config}, {"heads_q", 8}}},
        {"target",
         {{"id", one.target}, {"name", "an " + one.target}, {"sm", sm.at(one.target)}, {"kind", "simulated"}}},
        {"cudnn", {{"version", one.cudnn}}},
        {"verdict", one.usable == "no" ? "unsupported" : "supported"},
        {"usable", one.usable}};
    if (one.usable == "no") result["root_cause"] = {{"category", "head_dim"}, {"reason", one.reason}};
    if (one.usable == "but")
      result["but"] = Json::array({{{"kind", "known_bug"}, {"text", one.reason}, {"source", "somebody"}}});
    results.push_back(result);
  }
  return json_text({{"schema", "attnprobe/report/1"}, {"results", results}});
}

// Three versions; the newest is not the last in the report.
const std::vector<Told> three_versions{{"plain", "b200", "9.9.0", "no", "too new a GPU"},
                                       {"plain", "b200", "9.28.1", "yes", ""},
                                       {"plain", "b200", "9.10.2", "but", "a known bug"},
                                       {"plain", "a100", "9.9.0", "yes", ""},
                                       {"plain", "a100", "9.10.2", "yes", ""},
                                       {"plain", "a100", "9.28.1", "no", "lost again"},
                                       {"wide head", "b200", "9.9.0", "no", "too wide"},
                                       {"wide head", "b200", "9.10.2", "no", "too wide"},
                                       {"wide head", "b200", "9.28.1", "no", "still too wide"}};

class SiteFolder {
 public:
  explicit SiteFolder(const std::vector<Told>& told) {
    write("report.json", report_of(told));
    run = make("report.json");
  }
  Run make(const std::string& input, const std::string& options = "") const {
    return run_attnprobe(fmt::format("site {} -o {} {}", path(input), path("site"), options));
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string text(const std::string& name) const { return read_text(folder_.path() / "site" / name); }
  Json json(const std::string& name) const { return Json::parse(text(name)); }

  Run run;

 private:
  TemporaryFolder folder_;
};

// Every broken address on a page.
std::vector<std::string> dead_links(const fs::path& site) {
  static const std::regex address("(?:href|src)=\"([^\"]*)\"");
  std::vector<std::string> dead;
  for (const auto& entry : fs::recursive_directory_iterator(site)) {
    if (entry.path().extension() != ".html") continue;
    const std::string page = read_text(entry.path());
    for (std::sregex_iterator found(page.begin(), page.end(), address), end; found != end; ++found) {
      std::string link = (*found)[1];
      if (link.starts_with("data:") || link.starts_with('#')) continue;
      if (link.find("//") != std::string::npos) {
        dead.push_back(entry.path().string() + ": outside: " + link);
        continue;
      }
      link = link.substr(0, link.find('#'));
      if (!fs::is_regular_file(entry.path().parent_path() / link)) dead.push_back(entry.path().string() + ": " + link);
    }
  }
  return dead;
}

}  // namespace

TEST_CASE("A site's addresses come only from names, and no two names share one", "[site]") {
  CHECK(address_of("deepseek-v3-prefill") == "deepseek-v3-prefill");
  CHECK(address_of("bert-base[pass=fprop,seqlen=512]") == "bert-base~pass=fprop,seqlen=512");
  CHECK(address_of("9.28.1") == "9.28.1");
  std::set<std::string> all;
  const std::vector<std::string> names{
      "bert", "Bert",   "bert ", "b/ert",          "../bert", "..",     ".",         "",          "bert[",
      "-o",   "bert[]", "bert~", "<script>alert(", "日本",    "日本語", "a[b][c=d]", "index.json"};
  for (const auto& name : names) {
    const std::string address = config_address(name);
    INFO(name << " -> " << address);
    CHECK(all.insert(address).second);
    CHECK_FALSE(address.empty());
    CHECK(address.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._=,-~") == std::string::npos);
    CHECK_FALSE((address.starts_with('.') || address.starts_with('-') || address.ends_with('.')));
  }
  CHECK(address_of(std::string(300, 'a')).size() <= 100);
  CHECK(address_of(std::string(300, 'a')) != address_of(std::string(301, 'a')));
  // The site's own folders exist.
  CHECK(config_address("gpu") != "gpu");
  CHECK(config_address("badge").starts_with("badge-"));
}

TEST_CASE("A version's page lists the changes since the next older one", "[site]") {
  const SiteFolder site(three_versions);
  REQUIRE(site.run.exit_code == 0);
  CHECK_THAT(site.run.out, StartsWith("9 cells: "));
  CHECK(dead_links(site.path("site")).empty());

  const Json newest = site.json("cudnn/9.28.1/index.json");
  CHECK(newest["compared_with"] == "9.10.2");
  REQUIRE(newest["changes"].size() == 2);
  CHECK(newest["changes"][0] ==
        Json({{"config", "plain"}, {"target", "a100"}, {"before", "yes"}, {"after", "no"}, {"why", "lost again"}}));
  CHECK(newest["changes"][1]["after"] == "yes");
  CHECK_THAT(newest["changes"][1]["why"].get<std::string>(), ContainsSubstring("a known bug"));
  CHECK(newest["counts"]["b200"] == Json({{"yes", 1}, {"no", 1}}));
  const std::string page = site.text("cudnn/9.28.1/index.html");
  CHECK_THAT(page, ContainsSubstring("What changed in cuDNN 9.28.1"));
  CHECK_THAT(page, ContainsSubstring("Became no: 1 cell"));
  CHECK_THAT(page, ContainsSubstring("lost again"));
  CHECK_FALSE(contains(page, "still too wide"));
  CHECK_THAT(site.text("cudnn/9.9.0/index.html"), ContainsSubstring("there is none to compare with"));
  CHECK(site.json("cudnn/9.9.0/index.json")["compared_with"].is_null());
}

TEST_CASE("Consecutive versions with the same answer are one range, on the pages and in the badge", "[site]") {
  const SiteFolder site(three_versions);
  REQUIRE(site.run.exit_code == 0);
  CHECK(
      site.json("gpu/a100/index.json")["configs"]["plain"] ==
      Json::parse(
          R"([{"from": "9.9.0", "to": "9.10.2", "answer": "yes"}, {"from": "9.28.1", "to": "9.28.1", "answer": "no"}])"));
  CHECK_FALSE(site.json("gpu/a100/index.json")["configs"].contains("wide head"));
  CHECK_THAT(site.text("badge/plain/b200.svg"), ContainsSubstring("attention on b200: yes since 9.28.1"));
  CHECK_THAT(site.text("badge/plain/a100.svg"), ContainsSubstring("attention on a100: no up to 9.28.1"));
  const std::string wide = config_address("wide head");
  CHECK_FALSE(fs::exists(site.path("site/badge/" + wide + "/a100.svg")));
  const Json config = site.json(wide + "/index.json");
  // The words differ, although both are a no.
  CHECK(config["cells"]["b200"].size() == 2);
  CHECK(config["answers"][config["cells"]["b200"][1]["answer"].get<size_t>()]["reason"] == "still too wide");
  CHECK_THAT(site.text(wide + "/index.html"), ContainsSubstring("colspan=\"3\" title=\"9.9.0 to 9.28.1: no\""));
}

TEST_CASE("Every JSON document of a site is valid under its schema", "[site]") {
  const SiteFolder site(three_versions);
  REQUIRE(site.run.exit_code == 0);
  if (shell("python3 -c 'import jsonschema'").exit_code != 0) {
    WARN("SKIPPED: python3 has no jsonschema (Debian: python3-jsonschema)");
    return;
  }
  for (const char* name : {"index.json", "plain/index.json", "gpu/b200/index.json", "cudnn/9.10.2/index.json"}) {
    const Run valid = validate(site.path("site/schema.json"), site.path(std::string("site/") + name));
    INFO(name << ": " << valid.err);
    CHECK(valid.exit_code == 0);
    CHECK(site.json(name)["schema"] == schema_name);
  }
  site.write("other.json", R"({"schema": "attnprobe/site/1", "kind": "gpu", "id": 5})");
  CHECK(validate(site.path("site/schema.json"), site.path("other.json")).exit_code != 0);
}

TEST_CASE("Each id in a site's answers is an anchor with its meaning", "[site]") {
  Json report = Json::parse(report_of({{"plain", "a100", "9.19.0", "no", ""}}));
  Json& result = report["results"][0];
  result["root_cause"] = {
      {"category", "head_dim"},
      {"status", "CUDNN_STATUS_NOT_SUPPORTED"},
      {"reason", "Embedding dim per head for q and k is not less than equal to 128 at: d_qk > 128"}};
  result["warnings"] = Json::array(
      {{{"id", "9_10_0_f16"}, {"what", "It is wrong."}, {"advice", "Use another."}, {"source", {{"text", "notes"}}}}});
  result["requirements"] =
      Json::array({{{"id", "deterministic"}, {"text", "It needs more."}, {"source", {{"text", "guide"}}}}});
  const SiteFolder site(three_versions);
  site.write("ids.json", json_text(report));
  REQUIRE(site.make("ids.json").exit_code == 0);
  const Json answer = site.json("plain/index.json")["answers"][0];
  REQUIRE(answer.contains("reason_id"));
  CHECK(answer["notes"][0]["id"] == "9_10_0_f16");
  CHECK(answer["notes"][1]["id"] == "deterministic");
  const std::string page = site.text("ids.html");
  for (const std::string& id :
       {answer["reason_id"].get<std::string>(), std::string("9_10_0_f16"), std::string("deterministic")}) {
    INFO(id);
    CHECK_THAT(page,
               ContainsSubstring(fmt::format("<section id=\"{0}\"><h2><a href=\"#{0}\">{0}</a></h2>\n<p>A ", id)));
    CHECK(run_attnprobe("explain " + id).exit_code == 0);
  }
  // A site with this page is replaced like any other.
  CHECK(site.make("ids.json").exit_code == 0);
}

TEST_CASE("Foreign text cannot act on a page", "[site][hostile]") {
  const std::string name = "</title><script>alert(1)</script>\" onload='x' \xe2\x80\xae",
                    reason = "<img src=x onerror=alert(2)>]]>--";
  const SiteFolder site({{name, "b200", "9.28.1", "no", reason}, {name, "b200", "9.27.0", "yes", ""}});
  REQUIRE(site.run.exit_code == 0);
  CHECK(dead_links(site.path("site")).empty());
  size_t pages = 0;
  for (const auto& entry : fs::recursive_directory_iterator(site.path("site"))) {
    if (entry.path().extension() != ".html" && entry.path().extension() != ".svg") continue;
    if (entry.path().filename() == "404.html") continue;
    const std::string page = read_text(entry.path());
    INFO(entry.path());
    CHECK_FALSE(contains(page, "<script>alert"));
    CHECK_FALSE(contains(page, "<img"));
    // In the data's JSON it follows a backslash.
    CHECK_FALSE(contains(page.substr(0, page.find("id=\"data\"")), "\" onload"));
    CHECK_FALSE(contains(page, "\xe2\x80\xae"));
    ++pages;
  }
  CHECK(pages == 7);
  CHECK(site.json(config_address(name) + "/index.json")["name"] == name);
}

TEST_CASE("A site replaces only another site", "[site]") {
  const SiteFolder site(three_versions);
  REQUIRE(site.run.exit_code == 0);
  site.write("fewer.json", report_of({{"other", "b200", "9.28.1", "yes", ""}}));
  REQUIRE(site.make("fewer.json", "--title 'Of another'").exit_code == 0);
  CHECK_FALSE(fs::exists(site.path("site/plain")));
  CHECK_THAT(site.text("index.html"), ContainsSubstring("<title>Of another</title>"));

  // With wrong input the old site remains, without other files.
  site.write("broken.json", R"({"schema": "attnprobe/report/1", "results": [{"usable": 5}]})");
  const Run broken = site.make("broken.json");
  CHECK(broken.exit_code == 2);
  CHECK_THAT(broken.err, ContainsSubstring("broken.json: /results/0/usable: 5 is not"));
  CHECK(fs::exists(site.path("site/other/index.html")));
  for (const auto& entry : fs::directory_iterator(fs::path(site.path("site")).parent_path()))
    CHECK_FALSE(entry.path().filename().string().starts_with(".attnprobe"));

  fs::create_directory(site.path("notes"));
  site.write("notes/mine.txt", "mine");
  const Run refused = run_attnprobe(fmt::format("site {} -o {}", site.path("fewer.json"), site.path("notes")));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(
      refused.err,
      ContainsSubstring("notes: it contains mine.txt, which `attnprobe site` did not write; name another folder"));
  CHECK(read_text(site.path("notes/mine.txt")) == "mine");
  const Run file = run_attnprobe(fmt::format("site {} -o {}", site.path("fewer.json"), site.path("fewer.json")));
  CHECK(file.exit_code == 2);
  CHECK_THAT(file.err, ContainsSubstring("fewer.json: it is not a folder"));

  // A folder with files of the user does not count as a site.
  for (const char* foreign : {"CNAME", ".git/HEAD", "other/notes.html", "badge/other/mine.svg", "empty/"}) {
    INFO(foreign);
    const fs::path path = site.path(std::string("site/") + foreign);
    fs::create_directories(path.parent_path());
    if (path.has_filename()) site.write(std::string("site/") + foreign, "mine");
    const Run kept = site.make("fewer.json");
    CHECK(kept.exit_code == 2);
    CHECK_THAT(kept.err, ContainsSubstring("which `attnprobe site` did not write"));
    CHECK(fs::exists(path));
    fs::remove_all(path.has_filename() ? path : path.parent_path());
    if (std::string_view(foreign).starts_with(".git")) fs::remove(path.parent_path());
  }
  fs::create_symlink("/etc/hostname", site.path("site/other/link"));
  CHECK(site.make("fewer.json").exit_code == 2);
  fs::remove(site.path("site/other/link"));
  CHECK(site.make("fewer.json").exit_code == 0);

  site.write("empty.json", R"({"schema": "attnprobe/report/1", "results": []})");
  CHECK_THAT(site.make("empty.json").err, ContainsSubstring("it has no cells"));
}

TEST_CASE("The next site removes leftovers of a killed run", "[site]") {
  const SiteFolder site(three_versions);
  REQUIRE(site.run.exit_code == 0);
  const fs::path beside = fs::path(site.path("site")).parent_path();
  const fs::path left = beside / ".attnprobe-0123456789abcdef.tmp", young = beside / ".attnprobe-0123456789abcdee.tmp",
                 other = beside / ".attnprobe-notes.tmp";
  for (const auto& folder : {left, young, other}) fs::create_directories(folder / "plain");
  for (const auto& folder : {left, other})
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::minutes(5));
  site.write("fewer.json", report_of({{"other", "b200", "9.28.1", "yes", ""}}));
  REQUIRE(site.make("fewer.json").exit_code == 0);
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(young));  // another process may just have created it
  CHECK(fs::exists(other));
}

TEST_CASE("Several matrices form one site, and the last takes precedence", "[site]") {
  const SiteFolder site(three_versions);
  site.write("later.json", report_of({{"plain", "h200", "9.28.1", "yes", ""}, {"plain", "a100", "9.28.1", "yes", ""}}));
  const Run run = run_attnprobe(
      fmt::format("site {} {} -o {}", site.path("report.json"), site.path("later.json"), site.path("site")));
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.err, ContainsSubstring("1 cells are in several of these and differ; the last one is used"));
  CHECK_THAT(site.text("badge/plain/a100.svg"), ContainsSubstring("yes since 9.9 or earlier"));
  CHECK_THAT(site.text("badge/plain/h200.svg"), ContainsSubstring("yes since 9.28.1 or earlier"));
}

TEST_CASE("A site agrees with the matrix about real cells", "[site]") {
  const MatrixFolder folder;
  REQUIRE(folder.run("out").exit_code == 0);
  REQUIRE(run_attnprobe(fmt::format("site {} -o {}", folder.path("out"), folder.path("site"))).exit_code == 0);
  CHECK(dead_links(folder.path("site")).empty());
  const auto answer_of = [&](const std::string& config, const std::string& target) {
    const Json json = Json::parse(folder.text("site/" + config_address(config) + "/index.json"));
    return json["answers"].at(json["cells"][target].at(0)["answer"].get<size_t>());
  };
  CHECK(answer_of("plain", "h200")["answer"] == "yes");
  CHECK(answer_of("plain", "h200")["working"].get<int>() > 0);
  CHECK(answer_of("causal", "t4")["answer"] == "no");
  const Json odd = answer_of("odd, \"head\"", "h200");
  CHECK(odd["answer"] == "no");
  CHECK_THAT(odd["reason"].get<std::string>(), ContainsSubstring("not a multiple of 8"));
  const Json plain = Json::parse(folder.text("site/plain/index.json"));
  CHECK_THAT(plain["command"].get<std::string>(), StartsWith("attnprobe --heads 8 --seqlen 256"));
  CHECK_THAT(folder.text("site/plain/index.html"), ContainsSubstring("sdpa fprop b1 h8 s256 d64 f16 bshd"));
}

}  // namespace attnprobe::test::site_test
