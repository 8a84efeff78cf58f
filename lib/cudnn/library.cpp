#include "cudnn/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>

#include "base/dynamic_library.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cudnn/cuda_libraries.hpp"
#include "cudnn/library_file.hpp"
#include "cudnn/log_capture.hpp"

namespace attnprobe::cudnn {
namespace {

namespace fs = std::filesystem;

// The sub-libraries that an attention walk or a plan build uses (from /proc/self/maps for 9.8 to 9.28). The first is
// graph, because the others need it. cnn, adv, ops and ext are not needed.
std::vector<fs::path> sub_libraries(const fs::path& folder, bool jit_only) {
  std::vector<fs::path> files{folder / "libcudnn_graph.so.9", folder / "libcudnn_engines_runtime_compiled.so.9"};
  if (jit_only) return files;
  files.push_back(folder / "libcudnn_heuristic.so.9");
  files.push_back(folder / "libcudnn_engines_precompiled.so.9");
  if (fs::exists(folder / "libcudnn_engines_tensor_ir.so.9"))  // from 9.21
    files.push_back(folder / "libcudnn_engines_tensor_ir.so.9");
  return files;
}

// "9.19.0" from the file's own version symbol (major<<16 | minor<<8 | patch); only some sub-libraries have one.
std::string version_in(const fs::path& path) {
  const DynamicLibrary library(path, RTLD_NOLOAD);
  std::string text;
  for (const char* symbol : {"cudnn_graph_version", "cudnn_ops_infer_version", "cudnn_adv_infer_version"}) {
    // The symbol may come from a dependency, but only the file's own symbol counts.
    const void* address = library.find(symbol);
    Dl_info owner{};
    if (address == nullptr || dladdr(address, &owner) == 0 || resolved(owner.dli_fname) != resolved(path)) continue;
    const int packed = *static_cast<const int*>(address);
    text = CudnnVersion(packed >> 16, packed >> 8 & 0xFF, packed & 0xFF).text();
  }
  return text;
}

std::vector<LoadedFile> loaded_files() {
  std::vector<fs::path> paths;
  auto collect = [](dl_phdr_info* info, size_t, void* data) {
    const fs::path path = info->dlpi_name;
    const std::string name = path.filename();
    for (const char* wanted : {"libcudnn", "libnvrtc", "libcublasLt"})
      if (name.rfind(wanted, 0) == 0) static_cast<std::vector<fs::path>*>(data)->push_back(path);
    return 0;
  };
  dl_iterate_phdr(collect, &paths);
  std::vector<LoadedFile> files;
  files.reserve(paths.size());
  for (const fs::path& path : paths) files.push_back({path.filename(), resolved(path), version_in(path)});
  return files;
}

void bind_all(Api& api, const DynamicLibrary& library) {
#define ATTNPROBE_BIND(name) library.bind(#name, api.name, "it is not a cuDNN 9")
  ATTNPROBE_BIND(cudnnGetVersion);
  ATTNPROBE_BIND(cudnnGetErrorString);
  ATTNPROBE_BIND(cudnnGetLastErrorString);
  ATTNPROBE_BIND(cudnnGetCudartVersion);
  ATTNPROBE_BIND(cudnnSetCallback);
  ATTNPROBE_BIND(cudnnCreate);
  ATTNPROBE_BIND(cudnnDestroy);
  ATTNPROBE_BIND(cudnnSetStream);
  ATTNPROBE_BIND(cudnnBackendExecute);
  ATTNPROBE_BIND(cudnnBackendCreateDescriptor);
  ATTNPROBE_BIND(cudnnBackendDestroyDescriptor);
  ATTNPROBE_BIND(cudnnBackendFinalize);
  ATTNPROBE_BIND(cudnnBackendSetAttribute);
  ATTNPROBE_BIND(cudnnBackendGetAttribute);
#undef ATTNPROBE_BIND
}

}  // namespace

std::unique_ptr<Library> Library::load(const fs::path& path) {
  auto library = std::unique_ptr<Library>(new Library());
  LibraryInfo& info = library->info_;
  const fs::path folder = fs::absolute(path).parent_path();
  const fs::path parts = parts_folder(path);
  info.jit_only = is_jit_only(parts);
  // cuDNN reads this variable when it is loaded (docs: "cuDNN Library Configuration"); unset means FULL.
  if (info.jit_only)
    setenv("CUDNN_LIB_CONFIG", "GRAPH_JIT_ONLY", 1);
  else
    unsetenv("CUDNN_LIB_CONFIG");
  // Loaded before libcudnn.so.9 itself, which would open them by bare name, searching LD_LIBRARY_PATH first.
  for (const fs::path& file : sub_libraries(parts, info.jit_only)) {
    if (!fs::exists(file))
      throw Error(ErrorKind::environment, fmt::format("cuDNN is incomplete: {} is missing next to {}; reinstall cuDNN",
                                                      file.filename().string(), path.string()));
    DynamicLibrary part;
    if (const auto wrong = open_file(file, part)) throw Error(ErrorKind::environment, "cuDNN is broken: " + *wrong);
  }
  DynamicLibrary handle;
  if (const auto wrong = open_file(fs::absolute(path), handle)) throw Error(ErrorKind::environment, *wrong);
  bind_all(library->api_, handle);
  info.version = CudnnVersion::from_number(static_cast<int64_t>(library->api_.cudnnGetVersion()));
  info.cuda_version = static_cast<int64_t>(library->api_.cudnnGetCudartVersion());
  info.path = resolved(path);
  const CudaLibraries cuda = open_cuda_libraries(folder, info);
  if (!cuda.problem.empty()) throw Error(ErrorKind::environment, cuda.problem);
  library->no_compiler_ = cuda.no_compiler;
  info.files = loaded_files();
  silence(*library);
  return library;
}

std::string Library::last_error() const {
  // With a smaller buffer cuDNN returns nothing and loses the text. cudnn-frontend's size is enough (measured, 9.19).
  std::vector<char> text(65535);
  api_.cudnnGetLastErrorString(text.data(), text.size());
  text.back() = '\0';
  return std::string(trim(text.data()));
}

}  // namespace attnprobe::cudnn
