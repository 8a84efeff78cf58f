// Measures the library's answers with persistent workers. It answers the same question once per line of standard input,
// and prints the milliseconds. scripts/bench-python compares the Python module with it.
//
//   warm_answers TARGET quick|usual
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "ask/ask.hpp"
#include "ask/named_targets.hpp"
#include "ask/reproduce.hpp"
#include "attention/config.hpp"
#include "worker/pool.hpp"

int main(int count, char** words) {
  using namespace attnprobe;
  if (count != 3) return 2;
  worker::Pool pool(4);
  asking::LibraryWords names;
  const auto cache = asking::usual_cache({});
  const bool is_quick = std::string(words[2]) == "quick";
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = std::chrono::steady_clock::now();
    const auto configs = attention::configs_from_options({{"heads", 12}, {"seqlen", 512}, {"head_dim", 64}});
    asking::Plan plan{{{asking::questions_of(configs), asking::named_targets(words[1], 60)}}};
    plan.options.walk.plans = is_quick ? probe::Plans::none : probe::Plans::automatic;
    plan.options.walk.sweep_where_none = !is_quick;
    const auto answered = asking::ask(plan, {.pool = &pool, .words = &names, .cache = cache.get()});
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    fmt::print("{:.4f} {}\n", spent.count(), answered.front().results.front().findings.engine_configs.size());
    std::fflush(stdout);
  }
  return 0;
}
