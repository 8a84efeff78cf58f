#include "attnprobe/graph/attention_tensors.hpp"
#include "attnprobe/graph/build.hpp"

namespace attnprobe::graph {

OpGraph build_sdpa_unified(const attention::AttentionSpec& spec) {
  GraphBuilder g;
  const SequenceLengths lengths = add_sequence_lengths(g, spec);
  SdpaForward op;
  op.q = add_q(g, spec);
  op.k = add_k(g, spec);
  op.v = add_v(g, spec);
  op.o = add_o(g, spec);
  op.scale = g.scalar("scale", DataType::f32, scale_of(spec));
  op.seq_len_q = lengths.q;
  op.seq_len_kv = lengths.kv;
  if (wants_stats(spec))
    op.stats = g.tensor("Stats", DataType::f32, row_dims(spec), packed_strides(row_dims(spec)));
  g.add(op);
  return g.take();
}

}  // namespace attnprobe::graph
