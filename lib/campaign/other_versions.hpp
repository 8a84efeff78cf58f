// What another cuDNN of this machine says where the one that was asked refuses.
#pragma once

#include "campaign/campaign.hpp"

namespace attnprobe::campaign {

/// Puts each config that was refused on a simulated GPU to the other versions that are here, the next newer one first, then the next
/// older ones, until one takes it; the root cause's advice gets that one, with the command that shows it. A version that cannot be
/// loaded is passed over. At most a few results are asked about, since each version costs the start of a worker.
void advise_other_versions(CampaignResult& campaign, const CampaignOptions& options);

}  // namespace attnprobe::campaign
