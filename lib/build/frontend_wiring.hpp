// How cudnn-frontend's graphs depend on cuDNN's version: the facts of lib/rules/cudnn-frontend that every build needs.
#pragma once

#include "base/version.hpp"
#include "rules/framework_rules.hpp"

namespace attnprobe::build {

struct FrontendWiring {
  CudnnVersion unified;                 ///< the first with the unified operation
  CudnnVersion single_operations;       ///< the first with one operation per softmax and per bound of a mask
  CudnnVersion infinite_masks;          ///< the first where masked scores become minus infinity
  rules::FrameworkFact second_padding;  ///< bprop applies the padding mask a second time
};

const FrontendWiring& frontend_wiring();

}  // namespace attnprobe::build
