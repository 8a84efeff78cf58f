// Asking as it stands: no checks before, no ways out or other cuDNNs after. ask() does both, and asks them through this.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// Answers of one group whose cuDNNs are given. Where the plan keeps none, each answer is told with its ways out, if `add_ways_out` is given.
/// `before`: the answers of the groups before it.
Answers ask_group(const QuestionGroup& group, const Plan& plan, const Session& session, const OnAnswer& on_answer,
                  size_t before = 0, const std::function<void(Answer&)>& add_ways_out = {});

/// The plan's groups one after the other; `further` and `suggest` mean nothing here. Throws Error(environment) where there is
/// no such cuDNN.
std::vector<Answers> ask_plainly(const Plan& plan, const Session& session, const OnAnswer& on_answer = {});

/// The session with what it lacks: workers that wait for the next questions, names of libraries, the plan's wish for a cache.
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

/// Gives each group without a cuDNN that which the plan means.
void name_libraries(Plan& plan);

}  // namespace attnprobe::asking
