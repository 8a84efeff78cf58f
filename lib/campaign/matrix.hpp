// Configs × GPUs × cuDNN versions: which cells there are, which of them are
// one shard's, and asking them with as many workers as there are cores.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "campaign/campaign.hpp"

namespace attnprobe::campaign {

struct Matrix {
  std::vector<Question> questions;  ///< configs with names of their own
  std::vector<gpu::Target> targets;
  std::vector<cudnn::LibraryInfo> cudnns;  ///< in ascending order of version, each version once
};

/// Where a cell stands: indices into the three.
struct CellPlace {
  size_t config = 0, target = 0, cudnn = 0;
  bool operator==(const CellPlace&) const = default;
  bool operator<(const CellPlace& other) const {
    return std::tie(config, target, cudnn) < std::tie(other.config, other.target, other.cudnn);
  }
};

/// All cells, in the order in which they are asked: those of one
/// cuDNN and one target together, since they share a worker.
std::vector<CellPlace> places_of(const Matrix& matrix);

/// The `index`-th (from 1) of `count` parts of equal size, in that order.
std::vector<CellPlace> shard_of(const std::vector<CellPlace>& places, size_t index, size_t count);

/// What the cuDNN at that path is, from the cache of the session or by loading it in a worker, which then waits in the pool of
/// the session, if there is one, for questions about `next`, a simulated GPU. Throws Error(environment) naming the path
/// where it does not load.
cudnn::LibraryInfo identify(const std::string& cudnn, const PlanOptions& options, const Session& session,
                            const gpu::Target* next = nullptr);

/// Every cuDNN of this machine (cudnn::find_libraries), identified by as many workers as the options allow, in the order of the
/// search. `on_problem` is told of one that does not load.
std::vector<cudnn::LibraryInfo> identify_all(const PlanOptions& options, const Session& session,
                                             const std::function<void(const std::string& problem)>& on_problem);

/// Called after each cell, from several threads at the same time.
using OnCell = std::function<void(const CellPlace& place, Answer&& result)>;

/// Asks these cells with as many workers as options.jobs says; plans of one GPU of this machine are run by one worker at
/// a time. Gives, for each of them, what a worker told of the
/// library; none where none was opened. Never throws for what happens in a worker; throws what `on_cell`, which may be
/// empty, throws, with the other cells left unasked.
std::vector<std::optional<cudnn::LibraryInfo>> run_matrix(const Matrix& matrix, const std::vector<CellPlace>& places,
                                                          const PlanOptions& options, const Session& session,
                                                          const OnCell& on_cell);

}  // namespace attnprobe::campaign
