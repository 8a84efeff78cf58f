// The one error type of attnprobe: what went wrong, its kind, and cuDNN's own message if there is one.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace attnprobe {

/// The kind shows who must act. Each kind has its own exit code (exit_code in app/exit_code.hpp).
enum class ErrorKind {
  usage,        ///< bad command line or config: the user corrects it
  environment,  ///< a missing library, driver or file: the user installs it
  cudnn,        ///< a cuDNN call failed without giving a verdict
  cuda,         ///< a CUDA call failed while a plan ran: a finding about the plan
  internal,     ///< a bug of attnprobe or a broken worker
};

/// Where and how a cuDNN call failed. Strings that cuDNN did not provide are empty.
struct CudnnFailure {
  std::string call;        ///< e.g. cudnnBackendFinalize
  std::string descriptor;  ///< e.g. CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR
  std::string attribute;   ///< e.g. CUDNN_ATTR_TENSOR_DIMENSIONS, for Set/GetAttribute
  int status_code = 0;     ///< cudnnStatus_t
  std::string status;      ///< its name, e.g. CUDNN_STATUS_BAD_PARAM
  std::string last_error;  ///< cudnnGetLastErrorString, read right after the failure
  std::string log;         ///< messages that the log callback received during the call, verbatim
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Error(CudnnFailure failure, const std::string& message)
      : std::runtime_error(message), kind_(ErrorKind::cudnn), cudnn_(std::move(failure)) {}

  ErrorKind kind() const { return kind_; }
  const std::optional<CudnnFailure>& cudnn() const { return cudnn_; }

 private:
  ErrorKind kind_;
  std::optional<CudnnFailure> cudnn_;
};

}  // namespace attnprobe
