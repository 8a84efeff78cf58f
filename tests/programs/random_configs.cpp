// Prints random attention configs, one JSON object per line: random_configs COUNT FIRST_SEED [newer]
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "attention/random_config.hpp"

int main(int argc, char** argv) {
  const bool newer = argc == 4 && std::string(argv[3]) == "newer";
  if (argc != 3 && !newer) {
    std::fprintf(stderr, "usage: random_configs COUNT FIRST_SEED [newer]\n");
    return 2;
  }
  const uint64_t count = std::strtoull(argv[1], nullptr, 10), first = std::strtoull(argv[2], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    attnprobe::Json config = {{"name", "random-" + std::to_string(seed)}};
    config.update(newer ? attnprobe::attention::random_newer_config(seed) : attnprobe::attention::random_config(seed));
    std::cout << config.dump() << "\n";
  }
}
