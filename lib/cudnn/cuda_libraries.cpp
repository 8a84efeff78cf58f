#include "cudnn/cuda_libraries.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/error.hpp"
#include "cudnn/library_info.hpp"

namespace attnprobe::cudnn {
namespace {

namespace fs = std::filesystem;

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

using Paths = std::vector<fs::path>;

// Where a CUDA library that cuDNN opens by its bare name may be: beside cuDNN, and in pip's sibling packages …
Paths places_beside(const fs::path& cudnn, const std::string& name, const char* pip_package, int64_t major) {
  return {cudnn / name, cudnn / "../.." / pip_package / "lib" / name,
          cudnn / fmt::format("../../cu{}/lib", major) / name};
}

// … wherever the loader looks, in the toolkit.
Paths places_elsewhere(const std::string& name, int64_t major) {
  return {fs::path(name), fs::path("/usr/local/cuda/lib64") / name,
          fs::path(fmt::format("/usr/local/cuda-{}/lib64", major)) / name};
}

Paths both(Paths first, const Paths& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The first place that has the file decides, as it does for the dynamic loader: a broken one is not passed over.
std::optional<std::string> open_first(const Paths& places, DynamicLibrary& library) {
  std::string problem;
  for (const fs::path& place : places) {
    const bool named = place.has_parent_path();
    if (named && !fs::exists(place)) continue;
    auto wrong = open_file(place, library);
    if (!wrong || named) return wrong;
    problem = *wrong;
  }
  return problem;
}

// Without them every kernel fails to compile.
std::optional<std::string> open_builtins_beside(const DynamicLibrary& nvrtc) {
  const std::string name = "libnvrtc-builtins.so.";
  std::optional<std::string> problem = fmt::format("{}* is missing beside {}", name, nvrtc.path().string());
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(resolved(nvrtc.path()).parent_path(), ignored)) {
    DynamicLibrary builtins;
    if (entry.path().filename().string().starts_with(name)) problem = open_file(entry.path(), builtins);
  }
  return problem;
}

constexpr std::array<int64_t, 2> nvrtc_majors{13, 12};

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
  if (path.has_parent_path() && is_cut_off(path)) return fmt::format("{} is cut off: reinstall it", path.string());
  library = DynamicLibrary(path, RTLD_GLOBAL);
  if (!library) return fmt::format("{} cannot be loaded: {}", path.string(), loader_words());
  library.keep();
  return std::nullopt;
}

// Without cuBLASLt cuDNN 9.19 aborts in its heuristics; without NVRTC (up to 9.20) it calls every graph unsupported.
// Neither is an answer about a graph.
std::vector<std::string> open_cuda_libraries(const fs::path& folder, CudnnVersion version, int64_t cuda_version) {
  std::vector<std::string> problems;
  const int64_t major = cuda_version / 1000;
  auto advice = [&](const char* what, const std::string& package) {
    return fmt::format("; cuDNN {} needs {}: install the CUDA {} toolkit or `pip install {}`", version.text(), what,
                       major, package + (major >= 13 ? "" : fmt::format("-cu{}", major)));
  };
  const std::string cublas_name = fmt::format("libcublasLt.so.{}", major), nvrtc_file = nvrtc_name(major);
  DynamicLibrary cublas, nvrtc;
  if (const auto wrong = open_first(
          both(places_beside(folder, cublas_name, "cublas", major), places_elsewhere(cublas_name, major)), cublas))
    problems.push_back(*wrong + advice("cuBLASLt", "nvidia-cublas"));
  constexpr CudnnVersion first_version_without_nvrtc{9, 20, 0};
  const bool needs_nvrtc = version < first_version_without_nvrtc;
  if (const auto wrong = open_first(
          both(places_beside(folder, nvrtc_file, "cuda_nvrtc", major), places_elsewhere(nvrtc_file, major)), nvrtc)) {
    if (needs_nvrtc) problems.push_back(*wrong + advice("NVRTC, to compile attention kernels,", "nvidia-cuda-nvrtc"));
    return problems;
  }
  if (const auto wrong = open_builtins_beside(nvrtc); wrong && needs_nvrtc)
    problems.push_back(*wrong + advice("it to compile attention kernels", "nvidia-cuda-nvrtc"));
  return problems;
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
    open_builtins_beside(found);  // where they are missing, the compiler's own message says so
    return found;
  }
  throw Error(ErrorKind::environment,
              "no NVRTC (libnvrtc.so), which compiles the kernels that check results: install the CUDA toolkit or "
              "`pip install nvidia-cuda-nvrtc`");
}

}  // namespace attnprobe::cudnn
