// Checks the catalogue of reasons against provoked cuDNN messages (scripts/docs reasons) and against the real cuDNN.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "answer/reasons.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::reasons_test {

using namespace attnprobe::answer;
using log::Reason;

namespace {

const Reason shared_memory{"CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
                           "Kernel request for shared memory is exceeding the shared memory in the GPU at: x > y"};

// "9.19.1" -> {9, 19, 1}
std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  for (const auto& part : split(version, '.')) numbers.push_back(std::stoi(part));
  return numbers;
}

struct Coverage {
  size_t known = 0, all = 0;
  void count(bool is_known) {
    ++all;
    if (is_known) ++known;
  }
  std::string text() const {
    return fmt::format("{} of {} ({:.1f} %)", known, all,
                       100.0 * static_cast<double>(known) / static_cast<double>(all));
  }
};

std::string category(const std::string& status, const std::string& text) {
  const KnownReason* known = find_reason({"CUDNN_STATUS_" + status, text});
  return std::string(name_of(known == nullptr ? Category::unknown : known->category));
}

}  // namespace

// ---- the catalogue by itself

TEST_CASE("Every known reason has an id, a category, a meaning and a pattern", "[reasons]") {
  std::set<std::string> ids;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> keys;
  for (const auto& known : known_reasons()) {
    INFO(known.id);
    CHECK(ids.insert(known.id).second);
    CHECK_FALSE(known.id.empty());
    CHECK(known.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
    std::string as_category = known.id;  // both become headings of the site's reasons page
    std::replace(as_category.begin(), as_category.end(), '-', '_');
    CHECK_FALSE(parse_enum<Category>(as_category));
    CHECK(known.category != Category::unknown);
    CHECK_FALSE(known.meaning.empty());
    CHECK_FALSE((known.match.empty() && known.begins.empty() && known.whole.empty() && known.status.empty()));
    CHECK(known.progress >= 0);
    CHECK_FALSE(known.source.empty());
    if (!known.since.empty() && !known.until.empty()) CHECK(numbers_of(known.since) <= numbers_of(known.until));
    CHECK(keys.emplace(known.status, known.match, known.begins, known.whole).second);
  }
  CHECK(ids.size() > 100);
}

TEST_CASE("No known reason is shadowed by a wider one", "[reasons]") {
  for (const auto& known : known_reasons()) {
    INFO(known.id);
    std::string text = known.begins + known.whole + known.match;
    if (text.empty()) text = "text";
    CHECK(find_reason({known.status.empty() ? "CUDNN_STATUS_NOT_SUPPORTED" : known.status, text}) == &known);
  }
}

TEST_CASE("A text takes precedence over its status", "[reasons]") {
  const KnownReason* by_text = find_reason(shared_memory);
  const KnownReason* by_status = find_reason({shared_memory.status, "in other words"});
  REQUIRE(by_text != nullptr);
  REQUIRE(by_status != nullptr);
  CHECK(by_text != by_status);
  CHECK(by_text->status.empty());
  CHECK((by_status->match + by_status->begins + by_status->whole).empty());
}

TEST_CASE("An unknown text matches no entry", "[reasons]") {
  CHECK(find_reason({"CUDNN_STATUS_NOT_SUPPORTED", "in other words"}) == nullptr);
  CHECK(find_reason({"CUDNN_STATUS_NOT_SUPPORTED", ""}) == nullptr);
}

TEST_CASE("The specific head dimension reason takes precedence over the general one", "[reasons]") {
  const std::string status = "CUDNN_STATUS_NOT_SUPPORTED_SHAPE";
  const KnownReason* multiple =
      find_reason({status, "Embedding dim per head for q and k is not a multiple of 8 at: d_qk % 8 != 0"});
  const KnownReason* larger =
      find_reason({status, "Embedding dim per head for q and k is not less than equal to 128 at: d_qk > 128"});
  REQUIRE(multiple != nullptr);
  CHECK(multiple != larger);
  CHECK_THAT(multiple->meaning, ContainsSubstring("multiples of 8"));
}

TEST_CASE("An unknown text gets the category of its status", "[reasons]") {
  CHECK(category_of_status("CUDNN_STATUS_NOT_SUPPORTED_SHAPE") == Category::shape);
  CHECK(category_of_status("CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE") == Category::data_type);
  CHECK(category_of_status("CUDNN_STATUS_NOT_SUPPORTED_LAYOUT") == Category::layout);
  CHECK(category_of_status("CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER") == Category::alignment);
  CHECK(category_of_status("CUDNN_STATUS_NOT_SUPPORTED_PADDING") == Category::padding);
  CHECK(category_of_status("CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH") == Category::arch_mismatch);
  CHECK(category_of_status("CUDNN_STATUS_NOT_INITIALIZED") == Category::environment);
  CHECK(category_of_status("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH") == Category::environment);
  CHECK(category_of_status("CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED") == Category::compilation);
  CHECK(category_of_status("CUDNN_STATUS_INTERNAL_ERROR") == Category::internal_error);
  CHECK(category_of_status("CUDNN_STATUS_EXECUTION_FAILED_CUDART") == Category::execution);
  CHECK(category_of_status("CUDNN_STATUS_NOT_SUPPORTED") == Category::unknown);
  CHECK(category_of_status("") == Category::unknown);
}

TEST_CASE("Every BAD_PARAM is an invalid graph", "[reasons]") {
  for (const char* rest : {"", "_NULL_POINTER", "_NOT_FINALIZED", "_OUT_OF_BOUND", "_SHAPE_MISMATCH", "_ATTRIBUTE_TYPE",
                           "_DUPLICATED_ENTRIES"}) {
    INFO(rest);
    CHECK(category_of_status(std::string("CUDNN_STATUS_BAD_PARAM") + rest) == Category::invalid_graph);
  }
}

// ---- tracebacks

TEST_CASE("A wrapper line is skipped if another line is more specific", "[reasons]") {
  const std::string status = "CUDNN_STATUS_NOT_SUPPORTED";
  const Reason hands_on{status, "ptr->isSupported()"}, outer{status, "finalize_internal()"};
  // From cuDNN 9.19 on a T4: the innermost line is a call, and the next line explains it.
  const Reason backends{status, "initBackends()"};
  const Reason ampere{"CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
                      "MHA fusion patterns are only supported for Ampere and later GPUs. Current deviceVersion==750"};
  const std::vector<Reason> of_t4{backends, ampere, outer};
  CHECK(decisive_reason(of_t4) == &of_t4[1]);
  const std::vector<Reason> inner_first{shared_memory, hands_on, outer};
  CHECK(decisive_reason(inner_first) == &inner_first[0]);
  const std::vector<Reason> wrappers{hands_on, outer};
  CHECK(decisive_reason(wrappers) == &wrappers[0]);
  const std::vector<Reason> nobody_knows{{status, "the moon is full"}, shared_memory};
  CHECK(decisive_reason(nobody_knows) == &nobody_knows[0]);
  CHECK(decisive_reason({}) == nullptr);
}

// ---- coverage

TEST_CASE("The catalogue has every reason that the sweep provoked", "[reasons]") {
  const Json fixture = Json::parse(test::fixture("reasons-cudnn.json"));
  Coverage every, innermost;
  std::map<std::vector<int>, Coverage> of_version;
  for (const Json& said : fixture["reasons"]) {
    const Reason reason{said["status"], said["reason"]};
    INFO(reason.status << "; " << reason.reason << "\n" << said["example"]["command"]);
    const KnownReason* known = find_reason(reason);
    every.count(known != nullptr);
    for (const auto& [version, times] : said["times"].items())
      if (said["innermost"]) of_version[numbers_of(version)].count(known != nullptr);
    if (said["innermost"]) innermost.count(known != nullptr);
    CHECK(known != nullptr);
    CHECK(said["entry"] == (known == nullptr ? Json() : Json(known->id)));  // otherwise: scripts/docs reasons label
    for (const auto& [version, times] : said["times"].items()) {
      INFO(version);
      if (known == nullptr) break;
      if (!known->since.empty()) CHECK(numbers_of(version) >= numbers_of(known->since));
      if (!known->until.empty()) CHECK(numbers_of(version) <= numbers_of(known->until));
    }
  }
  std::string text =
      fmt::format("catalogue: {} distinct lines of cuDNN known; as innermost line: {}", every.text(), innermost.text());
  for (const auto& [version, coverage] : of_version)
    text += fmt::format("\n  cuDNN {}.{}.{}: innermost {}", version[0], version[1], version[2], coverage.text());
  WARN(text);
  CHECK(every.all > 150);
  CHECK(innermost.known == innermost.all);
  CHECK(of_version.size() >= 3);
}

TEST_CASE("A catalogue entry adds an explanation to the message, unless it is a wrapper", "[reasons]") {
  for (const auto& known : known_reasons()) {
    INFO(known.id);
    if (!known.match.empty()) CHECK(known.meaning.find(known.match) == std::string::npos);
    CHECK(known.meaning.size() > 20);
  }
}

// ---- live

TEST_CASE("cuDNN gives a reason of each kind when provoked", "[reasons]") {
  struct Provoked {
    const char *members, *target;
    Category category;
  };
  const Json problem{{"batch", 2}, {"seqlen", 256}, {"dtype", "f16"}, {"layout", "bshd"}};
  const Provoked cases[] = {
      {R"("heads": 4, "head_dim": 68)", "a100", Category::head_dim},
      {R"("heads": 4, "head_dim": 64)", "t4", Category::arch_mismatch},
      {R"("heads": 4, "head_dim": 64, "pattern": "two_matmul")", "l40s", Category::shared_memory},
      {R"("heads": 4, "head_dim": 64, "pattern": "mha", "seqlen": 1024)", "a100", Category::sequence_length},
      {R"("heads": 4, "head_dim": 64, "pattern": "mha", "mask": "causal")", "a100", Category::graph_pattern},
      {R"("heads": 4, "head_dim": 64, "dtype": "f32", "pass": "bprop")", "h200", Category::data_type},
      {R"("heads": 4, "head_dim": 64, "pattern": "two_matmul", "dtype": "f32", "o_dtype": "f16")", "a100",
       Category::data_type},
      {R"("heads": 4, "head_dim": 64, "pattern": "two_matmul",
          "layout": {"q": {"strides": [131072, 128, 512, 2]}, "k": "bshd", "v": "bshd"})",
       "a100", Category::layout},
      {R"("heads": 4, "head_dim": 64, "layout": "thd", "mask": "padding", "pass": "bprop", "deterministic": true)",
       "a100", Category::deterministic},
      {R"("heads": 4, "head_dim": 64, "layout": "t3hd", "mask": "padding", "pass": "bprop")", "rtx5090",
       Category::ragged},
      {R"("heads": 4, "head_dim": 64, "dropout": {"probability": 0.1, "seed": "i32"}, "pass": "fprop_train")", "b200",
       Category::dropout},
      {R"("heads": 4, "head_dim": 64, "softcap": 30, "pass": "bprop")", "l40s", Category::score_mod},
      {R"("heads": 4, "head_dim": 64, "bias": {"shape": "1hss", "dtype": "f32", "grad": true}, "pass": "bprop")",
       "a100", Category::data_type},
      {R"("heads": 4, "head_dim": 64, "bias": "11s1", "pass": "bprop")", "a100", Category::bias},
      {R"("heads_q": 3, "heads_kv": 2, "head_dim": 64)", "a100", Category::heads},
      {R"("heads": 4, "head_dim": 64, "paged": 48, "mask": "padding")", "a100", Category::paged},
      {R"("heads": 4, "head_dim": 64, "pattern": "sdpa_unified", "block_mask": true)", "a100", Category::mask},
      {R"("heads": 4, "head_dim": 64, "pattern": "sdpa_unified", "softcap": 30)", "h200", Category::version},
  };
  std::set<Category> seen;
  for (const auto& [members, target, expected] : cases) {
    INFO(members << " on " << target);
    probe::WalkOptions options;
    options.sweep_where_none = false;
    Json config = problem;
    config.update(Json::parse("{" + std::string(members) + "}"));
    const answer::Answer result = probe_one(config.dump(), target, options);
    if (result.cudnn_version.number() / 100 != 919) {
      WARN("SKIPPED: the cases are of cuDNN 9.19, this is " << result.cudnn_version);
      return;
    }
    REQUIRE(result.root_cause);
    INFO(result.root_cause->status << "; " << result.root_cause->reason);
    CHECK(result.root_cause->category == expected);
    CHECK_FALSE(result.root_cause->reason.empty());
    const KnownReason* known = find_reason({result.root_cause->status, result.root_cause->reason});
    REQUIRE(known != nullptr);
    CHECK_FALSE(known->wrapper);
    seen.insert(expected);
  }
  CHECK(seen.size() >= 15);
}

TEST_CASE("Texts that no config sweep provokes have categories", "[reasons]") {
  // Failures of the machine, and deliberately miswired graphs.
  CHECK(category("NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", "this->libcuda == nullptr") == "environment");
  CHECK(category("NOT_SUPPORTED", "Could not open libnvrtc.so.12") == "environment");
  CHECK(category("NOT_SUPPORTED_GRAPH_PATTERN",
                 "Multi-GEMM is only supported on Hopper at: receive_op_->target != fort_device::SM90") ==
        "multi_gemm");
  CHECK(category("NOT_SUPPORTED_DATA_TYPE",
                 "A and B need to have the same datatype in the matmul at: (aType != bType)") == "data_type");
  CHECK(category("NOT_SUPPORTED_GRAPH_PATTERN", "in_ports[0].first.isVirtual != true") == "graph_pattern");
  CHECK(category("INTERNAL_ERROR_COMPILATION_FAILED", "Encountered runtime kernel compilation failure") ==
        "compilation");
}

}  // namespace attnprobe::test::reasons_test
