// Answers for a cuDNN that cannot be asked: before 9.8 none answers for a GPU that is not there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "campaign/campaign.hpp"

namespace attnprobe::campaign {

/// The first cuDNN that takes a device property descriptor (cudnn_graph.h of 9.8).
inline constexpr CudnnVersion first_that_simulates{9, 8, 0};

/// The version that a word of --cudnn names ("9.1", "8.9.7"), where it is too old to be asked about any of these GPUs.
std::optional<CudnnVersion> version_by_rule(const std::string& word, const std::vector<gpu::Target>& targets);

/// Every question on every target by the version rules alone (rules/requirements.hpp): Result::by_rule. `options` is what
/// the command that asks again is made of; `on_result` as for run_campaign.
CampaignResult answer_by_rule(const std::vector<Question>& questions, const std::vector<gpu::Target>& targets,
                              CudnnVersion version, const CampaignOptions& options, const OnResult& on_result = {});

}  // namespace attnprobe::campaign
