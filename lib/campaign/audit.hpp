// A framework's gate against cuDNN's answer: what it refuses though cuDNN takes it, and what it lets through though
// something refuses or spoils it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "campaign/audit_values.hpp"
#include "campaign/plan.hpp"

namespace attnprobe::campaign {

enum class AuditKind {
  refuses_what_works,  ///< speed left on the table: one rule of the gate refuses, and nothing else does
  lets_through,        ///< an error waiting: the gate lets it get to cuDNN, which refuses, or cudnn-frontend does
  lets_through_a_bug,  ///< a known bug waiting: cuDNN takes it, and fails or computes something wrong
};
ATTNPROBE_ENUM(AuditKind, refuses_what_works, lets_through, lets_through_a_bug)

/// One rule of a gate, or one reason that a gate does not know, over all cells that show it.
struct AuditRow {
  AuditKind kind = AuditKind::refuses_what_works;
  std::string framework, title;  ///< "torch", "PyTorch 2.15.0"
  std::string rule;              ///< refuses_what_works: the rule's id; else ""
  std::string what;    ///< what is refused ("head dimension 256 (above 128)"), or who refuses behind the gate, and why
  std::string change;  ///< what gets around the rule today; "" where there is none
  std::string source;  ///< the rule's place, or who says so
  std::vector<std::string> targets, cudnns;
  int64_t cells = 0;
  /// Of a rule about numbers: the values of its keys that cuDNN takes, "head_dim_qk 136 to 256 forward on rtx4090".
  std::vector<std::string> taken_values;
  std::vector<ProposedLimit> proposals;  ///< of a rule that is one number
  std::string since;  ///< refuses_what_works: from which cuDNN on the smallest cell is taken, and how that is known
  // The smallest cell, by floating point operations.
  Question question;
  gpu::Target target;
  std::string cudnn, cudnn_path, engine, reproduce;
  std::pair<double, size_t> size;  ///< its floating point operations, and its place among the cells
  bool compiled = false;           ///< refuses_what_works: the first choice of that cell became a plan
};

class Audit {
 public:
  /// `targets`: those of the cells, in the order in which rows name them.
  explicit Audit(const std::vector<gpu::Target>& targets);

  /// Of configs that were asked with frameworks (PlanOptions::frameworks) and without plans; from one thread at a time.
  /// `index`: the cell's place among all, whenever it is told.
  void add(const Answer& result, size_t index);

  /// After the last cell: compiles the first choice of each refuses_what_works row's smallest cell, drops the rows whose
  /// does not compile, and asks the other cuDNN versions of this machine since when it is taken; every row's command asks
  /// for its own framework alone.
  void prove(const PlanOptions& options, const Session& session);

  /// By framework and kind, the smallest first.
  const std::vector<AuditRow>& rows() const { return rows_; }
  int64_t cells() const { return cells_; }
  int64_t unanswered() const {
    return unanswered_;
  }                                             ///< cells beside these, whose worker was lost or could not be prepared
  int64_t dropped() const { return dropped_; }  ///< rows whose smallest cell did not compile

 private:
  void add_row(const AuditRow& row, const Answer& result, size_t index);
  void add_values(AuditRow& row) const;

  std::vector<AuditRow> rows_;
  int64_t cells_ = 0, unanswered_ = 0, dropped_ = 0;
  std::map<std::string, size_t> places_, target_order_;  // in rows_, by what makes a row; of targets, by id
  std::map<std::string, RuleValues> values_;             // by what makes a row, whether there is one or not
};

/// The configs that are asked where none are given: each feature over the values at which gates and engines differ.
std::vector<attention::AttentionConfig> audit_sweep();

Json to_json(const AuditRow& row);

}  // namespace attnprobe::campaign
