// What is said of one config on one target with one cuDNN.
#pragma once

#include "../base/enum_names.hpp"

namespace attnprobe::campaign {

enum class Verdict { supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result };

}  // namespace attnprobe::campaign

namespace attnprobe {
template <>
struct EnumNames<campaign::Verdict> {
  static constexpr std::array<std::pair<campaign::Verdict, std::string_view>, 7> table{{
      {campaign::Verdict::supported, "supported"},
      {campaign::Verdict::unsupported, "unsupported"},
      {campaign::Verdict::invalid_graph, "invalid_graph"},
      {campaign::Verdict::error, "error"},
      {campaign::Verdict::crashed, "crashed"},
      {campaign::Verdict::timeout, "timeout"},
      {campaign::Verdict::wrong_result, "wrong_result"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::campaign {
ATTNPROBE_JSON_ENUM(Verdict)
}  // namespace attnprobe::campaign
