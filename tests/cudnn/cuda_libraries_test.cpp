// The places that are searched for CUDA's libraries.
#include "cudnn/cuda_libraries.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::cuda_libraries_test {

TEST_CASE("NVRTC is searched next to the cuDNN to load, whether or not one is loaded", "[cudnn]") {
  // The layout of pip and scripts/setup.
  const TemporaryFolder folder;
  const std::filesystem::path packages = folder.path() / "nvidia", cudnn = packages / "cudnn/lib/libcudnn.so.9";
  for (const char* name : {"cudnn/lib", "cuda_nvrtc/lib"}) std::filesystem::create_directories(packages / name);
  std::ofstream(cudnn) << "a file";
  std::ofstream(packages / "cuda_nvrtc/lib/libnvrtc.so.13") << "a file";
  const char* before = std::getenv("ATTNPROBE_CUDNN");
  const std::string kept = before == nullptr ? "" : before;
  setenv("ATTNPROBE_CUDNN", cudnn.c_str(), 1);
  const auto places = cudnn::nvrtc_places();
  if (before == nullptr)
    unsetenv("ATTNPROBE_CUDNN");
  else
    setenv("ATTNPROBE_CUDNN", kept.c_str(), 1);
  const auto of_pip = std::find_if(places.begin(), places.end(), [&](const auto& place) {
    return cudnn::resolved(place) == cudnn::resolved(packages / "cuda_nvrtc/lib/libnvrtc.so.13");
  });
  const auto of_loader = std::find(places.begin(), places.end(), std::filesystem::path("libnvrtc.so.13"));
  REQUIRE(of_pip != places.end());
  REQUIRE(of_loader != places.end());
  CHECK(of_pip < of_loader);
}

TEST_CASE("NVRTC of this machine loads with its builtins, before any cuDNN", "[cudnn]") {
  const DynamicLibrary nvrtc = cudnn::load_nvrtc();
  int (*version)(int*, int*) = nullptr;
  nvrtc.bind("nvrtcVersion", version);
  int major = 0, minor = 0;
  REQUIRE(version(&major, &minor) == 0);
  CHECK(major >= 12);
  CHECK(nvrtc.find("nvrtcCompileProgram") != nullptr);
}

}  // namespace attnprobe::test::cuda_libraries_test
