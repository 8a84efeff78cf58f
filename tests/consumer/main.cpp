// attnprobe as a library: draws the graph of one config and, where the machine has a cuDNN, asks about it.
#include <cstdio>
#include <cstdlib>

#include "attnprobe/attention/config.hpp"
#include "attnprobe/error.hpp"
#include "attnprobe/graph/build.hpp"
#include "attnprobe/target/catalogue.hpp"
#include "attnprobe/worker/campaign.hpp"

int main() {
  using namespace attnprobe;
  const auto configs = attention::parse_configs(
      R"({"name": "bert", "batch": 8, "heads": 12, "seqlen": 512, "head_dim": 64, "dtype": "f16", "mask": "padding"})",
      "main.cpp");
  const auto graph = graph::build(configs.at(0).spec, {91900}).graph;
  std::printf("graph %s: %zu operations\n", graph::hash(graph).c_str(), graph.operations.size());

  worker::CampaignOptions options;
  try {
    options.cudnn = cudnn::choose_library("").path;
  } catch (const Error& e) {
    std::printf("SKIPPED: %s\n", e.what());
    return EXIT_SUCCESS;
  }
  const auto campaign = worker::run_campaign(worker::questions_of(configs), {*target::find("l40s")}, options,
                                             [](const auto&, size_t, size_t) {});
  for (const auto& result : campaign.results)
    std::printf("%s on %s: %.*s\n", result.config.spec.name.c_str(), result.target.name.c_str(),
                static_cast<int>(name_of(result.verdict).size()), name_of(result.verdict).data());
  return campaign.results.at(0).verdict == worker::Verdict::supported ? EXIT_SUCCESS : EXIT_FAILURE;
}
