// The plan of ask(): questions × targets × cuDNN versions, the stages of each, and the follow-up questions.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "answer/answer.hpp"
#include "ask/session.hpp"
#include "cudnn/library_info.hpp"
#include "probe/constraints.hpp"
#include "probe/walk_options.hpp"
#include "rules/framework_gates.hpp"
#include "run/run_options.hpp"

namespace attnprobe::asking {

using answer::Answer;
using answer::FirstVersion;
using answer::Obstacle;
using answer::ObstacleKind;
using answer::Question;
using answer::Usable;
using answer::Verdict;
using answer::WayOut;

/// The stages of each question, and the constraints on an answer.
struct PlanOptions {
  probe::WalkOptions walk;
  probe::Constraints constraints;             ///< on engine configs, in addition to cuDNN's own answer
  run::RunOptions run;                        ///< for Plans::run
  double timeout_seconds = 120;               ///< for one question on one target
  int jobs = 0;                               ///< worker processes at a time; 0: the cores of the machine
  std::vector<rules::ChosenGate> frameworks;  ///< frameworks whose gates are also asked (--framework)
};

/// The number of simultaneous worker processes, at most most_jobs() (base/limits.hpp).
size_t jobs_of(const PlanOptions& options);

/// The words, each checked. Throws Error(usage), beginning with `place`, for an unknown mode.
std::vector<std::string> checked_modes(std::vector<std::string> words, const std::string& place);

/// How ways out are searched.
struct SuggestOptions {
  std::set<std::string> keep = {};  ///< excluded kinds of changes
  size_t most = 3;                  ///< maximum number of ways out per result
  size_t most_asked = 400;          ///< maximum number of questions for one result
  bool two_at_a_time = true;        ///< pairs are tried if no single change is enough
  bool compile = true;              ///< compiles the first choice of each way out; otherwise only cuDNN's support check
                                    ///< runs
};

/// The place of a cell: indices into the three lists.
struct CellPlace {
  size_t config = 0, target = 0, cudnn = 0;
  bool operator==(const CellPlace&) const = default;
  bool operator<(const CellPlace& other) const {
    return std::tie(config, target, cudnn) < std::tie(other.config, other.target, other.cudnn);
  }
};

/// Questions with their targets and cuDNN versions.
struct QuestionGroup {
  std::vector<Question> questions;
  std::vector<gpu::Target> targets;
  std::vector<std::string> cudnns = {};                        ///< paths of a libcudnn.so.9; none: the plan's
  std::optional<std::vector<CellPlace>> cells = std::nullopt;  ///< only these cells, in the order of places_of(); none:
                                                               ///< all
};

/// All cells in asking order. Cells of one cuDNN and one target are adjacent, because they share a worker.
std::vector<CellPlace> places_of(const QuestionGroup& group);

/// The `index`-th (from 1) of `count` parts of equal size, in that order.
std::vector<CellPlace> shard_of(const std::vector<CellPlace>& places, size_t index, size_t count);

/// The number of their answers.
size_t cells_of(const std::vector<QuestionGroup>& groups);

/// Follow-up questions for answers whose walk sweeps (sweep_where_none).
enum class Further {
  nothing,        ///< the questions belong to something larger that was already checked: a map, a way out, a trial
  ways_out,       ///< for each refusal
  other_versions  ///< ways out, and the answers of this machine's other cuDNN versions
};

struct Plan {
  std::vector<QuestionGroup> groups;
  std::string cudnn = {};  ///< the word for cudnn::choose_library()
  PlanOptions options = {};
  std::optional<CudnnVersion> by_rule = {};  ///< this version is unavailable, so rules answer for it
  Further further = Further::other_versions;
  std::optional<SuggestOptions> suggest = {};  ///< how ways out are searched; none: as for few results
  bool cached = false;                         ///< the session's cached answers are good enough
  bool keeps = true;                           ///< otherwise each answer goes to the callback with its ways out, and
                                               ///< ask() returns none
};

struct Answers {
  std::optional<cudnn::LibraryInfo> library;  ///< as loaded by a worker; none if no worker could load it
  std::vector<Answer> results;  ///< questions in order, each on every target in order, without stopped ones
};

/// Called after each answer; an exception from it ends ask(). `index`: the answer's place in the results, counted
/// across all groups, or among the cells if answers are not kept. Kept answers arrive one at a time, before ways out
/// and other cuDNN versions are asked; the reference stays valid as long as the answers. Other answers come from
/// several threads at the same time.
using OnAnswer = std::function<void(const Answer& answer, size_t index)>;

/// Each config as a question.
std::vector<Question> questions_of(const std::vector<attention::AttentionConfig>& configs);

}  // namespace attnprobe::asking
