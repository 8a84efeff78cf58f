// Decides which job asks which cells next. Cells of one cuDNN and one target share a worker process, which takes as
// long to start as about ten cells. So a job stays with its worker, and helps other jobs only if enough cells are left.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// A contiguous portion of cells for one worker: indices into the places, [begin, end).
struct Portion {
  size_t begin = 0, end = 0;
};

class WorkQueue {
 public:
  /// `places` must outlive the queue. `least`: the number of cells that justifies another worker. `most_workers`: the
  /// most portions in progress per target, over all cuDNNs. Such a target is a GPU of this machine, with memory for
  /// only a few processes.
  WorkQueue(const std::vector<CellPlace>& places, size_t jobs, size_t least, std::map<size_t, size_t> most_workers);

  /// The next portion for a job that finished `done`; none: no work is left for it. Waits if no target with remaining
  /// cells has a free worker slot. Portions shrink towards the end, so that jobs end together.
  std::optional<Portion> take(const std::optional<Portion>& done);

  /// Abandons the remaining cells: every job's next take() returns none.
  void abandon();

  /// The number of jobs that can have work, at most `jobs`.
  size_t useful_jobs() const;

 private:
  struct Group {
    size_t begin = 0, end = 0;  // the remaining part
    size_t target = 0;
    bool begun = false;
  };

  bool is_free(const Group& group) const;
  Group* group_for(const std::optional<Portion>& done);
  size_t size_of_portion(const Group& group) const;
  bool is_blocked() const;

  const std::vector<CellPlace>& places_;
  size_t jobs_, least_, left_;
  std::map<size_t, size_t> most_, busy_;  // by target
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;  // by place
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace attnprobe::asking
