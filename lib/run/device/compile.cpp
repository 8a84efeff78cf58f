#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/digest.hpp"
#include "base/dynamic_library.hpp"
#include "base/embedded.hpp"
#include "base/enum_names.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/output_file.hpp"
#include "base/trust.hpp"
#include "cudnn/cuda_libraries.hpp"
#include "graph/modes.hpp"
#include "run/device/cuda.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_kernels;
}

namespace attnprobe::run {
namespace {

// The part of NVRTC's C API that is called here. Its header comes only with the compiler, 90 MB that a build does not need.
using NvrtcProgram = struct NvrtcProgramOfLibrary*;
enum NvrtcResult : int { nvrtc_success = 0, nvrtc_invalid_option = 5 };

struct NvrtcApi {
  NvrtcResult (*create)(NvrtcProgram*, const char* source, const char* name, int headers, const char* const* contents,
                        const char* const* names) = nullptr;
  NvrtcResult (*destroy)(NvrtcProgram*) = nullptr;
  NvrtcResult (*compile)(NvrtcProgram, int count, const char* const* options) = nullptr;
  NvrtcResult (*code_size)(NvrtcProgram, size_t*) = nullptr;
  NvrtcResult (*code)(NvrtcProgram, char*) = nullptr;
  NvrtcResult (*log_size)(NvrtcProgram, size_t*) = nullptr;
  NvrtcResult (*log)(NvrtcProgram, char*) = nullptr;
  NvrtcResult (*version)(int* major, int* minor) = nullptr;
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
  library.bind("nvrtcVersion", api.version);
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

// Keeps infinities, NaN and subnormal numbers exact.
std::array<std::string, 4> options_for(int sm) {
  return {fmt::format("--gpu-architecture=sm_{}", sm), "--std=c++17", "--fmad=true", "--ftz=false"};
}

// ---- the cache file: a digest of the code, then the code

namespace fs = std::filesystem;

constexpr size_t digest_length = 32;

std::optional<fs::path> kept_file(int sm) {
  const auto cache = user_cache_folder();
  if (!cache) return std::nullopt;
  const NvrtcApi api = load_nvrtc();
  int major = 0, minor = 0;
  if (api.version(&major, &minor) != nvrtc_success) return std::nullopt;
  const std::string made_of =
      fmt::format("{}\n{}\nNVRTC {}.{}", source(), fmt::join(options_for(sm), " "), major, minor);
  return *cache / "attnprobe/kernels" / fmt::format("sm_{}-{}.cubin", sm, digest(made_of));
}

std::vector<char> kept_kernels(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || why_not_believed(file)) return {};
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.size() <= digest_length) return {};
  const std::string_view code = std::string_view(bytes).substr(digest_length);
  if (digest(code) != std::string_view(bytes).substr(0, digest_length)) return {};
  return {code.begin(), code.end()};
}

// Removes cache files of other sources or NVRTCs for the same GPU.
void keep_kernels(const fs::path& file, const std::vector<char>& code) {
  const std::string_view bytes(code.data(), code.size());
  OutputFile(file).replace(digest(bytes) + std::string(bytes));
  const std::string name = file.filename();
  const std::string of_gpu = name.substr(0, name.find('-') + 1);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(file.parent_path(), ignored))
    if (const std::string other = entry.path().filename(); other.starts_with(of_gpu) && other != name)
      fs::remove(entry.path(), ignored);
}

}  // namespace

std::vector<char> cached_kernels(int sm, const std::function<std::vector<char>(int)>& compile) {
  const auto file = kept_file(sm);
  if (!file) return compile(sm);
  if (auto code = kept_kernels(*file); !code.empty()) return code;
  std::error_code ignored;
  fs::create_directories(file->parent_path(), ignored);
  const FileDescriptor lock(open((file->parent_path() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || flock(lock.get(), LOCK_EX) != 0) return compile(sm);
  if (auto code = kept_kernels(*file); !code.empty()) return code;  // compiled by another process while this one waited
  std::vector<char> code = compile(sm);
  try {
    keep_kernels(*file, code);
  } catch (const Error&) {  // if the disk is full, the next process compiles again
  }
  return code;
}

std::vector<char> compile_kernels(int sm) {
  const NvrtcApi api = load_nvrtc();
  NvrtcProgram program = nullptr;
  if (api.create(&program, source().c_str(), "attnprobe_kernels.cu", 0, nullptr, nullptr) != nvrtc_success)
    throw Error(ErrorKind::environment, "NVRTC does not start (nvrtcCreateProgram failed)");
  const auto destroy = [&](NvrtcProgram* p) { api.destroy(p); };
  const std::unique_ptr<NvrtcProgram, decltype(destroy)> owner(&program, destroy);
  const auto words = options_for(sm);
  std::vector<const char*> options(words.size());
  std::transform(words.begin(), words.end(), options.begin(), [](const std::string& word) { return word.c_str(); });
  // Uses all cores: 2.5 instead of 3.6 s on two, with the same instructions (sm_80 and sm_90, NVRTC 12.9 and 13.0,
  // disassembled). Older NVRTCs do not have this option.
  options.push_back("--split-compile=0");
  NvrtcResult result = api.compile(program, static_cast<int>(options.size()), options.data());
  if (result == nvrtc_invalid_option) {
    options.pop_back();
    result = api.compile(program, static_cast<int>(options.size()), options.data());
  }
  if (result != nvrtc_success) {
    size_t size = 0;
    api.log_size(program, &size);
    std::string log(size, '\0');
    api.log(program, log.data());
    throw Error(ErrorKind::internal, fmt::format("NVRTC does not compile attnprobe's kernels for sm_{}: {}", sm, log));
  }
  size_t size = 0;
  api.code_size(program, &size);
  std::vector<char> code(size);
  if (size == 0 || api.code(program, code.data()) != nvrtc_success)
    throw Error(ErrorKind::internal, fmt::format("NVRTC gave no machine code for sm_{}", sm));
  return code;
}

}  // namespace attnprobe::run
