// How cudnn-frontend's graphs depend on cuDNN's version: the facts from lib/rules/cudnn-frontend that every graph
// needs.
#pragma once

#include "base/version.hpp"
#include "rules/framework_rules.hpp"

namespace attnprobe::build {

struct FrontendWiring {
  CudnnVersion unified;                 ///< first cuDNN with the unified operation
  CudnnVersion single_operations;       ///< first cuDNN with one operation per softmax and per mask bound
  CudnnVersion infinite_masks;          ///< first cuDNN for which masked scores become minus infinity
  rules::FrameworkFact second_padding;  ///< bprop applies the padding mask a second time
};

const FrontendWiring& frontend_wiring();

}  // namespace attnprobe::build
