// The process's resources for asking: workers, caches, names, the stop flag. The plan (plan.hpp) says what to ask.
#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace attnprobe::worker {
class Pool;
}

namespace attnprobe::asking {

class LibraryWords;
class WalkCache;

/// Called for skipped parts: a cuDNN that does not load, a damaged cache. May be empty.
using OnProblem = std::function<void(const std::string& problem)>;

/// Owns nothing; everything it refers to must outlive the questions.
struct Session {
  worker::Pool* pool = nullptr;             ///< where workers wait for further questions; none: they end after these
                                            ///< questions
  LibraryWords* words = nullptr;            ///< cached library names; none: looked up for these questions
  WalkCache* cache = nullptr;               ///< answers for simulated targets; none: cuDNN is always asked
  WalkCache* finished = nullptr;            ///< whole findings, so that a run can be resumed
  const std::atomic<bool>* stop = nullptr;  ///< set by a signal handler; ask() then begins no further answer
  std::string program = {};                 ///< path of attnprobe for worker processes; "": see worker/client.hpp
  OnProblem on_problem = {};

  bool is_stopped() const { return stop != nullptr && *stop; }
  void tell(const std::string& problem) const {
    if (on_problem) on_problem(problem);
  }
};

}  // namespace attnprobe::asking
