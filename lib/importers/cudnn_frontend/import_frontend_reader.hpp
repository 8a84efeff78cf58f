// Reads one attention node of cudnn-frontend. import_frontend_shapes.cpp handles Q, K, V and O,
// import_frontend_attention.cpp the rest.
#pragma once

#include "build/attention_tensors.hpp"
#include "importers/cudnn_frontend/import_frontend_layout.hpp"
#include "importers/cudnn_frontend/import_frontend_parts.hpp"

namespace attnprobe::importers {

/// The first cudnn-frontend that writes ragged offsets.
inline constexpr FrontendVersion first_with_ragged_offsets{1, 20, 0};
/// The largest allowed extent.
inline constexpr int64_t longest_extent = std::numeric_limits<int32_t>::max();

/// Reads one node; use it once.
class FrontendAttentionReader {
 public:
  FrontendAttentionReader(const FrontendDocument& document, size_t index, FrontendGraph& result);
  attention::AttentionSpec read();

 private:
  void note(const std::string& text) { result_.notes.push_back(text); }
  std::optional<FrontendTensor> input(const std::string& port) const;
  std::optional<FrontendTensor> output(const std::string& port) const;
  std::optional<FrontendTensor> port_in(const std::map<std::string, std::string>& ports, const std::string& port) const;
  FrontendPlace input_places() const { return node_.at("inputs"); }
  FrontendTensor needed(const std::string& port) const;
  FrontendPlace tensor_place(const FrontendTensor& t) const;
  DataType type_of(const FrontendTensor& t) const;
  bool wants_statistics() const;
  // cudnn-frontend writes a port without a name under the table's first name, "Q"; the later of the two ports remains.
  void find_block_mask();
  // Q and K before their rotation by separate nodes.
  void read_ropes();
  void read_pattern();
  void read_newer();

  // In import_frontend_shapes.cpp.

  // {batch, heads, seqlen, head_dim}; in a serialized graph K and V are already transposed.
  StridedTensor strided(const FrontendTensor& t) const;
  StridedTensor key_or_value(const FrontendTensor& t) const;
  void read_shapes();
  bool paged_k() const { return spec_.paged && spec_.paged->k; }
  bool paged_v() const { return spec_.paged && spec_.paged->v; }
  void read_paged();
  // Inferred as in cudnn-frontend (infer_s_kv).
  int64_t key_length() const;
  void read_types();
  bool by_token(const std::optional<FrontendTensor>& rows) const;
  std::optional<FrontendTensor> statistics() const;
  void conclude_raggedness();
  void read_layouts();
  void read_gradients();
  // "tensors" has offsets only if they are also a port; a stored plan has all of them.
  void read_offset_type();
  void set_offset_type(DataType type);
  std::optional<DataType> offset_type_in_plan(std::optional<graph::Uid> uid) const;

  void read_scale();
  void read_mask();
  /// The lengths in the port's tensor; empty if the JSON has no usable ones.
  std::vector<int64_t> lengths(const std::string& port, int64_t most);
  void read_score_features();
  void read_bias(const FrontendTensor& t);
  void read_dropout();
  void read_fp8();
  // Adds a note about a tensor that differs from its counterpart in the config's graph.
  void expect_like(const char* port, const FrontendTensor& t, const build::Dims& dims, const build::Dims& strides,
                   DataType type);
  void check_rows();
  void finish() const;

  const FrontendDocument& document_;
  FrontendPlace node_;
  std::string tag_;
  FrontendGraph& result_;
  std::map<std::string, std::string> inputs_, outputs_;
  attention::AttentionSpec spec_;
  StridedTensor q_, k_, v_;
  FrontendTensor o_tensor_;
  bool rows_ragged_ = false;
};

}  // namespace attnprobe::importers
