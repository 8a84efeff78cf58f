// How cudnn-frontend's graphs depend on cuDNN's version: the facts of lib/rules/cudnn-frontend that every build asks for.
#pragma once

#include "base/version.hpp"
#include "rules/framework_rules.hpp"

namespace attnprobe::build {

struct FrontendWiring {
  CudnnVersion unified;                 ///< the first with the unified operation
  CudnnVersion single_operations;       ///< the first where the softmax and each bound of a mask are one operation each
  CudnnVersion infinite_masks;          ///< the first where masked scores become minus infinity
  rules::FrameworkFact second_padding;  ///< bprop applies the padding mask a second time
};

const FrontendWiring& frontend_wiring();

}  // namespace attnprobe::build
