#include "cudnn/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cudnn/log_capture.hpp"

namespace attnprobe::cudnn {
namespace {

namespace fs = std::filesystem;

std::string loader_words() {
  const char* words = dlerror();
  return words == nullptr ? "unknown reason" : words;
}

fs::path resolved(const fs::path& path) {
  std::error_code ignored;
  const fs::path canonical = fs::canonical(path, ignored);
  return canonical.empty() ? path : canonical;
}

// A library that was cut off (a full disk, a broken download) kills the process with SIGBUS inside dlopen; its ELF
// headers say how long it should be.
bool is_cut_off(const fs::path& path) {
  Elf64_Ehdr header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;  // dlopen says what is wrong
  if (std::string_view(reinterpret_cast<const char*>(header.e_ident), SELFMAG) != ELFMAG) return false;
  uint64_t end = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return true;
    end = std::max<uint64_t>(end, part.p_offset + part.p_filesz);
  }
  std::error_code ignored;
  return fs::file_size(path, ignored) < end;
}

// What is wrong with the file, or nothing. Loaded for the whole
// process, so that cuDNN's own dlopen of the bare name finds this one.
std::optional<std::string> open_file(const fs::path& path, void** handle = nullptr) {
  if (path.has_parent_path() && is_cut_off(path)) return fmt::format("{} is cut off: reinstall it", path.string());
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle != nullptr) *handle = library;
  if (library != nullptr) return std::nullopt;
  return fmt::format("{} cannot be loaded: {}", path.string(), loader_words());
}

// Sub-libraries that an attention walk or a plan build uses (seen in /proc/self/maps for 9.8 to 9.28), graph first,
// since the others need it. cnn, adv, ops and ext stay out of it.
std::vector<fs::path> sub_libraries(const fs::path& folder) {
  std::vector<fs::path> files{folder / "libcudnn_graph.so.9", folder / "libcudnn_heuristic.so.9",
                              folder / "libcudnn_engines_runtime_compiled.so.9",
                              folder / "libcudnn_engines_precompiled.so.9"};
  if (fs::exists(folder / "libcudnn_engines_tensor_ir.so.9"))  // from 9.21
    files.push_back(folder / "libcudnn_engines_tensor_ir.so.9");
  return files;
}

// Where a CUDA library that cuDNN opens by its bare name may be: beside it,
// in pip's sibling packages, wherever the loader looks, in the toolkit.
std::vector<fs::path> cuda_library_places(const fs::path& folder, const std::string& name, const char* pip_package,
                                          int64_t major) {
  return {folder / name,
          folder / "../.." / pip_package / "lib" / name,
          folder / fmt::format("../../cu{}/lib", major) / name,
          fs::path(name),
          fs::path("/usr/local/cuda/lib64") / name,
          fs::path(fmt::format("/usr/local/cuda-{}/lib64", major)) / name};
}

// The first place that has the file decides, as it does for the dynamic loader: a broken one is not passed over.
std::optional<std::string> open_first(const std::vector<fs::path>& places, void** handle) {
  std::string problem;
  for (const fs::path& place : places) {
    const bool named = place.has_parent_path();
    if (named && !fs::exists(place)) continue;
    auto wrong = open_file(place, handle);
    if (!wrong || named) return wrong;
    problem = *wrong;
  }
  return problem;
}

std::string path_of(void* handle) {
  const link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

// Without cuBLASLt cuDNN 9.19 aborts in its heuristics; without NVRTC (up to 9.20) it calls every graph unsupported;
// without NVRTC's builtins every kernel fails to compile. None of these is an answer about a graph.
std::vector<std::string> open_cuda_libraries(const fs::path& folder, CudnnVersion version, int64_t cuda_version) {
  std::vector<std::string> problems;
  const int64_t major = cuda_version / 1000;
  auto advice = [&](const char* what, const std::string& package) {
    return fmt::format("; cuDNN {} needs {}: install the CUDA {} toolkit or `pip install {}`", version.text(), what,
                       major, package + (major >= 13 ? "" : fmt::format("-cu{}", major)));
  };
  const std::string cublas = fmt::format("libcublasLt.so.{}", major), nvrtc = fmt::format("libnvrtc.so.{}", major);
  if (const auto wrong = open_first(cuda_library_places(folder, cublas, "cublas", major), nullptr))
    problems.push_back(*wrong + advice("cuBLASLt", "nvidia-cublas"));
  void* handle = nullptr;
  constexpr CudnnVersion first_version_without_nvrtc{9, 20, 0};
  if (const auto wrong = open_first(cuda_library_places(folder, nvrtc, "cuda_nvrtc", major), &handle)) {
    if (version < first_version_without_nvrtc)
      problems.push_back(*wrong + advice("NVRTC, to compile attention kernels,", "nvidia-cuda-nvrtc"));
    return problems;
  }
  const fs::path home = resolved(path_of(handle)).parent_path();
  const std::string builtins = "libnvrtc-builtins.so.";
  std::string problem = fmt::format("{}* is missing beside {}", builtins, path_of(handle));
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(home, ignored))
    if (entry.path().filename().string().rfind(builtins, 0) == 0) problem = open_file(entry.path()).value_or("");
  if (!problem.empty() && version < first_version_without_nvrtc)
    problems.push_back(problem + advice("it to compile attention kernels", "nvidia-cuda-nvrtc"));
  return problems;
}

// "9.19.0" of the file's own version symbol (major<<16 | minor<<8 | patch); only some sub-libraries carry one.
std::string version_in(const fs::path& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return "";
  std::string text;
  for (const char* symbol : {"cudnn_graph_version", "cudnn_ops_infer_version", "cudnn_adv_infer_version"}) {
    // A symbol is also found in a library's dependencies; only the file's own says something of it.
    const void* address = dlsym(handle, symbol);
    Dl_info owner{};
    if (address == nullptr || dladdr(address, &owner) == 0 || resolved(owner.dli_fname) != resolved(path)) continue;
    const int packed = *static_cast<const int*>(address);
    text = CudnnVersion(packed >> 16, packed >> 8 & 0xFF, packed & 0xFF).text();
  }
  dlclose(handle);
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

void bind_all(Api& api, void* handle, const fs::path& path) {
  auto bind = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr)
      throw Error(ErrorKind::environment, fmt::format("{} is no cuDNN 9: it has no {}", path.string(), name));
  };
#define ATTNPROBE_BIND(name) bind(#name, api.name)
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
  // Before libcudnn.so.9 itself, which opens them by bare name, LD_LIBRARY_PATH first.
  for (const fs::path& file :
       sub_libraries(fs::is_symlink(path) && !fs::exists(folder / "libcudnn_graph.so.9") ? resolved(path).parent_path()
                                                                                         : folder)) {
    if (!fs::exists(file))
      throw Error(ErrorKind::environment, fmt::format("cuDNN is incomplete: {} is missing beside {}; reinstall cuDNN",
                                                      file.filename().string(), path.string()));
    if (const auto wrong = open_file(file)) throw Error(ErrorKind::environment, "cuDNN is broken: " + *wrong);
  }
  void* handle = nullptr;
  if (const auto wrong = open_file(fs::absolute(path), &handle)) throw Error(ErrorKind::environment, *wrong);
  bind_all(library->api_, handle, path);
  info.version = CudnnVersion::from_number(static_cast<int64_t>(library->api_.cudnnGetVersion()));
  info.cuda_version = static_cast<int64_t>(library->api_.cudnnGetCudartVersion());
  info.path = resolved(path);
  info.problems = open_cuda_libraries(folder, info.version, info.cuda_version);
  if (!info.problems.empty()) throw Error(ErrorKind::environment, info.problems.front());
  info.files = loaded_files();
  silence(*library);
  return library;
}

std::string Library::last_error() const {
  // A smaller buffer gets nothing and loses the text; cudnn-frontend's size is enough (measured, 9.19).
  std::vector<char> text(65535);
  api_.cudnnGetLastErrorString(text.data(), text.size());
  text.back() = '\0';
  return std::string(trim(text.data()));
}

}  // namespace attnprobe::cudnn
