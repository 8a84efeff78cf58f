#include "build/attention_tensors.hpp"
#include "build/build.hpp"

namespace attnprobe::build {

graph::OpGraph build_two_matmul(const attention::AttentionSpec& spec) {
  GraphBuilder g;
  const graph::Uid q = add_q(g, spec, {}), k = transposed(g, add_k(g, spec, {}));
  const graph::Uid v = add_v(g, spec, {}), o = add_o(g, spec, {});
  const graph::Uid s = g.virtual_tensor(Role::scores, spec.dtype, score_dims(spec));
  g.at(s).reordering = graph::Reordering::F16x16;
  g.matmul(q, k, s);
  g.matmul(s, v, o);
  return g.take();
}

}  // namespace attnprobe::build
