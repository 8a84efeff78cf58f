// Asks a plan unchanged: no checks before, no ways out or other cuDNN versions after. ask() adds these.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// Answers one group with its chosen cuDNNs. If the plan does not keep answers, calls `add_ways_out` for each answer
/// before reporting it. `before`: the number of answers of earlier groups.
Answers ask_group(const QuestionGroup& group, const Plan& plan, const Session& session, const OnAnswer& on_answer,
                  size_t before = 0, const std::function<void(Answer&)>& add_ways_out = {});

/// Answers the plan's groups in order; ignores `further` and `suggest`. Throws Error(environment) if there is no such
/// cuDNN.
std::vector<Answers> ask_plainly(const Plan& plan, const Session& session, const OnAnswer& on_answer = {});

/// A session with its own pool and library names if the caller's has none, and with a cache only if the plan wants it.
class WholeSession {
 public:
  WholeSession(const Plan& plan, const Session& given);
  WholeSession(const WholeSession&) = delete;
  WholeSession& operator=(const WholeSession&) = delete;
  ~WholeSession();

  const Session& operator*() const { return session_; }

 private:
  struct Own;
  std::unique_ptr<Own> own_;
  Session session_;
};

/// Assigns the plan's cuDNN to each group without one.
void name_libraries(Plan& plan);

}  // namespace attnprobe::asking
