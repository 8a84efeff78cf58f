#include <fmt/format.h>
#include <nvrtc.h>

#include <array>

#include "base/dynamic_library.hpp"
#include "base/embedded.hpp"
#include "base/enum_names.hpp"
#include "base/error.hpp"
#include "cudnn/cuda_libraries.hpp"
#include "graph/modes.hpp"
#include "run/device/cuda.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_kernels;
}

namespace attnprobe::run {
namespace {

struct NvrtcApi {
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetCUBINSize) code_size = nullptr;
  decltype(&::nvrtcGetCUBIN) code = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
};

NvrtcApi load_nvrtc() {
  const DynamicLibrary library = cudnn::load_nvrtc();
  library.keep();
  NvrtcApi api;
  library.bind("nvrtcCreateProgram", api.create);
  library.bind("nvrtcDestroyProgram", api.destroy);
  library.bind("nvrtcCompileProgram", api.compile);
  library.bind("nvrtcGetCUBINSize", api.code_size);
  library.bind("nvrtcGetCUBIN", api.code);
  library.bind("nvrtcGetProgramLogSize", api.log_size);
  library.bind("nvrtcGetProgramLog", api.log);
  return api;
}

template <class E>
std::string enum_text(const char* type, const char* prefix) {
  std::string text = fmt::format("enum {} {{", type);
  for (const auto& [value, name] : EnumNames<E>::table) text += fmt::format(" {}{},", prefix, name);
  return text + " };\n";
}

std::string source() {
  std::string text = "#define ATTNPROBE_REAL float\n";
  text += enum_text<graph::PointwiseMode>("PointwiseModes", "mode_");
  text += enum_text<graph::ReductionOperator>("Reductions", "reduce_");
  for (const char* name : {"kernel_values.hpp", "error_kernels.hpp", "pointwise_kernels.hpp", "graph_kernels.hpp",
                           "check_kernels.hpp", "kernels.hpp", "gpu_kernels.cu"})
    for (const auto& [file, content] : embedded_kernels)
      if (file == name) text += content;
  return text;
}

}  // namespace

std::vector<char> compile_kernels(int sm) {
  const NvrtcApi api = load_nvrtc();
  nvrtcProgram program = nullptr;
  if (api.create(&program, source().c_str(), "attnprobe_kernels.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    throw Error(ErrorKind::environment, "NVRTC does not start (nvrtcCreateProgram failed)");
  const auto destroy = [&](nvrtcProgram* p) { api.destroy(p); };
  const std::unique_ptr<nvrtcProgram, decltype(destroy)> owner(&program, destroy);
  const std::string architecture = fmt::format("--gpu-architecture=sm_{}", sm);
  // Infinities and NaN must stay what they are, and numbers below the normal ones too.
  const std::array options{architecture.c_str(), "--std=c++17", "--fmad=true", "--ftz=false"};
  if (api.compile(program, static_cast<int>(options.size()), options.data()) != NVRTC_SUCCESS) {
    size_t size = 0;
    api.log_size(program, &size);
    std::string log(size, '\0');
    api.log(program, log.data());
    throw Error(ErrorKind::internal, fmt::format("NVRTC does not compile attnprobe's kernels for sm_{}: {}", sm, log));
  }
  size_t size = 0;
  api.code_size(program, &size);
  std::vector<char> code(size);
  if (size == 0 || api.code(program, code.data()) != NVRTC_SUCCESS)
    throw Error(ErrorKind::internal, fmt::format("NVRTC gave no machine code for sm_{}", sm));
  return code;
}

}  // namespace attnprobe::run
