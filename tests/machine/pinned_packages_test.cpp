// Pins in requirements files, lock files and environments.
#include "machine/pinned_packages.hpp"

#include <map>

#include "base/error.hpp"
#include "catch.hpp"
#include "studies/bugs/concerning_bugs.hpp"
#include "support.hpp"

namespace attnprobe::test::pinned_packages_test {

namespace {

std::map<std::string, std::string> pins(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  const auto file = folder.file(name, text);
  std::map<std::string, std::string> found;
  for (const auto& package : machine::pinned_packages(file.string())) found[package.name] = package.version;
  return found;
}

}  // namespace

TEST_CASE("pinned versions are read from every usual file", "[bugs]") {
  const auto requirements =
      pins("requirements.txt",
           "# comment\n--index-url https://example.org\ntorch[opt-einsum] == 2.9.1 ; python_version > '3.9' \\\n"
           "    --hash=sha256:00\nnvidia_cudnn_cu12==9.10.2.21\nnumpy>=1.26\n");
  CHECK(requirements.at("torch") == "2.9.1");
  CHECK(requirements.at("nvidia-cudnn-cu12") == "9.10.2.21");
  CHECK_FALSE(requirements.contains("numpy"));  // not an exact version
  const auto uv = pins(
      "uv.lock",
      "version = 1\n[[package]]\nname = \"torch\"\nversion = \"2.9.1+cu128\"\nsource = { registry = \"x\" }\n"
      "[package.metadata]\nname = \"not-this\"\nversion = \"1\"\n[[package]]\nname = \"jax\"\nversion = \"0.8.0\"\n");
  CHECK(uv.at("torch") == "2.9.1+cu128");
  CHECK(uv.at("jax") == "0.8.0");
  CHECK_FALSE(uv.contains("not-this"));
  CHECK(pins("Pipfile.lock", R"({"_meta": {"hash": {}}, "default": {"torch": {"version": "==2.9.1"}}})").at("torch") ==
        "2.9.1");
  const auto conda =
      pins("environment.yml",
           "dependencies:\n  - pytorch=2.7.1=cuda129_0\n  - cudnn=9.10.1.4\n  - pip:\n    - vllm==0.11\n");
  CHECK(conda.at("pytorch") == "2.7.1");
  CHECK(conda.at("cudnn") == "9.10.1.4");
  CHECK(conda.at("vllm") == "0.11");
  CHECK_THROWS_AS(pins("notes.txt", "nothing here\n"), Error);
}

TEST_CASE("pinned versions determine a framework and its cuDNN", "[bugs]") {
  const TemporaryFolder folder;
  const auto file = folder.file("my.lock", "torch==2.9.1\nnvidia-cudnn-cu12==9.10.2.21\nrequests==2.0\n");
  const auto words = studies::pinned_words(file.string());
  CHECK(words.frameworks == std::vector<std::string>{"torch==2.9.1"});
  CHECK(words.cudnn == "9.10.2.21");
  CHECK_THROWS_AS(studies::pinned_words(folder.file("other.lock", "requests==2.0\n").string()), Error);
}

}  // namespace attnprobe::test::pinned_packages_test
