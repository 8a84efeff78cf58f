#include "cudnn/cuda_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "cudnn/library_file.hpp"
#include "cudnn/library_info.hpp"
#include "cudnn/loader_folders.hpp"
#include "cudnn/stand_in.hpp"
#include "gpu/driver.hpp"

namespace attnprobe::cudnn {
namespace {

namespace fs = std::filesystem;

using Paths = std::vector<fs::path>;

// The places of a CUDA library that cuDNN opens by its bare name: next to cuDNN, and in pip's sibling packages …
Paths places_beside(const fs::path& cudnn, const std::string& name, const char* pip_package, int64_t major) {
  return {cudnn / name, cudnn / "../.." / pip_package / "lib" / name,
          cudnn / fmt::format("../../cu{}/lib", major) / name};
}

// … on the loader's search path, and in the toolkit.
Paths places_elsewhere(const std::string& name, int64_t major) {
  return {fs::path(name), fs::path("/usr/local/cuda/lib64") / name,
          fs::path(fmt::format("/usr/local/cuda-{}/lib64", major)) / name};
}

// Only the loader can resolve a bare name.
bool is_there(const fs::path& place) {
  std::error_code ignored;
  return place.has_parent_path() && fs::exists(place, ignored);
}

Paths both(Paths first, const Paths& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Uses the first place with the file, like the dynamic loader; does not skip broken files.
std::optional<std::string> open_first(const Paths& places, DynamicLibrary& library) {
  std::string problem;
  for (const fs::path& place : places) {
    if (place.has_parent_path() && !is_there(place)) continue;
    auto wrong = open_file(place, library);
    if (!wrong || place.has_parent_path()) return wrong;
    problem = *wrong;
  }
  return problem;
}

// Without the builtins every kernel fails to compile.
std::optional<std::string> open_builtins_beside(const DynamicLibrary& nvrtc) {
  const std::string name = "libnvrtc-builtins.so.";
  std::optional<std::string> problem = fmt::format("{}* is missing next to {}", name, nvrtc.path().string());
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(resolved(nvrtc.path()).parent_path(), ignored)) {
    DynamicLibrary builtins;
    if (entry.path().filename().string().starts_with(name)) problem = open_file(entry.path(), builtins);
  }
  return problem;
}

constexpr std::array<int64_t, 2> nvrtc_majors{13, 12};

// Later versions contain the compiler.
bool needs_nvrtc(CudnnVersion version) {
  return version < CudnnVersion(9, 21, 0);
}

std::string nvrtc_name(int64_t major) {
  return fmt::format("libnvrtc.so.{}", major);
}

}  // namespace

fs::path resolved(const fs::path& path) {
  std::error_code ignored;
  const fs::path canonical = fs::canonical(path, ignored);
  return canonical.empty() ? path : canonical;
}

std::optional<std::string> open_file(const fs::path& path, DynamicLibrary& library) {
  if (path.has_parent_path() && is_cut_off(path)) return fmt::format("{} is truncated: reinstall it", path.string());
  library = DynamicLibrary(path, RTLD_GLOBAL);
  if (!library) return fmt::format("{} cannot be loaded: {}", path.string(), loader_words());
  library.keep();
  return std::nullopt;
}

// Without cuBLASLt, the heuristics of cuDNN 9.19 abort; the small cuDNN has no heuristics. Without NVRTC, cuDNN up to
// 9.20 reports every graph as unsupported. Neither is an answer about the graph.
CudaLibraries open_cuda_libraries(const fs::path& folder, const LibraryInfo& cudnn) {
  CudaLibraries opened;
  const int64_t major = cudnn.cuda_version / 1000;
  auto advice = [&](const char* what, const std::string& package) {
    return fmt::format("; cuDNN {} needs {}: install the CUDA {} toolkit or `pip install {}`", cudnn.version.text(),
                       what, major, package + (major >= 13 ? "" : fmt::format("-cu{}", major)));
  };
  const std::string cublas_name = fmt::format("libcublasLt.so.{}", major), nvrtc_file = nvrtc_name(major);
  DynamicLibrary cublas, nvrtc;
  if (!cudnn.jit_only)
    if (const auto wrong = open_first(
            both(places_beside(folder, cublas_name, "cublas", major), places_elsewhere(cublas_name, major)), cublas))
      opened.problem = *wrong + advice("cuBLASLt", "nvidia-cublas");
  const Paths places =
      both(places_beside(folder, nvrtc_file, "cuda_nvrtc", major), places_elsewhere(nvrtc_file, major));
  auto wrong = open_first(places, nvrtc);
  if (!wrong) wrong = open_builtins_beside(nvrtc);
  if (!wrong || !needs_nvrtc(cudnn.version)) return opened;
  opened.no_compiler = *wrong + advice("NVRTC, to compile attention kernels,", "nvidia-cuda-nvrtc");
  // Checks of a simulated GPU work without NVRTC; a real GPU needs plans. A broken NVRTC is reported.
  const bool stands_in = !nvrtc && std::none_of(places.begin(), places.end(), is_there) && gpu::has_null_driver() &&
                         load_stand_in(nvrtc_file, "libcuda.so.1");
  if (!stands_in && opened.problem.empty()) opened.problem = opened.no_compiler;
  return opened;
}

std::optional<std::string> lacks_compiler(const fs::path& cudnn) {
  const fs::path folder = parts_folder(cudnn);
  const auto version = CudnnVersion::parse(version_of_file(folder / "libcudnn_graph.so.9"));
  if (!version || !needs_nvrtc(*version)) return std::nullopt;
  Paths places;
  for (const int64_t major : nvrtc_majors) {
    const std::string name = nvrtc_name(major);
    for (const fs::path& from : {cudnn.parent_path(), resolved(cudnn).parent_path()})
      places = both(std::move(places), places_beside(from, name, "cuda_nvrtc", major));
    places = both(std::move(places), places_elsewhere(name, major));
    for (const auto& searched : loader_folders()) places.push_back(searched / name);
  }
  if (std::any_of(places.begin(), places.end(), is_there)) return std::nullopt;
  return fmt::format("cuDNN {} compiles plans with NVRTC (libnvrtc.so), which is not on this machine", version->text());
}

std::vector<fs::path> nvrtc_places() {
  Paths places;
  for (const Candidate& cudnn : find_libraries(""))
    for (const int64_t major : nvrtc_majors)
      places = both(std::move(places), places_beside(cudnn.path.parent_path(), nvrtc_name(major), "cuda_nvrtc", major));
  for (const int64_t major : nvrtc_majors) places = both(std::move(places), places_elsewhere(nvrtc_name(major), major));
  places.emplace_back("/usr/local/cuda/lib64/libnvrtc.so");
  return places;
}

DynamicLibrary load_nvrtc() {
  for (const int64_t major : nvrtc_majors)
    if (DynamicLibrary loaded(nvrtc_name(major), RTLD_NOLOAD); loaded) return loaded;
  DynamicLibrary found;
  for (const fs::path& place : nvrtc_places()) {
    if (place.has_parent_path() && !fs::exists(place)) continue;
    if (open_file(place, found)) continue;
    open_builtins_beside(found);  // if they are missing, the compiler reports it
    return found;
  }
  throw Error(ErrorKind::environment,
              "no NVRTC (libnvrtc.so), which compiles the kernels that check results: install the CUDA toolkit or "
              "`pip install nvidia-cuda-nvrtc`");
}

}  // namespace attnprobe::cudnn
