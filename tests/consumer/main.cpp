// attnprobe as a library: asks about one config on two GPUs that need not be here.
#include <attnprobe.hpp>
#include <cstdio>
#include <cstdlib>

int main() {
  const auto configs = attnprobe::attention::parse_configs(
      R"({"name": "bert", "batch": 8, "heads": 12, "seqlen": 512, "head_dim": 64, "mask": "padding"})", "main.cpp");
  try {
    const auto answers = attnprobe::ask(configs, attnprobe::find_targets("l40s,h200"));
    bool all = !answers.empty();
    for (const auto& answer : answers) {
      const std::string verdict(name_of(answer.verdict));
      std::printf("%s on %s with cuDNN %s: %s, %zu engine configs\n", answer.config.c_str(), answer.target.c_str(),
                  answer.cudnn.c_str(), verdict.c_str(), answer.engine_configs.size());
      if (answer.root_cause) std::printf("  %s\n", answer.root_cause->explanation.c_str());
      all = all && answer.verdict == attnprobe::Verdict::supported;
    }
    return all ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const attnprobe::Error& e) {
    std::printf("SKIPPED: %s\n", e.what());  // no cuDNN on this machine
    return e.kind() == attnprobe::ErrorKind::environment ? EXIT_SUCCESS : EXIT_FAILURE;
  }
}
