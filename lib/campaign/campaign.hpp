// Many questions on many targets with one cuDNN, the results kept in a fixed order: a matrix (campaign/matrix.hpp) with
// one cuDNN.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "answer/answer.hpp"
#include "cudnn/library_info.hpp"
#include "probe/constraints.hpp"
#include "probe/walk_options.hpp"
#include "rules/framework_gates.hpp"
#include "run/run_options.hpp"

namespace attnprobe::worker {
class Pool;
}

namespace attnprobe::campaign {

using answer::Answer;
using answer::FirstVersion;
using answer::Obstacle;
using answer::ObstacleKind;
using answer::Question;
using answer::Usable;
using answer::Verdict;
using answer::WayOut;

class LibraryWords;
class WalkCache;

struct CampaignOptions {
  std::string cudnn;  ///< path of a libcudnn.so.9
  probe::WalkOptions walk;
  probe::Constraints constraints;             ///< what an engine config must keep to beside cuDNN's own answer
  run::RunOptions run;                        ///< for Plans::run
  double timeout_seconds = 120;               ///< for one question on one target
  int jobs = 0;                               ///< worker processes at a time; 0: the cores of the machine
  WalkCache* cache = nullptr;                 ///< of answers for simulated targets; none: cuDNN is always asked
  WalkCache* finished = nullptr;              ///< where whole findings are kept, so that a run can be gone on with
  const std::atomic<bool>* stop = nullptr;    ///< set by a signal handler: no further result is begun
  std::vector<rules::ChosenGate> frameworks;  ///< whose gates are asked too (--framework)
  worker::Pool* pool = nullptr;   ///< where workers wait for the next campaign; none: they end with this one
  LibraryWords* words = nullptr;  ///< what libraries are called, kept between campaigns; none: looked up by each
  std::string program;            ///< attnprobe, of which workers are processes; "": found as worker/client.hpp says
};

/// The worker processes at a time, most_jobs() (base/limits.hpp) at the most.
size_t jobs_of(const CampaignOptions& options);

struct CampaignResult {
  std::optional<cudnn::LibraryInfo> library;  ///< as a worker loaded it; none if none could
  std::vector<Answer> results;  ///< questions in order, each on every target in order; what was stopped is left out
};

/// Called after each result, from threads of run_campaign but one at a time. `index` is its place in the results, `done`
/// counts from 1. The reference stays valid until run_campaign returns.
using OnResult = std::function<void(const Answer& result, size_t index, size_t done)>;

/// Never throws for what happens in a worker: a crash, a hang or a broken environment is a result. Throws what
/// `on_result`, which may be empty, throws, with the other questions left unasked.
CampaignResult run_campaign(const std::vector<Question>& questions, const std::vector<gpu::Target>& targets,
                            const CampaignOptions& options, const OnResult& on_result = {});

/// Each config as a question.
std::vector<Question> questions_of(const std::vector<attention::AttentionConfig>& configs);

}  // namespace attnprobe::campaign
