// Reads cuDNN's unified SDPA operation. Its ports have almost all facts.
#include <fmt/format.h>

#include <algorithm>

#include "recognise/reading.hpp"

namespace attnprobe::recognise {
namespace {

using attention::AttentionSpec;
using attention::Pass;
using attention::Pattern;

// K or V as the only tensor of rank 4, paged or not.
std::optional<graph::Tensor> rank_four(const graph::Tensor* t) {
  if (t == nullptr || t->dims.size() != 4 || t->strides.size() != 4) return std::nullopt;
  return *t;
}

// A page table shows only the number of blocks; a tensor with the width of the scores shows the length.
std::optional<int64_t> key_length(const GraphView& view, const graph::SdpaForward& op, const AttentionPorts& p,
                                  Reading& reading) {
  for (const auto uid : {op.score_input, op.softmax_x, op.rng_dump})
    if (const graph::Tensor* t = view.find(uid); t != nullptr && t->dims.size() == 4) return t->dims[3];
  if (p.page_table == nullptr || p.page_table->dims.size() != 4 || p.container_k == nullptr ||
      p.container_k->dims.size() != 4)
    return std::nullopt;
  const int64_t pages = p.page_table->dims[2], block = p.container_k->dims[2];
  if (pages < 1 || pages > (1 << 24) || block < 1 || block > (1 << 24)) return std::nullopt;
  if (block > 1 && !p.v)
    reading.assumed.push_back(
        fmt::format("seqlen_kv: {} blocks of {} tokens determine it only to within a block; {} is assumed", pages,
                    block, pages * block));
  return pages * block;
}

template <class Op>
void read_features(Reading& reading, const GraphView& view, const Op& op, const ReadingChoice& choice) {
  AttentionSpec& spec = reading.spec;
  if (op.score_output) {
    const auto path = view.path_to(*op.score_output);
    read_scores(reading, view, path.steps, {}, choice);
  }
  spec.scale_form = attention::ScaleForm::none;
  if (op.scale) read_scale(reading, view, *op.scale);
  if (op.seq_len_q || op.seq_len_kv || op.cu_seq_len_q || op.cu_seq_len_kv) spec.mask.padding = true;
  if (op.cu_seq_len_q || op.cu_seq_len_kv)
    spec.cu_seqlens = !op.cu_seq_len_kv  ? attention::Sides::q
                      : !op.cu_seq_len_q ? attention::Sides::kv
                                         : attention::Sides::both;
  spec.sink = op.sink.has_value();
  if (op.dropout_probability) {
    spec.dropout = drawn_dropout(*op.dropout_probability, view.find(op.seed), false);
    if constexpr (requires { op.rng_dump; }) spec.dropout->dump = op.rng_dump.has_value();
  }
}

std::optional<Reading> read_forward(const GraphView& view, const graph::SdpaForward& op, const ReadingChoice& choice) {
  Reading reading;
  AttentionSpec& spec = reading.spec;
  spec.pattern = Pattern::sdpa_unified;
  AttentionPorts p;
  p.q = view.find(before_rope(reading, view, op.q, &attention::Rope::q));
  p.o = view.find(op.o);
  if (op.page_table_k)
    p.container_k = view.find(op.k);
  else
    p.k = rank_four(view.find(before_rope(reading, view, op.k, &attention::Rope::k)));
  if (op.page_table_v)
    p.container_v = view.find(op.v);
  else
    p.v = rank_four(view.find(op.v));
  p.page_table = view.find(op.page_table_k ? op.page_table_k : op.page_table_v);
  p.seqlen_kv = key_length(view, op, p, reading);
  for (const auto& row : {op.stats, op.max, op.sum_exp})
    if (row) p.rows = view.find(row);
  if (p.o == nullptr || !read_ports(reading, p, view)) return std::nullopt;
  if (op.stats) spec.pass = Pass::fprop_train;
  read_statistics(reading, view.find(op.stats), op.stats_log2.value_or(false));
  spec.unfuse_fma = op.unfuse_fma.value_or(false);
  if (const graph::Tensor* descale = view.find(op.descale_q); descale != nullptr && is_fp8(spec))
    spec.fp8 = descale->data_type == DataType::fp8_e8m0 ? attention::Fp8Scaling::mxfp8
               : view.is_by_value(op.scale_o)           ? attention::Fp8Scaling::current
                                                        : attention::Fp8Scaling::delayed;
  spec.max_logit = op.max.has_value();
  spec.sum_exp = op.sum_exp.has_value();
  spec.block_mask = op.block_mask.has_value();
  read_features(reading, view, op, choice);
  return reading;
}

std::optional<Reading> read_backward(const GraphView& view, const graph::SdpaBackward& op,
                                     const ReadingChoice& choice) {
  Reading reading;
  AttentionSpec& spec = reading.spec;
  spec.pattern = Pattern::sdpa_unified;
  spec.pass = Pass::bprop;
  AttentionPorts p;
  p.q = view.find(op.q);
  p.k = rank_four(view.find(op.k));
  p.v = rank_four(view.find(op.v));
  p.o = view.find(op.o);
  p.d_o = view.find(op.d_o);
  p.dq = view.find(op.dq);
  p.dk = view.find(op.dk);
  p.dv = view.find(op.dv);
  p.rows = view.find(op.stats);
  if (p.o == nullptr || p.d_o == nullptr || !read_ports(reading, p, view)) return std::nullopt;
  read_statistics(reading, p.rows, false);
  spec.max_total_seqlen_q = op.max_total_seqlen_q;
  spec.max_total_seqlen_kv = op.max_total_seqlen_kv;
  read_features(reading, view, op, choice);
  if (const graph::Tensor* d_bias = spec.bias ? view.find(op.d_bias) : nullptr; d_bias != nullptr)
    read_bias_gradient(spec, *d_bias);
  return reading;
}

}  // namespace

std::optional<Reading> read_unified(const GraphView& view, const ReadingChoice& choice) {
  const auto& operations = view.graph().operations;
  const auto is_rope = [](const graph::Operation& one) { return std::holds_alternative<graph::Rope>(one); };
  if (operations.size() != 1 + static_cast<size_t>(std::count_if(operations.begin(), operations.end(), is_rope)))
    return std::nullopt;
  if (const auto forward = view.all<graph::SdpaForward>(); !forward.empty())
    return read_forward(view, *forward.front(), choice);
  if (const auto backward = view.all<graph::SdpaBackward>(); !backward.empty())
    return read_backward(view, *backward.front(), choice);
  return std::nullopt;
}

}  // namespace attnprobe::recognise
