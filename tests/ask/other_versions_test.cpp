// If this cuDNN refuses, the machine's other cuDNNs are asked.
#include "ask/further/other_versions.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "ask/ask.hpp"
#include "ask/by_rule.hpp"
#include "ask/chosen_libraries.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"
#include "variable.hpp"

namespace attnprobe::test::other_versions_test {

TEST_CASE("if a cuDNN refuses, an installed version that supports the config is named with its command",
          "[ask][versions]") {
  asking::PlanOptions options;
  options.walk.sweep_where_none = false;
  const auto ask = [&](const char* config) {
    auto asked = answers_to(asking::questions_of(attention::parse_configs(config, "test")),
                            gpu::simulated_targets("b200"), cudnn_path(), options);
    asking::ask_other_versions(asked, options, {});
    return asked.results.at(0);
  };
  // A graph that no cuDNN supports gets no such advice, even with many installed versions.
  const auto never = ask(R"({"pattern": "mha", "heads": 8, "seqlen": 4096, "head_dim": 64})");
  REQUIRE(never.root_cause);
  for (const auto& advice : never.root_cause->advice) CHECK_FALSE(contains(advice, "(installed)"));
  std::set<CudnnVersion> here;
  for (const auto& candidate : cudnn::find_libraries(""))
    here.insert(asking::identify(candidate.path, options, {}).version);
  here.erase(here.begin(), here.lower_bound(asking::first_that_simulates));
  const CudnnVersion own = asking::identify(cudnn_path(), options, {}).version;
  if (here.empty() || *here.rbegin() < CudnnVersion{9, 21, 0}) {
    WARN("SKIPPED: no cuDNN from 9.21 is here (attnprobe cudnn fetch latest)");
    return;
  }
  const auto result = ask(
      R"({"pattern": "sdpa_unified", "heads": 16, "seqlen": 1024, "head_dim": 128, "dtype": "bf16", "mask": "causal"})");
  REQUIRE(result.verdict == answer::Verdict::unsupported);
  const auto& advice = result.root_cause->advice;
  const auto named =
      std::find_if(advice.begin(), advice.end(), [](const auto& text) { return contains(text, "(installed)"); });
  REQUIRE(named != advice.end());
  CHECK_THAT(*named, ContainsSubstring("supported on b200") && ContainsSubstring("--target b200 --cudnn 9."));
  // The version that supports it, and the one before that refuses it, were both asked.
  REQUIRE(result.from);
  CHECK(result.from->asked);
  CHECK(result.from->version >= CudnnVersion{9, 21, 0});
  CHECK(result.from->refused_by < CudnnVersion{9, 21, 0});
  CHECK_THAT(text_of(*result.from), ContainsSubstring("from cuDNN ") && ContainsSubstring(" refuses)"));

  const auto taken = ask(R"({"heads": 16, "seqlen": 1024, "head_dim": 128, "dtype": "bf16", "mask": "causal"})");
  REQUIRE(taken.from);
  CHECK_FALSE(taken.from->asked);
  CHECK(taken.from->version == CudnnVersion{9, 7, 0});
  // No older version was asked if the tests' own cuDNN is the oldest here.
  CHECK(taken.from->asked_back_to == (*here.begin() < own ? *here.begin() : CudnnVersion{}));
}

TEST_CASE("a framework's release is asked with its own cuDNN if installed", "[ask][versions]") {
  const TemporaryFolder folder;
  const auto library = folder.path() / "attnprobe/cudnn/9.26.1/nvidia/cudnn/lib/libcudnn.so.9";
  std::filesystem::create_directories(library.parent_path());
  folder.file("attnprobe/cudnn/9.26.1/nvidia/cudnn/lib/libcudnn.so.9", "never loaded");
  const std::string usual = cudnn_path();
  const Variable cache("XDG_CACHE_HOME", folder.path().c_str());
  const auto asked = [](const std::vector<std::string>& frameworks) {
    return asking::library_path("", rules::choose_gates(frameworks, "--framework")).string();
  };
  CHECK(asked({"torch==2.15"}) == library.string());  // 9.26.0; another patch of it is installed
  CHECK(asked({"torch==2.15", "torch-varlen==2.15"}) == library.string());
  CHECK(asked({}) == usual);
  CHECK(asked({"torch==2.15,torch==2.14"}) == usual);  // 9.26 and 9.24
  CHECK(asked({"jax==0.11.2"}) == usual);              // pins a range
  CHECK(asked({"torch==2.5.1"}) == usual);             // 9.1 answers only for GPUs of this machine
  CHECK(rules::cudnn_of(rules::choose_gates({"torch==2.15,jax==0.11.2"}, "--framework")) == std::nullopt);
  const Variable named("ATTNPROBE_CUDNN", usual.c_str());
  CHECK(asked({"torch==2.15"}) == usual);
}

}  // namespace attnprobe::test::other_versions_test
