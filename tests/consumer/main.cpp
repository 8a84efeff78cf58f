// attnprobe as a library: which of these GPUs run Llama 3's attention, with which engine, and if not, why not.
#include <attnprobe.hpp>
#include <cstdlib>
#include <iostream>

int main() try {
  attnprobe::Options options;
  options.modes = {"A"};
  const auto answers = attnprobe::ask(R"({
    "name": "llama3-8b", "batch": 1, "heads_q": 32, "heads_kv": 8, "seqlen": 8192, "head_dim": [128, 100],
    "dtype": "bf16", "mask": "causal"})",
                                      {"rtx4090", "h200"}, options);
  for (const auto& answer : answers) {
    std::cout << answer.config << " on " << answer.target << ": ";
    if (answer.usable == attnprobe::Usable::yes)
      std::cout << "engine " << answer.engine_configs.at(0).engine << '\n';
    else if (answer.usable == attnprobe::Usable::but)
      std::cout << "but " << answer.but.at(0).text << '\n';
    else
      std::cout << "no: " << (answer.root_cause ? answer.root_cause->reason : "") << '\n';
  }
} catch (const attnprobe::Error& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
