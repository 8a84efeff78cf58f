// Converts cudnn-frontend's primitive nodes to an OpGraph. Infers the same properties as cudnn-frontend infers before
// lowering (infer_properties_node of each node, graph_helpers.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "importers/cudnn_frontend/import_frontend_parts.hpp"

namespace attnprobe::importers {
namespace {

constexpr std::string_view primitive_tags[] = {"MATMUL", "POINTWISE", "REDUCTION",
                                               "RNG",    "RESHAPE",   "BLOCK_SCALE_DEQUANTIZE"};

// Strides for axes ordered from fastest to slowest.
build::Dims strides_in_order(const build::Dims& dims, const std::vector<size_t>& fastest_first) {
  build::Dims strides(dims.size(), 1);
  int64_t step = 1;
  for (const size_t axis : fastest_first) {
    strides[axis] = step;
    if (__builtin_mul_overflow(step, dims[axis], &step)) step = std::numeric_limits<int64_t>::max();
  }
  return strides;
}

// cudnn-frontend's default for a possible image: axis 1 is the fastest.
build::Dims channels_last_strides(const build::Dims& dims) {
  std::vector<size_t> order;
  if (dims.size() > 1) order.push_back(1);
  for (size_t axis = dims.size(); axis-- > 2;) order.push_back(axis);
  if (!dims.empty()) order.push_back(0);
  return strides_in_order(dims, order);
}

// Strides with the axis order of other strides; additional axes are the slowest.
build::Dims strides_ordered_as(const build::Dims& dims, const build::Dims& other) {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const bool known_a = a < other.size(), known_b = b < other.size();
    if (known_a && known_b && other[a] != other[b]) return other[a] < other[b];
    return known_a != known_b ? known_a : a < b;
  });
  return strides_in_order(dims, order);
}

bool is_backward_activation(graph::PointwiseMode mode) {
  return name_of(mode).ends_with("_BWD");
}

// The number of inputs after the first.
int more_inputs(graph::PointwiseMode mode) {
  switch (mode) {
    case graph::PointwiseMode::BINARY_SELECT:
      return 2;
    case graph::PointwiseMode::ADD:
    case graph::PointwiseMode::ADD_SQUARE:
    case graph::PointwiseMode::SUB:
    case graph::PointwiseMode::MUL:
    case graph::PointwiseMode::DIV:
    case graph::PointwiseMode::MIN:
    case graph::PointwiseMode::MAX:
    case graph::PointwiseMode::MOD:
    case graph::PointwiseMode::POW:
    case graph::PointwiseMode::ATAN2:
    case graph::PointwiseMode::CMP_EQ:
    case graph::PointwiseMode::CMP_NEQ:
    case graph::PointwiseMode::CMP_GT:
    case graph::PointwiseMode::CMP_GE:
    case graph::PointwiseMode::CMP_LT:
    case graph::PointwiseMode::CMP_LE:
    case graph::PointwiseMode::LOGICAL_AND:
    case graph::PointwiseMode::LOGICAL_OR:
      return 1;
    default:
      return is_backward_activation(mode) ? 1 : 0;
  }
}

class FrontendOperationsReader {
 public:
  FrontendOperationsReader(const FrontendDocument& document, FrontendGraph& result)
      : document_(document), result_(result) {}

  graph::OpGraph read() {
    // Given uids are kept; other tensors get unused numbers, as in cudnn-frontend.
    for (const auto& key : document_.tensor_keys())
      if (const auto uid = document_.tensor(key).uid) given_uids_.insert(*uid);
    for (size_t i = 0; i < document_.node_count(); ++i) read_node(document_.node(i));
    return std::move(graph_);
  }

 private:
  void note(const std::string& text) { result_.notes.push_back(text); }

  void read_node(const FrontendPlace& node) {
    node_ = &node;
    inputs_ = document_.ports(node, "inputs");
    outputs_ = document_.ports(node, "outputs");
    const std::string tag = node.at("tag").text();
    if (tag == "MATMUL") return matmul();
    if (tag == "POINTWISE") return pointwise();
    if (tag == "REDUCTION") return reduction();
    if (tag == "RNG") return rng();
    if (tag == "RESHAPE") return reshape();
    if (tag == "BLOCK_SCALE_DEQUANTIZE") return dequantize();
    node.at("tag").wrong(quoted_list({std::begin(primitive_tags), std::end(primitive_tags)}));
  }

  // ---- tensors
  // ------------------------------------------------------------------------------------------------

  graph::Uid fresh_uid() {
    while (given_uids_.count(next_uid_) != 0) ++next_uid_;
    return next_uid_++;
  }

  /// The index in graph_.tensors. The type may remain open until the tensor's node determines it.
  size_t index_of(const std::string& key) {
    if (const auto found = index_by_key_.find(key); found != index_by_key_.end()) return found->second;
    const FrontendTensor t = document_.tensor(key);
    graph::Tensor made;
    made.uid = t.uid ? *t.uid : fresh_uid();
    made.name = t.name;
    made.role = graph::role_of_name(t.name);
    made.dims = t.dims;
    made.strides = t.strides;
    made.is_virtual = t.is_virtual;
    made.by_value = t.by_value;
    made.reordering = t.reordering;
    made.value = t.value;
    if (t.ragged) note(fmt::format("the ragged offset of tensor \"{}\" is left out", t.name));
    const size_t index = graph_.tensors.size();
    for (const graph::Tensor& other : graph_.tensors)
      if (other.uid == made.uid)
        document_.root().at("tensors").at(key).at("uid").wrong("a uid that no other tensor has");
    graph_.tensors.push_back(std::move(made));
    types_.push_back(t.data_type);
    index_by_key_[key] = index;
    return index;
  }
  graph::Tensor& at(size_t index) { return graph_.tensors[index]; }

  void settle_type(size_t index, std::optional<DataType> otherwise = {}) {
    if (!types_[index]) types_[index] = otherwise;
    graph::Tensor& t = at(index);
    if (!types_[index]) types_[index] = t.is_virtual ? document_.context().intermediate : document_.context().io;
    if (!types_[index]) document_.root().at("context").at(t.is_virtual ? "intermediate_data_type" : "io_data_type");
    t.data_type = *types_[index];
  }

  size_t port(const std::map<std::string, std::string>& ports, const char* direction, const char* name) {
    const auto found = ports.find(name);
    if (found == ports.end()) {
      node_->at(direction).at(name);
      throw Error(ErrorKind::internal, fmt::format("a port was not read: {}", name));
    }
    return index_of(found->second);
  }
  size_t input(const char* name) {
    const size_t index = port(inputs_, "inputs", name);
    settle_type(index);
    if (at(index).dims.empty() || at(index).strides.empty())
      node_->at("inputs").at(name).wrong("a tensor with dims and strides, given or made by a node before this one");
    return index;
  }
  std::optional<graph::Uid> optional_input(const char* name) {
    if (inputs_.count(name) == 0) return std::nullopt;
    return at(input(name)).uid;
  }
  size_t output(const char* name) { return port(outputs_, "outputs", name); }

  // Fills in properties of an output that the user did not set.
  graph::Uid finish(size_t index, const build::Dims& dims,
                    const std::function<build::Dims(const build::Dims&)>& strides, std::optional<DataType> type = {}) {
    graph::Tensor& t = at(index);
    if (t.dims.empty()) t.dims = dims;
    if (t.dims.empty()) node_->at("outputs").wrong("a tensor with dims; they cannot be inferred here");
    if (t.strides.empty()) t.strides = strides(t.dims);
    if (t.strides.size() != t.dims.size()) node_->at("outputs").wrong("tensors with as many strides as dims");
    settle_type(index, type);
    return t.uid;
  }

  DataType compute() {
    if (const auto type = node_->optional_data_type("compute_data_type")) return *type;
    if (const auto type = document_.context().compute) return *type;
    return document_.root().at("context").at("compute_data_type").data_type();
  }

  // ---- nodes
  // --------------------------------------------------------------------------------------------------

  void matmul() {
    graph::Matmul op;
    const size_t a = input("A"), b = input("B"), c = output("C");
    const build::Dims left = at(a).dims, right = at(b).dims;
    if (left.size() < 2 || left.size() != right.size()) node_->at("inputs").wrong("A and B of one rank, at least 2");
    build::Dims dims = left;
    dims.back() = right.back();
    for (size_t i = 0; i + 2 < dims.size(); ++i) dims[i] = std::max(left[i], right[i]);
    op.a = at(a).uid;
    op.b = at(b).uid;
    op.c = finish(c, dims, build::packed_strides);
    op.m_override = optional_input("M_override");
    op.n_override = optional_input("N_override");
    op.k_override = optional_input("K_override");
    op.compute = compute();
    if (node_->optional_number("padding_value").value_or(0) != 0)
      note("a matmul has a padding value; attnprobe's operation has none");
    graph_.operations.emplace_back(op);
  }

  void pointwise() {
    graph::Pointwise op;
    op.mode = node_->at("mode").one_of<graph::PointwiseMode>();
    op.compute = compute();
    if (op.mode == graph::PointwiseMode::GEN_INDEX) op.axis = node_->optional_integer("axis", 0, 7).value_or(-1);
    for (const char* key :
         {"relu_lower_clip", "relu_upper_clip", "relu_lower_clip_slope", "swish_beta", "elu_alpha", "softplus_beta"})
      if (node_->has(key))
        note(fmt::format("{} of {} is {}; attnprobe's operation has the default", key, name_of(op.mode),
                         node_->at(key).number()));
    constexpr const char* names[] = {"IN_0", "IN_1", "IN_2"};
    std::vector<size_t> all;
    for (int i = 0; i <= more_inputs(op.mode); ++i) all.push_back(input(names[i]));
    const size_t out = output("OUT_0");
    const graph::Uid y =
        finish(out, broadcast(all), [&](const build::Dims& dims) { return pointwise_strides(all, out, dims); });
    if (is_backward_activation(op.mode)) {
      op.dy = at(all[0]).uid;
      op.x = at(all[1]).uid;
      op.dx = y;
    } else {
      op.x = at(all[0]).uid;
      if (all.size() > 1) op.b = at(all[1]).uid;
      if (all.size() > 2) op.t = at(all[2]).uid;
      op.y = y;
    }
    graph_.operations.emplace_back(op);
  }

  build::Dims broadcast(const std::vector<size_t>& all) {
    build::Dims dims;
    for (const size_t index : all) {
      const build::Dims& shape = at(index).dims;
      if (dims.size() < shape.size()) dims.insert(dims.begin(), shape.size() - dims.size(), 1);
      for (size_t i = 1; i <= shape.size(); ++i) {
        int64_t& extent = dims[dims.size() - i];
        const int64_t other = shape[shape.size() - i];
        if (extent == 1) extent = other;
        if (other != 1 && extent != other)
          node_->at("inputs").wrong("tensors whose extents along an axis are equal or 1");
      }
    }
    return dims;
  }

  build::Dims pointwise_strides(const std::vector<size_t>& all, size_t out, const build::Dims& dims) {
    for (const size_t index : all)
      if (at(index).dims == dims) return at(index).strides;
    if (!at(out).is_virtual)
      node_->at("outputs").wrong("an output with strides, or one that is virtual or shaped as an input");
    return strides_ordered_as(dims, at(all[0]).strides);
  }

  void reduction() {
    graph::Reduction op;
    op.op = node_->at("mode").one_of<graph::ReductionOperator>();
    const size_t x = input("X"), y = output("Y");
    op.x = at(x).uid;
    op.y = finish(y, build::Dims(at(x).dims), channels_last_strides);
    op.compute = compute();
    if (node_->boolean_or("is_deterministic", false))
      note("a reduction requests determinism; attnprobe's operation does not");
    graph_.operations.emplace_back(op);
  }

  void rng() {
    graph::Rng op;
    op.distribution = node_->at("distribution").one_of<graph::RngDistribution>();
    op.probability = node_->optional_number("bernoulli_probability");
    op.constant_seed =
        node_->optional_integer("seed", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    op.seed = optional_input("Seed");
    op.offset = optional_input("Offset");
    op.y = finish_as_node_says();
    graph_.operations.emplace_back(op);
  }

  void reshape() {
    graph::Reshape op;
    const size_t x = input("X");
    op.x = at(x).uid;
    op.y = finish_as_node_says(at(x).data_type);
    if (node_->text_or("reshape_mode", "VIEW_ONLY") != "VIEW_ONLY")
      note("a reshape is not a view; attnprobe's operation is one");
    graph_.operations.emplace_back(op);
  }

  // The node may have dims and strides for an output "Y" without them.
  graph::Uid finish_as_node_says(std::optional<DataType> type = {}) {
    const build::Dims dims = node_->has("dim") ? node_->at("dim").integers(1) : build::Dims();
    const build::Dims strides = node_->has("stride") ? node_->at("stride").integers(0) : build::Dims();
    return finish(
        output("Y"), dims,
        [&](const build::Dims& all) { return strides.empty() ? channels_last_strides(all) : strides; }, type);
  }

  void dequantize() {
    graph::BlockScaleDequantize op;
    const size_t x = input("X"), scale = input("scale"), y = output("Y");
    op.x = at(x).uid;
    op.scale = at(scale).uid;
    op.y = finish(y, build::Dims(at(x).dims), [&](const build::Dims&) { return at(x).strides; });
    const FrontendPlace block = node_->at("block_size");
    op.block_size = block.json().is_array() ? block.integers(1) : std::vector<int64_t>{block.integer(1)};
    op.compute = compute();
    op.negative_scale = node_->boolean_or("is_negative_scale", false);
    graph_.operations.emplace_back(op);
  }

  const FrontendDocument& document_;
  FrontendGraph& result_;
  const FrontendPlace* node_ = nullptr;
  std::map<std::string, std::string> inputs_, outputs_;
  graph::OpGraph graph_;
  std::vector<std::optional<DataType>> types_;
  std::map<std::string, size_t> index_by_key_;
  std::set<graph::Uid> given_uids_;
  graph::Uid next_uid_ = 1;
};

}  // namespace

bool is_primitive_tag(const std::string& tag) {
  return std::find(std::begin(primitive_tags), std::end(primitive_tags), tag) != std::end(primitive_tags);
}

graph::OpGraph read_frontend_operations(const FrontendDocument& document, FrontendGraph& result) {
  return FrontendOperationsReader(document, result).read();
}

}  // namespace attnprobe::importers
