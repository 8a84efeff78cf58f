// Prints random attention configs, one JSON object a line: random_configs COUNT FIRST_SEED
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "attention/random_config.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: random_configs COUNT FIRST_SEED\n");
    return 2;
  }
  const uint64_t count = std::strtoull(argv[1], nullptr, 10), first = std::strtoull(argv[2], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    attnprobe::Json config = {{"name", "random-" + std::to_string(seed)}};
    config.update(attnprobe::attention::random_config(seed));
    std::cout << config.dump() << "\n";
  }
}
