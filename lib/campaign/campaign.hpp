// Many questions on many targets with one cuDNN, the results kept in a fixed order: a matrix (campaign/matrix.hpp) with
// one cuDNN.
#pragma once

#include <functional>
#include <vector>

#include "answer/answer.hpp"
#include "campaign/session.hpp"
#include "cudnn/library_info.hpp"
#include "probe/constraints.hpp"
#include "probe/walk_options.hpp"
#include "rules/framework_gates.hpp"
#include "run/run_options.hpp"

namespace attnprobe::campaign {

using answer::Answer;
using answer::FirstVersion;
using answer::Obstacle;
using answer::ObstacleKind;
using answer::Question;
using answer::Usable;
using answer::Verdict;
using answer::WayOut;

/// How far each question is taken, and what an answer must keep to.
struct PlanOptions {
  probe::WalkOptions walk;
  probe::Constraints constraints;             ///< what an engine config must keep to beside cuDNN's own answer
  run::RunOptions run;                        ///< for Plans::run
  double timeout_seconds = 120;               ///< for one question on one target
  int jobs = 0;                               ///< worker processes at a time; 0: the cores of the machine
  std::vector<rules::ChosenGate> frameworks;  ///< whose gates are asked too (--framework)
};

/// The worker processes at a time, most_jobs() (base/limits.hpp) at the most.
size_t jobs_of(const PlanOptions& options);

struct Answers {
  std::optional<cudnn::LibraryInfo> library;  ///< as a worker loaded it; none if none could
  std::vector<Answer> results;  ///< questions in order, each on every target in order; what was stopped is left out
};

/// Called after each result, from threads of run_campaign but one at a time. `index` is its place in the results, `done`
/// counts from 1. The reference stays valid until run_campaign returns.
using OnResult = std::function<void(const Answer& result, size_t index, size_t done)>;

/// Never throws for what happens in a worker: a crash, a hang or a broken environment is a result. Throws what
/// `on_result`, which may be empty, throws, with the other questions left unasked. `cudnn`: path of a libcudnn.so.9.
Answers run_campaign(const std::vector<Question>& questions, const std::vector<gpu::Target>& targets,
                     const std::string& cudnn, const PlanOptions& options, const Session& session = {},
                     const OnResult& on_result = {});

/// Each config as a question.
std::vector<Question> questions_of(const std::vector<attention::AttentionConfig>& configs);

}  // namespace attnprobe::campaign
