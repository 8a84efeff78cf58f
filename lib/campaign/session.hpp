// What the process has for the questions that it asks: workers, caches, names, the stop. Wishes are the plan's (ask.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace attnprobe::worker {
class Pool;
}

namespace attnprobe::campaign {

class LibraryWords;
class WalkCache;

/// Told of what is passed over: a cuDNN that does not load, a cache that is damaged. May be empty.
using OnProblem = std::function<void(const std::string& problem)>;

/// None of what it names is owned; each outlives the questions.
struct Session {
  worker::Pool* pool = nullptr;             ///< where workers wait for the next questions; none: they end with these
  LibraryWords* words = nullptr;            ///< what libraries are called; none: looked up for these questions
  WalkCache* cache = nullptr;               ///< of answers for simulated targets; none: cuDNN is always asked
  WalkCache* finished = nullptr;            ///< where whole findings are kept, so that a run can be gone on with
  const std::atomic<bool>* stop = nullptr;  ///< set by a signal handler: no further answer is begun
  std::string program = {};                 ///< attnprobe, of which workers are processes; "": see worker/client.hpp
  OnProblem on_problem = {};

  bool is_stopped() const { return stop != nullptr && *stop; }
  void tell(const std::string& problem) const {
    if (on_problem) on_problem(problem);
  }
};

}  // namespace attnprobe::campaign
