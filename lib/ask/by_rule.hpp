// Answers for a cuDNN that cannot be asked: not installed, or before 9.8, which cannot simulate a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// The first cuDNN that has device property descriptors (cudnn_graph.h of 9.8).
inline constexpr CudnnVersion first_that_simulates{9, 8, 0};

/// The version named by a --cudnn word: "8.9.7" itself, "9.10" the newest 9.10. None for any other word, and for a
/// version newer than those the rules cover.
std::optional<CudnnVersion> named_version(const std::string& word);

/// The releases of cuDNN 9, oldest first.
std::vector<CudnnVersion> releases_of_cudnn_9();

/// The newest known release.
CudnnVersion newest_version();

/// The named version, if it is too old to answer for any of these GPUs.
std::optional<CudnnVersion> version_by_rule(const std::string& word, const std::vector<gpu::Target>& targets);

/// Why the rules answer for that version, in one sentence.
std::string why_by_rule(CudnnVersion version);

/// Answers every question on every target from the version rules only (rules/requirements.hpp): sets Answer::by_rule.
/// `options` is used for the command that repeats the question; `on_answer` as for ask(). Throws Error(usage) if no
/// config builds a graph.
Answers answer_by_rule(const std::vector<Question>& questions, const std::vector<gpu::Target>& targets,
                       CudnnVersion version, const PlanOptions& options, const OnAnswer& on_answer = {},
                       size_t before = 0);

}  // namespace attnprobe::asking
