#include "attnprobe/graph/attention_tensors.hpp"
#include "attnprobe/graph/build.hpp"

namespace attnprobe::graph {

OpGraph build_two_matmul(const attention::AttentionSpec& spec) {
  GraphBuilder g;
  const Uid q = add_q(g, spec, {}), k = transposed(g, add_k(g, spec, {}));
  const Uid v = add_v(g, spec, {}), o = add_o(g, spec, {});
  const Uid s = g.virtual_tensor("S", spec.dtype, score_dims(spec));
  g.at(s).reordering = Reordering::F16x16;
  g.matmul(q, k, s);
  g.matmul(s, v, o);
  return g.take();
}

}  // namespace attnprobe::graph
