// Compares a framework's gate with cuDNN's answer: unnecessary rejections, and accepted calls that are refused or fail
// later.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ask/plan.hpp"
#include "base/enum_names.hpp"
#include "studies/audit/audit_values.hpp"

namespace attnprobe::studies {

enum class AuditKind {
  refuses_what_works,  ///< lost speed: only one rule of the gate refuses
  lets_through,        ///< a future error: the gate accepts it, but cuDNN or cudnn-frontend refuses
  lets_through_a_bug,  ///< a future bug: cuDNN accepts it, but fails or gives wrong results
};
ATTNPROBE_ENUM(AuditKind, refuses_what_works, lets_through, lets_through_a_bug)

/// One rule of a gate, or one reason unknown to a gate, with all its cells.
struct AuditRow {
  AuditKind kind = AuditKind::refuses_what_works;
  std::string framework, title;  ///< "torch", "PyTorch 2.15.0"
  std::string rule;              ///< refuses_what_works: the rule's id; otherwise ""
  std::string what;    ///< the refused feature ("head dimension 256 (above 128)"), or who refuses after the gate, and
                       ///< why
  std::string change;  ///< a workaround for the rule, or ""
  std::string source;  ///< the rule's place, or the evidence
  std::vector<std::string> targets, cudnns;
  int64_t cells = 0;
  /// For a rule about numbers: the values of its keys that cuDNN supports, "head_dim_qk 136 to 256 forward on rtx4090".
  std::vector<std::string> taken_values;
  std::vector<ProposedLimit> proposals;  ///< for a rule that consists of one number
  std::string since;  ///< refuses_what_works: the first cuDNN that supports the smallest cell, and the evidence
  // The smallest cell, by floating point operations.
  answer::Question question;
  gpu::Target target;
  std::string cudnn, cudnn_path, engine, reproduce;
  std::pair<double, size_t> size;  ///< its floating point operations, and its index among the cells
  bool compiled = false;           ///< refuses_what_works: the first choice of that cell compiled
};

class Audit {
 public:
  /// `targets`: the cells' targets, in the order used in rows.
  explicit Audit(const std::vector<gpu::Target>& targets);

  /// Adds a config that was asked with frameworks (PlanOptions::frameworks) and without plans. Not thread-safe.
  /// `index`: the cell's place among all; cells may come in any order.
  void add(const answer::Answer& result, size_t index);

  /// Call after the last cell. Compiles the first choice of each refuses_what_works row's smallest cell, and drops rows
  /// whose cell does not compile. Asks the machine's other cuDNN versions for the first version that supports it. Every
  /// row's command names only its own framework.
  void prove(const asking::PlanOptions& options, const asking::Session& session);

  /// By framework and kind, smallest first.
  const std::vector<AuditRow>& rows() const { return rows_; }
  int64_t cells() const { return cells_; }
  int64_t unanswered() const { return unanswered_; }  ///< cells whose worker was lost or could not be prepared
  int64_t dropped() const { return dropped_; }        ///< rows dropped because their smallest cell did not compile

 private:
  void add_row(const AuditRow& row, const answer::Answer& result, size_t index);
  void add_values(AuditRow& row) const;

  std::vector<AuditRow> rows_;
  int64_t cells_ = 0, unanswered_ = 0, dropped_ = 0;
  std::map<std::string, size_t> places_, target_order_;  // index in rows_, by row key; index of targets, by id
  std::map<std::string, RuleValues> values_;             // by row key, even without a row
};

/// The default configs: for each feature, the values at which gates and engines differ.
std::vector<attention::AttentionConfig> audit_sweep();

Json to_json(const AuditRow& row);

}  // namespace attnprobe::studies
