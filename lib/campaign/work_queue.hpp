// Which job asks which cells next. Cells of one cuDNN and one target share a worker process, whose start costs as much
// as some ten cells, so a job stays with its worker, and helps others only where enough is left.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "campaign/plan.hpp"

namespace attnprobe::campaign {

/// Cells that one worker is asked, one after the other: indices into the places, from begin to before end.
struct Portion {
  size_t begin = 0, end = 0;
};

class WorkQueue {
 public:
  /// `places` must outlive it. `least`: fewer cells than this are not worth another worker. Of a target in
  /// `most_workers` (a GPU of this machine, which holds only so many processes) no more portions than that are out at a
  /// time, whatever their cuDNN.
  WorkQueue(const std::vector<CellPlace>& places, size_t jobs, size_t least, std::map<size_t, size_t> most_workers);

  /// The next portion of a job, whose last one is `done` with; none: there is nothing more for it to do. Waits where all
  /// that is left is of targets that take no more workers. Portions get smaller towards the end, so that jobs end together.
  std::optional<Portion> take(const std::optional<Portion>& done);

  /// What is left stays unasked: every job's next take() gives none.
  void abandon();

  /// As many jobs as can have something to do, `jobs` at most.
  size_t useful_jobs() const;

 private:
  struct Group {
    size_t begin = 0, end = 0;  // what is left of it
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

}  // namespace attnprobe::campaign
