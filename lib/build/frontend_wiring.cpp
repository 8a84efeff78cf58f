#include "build/frontend_wiring.hpp"

namespace attnprobe::build {

const FrontendWiring& frontend_wiring() {
  static const FrontendWiring wiring = [] {
    const rules::FrameworkRules* rules = &rules::frontend_rules();
    return FrontendWiring{rules->fact("unified").cudnn_from, rules->fact("single_operations").cudnn_from,
                          rules->fact("infinite_masks").cudnn_from, rules->fact("second_padding")};
  }();
  return wiring;
}

}  // namespace attnprobe::build
