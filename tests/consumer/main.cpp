// attnprobe as a library: draws the graph of one config and, where the machine has a cuDNN, asks about it.
#include <cstdio>
#include <cstdlib>

#include "attention/config.hpp"
#include "base/error.hpp"
#include "build/build.hpp"
#include "campaign/campaign.hpp"
#include "gpu/catalogue.hpp"

int main() {
  using namespace attnprobe;
  const auto configs = attention::parse_configs(
      R"({"name": "bert", "batch": 8, "heads": 12, "seqlen": 512, "head_dim": 64, "dtype": "f16", "mask": "padding"})",
      "main.cpp");
  const auto graph = build::build_graph(configs.at(0).spec, {91900}).graph;
  std::printf("graph %s: %zu operations\n", graph::hash(graph).c_str(), graph.operations.size());

  campaign::CampaignOptions options;
  try {
    options.cudnn = cudnn::choose_library("").path;
  } catch (const Error& e) {
    std::printf("SKIPPED: %s\n", e.what());
    return EXIT_SUCCESS;
  }
  const auto campaign = campaign::run_campaign(campaign::questions_of(configs), {*gpu::find("l40s")}, options,
                                               [](const auto&, size_t, size_t) {});
  for (const auto& result : campaign.results)
    std::printf("%s on %s: %.*s\n", result.config.spec.name.c_str(), result.target.name.c_str(),
                static_cast<int>(name_of(result.verdict).size()), name_of(result.verdict).data());
  return campaign.results.at(0).verdict == campaign::Verdict::supported ? EXIT_SUCCESS : EXIT_FAILURE;
}
