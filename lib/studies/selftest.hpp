// Compares the answers of two targets for the same GPU: random configs walked on both, engine config by engine config.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::studies {

struct SelfTest {
  gpu::Target target, against;
  cudnn::LibraryInfo library;
  uint64_t first_seed = 1;
  int64_t configs = 0;         ///< compared configs
  int64_t engine_configs = 0;  ///< proposed by the target's heuristics for them
  int64_t supported = 0;       ///< configs that the target supports
  int64_t lost = 0;            ///< configs that killed or hung the worker on both targets: equal, but without a walk
  bool stopped = false;        ///< stopped by Session::stop before all were asked

  struct Difference {
    Json config;
    std::vector<std::string> lines;  ///< the target's differences: probe::walk_differences
  };
  std::vector<Difference> differences;
};

/// Walks the configs of `count` seeds from `first_seed` on (attention/random_config.hpp) on both, with modes A, B and
/// FALLBACK, without plans. Calls `on_answer`, which may be empty, after each of the 2 x count answers. Throws
/// Error(environment) if the cuDNN cannot be loaded.
SelfTest selftest(const gpu::Target& target, const gpu::Target& against, uint64_t first_seed, size_t count,
                  const std::string& cudnn, asking::PlanOptions options, const asking::Session& session = {},
                  const asking::OnAnswer& on_answer = {});

/// The document to send in: attnprobe/selftest/1, docs/guide.md.
Json to_json(const SelfTest& test);

}  // namespace attnprobe::studies
