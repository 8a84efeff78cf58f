// attnprobe as a library: which of these GPUs run Llama 3's attention, with which engine, and if not, why not.
#include <attnprobe.hpp>
#include <cstdio>
#include <cstdlib>

int main() try {
  const auto configs = attnprobe::attention::parse_configs(R"({
    "name": "llama3-8b", "batch": 1, "heads_q": 32, "heads_kv": 8, "seqlen": 8192, "head_dim": [128, 100],
    "dtype": "bf16", "mask": "causal"})",
                                                           "main.cpp");
  attnprobe::Options options;
  options.walk.modes = {"A"};
  for (const auto& answer : attnprobe::ask(configs, attnprobe::find_targets("rtx4090,h200"), options)) {
    std::printf("%s on %s: ", answer.config.c_str(), answer.target.c_str());
    if (answer.usable == attnprobe::Usable::yes)
      std::printf("engine %lld\n", static_cast<long long>(answer.engine_configs.at(0).engine));
    else if (answer.usable == attnprobe::Usable::but)
      std::printf("but %s\n", answer.but.at(0).text.c_str());
    else
      std::printf("no: %s\n", answer.root_cause ? answer.root_cause->reason.c_str() : "");
  }
} catch (const attnprobe::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
