// The small cuDNN: the parts in NVIDIA's JIT packages, here copied from the tests' own cuDNN.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "attention/random_config.hpp"
#include "catch.hpp"
#include "cudnn/cuda_libraries.hpp"
#include "cudnn/library_file.hpp"
#include "cudnn/library_info.hpp"
#include "cudnn/loader_folders.hpp"
#include "cudnn/stand_in.hpp"
#include "support.hpp"

namespace attnprobe::test::small_cudnn_test {
namespace {

namespace fs = std::filesystem;

fs::path own_folder() {
  return fs::canonical(cudnn_path()).parent_path();
}

// In pip's layout.
class SmallCudnn {
 public:
  SmallCudnn() {
    fs::create_directories(libraries());
    // A copy, so that it counts as a separate folder; the other files may be links.
    fs::copy_file(fs::canonical(own_folder() / "libcudnn.so.9"), libraries() / "libcudnn.so.9");
    for (const char* part : {"libcudnn_graph.so.9", "libcudnn_engines_runtime_compiled.so.9"})
      fs::create_symlink(own_folder() / part, libraries() / part);
  }
  fs::path folder() const { return folder_.path(); }
  fs::path libraries() const { return folder_.path() / "nvidia/cudnn_jit/lib"; }

 private:
  TemporaryFolder folder_;
};

Json answers(const std::string& cudnn, const fs::path& configs, const std::string& options = "",
             const std::string& before = "") {
  const Run run =
      shell(fmt::format("{} {} --config {} --target h100,b200,rtx4090 --plans none --quick --format json --cudnn {} {}",
                        before, program(), configs.string(), cudnn, options));
  INFO(run.err);
  REQUIRE(run.exit_code <= 1);
  return run.json();
}

// Every folder of this machine with an NVRTC that would be found.
std::set<std::string> nvrtc_folders() {
  std::set<std::string> folders;
  std::vector<fs::path> places = cudnn::nvrtc_places();
  for (const auto& folder : cudnn::loader_folders())
    for (const char* name : {"libnvrtc.so.12", "libnvrtc.so.13"}) places.push_back(folder / name);
  std::error_code none;
  for (const auto& place : places)
    if (place.has_parent_path() && fs::exists(place, none)) folders.insert(fs::canonical(place).parent_path());
  return folders;
}

}  // namespace

TEST_CASE("the small cuDNN gives the same answers as the full one of its version", "[cudnn]") {
  const SmallCudnn small;
  Json configs = Json::array();
  for (uint64_t seed = 0; seed < 12; ++seed) configs.push_back(attention::random_config(31'000 + seed));
  const TemporaryFolder folder;
  const fs::path file = folder.file("configs.json", configs.dump());
  const Json of_small = answers(small.folder(), file), of_whole = answers(own_folder(), file);
  CHECK(of_small["cudnn"]["jit_only"] == true);
  CHECK(of_small["cudnn"]["version"] == of_whole["cudnn"]["version"]);
  REQUIRE(of_small["results"].size() == 36);
  REQUIRE(of_whole["results"].size() == 36);
  for (size_t i = 0; i < 36; ++i)
    for (const char* member : {"verdict", "modes", "engine_configs"}) {
      INFO(member << of_small["results"][i]["config"].dump());
      CHECK(of_small["results"][i][member] == of_whole["results"][i][member]);
    }
}

TEST_CASE("a cuDNN of either kind that lacks a part is incomplete", "[cudnn]") {
  const SmallCudnn small;
  CHECK(cudnn::is_jit_only(small.libraries()));
  fs::remove(small.libraries() / "libcudnn_engines_runtime_compiled.so.9");
  const Run run =
      run_attnprobe("--heads 1 --seqlen 128 --head-dim 64 --target h100 --cudnn " + small.folder().string());
  CHECK(run.exit_code == 3);
  CHECK(contains(run.err + run.out, "libcudnn_engines_runtime_compiled.so.9 is missing"));
}

TEST_CASE("the small cuDNN of a Python environment is found next to the full one", "[cudnn]") {
  const SmallCudnn small;
  const fs::path packages = small.folder() / "venv/lib/python3.12/site-packages";
  fs::create_directories(packages);
  fs::rename(small.folder() / "nvidia", packages / "nvidia");
  const Run run = shell(program() + " cudnn list", {{"VIRTUAL_ENV", (small.folder() / "venv").string()}});
  CHECK(contains(run.out, "cudnn_jit/lib/libcudnn.so.9 (pip"));
  CHECK(contains(run.out, "small"));
}

TEST_CASE("a version is read from the libraries, wherever they are", "[cudnn]") {
  const SmallCudnn small;
  setenv("ATTNPROBE_CUDNN", small.folder().c_str(), 1);
  const std::string version = cudnn::version_of_file(small.libraries() / "libcudnn_graph.so.9");
  const auto found = cudnn::find_libraries(version);
  unsetenv("ATTNPROBE_CUDNN");
  CHECK(found.at(0).path == small.libraries() / "libcudnn.so.9");
}

TEST_CASE("a stand-in has a name and the functions of another library", "[cudnn]") {
  const DynamicLibrary provider("libz.so.1", RTLD_GLOBAL);
  REQUIRE(provider);
  const DynamicLibrary made = cudnn::load_stand_in("libattnprobe_stands_in.so.7", "libz.so.1");
  REQUIRE(made);
  const DynamicLibrary by_name("libattnprobe_stands_in.so.7", RTLD_NOLOAD);
  REQUIRE(by_name);
  CHECK(by_name.find("zlibVersion") == provider.find("zlibVersion"));
  CHECK(by_name.find("cudnnCreate") == nullptr);
}

TEST_CASE("without NVRTC checks give the same answers, and a plan names what is missing", "[cudnn]") {
  const SmallCudnn small;
  if (!CudnnVersion::parse(cudnn::version_of_file(own_folder() / "libcudnn_graph.so.9")) ||
      *CudnnVersion::parse(cudnn::version_of_file(own_folder() / "libcudnn_graph.so.9")) >= CudnnVersion(9, 21, 0)) {
    WARN("SKIPPED: this cuDNN has its compiler inside");
    return;
  }
  std::string hidden;
  for (const auto& folder : nvrtc_folders()) hidden += fmt::format("mount -t tmpfs none {} && ", folder);
  const fs::path copy = small.folder() / "copy";
  fs::create_directories(copy);
  for (const auto& part : fs::directory_iterator(small.libraries()))
    fs::copy_file(fs::canonical(part.path()), copy / part.path().filename());
  const std::string before =
      "unshare -rm sh -c '" + hidden + "exec \"$@\"' sh env XDG_CACHE_HOME=" + small.folder().string();
  if (shell(before + " true").exit_code != 0) {
    WARN("SKIPPED: no mount namespaces here");
    return;
  }
  const TemporaryFolder folder;
  const fs::path file = folder.file("configs.json", R"([{"name": "one", "heads": 8, "seqlen": 512, "head_dim": 64}, )"
                                                    R"({"name": "two", "heads": 8, "seqlen": 512, "head_dim": 100}])");
  const Json with = answers(small.folder(), file), without = answers(copy, file, "", before);
  CHECK(with["results"][0]["verdict"] == "supported");
  for (size_t i = 0; i < with["results"].size(); ++i)
    CHECK(with["results"][i]["engine_configs"] == without["results"][i]["engine_configs"]);
  const Run plan =
      shell(before + " " + program() + " --heads 8 --seqlen 512 --head-dim 64 --target h100 --cudnn " + copy.string());
  CHECK(plan.exit_code == 0);
  CHECK(contains(plan.out, "needs NVRTC"));
  CHECK(contains(plan.out, "libnvrtc.so.13"));
}

}  // namespace attnprobe::test::small_cudnn_test
