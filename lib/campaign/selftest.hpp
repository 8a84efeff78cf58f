// Whether a GPU's answers are its twin's: random configs walked on both, compared engine config by engine config.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "campaign/plan.hpp"

namespace attnprobe::campaign {

struct SelfTest {
  gpu::Target target, against;
  cudnn::LibraryInfo library;
  uint64_t first_seed = 1;
  int64_t configs = 0;         ///< compared
  int64_t engine_configs = 0;  ///< that the target's heuristics proposed for them
  int64_t supported = 0;       ///< configs that the target takes
  int64_t lost = 0;            ///< configs of which both answers killed or hung the worker: equal, but no walk
  bool stopped = false;        ///< by Session::stop, before all were asked

  struct Difference {
    Json config;
    std::vector<std::string> lines;  ///< what the target's answer differs in: probe::walk_differences
  };
  std::vector<Difference> differences;
};

/// Walks the configs of `count` seeds from `first_seed` on (attention/random_config.hpp) on both, as deep as modes A, B
/// and FALLBACK go, without plans. `on_answer` is called after each of 2 x count answers; may be empty. Throws
/// Error(environment) where the cuDNN could not be loaded.
SelfTest selftest(const gpu::Target& target, const gpu::Target& against, uint64_t first_seed, size_t count,
                  const std::string& cudnn, PlanOptions options, const Session& session = {},
                  const OnAnswer& on_answer = {});

/// As a document to be sent in: attnprobe/selftest/1, docs/guide.md.
Json to_json(const SelfTest& test);

}  // namespace attnprobe::campaign
