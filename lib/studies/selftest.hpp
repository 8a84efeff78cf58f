// Whether a GPU gives its twin's answers: random configs walked on both, compared engine config by engine config.
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
  int64_t configs = 0;         ///< compared
  int64_t engine_configs = 0;  ///< proposed by the target's heuristics for them
  int64_t supported = 0;       ///< configs that the target supports
  int64_t lost = 0;            ///< configs that killed or hung the worker on both: equal, but without a walk
  bool stopped = false;        ///< by Session::stop, before all were asked

  struct Difference {
    Json config;
    std::vector<std::string> lines;  ///< the differences of the target's answer: probe::walk_differences
  };
  std::vector<Difference> differences;
};

/// Walks the configs of `count` seeds from `first_seed` on (attention/random_config.hpp) on both, with modes A, B and
/// FALLBACK, without plans. `on_answer` is called after each of 2 x count answers; may be empty. Throws
/// Error(environment) if the cuDNN cannot be loaded.
SelfTest selftest(const gpu::Target& target, const gpu::Target& against, uint64_t first_seed, size_t count,
                  const std::string& cudnn, asking::PlanOptions options, const asking::Session& session = {},
                  const asking::OnAnswer& on_answer = {});

/// The document to send in: attnprobe/selftest/1, docs/guide.md.
Json to_json(const SelfTest& test);

}  // namespace attnprobe::studies
