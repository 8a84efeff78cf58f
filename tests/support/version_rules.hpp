// Shared by the tests of version rules: the data's examples, merged into a common base.
#pragma once

#include "attention/config.hpp"
#include "rules/requirements.hpp"
#include "support.hpp"

namespace attnprobe::test {

// A config, a cuDNN and a GPU from an example of the data.
struct Case {
  attention::AttentionSpec spec;
  CudnnVersion cudnn;
  int sm = 0;
};

// The base of the data's examples.
inline const Json base{{"batch", 2},        {"heads_q", 8},      {"heads_kv", 8},    {"seqlen_q", 512},
                       {"seqlen_kv", 512},  {"head_dim_qk", 64}, {"head_dim_v", 64}, {"dtype", "f16"},
                       {"cudnn", "9.19.0"}, {"sm", 90}};

inline Json laid_over(Json below, const Json& above) {
  for (const auto& [key, value] : above.items())
    if (value.is_null())
      below.erase(key);
    else
      below[key] = value;
  return below;
}

inline Case case_of(Json json) {
  Case made;
  const auto version = CudnnVersion::parse(json.at("cudnn").get<std::string>());
  REQUIRE(version);
  made.cudnn = *version;
  made.sm = json.at("sm").get<int>();
  json.erase("cudnn");
  json.erase("sm");
  made.spec = attention::parse_configs(json.dump(), "example").at(0).spec;
  return made;
}

template <class Function>
std::string internal_error(const Function& function) {
  try {
    function();
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::internal);
    return e.what();
  }
  return "no error";
}

}  // namespace attnprobe::test
