// Serialises graphs, options and findings for another process of the same program. Internal to lib/worker.
#pragma once

#include <cereal/archives/binary.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::graph {

template <class Archive>
void serialize(Archive& archive, Tensor& t) {
  archive(t.uid, t.name, t.role, t.data_type, t.dims, t.strides, t.alignment, t.is_virtual, t.by_value, t.reordering,
          t.ragged_offset, t.ragged_multiplier, t.value);
}

template <class Archive, class Op>
requires(kind_name<Op> != nullptr) void serialize(Archive& archive, Op& op) {
  const auto member = [&](const char*, auto& value, auto...) { archive(value); };
  for_each_attribute(op, member);
  for_each_port(op, member);
}

template <class Archive>
void serialize(Archive& archive, OpGraph& graph) {
  archive(graph.tensors, graph.operations, graph.score_operations, graph.dynamic_shapes, graph.override_shapes);
}

}  // namespace attnprobe::graph

namespace attnprobe::worker {

template <class... Values>
std::string pack(const Values&... values) {
  std::ostringstream out(std::ios::binary);
  cereal::BinaryOutputArchive archive(out);
  archive(values...);
  return std::move(out).str();
}

/// The inverse, in the same order. Throws Error(internal) for invalid bytes.
template <class... Values>
void unpack(const std::string& bytes, Values&... values) {
  try {
    std::istringstream in(bytes, std::ios::binary);
    cereal::BinaryInputArchive archive(in);
    archive(values...);
  } catch (const std::exception& e) {
    throw Error(ErrorKind::internal, std::string("parent and worker are not of the same program: ") + e.what());
  }
}

}  // namespace attnprobe::worker
