// A backward graph needs the statistics and the output of its forward pass. Both follow from the graph: its masked
// scores, up to the exponential that computes P; then softmax and P V.
#include <algorithm>
#include <set>

#include "build/graph_builder.hpp"
#include "build/softmax.hpp"
#include "run/fixed_values.hpp"
#include "run/problem.hpp"

namespace attnprobe::run {
namespace {

using build::GraphBuilder;
using graph::Operation;
using graph::Pointwise;
using graph::PointwiseMode;
using graph::Role;
using graph::Tensor;

const Tensor* find(const OpGraph& graph, std::initializer_list<Role> roles) {
  for (const Role role : roles)
    for (const auto& t : graph.tensors)
      if (t.role == role && !t.is_virtual) return &t;
  return nullptr;
}

const Operation* maker(const OpGraph& graph, Uid uid) {
  for (const auto& operation : graph.operations)
    for (const auto& port : ports(operation))
      if (port.is_output && port.uid == uid) return &operation;
  return nullptr;
}

bool uses(const Operation& operation, Uid uid) {
  const auto all = ports(operation);
  return std::any_of(all.begin(), all.end(), [&](const graph::Port& port) { return port.uid == uid; });
}

// The operations that `uid` depends on, in the graph's order.
std::vector<Operation> needed_for(const OpGraph& graph, Uid uid) {
  std::set<Uid> wanted{uid};
  std::vector<Operation> operations;
  for (auto it = graph.operations.rbegin(); it != graph.operations.rend(); ++it) {
    const auto all = ports(*it);
    const bool makes = std::any_of(
        all.begin(), all.end(), [&](const graph::Port& port) { return port.is_output && wanted.count(port.uid) > 0; });
    if (!makes) continue;
    for (const auto& port : all)
      if (!port.is_output) wanted.insert(port.uid);
    operations.push_back(*it);
  }
  std::reverse(operations.begin(), operations.end());
  return operations;
}

// The EXP that computes P from the scores minus the statistics.
const Pointwise* exponential(const OpGraph& graph, Uid stats) {
  for (const auto& operation : graph.operations) {
    const auto* op = std::get_if<Pointwise>(&operation);
    if (op == nullptr || op->mode != PointwiseMode::EXP) continue;
    const auto before = needed_for(graph, op->x.value());
    const bool scores = std::any_of(before.begin(), before.end(),
                                    [](const Operation& o) { return std::holds_alternative<graph::Matmul>(o); });
    const bool shifted = std::any_of(before.begin(), before.end(), [&](const Operation& o) {
      const auto* sub = std::get_if<Pointwise>(&o);
      return sub != nullptr && sub->mode == PointwiseMode::SUB && sub->b == stats;
    });
    if (scores && shifted) return op;
  }
  return nullptr;
}

}  // namespace

std::optional<OpGraph> forward_of(const OpGraph& backward) {
  const Tensor *stats = find(backward, {Role::stats}), *o = find(backward, {Role::o}),
               *d_o = find(backward, {Role::d_o});
  const Tensor* v = find(backward, {Role::v_transposed, Role::v});
  if (stats == nullptr || o == nullptr || d_o == nullptr || v == nullptr) return std::nullopt;
  const Pointwise* exp = exponential(backward, stats->uid);
  if (exp == nullptr) return std::nullopt;
  const Uid shifted = exp->x.value(), p = exp->y.value();

  // To get scores without the statistics, subtracts zero.
  GraphBuilder g(backward.tensors);
  const Uid zero = g.scalar("zero", DataType::f32, 0);
  for (Operation operation : needed_for(backward, shifted)) {
    if (auto* sub = std::get_if<Pointwise>(&operation); sub != nullptr && sub->b == stats->uid) sub->b = zero;
    g.add(operation);
  }
  const auto rows = [&] { return g.virtual_tensor("", DataType::f32, build::Dims(g.at(stats->uid).dims)); };
  const Tensor* sink = find(backward, {Role::sink});
  const auto parts =
      build::add_softmax(g, shifted, rows(), rows(), sink == nullptr ? std::nullopt : std::optional(sink->uid));
  g.pointwise(PointwiseMode::ADD, parts.row_max, g.pointwise(PointwiseMode::LOG, parts.row_sum), {.into = stats->uid});
  g.pointwise(PointwiseMode::DIV, parts.exponentials, parts.row_sum, {.into = p});

  // From P to the factor of dO: dropout and, in fp8, the scale of P.
  Uid dropped = p;
  double factor = 1;
  for (const auto& operation : backward.operations) {
    const auto* matmul = std::get_if<graph::Matmul>(&operation);
    if (matmul == nullptr) continue;
    const Operation* turned = maker(backward, matmul->a);
    const auto* reshape = turned == nullptr ? nullptr : std::get_if<graph::Reshape>(turned);
    const auto before = reshape == nullptr ? std::vector<Operation>{} : needed_for(backward, reshape->x);
    const bool from_p = std::any_of(before.begin(), before.end(), [&](const Operation& step) {
      const auto* made = std::get_if<Pointwise>(&step);
      return made != nullptr && made->y == p;
    });
    const bool has_gradient =
        std::any_of(before.begin(), before.end(), [&](const Operation& step) { return uses(step, d_o->uid); });
    if (!from_p || has_gradient) continue;
    std::set<Uid> chain{p};
    for (const Operation& any : before) {
      const auto* step = std::get_if<Pointwise>(&any);
      if (std::holds_alternative<graph::Rng>(any)) g.add(any);
      if (step == nullptr || !step->x || chain.count(*step->x) == 0) continue;
      chain.insert(step->y.value());
      g.add(any);
    }
    dropped = reshape->x;
    if (find(backward, {Role::scale_s}) != nullptr) factor = factor_of(Role::descale_s, 1);
    break;
  }
  Uid values = v->uid;
  if (v->role == Role::v_transposed) {
    build::Dims dims = v->dims, strides = v->strides;
    std::swap(dims[2], dims[3]);
    std::swap(strides[2], strides[3]);
    values = g.reshape(v->uid, g.virtual_tensor("", DataType::f32, dims, strides));
  }
  if (find(backward, {Role::descale_o}) != nullptr && is_fp8(o->data_type)) factor /= factor_of(Role::descale_o, 1);
  const Uid product = g.virtual_tensor("", DataType::f32, build::Dims(o->dims));
  g.matmul(dropped, values, product);
  g.pointwise(PointwiseMode::MUL, product, g.scalar("factor", DataType::f32, factor), {.into = o->uid});
  return g.take();
}

}  // namespace attnprobe::run
