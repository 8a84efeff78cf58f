// Which cuDNN the program of a Python package finds first.
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::search_test {
namespace {

namespace fs = std::filesystem;
constexpr const char* ask = " --heads 1 --seqlen 128 --head-dim 64 --target h200";

// Site-packages in pip's layout, with a file that no loader accepts as cuDNN's library.
struct Environment {
  TemporaryFolder folder;
  fs::path packages = folder.path() / "lib/python3.12/site-packages";
  fs::path program = packages / "attnprobe/_bin/attnprobe";
  fs::path cudnn = packages / "nvidia/cudnn/lib/libcudnn.so.9";

  Environment() {
    fs::create_directories(program.parent_path());
    fs::copy_file(test::program(), program);
    fs::copy_file(ATTNPROBE_TEST_NULL_DRIVER, program.parent_path() / "libattnprobe_null_driver.so");
    add(cudnn);
  }
  static void add(const fs::path& library) {
    fs::create_directories(library.parent_path());
    std::ofstream(library) << "no library";
  }
  Run run(const std::string& variables) const { return shell("env " + variables + " " + program.string() + ask); }
};

}  // namespace

TEST_CASE("the program in a Python package prefers that environment's cuDNN to the loader's", "[cudnn]") {
  const Environment environment;
  const fs::path elsewhere = environment.folder.path() / "elsewhere/libcudnn.so.9";
  Environment::add(elsewhere);
  const std::string loader = "LD_LIBRARY_PATH=" + elsewhere.parent_path().string();
  const Run own = environment.run("-u ATTNPROBE_CUDNN " + loader);
  INFO(own.err);
  CHECK(own.exit_code == 3);
  CHECK(contains(own.err + own.out, environment.cudnn.string()));
  CHECK_FALSE(contains(own.err + own.out, elsewhere.string()));
  const Run named = environment.run("ATTNPROBE_CUDNN=" + elsewhere.string());
  CHECK(contains(named.err + named.out, elsewhere.string()));

  fs::remove(environment.cudnn);
  const Run others = environment.run("-u ATTNPROBE_CUDNN " + loader);
  CHECK(contains(others.err + others.out, elsewhere.string()));
  const fs::path conda = environment.folder.path() / "lib/libcudnn.so.9";
  Environment::add(conda);
  fs::create_directories(environment.folder.path() / "conda-meta");
  const Run of_conda = environment.run("-u ATTNPROBE_CUDNN " + loader);
  CHECK(contains(of_conda.err + of_conda.out, conda.string()));
}

}  // namespace attnprobe::test::search_test
