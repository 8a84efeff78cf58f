#include "attnprobe/graph/build.hpp"

#include <fmt/format.h>

namespace attnprobe::graph {
namespace {

using attention::AttentionSpec;
using attention::Pattern;

// cudnn-frontend's AUTO: unified where its rules allow, else composite. 91301 and 91500 are its own
// thresholds (sdpa_support_surface.h, FE 1.23); from 92100 it would also put diagonal masks there, in
// sub-graph form.
std::pair<Pattern, std::string> choose(const AttentionSpec& spec, int64_t version) {
  auto composite = [](const std::string& why) { return std::pair{Pattern::sdpa_composite, why}; };
  if (version < 91301) return composite("composite: the single SDPA operation needs cuDNN 9.13.1");
  if (output_type(spec) == DataType::f32)
    return composite("composite: the single SDPA operation writes 16-bit output only");
  // Alignment counts without a bound too: cudnn-frontend wants TOP_LEFT here below 9.21.
  if (spec.mask.has_diagonal() || spec.mask.alignment != attention::Alignment::top_left)
    return composite(version >= 92100
                         ? "composite: from cuDNN 9.21 cudnn-frontend puts this mask into the single SDPA "
                           "operation, in a form that this release does not build"
                         : "composite: the single SDPA operation takes diagonal masks only from cuDNN 9.21");
  if (spec.mask.padding && version < 91500)
    return composite("composite: the single SDPA operation takes sequence lengths only from cuDNN 9.15");
  return {Pattern::sdpa_unified, "unified: cudnn-frontend uses the single SDPA operation where it can"};
}

}  // namespace

BuiltGraph build(const AttentionSpec& spec, const BuildContext& context) {
  auto [pattern, choice] = spec.pattern == Pattern::sdpa ? choose(spec, context.cudnn_version)
                                                         : std::pair{spec.pattern, std::string()};
  switch (pattern) {
    case Pattern::two_matmul:
      return {build_two_matmul(spec), pattern, choice};
    case Pattern::mha:
      return {build_mha(spec), pattern, choice};
    case Pattern::sdpa_unified:
      return {build_sdpa_unified(spec), pattern, choice};
    case Pattern::sdpa:  // choose() never leaves it so
    case Pattern::sdpa_composite:
      break;
  }
  return {build_sdpa_composite(spec, context), Pattern::sdpa_composite, choice};
}

}  // namespace attnprobe::graph
