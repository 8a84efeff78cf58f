// Attributes added after cuDNN 9.21. For each, the newest cuDNN supports a graph on a simulated GPU, and an older
// version refuses it with the expected reason. Without such a cuDNN (attnprobe cudnn fetch), the test reports that.
#include <algorithm>

#include "ask/ask.hpp"
#include "ask/further/other_versions.hpp"
#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "libraries.hpp"
#include "support.hpp"

namespace attnprobe::test::newest_attributes_test {

using answer::Answer;
using answer::Verdict;

namespace {

Answer ask(const std::string& config, const char* target, const std::string& library) {
  asking::PlanOptions options;
  options.walk.plans = probe::Plans::none;
  options.walk.sweep_where_none = false;
  const auto questions = asking::questions_of(attention::parse_configs(
      R"({"defaults": {"heads": 8, "seqlen": 512, "head_dim": 128, "dtype": "bf16"}, "configs": [)" + config + "]}",
      "test"));
  return answers_to(questions, gpu::simulated_targets(target), library, options).results.at(0);
}

struct Newer {
  const char* attribute;  // cuDNN's name
  const char* config;
  const char* target;
  CudnnVersion from;                  // the first version that supports it
  const char* refusal;                // the refusal of older versions, from their reason or from the failing call
  const char* requirement;            // the corresponding version rule
  CudnnVersion refused_so_from = {};  // even older versions lack more, and report this:
  const char* refusal_before = "";
};

const char* const no_attribute = "ptrDesc->set(attributeName, attributeType, elementCount, arrayOfElements)";
const char* const no_operation = "CUDNN_STATUS_SUCCESS != getSizeOfDescriptor(descriptorType, size)";

const std::vector<Newer>& newer() {
  static const std::vector<Newer> all{
      {"SDPA_FWD_CU_SEQ_LEN_QDESC",
       R"({"mask": "padding", "cu_seqlens": "both"})",
       "h200",
       {9, 24, 0},
       no_attribute,
       "cu_seqlens"},
      {"SDPA_FWD_CU_SEQ_LEN_QDESC alone",
       R"({"mask": "padding", "cu_seqlens": "q"})",
       "a100",
       {9, 25, 0},
       "SEQ_LEN_Q",
       "cu_seqlens_one_side",
       {9, 24, 0},
       no_attribute},
      {"SDPA_FWD_CU_SEQ_LEN_KVDESC alone",
       R"({"mask": "padding", "cu_seqlens": "kv"})",
       "rtx5090",
       {9, 25, 0},
       "SEQ_LEN_Q",
       "cu_seqlens_one_side",
       {9, 24, 0},
       no_attribute},
      {"DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC",
       R"({"mask": "padding_causal_bottom_right", "cu_seqlens": "both"})",
       "b200",
       {9, 24, 0},
       no_attribute,
       "cu_seqlens",
       {9, 21, 0},
       no_operation},
      {"TENSOR_RAGGED_OFFSET_MULTIPLIER",
       R"({"layout": "thd", "mask": "padding", "ragged_unit": "token"})",
       "h200",
       {9, 24, 0},
       no_attribute,
       "ragged_in_tokens"},
      {"SDPA_FWD_DESCALE_QDESC, _SCALE_ODESC, _AMAX_ODESC, …",
       R"({"pattern": "sdpa_unified", "dtype": "fp8_e4m3"})",
       "h200",
       {9, 25, 0},
       no_attribute,
       "unified_fp8"},
      {"the same, O in 16 bits",
       R"({"pattern": "sdpa_unified", "dtype": "fp8_e4m3", "o_dtype": "bf16"})",
       "b200",
       {9, 25, 0},
       no_attribute,
       "unified_fp8"},
      {"the same with block scales",
       R"({"pattern": "sdpa_unified", "dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8"})",
       "b200",
       {9, 25, 0},
       no_attribute,
       "unified_fp8"},
      {"SOFTMAX_STATS_LOG2",
       R"({"pass": "fprop_train", "stats_log2": true})",
       "b200",
       {9, 27, 0},
       no_attribute,
       "stats_log2",
       {9, 21, 0},
       no_operation},
      {"ROPE_FWD", R"({"pattern": "sdpa_unified", "rope": {"dim": 64}})", "h200", {9, 24, 0}, no_operation, "rope"},
      {"SDPA_FWD_UNFUSE_FMA",
       R"({"pattern": "sdpa_unified", "unfuse_fma": true})",
       "b200",
       {9, 21, 0},
       no_attribute,
       "unfuse_fma"},
      {"OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED",
       R"({"override_shapes": true})",
       "h200",
       {9, 21, 0},
       no_attribute,
       "override_shapes"},
  };
  return all;
}

bool has_requirement(const Answer& result, const std::string& id) {
  return std::any_of(result.requirements.begin(), result.requirements.end(),
                     [&](const auto& requirement) { return requirement.id == id; });
}

}  // namespace

TEST_CASE("features newer than 9.21 work with the newest cuDNN, and earlier versions refuse them with a reason",
          "[ask][versions]") {
  if (libraries().empty() || libraries().back().version < CudnnVersion{9, 28, 0}) {
    WARN("SKIPPED: no cuDNN 9.28 is here (attnprobe cudnn fetch latest)");
    return;
  }
  for (const Newer& one : newer()) {
    INFO(one.attribute);
    const Answer taken = ask(one.config, one.target, libraries().back().path);
    CHECK(taken.verdict == Verdict::supported);
    CHECK(taken.requirements.empty());
    const auto after = std::find_if(libraries().begin(), libraries().end(),
                                    [&](const FoundLibrary& library) { return library.version >= one.from; });
    REQUIRE(after != libraries().end());
    CHECK(ask(one.config, one.target, after->path).verdict == Verdict::supported);
    if (after == libraries().begin()) continue;
    const Answer refused = ask(one.config, one.target, (after - 1)->path);
    INFO("cuDNN " << (after - 1)->version);
    CHECK(refused.verdict != Verdict::supported);
    REQUIRE(refused.root_cause);
    const bool lacks_more = (after - 1)->version < one.refused_so_from;
    CHECK_THAT(refused.root_cause->reason, ContainsSubstring(lacks_more ? one.refusal_before : one.refusal));
    CHECK(has_requirement(refused, one.requirement));
  }
}

TEST_CASE("a byte as boolean works from 9.25 on, and the rule names earlier crashes", "[ask][versions]") {
  if (libraries().empty() || libraries().back().version < CudnnVersion{9, 28, 0}) {
    WARN("SKIPPED: no cuDNN 9.28 is here (attnprobe cudnn fetch latest)");
    return;
  }
  const char* config = R"({"score_mod": "mask_byte_boolean"})";
  CHECK(ask(config, "h200", libraries().back().path).verdict == Verdict::supported);
  const Answer old = ask(config, "h200", cudnn_path());
  if (old.cudnn_version >= CudnnVersion{9, 25, 0}) return;
  CHECK(old.verdict == Verdict::crashed);
  CHECK(has_requirement(old, "byte_boolean"));
}

TEST_CASE("dynamic shapes: no engine of the newest cuDNN supports them", "[ask][versions]") {
  if (libraries().empty() || libraries().back().version < CudnnVersion{9, 21, 0}) {
    WARN("SKIPPED: no cuDNN from 9.21 is here (attnprobe cudnn fetch latest)");
    return;
  }
  for (const char* target : {"a100", "h200", "b200", "rtx5090"}) {
    const Answer result =
        ask(R"({"pattern": "sdpa_composite", "dynamic_shapes": true})", target, libraries().back().path);
    INFO(target);
    CHECK(result.verdict == Verdict::unsupported);
    REQUIRE(result.root_cause);
    CHECK_THAT(result.root_cause->reason, ContainsSubstring("does not support dynamic shape"));
  }
}

TEST_CASE("f16 accumulation is refused with the version that it needs", "[ask][versions]") {
  const auto spec = attention::parse_configs(R"({"heads": 8, "seqlen": 512, "head_dim": 128})", "test").at(0).spec;
  attention::AttentionSpec half = spec;
  half.compute_dtype = DataType::f16;
  REQUIRE(attention::contradictions(half).size() == 1);
  CHECK_THAT(attention::contradictions(half)[0].message, ContainsSubstring("f16 needs cuDNN 9.29"));
}

}  // namespace attnprobe::test::newest_attributes_test
