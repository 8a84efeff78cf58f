// Asks a plan unchanged: without checks before it, and without ways out and other cuDNN versions after it. ask() adds
// these.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// Answers one group, with its cuDNNs already chosen. If the plan does not keep answers, `add_ways_out` is called for
/// each before it is told. `before`: the number of answers of earlier groups.
Answers ask_group(const QuestionGroup& group, const Plan& plan, const Session& session, const OnAnswer& on_answer,
                  size_t before = 0, const std::function<void(Answer&)>& add_ways_out = {});

/// Answers the plan's groups in order; ignores `further` and `suggest`. Throws Error(environment) if there is no such
/// cuDNN.
std::vector<Answers> ask_plainly(const Plan& plan, const Session& session, const OnAnswer& on_answer = {});

/// A session with a pool and names of libraries if it has none, and with a cache only if the plan wants it.
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
