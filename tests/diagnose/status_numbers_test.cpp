// Numbers of cuDNN's statuses, in the forms in which programs print them, mean what the header says.
#include <cudnn_graph.h>
#include <fmt/format.h>

#include "catch.hpp"
#include "diagnose/sentence_finder.hpp"
#include "diagnose/text_answer.hpp"

namespace attnprobe::test::status_numbers_test {

using namespace attnprobe::diagnose;

namespace {

#define STATUS(name) \
  { CUDNN_STATUS_##name, "CUDNN_STATUS_" #name }
const std::vector<std::pair<int, std::string>> statuses{STATUS(NOT_INITIALIZED),
                                                        STATUS(SUBLIBRARY_VERSION_MISMATCH),
                                                        STATUS(SERIALIZATION_VERSION_MISMATCH),
                                                        STATUS(DEPRECATED),
                                                        STATUS(LICENSE_ERROR),
                                                        STATUS(RUNTIME_IN_PROGRESS),
                                                        STATUS(RUNTIME_FP_OVERFLOW),
                                                        STATUS(SUBLIBRARY_LOADING_FAILED),
                                                        STATUS(BAD_PARAM),
                                                        STATUS(BAD_PARAM_NULL_POINTER),
                                                        STATUS(BAD_PARAM_MISALIGNED_POINTER),
                                                        STATUS(BAD_PARAM_NOT_FINALIZED),
                                                        STATUS(BAD_PARAM_OUT_OF_BOUND),
                                                        STATUS(BAD_PARAM_SIZE_INSUFFICIENT),
                                                        STATUS(BAD_PARAM_STREAM_MISMATCH),
                                                        STATUS(BAD_PARAM_SHAPE_MISMATCH),
                                                        STATUS(BAD_PARAM_DUPLICATED_ENTRIES),
                                                        STATUS(BAD_PARAM_ATTRIBUTE_TYPE),
                                                        STATUS(BAD_PARAM_CUDA_GRAPH_MISMATCH),
                                                        STATUS(BAD_PARAM_DESCRIPTOR_TYPE),
                                                        STATUS(NOT_SUPPORTED),
                                                        STATUS(NOT_SUPPORTED_GRAPH_PATTERN),
                                                        STATUS(NOT_SUPPORTED_SHAPE),
                                                        STATUS(NOT_SUPPORTED_DATA_TYPE),
                                                        STATUS(NOT_SUPPORTED_LAYOUT),
                                                        STATUS(NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER),
                                                        STATUS(NOT_SUPPORTED_INCOMPATIBLE_CUDART),
                                                        STATUS(NOT_SUPPORTED_ARCH_MISMATCH),
                                                        STATUS(NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING),
                                                        STATUS(NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE),
                                                        STATUS(NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT),
                                                        STATUS(NOT_SUPPORTED_PADDING),
                                                        STATUS(NOT_SUPPORTED_BAD_LAUNCH_PARAM),
                                                        STATUS(NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API),
                                                        STATUS(INTERNAL_ERROR),
                                                        STATUS(INTERNAL_ERROR_COMPILATION_FAILED),
                                                        STATUS(INTERNAL_ERROR_UNEXPECTED_VALUE),
                                                        STATUS(INTERNAL_ERROR_HOST_ALLOCATION_FAILED),
                                                        STATUS(INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED),
                                                        STATUS(INTERNAL_ERROR_BAD_LAUNCH_PARAM),
                                                        STATUS(INTERNAL_ERROR_TEXTURE_CREATION_FAILED),
                                                        STATUS(EXECUTION_FAILED),
                                                        STATUS(EXECUTION_FAILED_CUDA_DRIVER),
                                                        STATUS(EXECUTION_FAILED_CUBLAS),
                                                        STATUS(EXECUTION_FAILED_CUDART),
                                                        STATUS(EXECUTION_FAILED_CURAND)};
#undef STATUS

Refusal first_refusal(const std::string& text) {
  SentenceFinder finder;
  finder.feed(text);
  const TextAnswer answer = answer_of(finder.finish(), false);
  INFO(text);
  REQUIRE_FALSE(answer.refusals.empty());
  return answer.refusals.front();
}

// Of the families of the header: which support check, call or machine it was.
bool is_refused_support_check(const Refusal& refusal) {
  return refusal.layer == Layer::cudnn_engine;
}

}  // namespace

TEST_CASE("A number of cuDNN's statuses is its status, however it is printed", "[explain]") {
  for (const auto& [number, name] : statuses)
    for (const auto& form : {"cudnnBackendFinalize() returned {0}\n", "cudnnBackendFinalize failed with {0}\n",
                             "cudnnBackendExecute failed: {0}\n", "CUDNN failure {0}\n", "cuDNN error: {0}\n",
                             "[cudnn] status {0}\n", "cudnn status = {0}\n", "cudnnStatus_t({0})\n",
                             "(cudnnStatus_t) {0}\n", "CUDNN_CALL failed with error code {0}\n",
                             "ERROR: LoadError: CUDNNError: {1} (code {0})\nStacktrace:\n [1] cudnnBackendFinalize\n",
                             "CUDNNError(code {0}, {1})\n"}) {
      const std::string text = fmt::format(fmt::runtime(form), number, name);
      const Refusal refusal = first_refusal(text);
      INFO(text << refusal.id << ": " << refusal.means);
      CHECK((refusal.means.find(name) != std::string::npos || refusal.id == "cudnn-compile"));
    }
}

TEST_CASE("What hands a status on says where it failed by that status", "[explain]") {
  for (const char* text : {"ERROR: LoadError: CUDNNError: CUDNN_STATUS_NOT_SUPPORTED (code 3000)\nStacktrace:\n"
                           " [1] throw_api_error(res::cuDNN.cudnnStatus_t)\n [3] cudnnBackendFinalize\n",
                           "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED\n",
                           "CUDNN failure 9: CUDNN_STATUS_NOT_SUPPORTED ; GPU=0\n"}) {
    const Refusal refusal = first_refusal(text);
    INFO(text << refusal.id << ": " << refusal.headline);
    CHECK(is_refused_support_check(refusal));
    CHECK(refusal.headline.find("cuDNN's engines refused, at the support check") != std::string::npos);
  }
  const Refusal failed = first_refusal("ERROR: CUDNNError: CUDNN_STATUS_EXECUTION_FAILED (code 5000)\n");
  CHECK(failed.layer == Layer::execution);
}

TEST_CASE("cuDNN 8's numbers are those of its own header", "[explain]") {
  const std::vector<std::pair<int, std::string>> old{
      {1, "NOT_INITIALIZED"}, {3, "BAD_PARAM"},      {4, "INTERNAL_ERROR"},       {8, "EXECUTION_FAILED"},
      {9, "NOT_SUPPORTED"},   {10, "LICENSE_ERROR"}, {12, "RUNTIME_IN_PROGRESS"}, {13, "RUNTIME_FP_OVERFLOW"}};
  for (const auto& [number, name] : old)
    for (const auto& form : {"CUDNN failure {}\n", "cudnnStatus_t({})\n", "cudnnBackendFinalize returned {}\n",
                             "CUDNNError(code {}, x)\n"}) {
      const std::string text = fmt::format(fmt::runtime(form), number);
      INFO(text);
      CHECK(first_refusal(text).means.find(name) != std::string::npos);
    }
}

}  // namespace attnprobe::test::status_numbers_test
