// The operation graph as cuDNN's own JSON: schema version 4, seen from 9.19 to 9.28.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/cudnn_names.hpp"
#include "importers/import.hpp"

namespace attnprobe::importers {
namespace {

// One object of the JSON: members are taken by name, and what nobody took is noticed at the end.
class JsonObject {
 public:
  JsonObject(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("", json, "an object");
  }

  [[noreturn]] void fail(const std::string& key, const Json& value, const std::string& allowed) const {
    throw Error(ErrorKind::usage, fmt::format("operationGraph{}: {}; allowed: {}", pointer(key),
                                              json_text(value).substr(0, 80), allowed));
  }

  std::string pointer(const std::string& key) const { return key.empty() ? where_ : where_ + "/" + key; }

  // Null where it is absent.
  const Json* find(const std::string& key) {
    taken_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  const Json& at(const std::string& key, const std::string& allowed) {
    if (const Json* found = find(key)) return *found;
    throw Error(ErrorKind::usage, fmt::format("operationGraph{}: missing; allowed: {}", pointer(key), allowed));
  }

  std::optional<int64_t> integer(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer()) fail(key, *value, "an integer");
    return value->get<int64_t>();
  }

  std::optional<double> number(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) fail(key, *value, "a number");
    return value->get<double>();
  }

  bool boolean(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) fail(key, *value, "true or false");
    return value->get<bool>();
  }

  std::vector<int64_t> integers(const std::string& key) {
    const std::string allowed = "an array of integers";
    const Json& value = at(key, allowed);
    if (!value.is_array()) fail(key, value, allowed);
    std::vector<int64_t> all;
    for (const Json& entry : value) {
      if (!entry.is_number_integer()) fail(key, value, allowed);
      all.push_back(entry.get<int64_t>());
    }
    return all;
  }

  // An enumerator under cuDNN's name.
  template <class E>
  E named(const std::string& key) {
    const std::string allowed = quoted_list(graph::cudnn_names_of<E>());
    const Json& value = at(key, allowed);
    const auto parsed = value.is_string() ? graph::parse_cudnn<E>(value.get<std::string>()) : std::nullopt;
    if (!parsed) fail(key, value, allowed);
    return *parsed;
  }

  std::optional<graph::Uid> port(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    return uid(key, *value);
  }

  graph::Uid needed_port(const std::string& key) { return uid(key, at(key, "a tensor's name")); }

  // What the JSON has beyond what was taken.
  std::vector<std::string> left() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json_.items())
      if (taken_.count(key) == 0) keys.push_back(key);
    return keys;
  }

 private:
  // Tensors are named by their uids.
  graph::Uid uid(const std::string& key, const Json& value) const {
    if (value.is_number_integer()) return value.get<graph::Uid>();
    if (value.is_string())
      if (const auto parsed = graph::parse_uid(value.get<std::string>())) return *parsed;
    fail(key, value, "a tensor's name, which is its uid");
  }

  const Json& json_;
  std::string where_;
  std::set<std::string> taken_;
};

class BackendJsonImport {
 public:
  ImportedGraph run(const Json& json) {
    JsonObject whole(json, "");
    whole.find("finalizeMode");  // cuDNN's word for the kind of graph
    read_tensors(whole);
    result_.graph.operations = read_operations(whole);
    note_rest(whole);
    check_ports();
    return std::move(result_);
  }

 private:
  void read_tensors(JsonObject& object) {
    const Json& tensors = object.at("tensors", "an array");
    if (!tensors.is_array()) object.fail("tensors", tensors, "an array");
    for (size_t i = 0; i < tensors.size(); ++i)
      read_tensor(tensors[i], fmt::format("{}/{}", object.pointer("tensors"), i));
  }

  // A tensor may stand in several lists: a ragged offset in that of each tensor that it serves, the sub-graph of a
  // single SDPA operation in a list of its own.
  graph::Uid read_tensor(const Json& json, const std::string& where) {
    JsonObject object(json, where);
    graph::Tensor t;
    t.uid = object.needed_port("name");
    t.data_type = object.named<DataType>("dataType");
    t.dims = object.integers("dim");
    t.strides = object.integers("stride");
    if (t.dims.size() != t.strides.size()) object.fail("stride", json, "as many strides as dims");
    t.is_virtual = object.boolean("isVirtual");
    t.by_value = object.boolean("isByValue");
    if (const auto alignment = object.integer("ptrAlignment")) t.alignment = *alignment;
    if (json.contains("reordering")) t.reordering = object.named<graph::Reordering>("reordering");
    if (const auto vector = object.integer("vectCount"); vector && *vector != 1)
      lose(fmt::format("tensor {}: {} elements in a vector", t.uid, *vector));
    object.find("vectDim");
    if (const Json* ragged = object.find("isRagged")) {
      if (!ragged->is_array() || ragged->size() > 1) object.fail("isRagged", *ragged, "an array of one tensor");
      if (!ragged->empty()) t.ragged_offset = read_tensor((*ragged)[0], object.pointer("isRagged/0"));
    }
    note_rest(object);
    if (known_.insert(t.uid).second) result_.graph.tensors.push_back(t);
    return t.uid;
  }

  std::vector<graph::Operation> read_operations(JsonObject& object) {
    const Json& nodes = object.at("nodes", "an array");
    if (!nodes.is_array()) object.fail("nodes", nodes, "an array");
    std::vector<graph::Operation> operations;
    for (size_t i = 0; i < nodes.size(); ++i) {
      JsonObject node(nodes[i], fmt::format("{}/{}", object.pointer("nodes"), i));
      operations.push_back(read_operation(node));
      note_rest(node);
    }
    return operations;
  }

  graph::Operation read_operation(JsonObject& node) {
    constexpr std::pair<std::string_view, graph::Operation (BackendJsonImport::*)(JsonObject&)> readers[] = {
        {"MATMUL", &BackendJsonImport::matmul},
        {"POINTWISE", &BackendJsonImport::pointwise},
        {"REDUCTION", &BackendJsonImport::reduction},
        {"RESHAPE", &BackendJsonImport::reshape},
        {"RNG", &BackendJsonImport::rng},
        {"PAGED_CACHE_LOAD", &BackendJsonImport::paged_cache_load},
        {"BLOCK_SCALE_DEQUANTIZE", &BackendJsonImport::block_scale_dequantize},
        {"DIAGONAL_BAND_MASK", &BackendJsonImport::diagonal_band_mask},
        {"SOFTMAX", &BackendJsonImport::softmax},
        {"SDPA_FWD", &BackendJsonImport::sdpa_forward},
        {"SDPA_BWD", &BackendJsonImport::sdpa_backward}};
    std::vector<std::string> names;
    const Json& kind = node.at("operation", "CUDNN_BACKEND_OPERATION_…_DESCRIPTOR");
    for (const auto& [name, reader] : readers) {
      names.push_back(fmt::format("CUDNN_BACKEND_OPERATION_{}_DESCRIPTOR", name));
      if (kind == names.back()) return (this->*reader)(node);
    }
    node.fail("operation", kind, quoted_list(names));
  }

  graph::Operation matmul(JsonObject& node) {
    graph::Matmul op;
    op.compute = node.named<DataType>("mathPrec");
    op.a = node.needed_port("matA");
    op.b = node.needed_port("matB");
    op.c = node.needed_port("matC");
    op.m_override = node.port("mOverride");
    op.n_override = node.port("nOverride");
    op.k_override = node.port("kOverride");
    return op;
  }

  graph::Operation pointwise(JsonObject& node) {
    graph::Pointwise op;
    op.mode = node.named<graph::PointwiseMode>("pointwiseMode");
    op.compute = node.named<DataType>("mathPrec");
    op.axis = node.integer("axis");
    op.x = node.port("X");
    op.b = node.port("B");
    op.t = node.port("T");
    op.y = node.port("Y");
    op.dy = node.port("dY");
    op.dx = node.port("dX");
    // One is what cuDNN takes where nothing is set.
    if (const auto alpha = node.number("alpha1"); alpha && *alpha != 1) op.alpha1 = alpha;
    if (const auto alpha = node.number("alpha2"); alpha && *alpha != 1) op.alpha2 = alpha;
    // Of activations, as cuDNN writes them where nothing is set (9.19).
    constexpr std::pair<const char*, double> parameters[] = {
        {"lowerClip", 0},      {"upperClip", std::numeric_limits<double>::max()},
        {"lowerClipSlope", 0}, {"beta", 1},
        {"eluAlpha", 1},       {"softplusBeta", 1},
        {"swishBeta", 1}};
    for (const auto& [key, usual] : parameters)
      if (const auto value = node.number(key); value && *value != usual)
        lose(fmt::format("{} {} of {}", key, *value, name_of(op.mode)));
    return op;
  }

  graph::Operation reduction(JsonObject& node) {
    graph::Reduction op;
    op.op = node.named<graph::ReductionOperator>("reductionOp");
    op.compute = node.named<DataType>("mathPrec");
    op.x = node.needed_port("X");
    op.y = node.needed_port("Y");
    if (node.boolean("isDeterministic")) lose(fmt::format("that the reduction to tensor {} is deterministic", op.y));
    return op;
  }

  graph::Operation reshape(JsonObject& node) {
    const graph::Reshape op{node.needed_port("X"), node.needed_port("Y")};
    if (const Json* mode = node.find("mode"); mode != nullptr && *mode != "CUDNN_RESHAPE_VIEW_ONLY")
      lose(fmt::format("the mode {} of the reshape to tensor {}", json_text(*mode), op.y));
    return op;
  }

  graph::Operation rng(JsonObject& node) {
    graph::Rng op;
    op.distribution = node.named<graph::RngDistribution>("distribution");
    op.probability = node.number("bernoulli_dist_probability");
    op.seed = node.port("seedTensor");
    op.offset = node.port("offset");
    // cuDNN writes a constant seed where there is no tensor for it.
    const auto constant = node.integer("seed");
    if (!op.seed) op.constant_seed = constant;
    const auto old_name = node.port("yDesc");  // up to 9.10
    op.y = old_name ? *old_name : node.needed_port("Y");
    return op;
  }

  graph::Operation paged_cache_load(JsonObject& node) {
    return graph::PagedCacheLoad{node.needed_port("container"), node.needed_port("pageTable"),
                                 node.needed_port("sequence"), node.needed_port("Y")};
  }

  graph::Operation block_scale_dequantize(JsonObject& node) {
    graph::BlockScaleDequantize op;
    op.x = node.needed_port("X");
    op.scale = node.needed_port("scale");
    op.y = node.needed_port("Y");
    op.block_size = node.integers("block_size");
    op.compute = node.named<DataType>("mathPrec");
    op.negative_scale = node.boolean("is_neg_scale");
    return op;
  }

  graph::Operation diagonal_band_mask(JsonObject& node) {
    graph::DiagonalBandMask op;
    op.comparison = node.named<graph::PointwiseMode>("comparisonMode");
    op.x = node.needed_port("X");
    op.fill = node.needed_port("B");
    op.y = node.needed_port("Y");
    op.seq_len_q = node.port("seqLenQDesc");
    op.seq_len_kv = node.port("seqLenKVDesc");
    op.left_bound = node.port("leftBoundDesc");
    op.shift_right_bound = node.port("shiftRightBoundDesc");
    return op;
  }

  graph::Operation softmax(JsonObject& node) {
    graph::Softmax op;
    op.x = node.needed_port("X");
    op.y = node.needed_port("Y");
    op.sink = node.port("sinkDesc");
    op.stats = node.port("statsDesc");
    op.max = node.port("maxDesc");
    op.sum_exp = node.port("sumExpDesc");
    return op;
  }

  graph::Operation sdpa_forward(JsonObject& node) {
    graph::SdpaForward op;
    op.q = node.needed_port("Q");
    op.k = node.needed_port("K");
    op.v = node.needed_port("V");
    op.o = node.needed_port("O");
    op.scale = node.port("scale");
    op.stats = node.port("stats");
    op.seq_len_q = node.port("seqLenQ");
    op.seq_len_kv = node.port("seqLenKV");
    op.block_mask = node.port("blockMask");
    op.page_table_k = node.port("pageTableK");
    op.page_table_v = node.port("pageTableV");
    op.dropout_probability = node.number("dropoutProbability");
    op.seed = node.port("dropoutSeed");
    op.offset = node.port("dropoutOffset");
    op.rng_dump = node.port("dropoutRngDump");
    if (const Json* inner = node.find("softmax")) {
      JsonObject object(*inner, node.pointer("softmax"));
      object.find("operation");
      const auto part = std::get<graph::Softmax>(softmax(object));
      note_rest(object);
      op.softmax_x = part.x;
      op.softmax_y = part.y;
      op.sink = part.sink;
      op.stats = part.stats;
      op.max = part.max;
      op.sum_exp = part.sum_exp;
    }
    read_scores(node, op);
    return op;
  }

  // cuDNN 9.19 refuses every graph with it before it logs one; the names are the forward operation's.
  graph::Operation sdpa_backward(JsonObject& node) {
    graph::SdpaBackward op;
    constexpr std::pair<const char*, graph::Uid graph::SdpaBackward::*> ports[] = {
        {"Q", &graph::SdpaBackward::q},   {"K", &graph::SdpaBackward::k},    {"V", &graph::SdpaBackward::v},
        {"O", &graph::SdpaBackward::o},   {"dO", &graph::SdpaBackward::d_o}, {"stats", &graph::SdpaBackward::stats},
        {"dQ", &graph::SdpaBackward::dq}, {"dK", &graph::SdpaBackward::dk},  {"dV", &graph::SdpaBackward::dv}};
    for (const auto& [key, member] : ports) op.*member = node.needed_port(key);
    op.scale = node.port("scale");
    op.seq_len_q = node.port("seqLenQ");
    op.seq_len_kv = node.port("seqLenKV");
    op.dropout_probability = node.number("dropoutProbability");
    op.seed = node.port("dropoutSeed");
    op.offset = node.port("dropoutOffset");
    op.sink = node.port("sink");
    op.d_sink = node.port("dSink");
    op.d_bias = node.port("dBias");
    op.max_total_seqlen_q = node.integer("maxTotalSeqLenQ");
    op.max_total_seqlen_kv = node.integer("maxTotalSeqLenKV");
    read_scores(node, op);
    return op;
  }

  template <class Op>
  void read_scores(JsonObject& node, Op& op) {
    op.score_input = node.integer("subgraphInputUid");
    op.score_output = node.integer("subgraphOutputUid");
    const Json* inner = node.find("subgraph");
    if (inner == nullptr) return;
    JsonObject object(*inner, node.pointer("subgraph"));
    object.find("finalizeMode");
    read_tensors(object);
    result_.graph.score_operations = read_operations(object);
    note_rest(object);
  }

  // The softmax inside a single SDPA operation has tensors that stand in no list (9.21).
  void check_ports() {
    for (const auto* list : {&result_.graph.operations, &result_.graph.score_operations})
      for (const auto& operation : *list)
        for (const auto& port : ports(operation))
          if (known_.count(port.uid) == 0)
            throw Error(ErrorKind::usage,
                        fmt::format("operationGraph: port {} of {} is tensor {}, which is in no list of tensors",
                                    port.name, operation_name(operation), port.uid));
  }

  void note_rest(const JsonObject& object) {
    for (const auto& key : object.left())
      lose(fmt::format("\"{}\", which attnprobe does not know", object.pointer(key)));
  }

  void lose(std::string what) { result_.missing.push_back(std::move(what)); }

  ImportedGraph result_;
  std::set<graph::Uid> known_;
};

}  // namespace

ImportedGraph import_backend_json(const Json& operation_graph) {
  return BackendJsonImport().run(operation_graph);
}

}  // namespace attnprobe::importers
