// Machines that lack something: never "unsupported", always with the missing part's name and exit code 3.
#include <fstream>

#include "catch.hpp"
#include "cudnn/library_file.hpp"
#include "cudnn/library_files.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"
#include "worker/client.hpp"

namespace attnprobe::test::environment_test {

namespace fs = std::filesystem;

namespace {

const std::string problem = "--heads 8 --seqlen 128 --head-dim 64 --target h200 --format json";

std::vector<cudnn::LoadedFile> files_in_use() {
  const gpu::Target& any = *gpu::find("h200");
  return worker::Client(any, worker::Client::Seconds(60)).open(cudnn_path(), any).files;
}

// A folder with links to every file of the real cuDNN, NVRTC and cuBLASLt, in which tests break single files.
class CudnnCopy {
 public:
  CudnnCopy() {
    for (const auto& entry : fs::directory_iterator(fs::path(cudnn_path()).parent_path())) {
      const std::string name = entry.path().filename();
      if (name.rfind("libcudnn", 0) != 0 || name.find(".so.9") == std::string::npos) continue;
      // libcudnn.so.9 itself is a copy: the loader would follow a link to the real folder.
      if (name == "libcudnn.so.9")
        fs::copy_file(entry.path(), folder_.path() / name);
      else
        fs::create_symlink(fs::canonical(entry.path()), folder_.path() / name);
    }
    // Also NVRTC and cuBLASLt, from any folder of this machine, because a pip cuDNN searches only its own folder.
    for (const auto& loaded : files_in_use())
      if (loaded.name.rfind("libcudnn", 0) != 0) fs::create_symlink(loaded.path, folder_.path() / loaded.name);
  }
  fs::path file(const std::string& name) const { return folder_.path() / name; }
  std::string option() const { return " --cudnn " + folder_.path().string(); }

 private:
  TemporaryFolder folder_;
};

void write(const fs::path& path, const std::string& text) {
  fs::remove(path);
  std::ofstream(path) << text;
}

// A broken environment must give an error that names the file, with exit code 3 and no verdict about the graph.
void check_environment(const Run& run, const std::string& named) {
  CHECK(run.exit_code == 3);
  const Json result = run.json()["results"][0];
  CHECK(result["verdict"] == "error");
  CHECK(result["environment_broken"] == true);
  CHECK(result["root_cause"]["category"] == "environment");
  INFO(result["root_cause"]["explanation"]);
  CHECK(contains(result["root_cause"]["explanation"], named));
}

}  // namespace

TEST_CASE("a complete copy of cuDNN elsewhere works, from that folder", "[environment]") {
  const CudnnCopy copy;
  const Run run = run_attnprobe(problem + copy.option());
  CHECK(run.exit_code == 0);
  CHECK(run.json()["results"][0]["verdict"] == "supported");
}

TEST_CASE("a missing sub-library is named", "[environment]") {
  for (const char* name : {"libcudnn_graph.so.9", "libcudnn_heuristic.so.9", "libcudnn_engines_runtime_compiled.so.9",
                           "libcudnn_engines_precompiled.so.9"}) {
    const CudnnCopy copy;
    if (!fs::remove(copy.file(name))) continue;  // the small cuDNN has two sub-libraries
    check_environment(run_attnprobe(problem + copy.option()), name);
  }
}

TEST_CASE("a sub-library that is a text file is named", "[environment]") {
  const CudnnCopy copy;
  write(copy.file("libcudnn_engines_runtime_compiled.so.9"), "not a library\n");
  check_environment(run_attnprobe(problem + copy.option()), "libcudnn_engines_runtime_compiled.so.9");
}

TEST_CASE("a truncated sub-library is named, and crashes no process", "[environment]") {
  const CudnnCopy copy;
  const std::string name = "libcudnn_engines_runtime_compiled.so.9";
  const fs::path whole = fs::canonical(copy.file(name));
  fs::remove(copy.file(name));
  std::ifstream from(whole, std::ios::binary);
  std::string beginning(2 << 20, '\0');
  from.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  std::ofstream(copy.file(name), std::ios::binary) << beginning;
  const Run run = run_attnprobe(problem + copy.option());
  check_environment(run, name);
  CHECK(contains(run.json()["results"][0]["root_cause"]["explanation"], "truncated"));
}

TEST_CASE("libcudnn.so.9 or its folder is missing", "[environment]") {
  const CudnnCopy copy;
  fs::remove(copy.file("libcudnn.so.9"));
  const Run run = run_attnprobe(problem + copy.option());
  CHECK(run.exit_code == 3);
  CHECK(contains(run.err, "is neither a libcudnn.so.9 nor a folder that contains one"));
  CHECK(run_attnprobe(problem + " --cudnn /nowhere").exit_code == 3);
  CHECK(run_attnprobe(problem, {{"ATTNPROBE_CUDNN", "/nowhere"}}).exit_code == 3);
}

TEST_CASE("an unreadable library has no digest", "[environment]") {
  const TemporaryFolder folder;
  for (const auto& digest_of : {cudnn::build_of_library, cudnn::times_of_library}) {
    try {
      digest_of((folder.path() / "none" / "libcudnn.so.9").string());
      FAIL("a digest of nothing");
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::environment);
      CHECK_THAT(e.what(), EndsWith("/none/libcudnn.so.9: cannot be read"));
    }
  }
}

TEST_CASE("a file named libcudnn.so.9 that is a different library", "[environment]") {
  const CudnnCopy copy;
  fs::remove(copy.file("libcudnn.so.9"));
  fs::create_symlink(fs::canonical(ATTNPROBE_TEST_NULL_DRIVER), copy.file("libcudnn.so.9"));
  check_environment(run_attnprobe(problem + copy.option()), "is not a cuDNN 9");
}

TEST_CASE("missing NVRTC is reported and not a verdict", "[environment]") {
  // The search begins next to cuDNN and does not skip a broken file there.
  const CudnnCopy copy;
  const int64_t major =
      probe_one(R"({"heads": 1, "seqlen": 128, "head_dim": 64})", "h200").cudnn_version >= 91200 ? 13 : 12;
  const std::string name = "libnvrtc.so." + std::to_string(major);
  write(copy.file(name), "not a library\n");
  const Run hidden = run_attnprobe(problem + copy.option());
  check_environment(hidden, name);
  CHECK(contains(hidden.json()["results"][0]["root_cause"]["explanation"], "NVRTC"));
}

TEST_CASE("missing cuBLASLt is reported, although cuDNN itself would abort", "[environment]") {
  const CudnnCopy copy;
  if (cudnn::is_jit_only(copy.file("libcudnn.so.9").parent_path())) return;  // the small cuDNN needs none
  write(copy.file("libcublasLt.so.13"), "not a library\n");
  check_environment(run_attnprobe(problem + copy.option()), "libcublasLt.so.13");
}

TEST_CASE("a real GPU is requested without a driver", "[environment]") {
  const Run run =
      run_attnprobe("--heads 8 --seqlen 128 --head-dim 64 --target device:0", {{"CUDA_VISIBLE_DEVICES", ""}});
  CHECK(run.exit_code == 3);
  CHECK((contains(run.err, "libcuda.so.1") || contains(run.err, "GPU")));
}

TEST_CASE("the null driver missing", "[environment]") {
  check_environment(run_attnprobe(problem, {{"ATTNPROBE_NULL_DRIVER", "/nowhere.so"}}), "libattnprobe_null_driver.so");
}

TEST_CASE("a different file replaces the null driver", "[environment]") {
  check_environment(run_attnprobe(problem, {{"ATTNPROBE_NULL_DRIVER", cudnn_path()}}),
                    "is not attnprobe's null driver");
}

TEST_CASE("help, doctor, targets and schema work without cuDNN, driver or GPU", "[environment]") {
  const Environment nothing{{"ATTNPROBE_CUDNN", "/nowhere"}};
  CHECK(run_attnprobe("--help", nothing).exit_code == 0);
  CHECK(run_attnprobe("targets list", nothing).exit_code == 0);
  CHECK(run_attnprobe("targets show l40s", nothing).exit_code == 0);
  CHECK(run_attnprobe("schema config", nothing).exit_code == 0);
  CHECK(run_attnprobe("schema report", nothing).exit_code == 0);
  const Run doctor = run_attnprobe("doctor --format json", nothing);
  CHECK(doctor.exit_code == 3);  // nothing can be probed
  bool told = false;
  const Json diagnosis = doctor.json();
  for (const Json& part : diagnosis["parts"])
    told = told || (part["what"] == "cuDNN" && part["ok"] == false && !part["cure"].get<std::string>().empty());
  CHECK(told);
}

TEST_CASE("doctor lists every file of the cuDNN in use, and reports that simulation and compilation work",
          "[environment]") {
  const Run run = run_attnprobe("doctor --format json");
  CHECK(run.exit_code == 0);
  const Json diagnosis = run.json();
  const Json& library = diagnosis["cudnn"][0]["library"];
  const Json& files = library["files"];
  for (const char* wanted :
       {"libcudnn_graph.so.9", "libcudnn_heuristic.so.9", "libcudnn_engines_runtime_compiled.so.9", "libnvrtc.so"}) {
    if (library["jit_only"] == true && contains(wanted, "heuristic")) continue;
    INFO(wanted);
    CHECK(std::any_of(files.begin(), files.end(), [&](const Json& f) {
      return contains(f["name"], wanted) && !f["path"].get<std::string>().empty();
    }));
  }
  for (const Json& ability : diagnosis["abilities"])
    if (contains(ability["what"], "simulated")) CHECK(ability["ok"] == true);
}

TEST_CASE("the program links neither cuDNN nor the CUDA driver", "[environment]") {
  const Run run = shell("ldd " + program());
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "libc.so"));
  CHECK_FALSE(contains(run.out, "libcudnn"));
  CHECK_FALSE(contains(run.out, "libcuda"));
}

TEST_CASE("candidates are in the documented order, each with the rule that found it", "[environment]") {
  const CudnnCopy copy;
  setenv("ATTNPROBE_CUDNN", copy.file("libcudnn.so.9").c_str(), 1);
  const auto found = cudnn::find_libraries("");
  unsetenv("ATTNPROBE_CUDNN");
  REQUIRE(!found.empty());
  CHECK(found[0].found_by == "ATTNPROBE_CUDNN");
  CHECK(cudnn::find_libraries(copy.file("libcudnn.so.9")).size() == 1);
}

TEST_CASE("without a home nothing is loaded from the working directory", "[environment]") {
  const TemporaryFolder folder;
  const fs::path lib = folder.path() / ".cache/attnprobe/cudnn/9.99.0/nvidia/cudnn/lib";
  fs::create_directories(lib);
  write(lib / "libcudnn.so.9", "a stranger's");
  for (const char* home : {"-u HOME -u XDG_CACHE_HOME", "HOME= XDG_CACHE_HOME=", "-u XDG_CACHE_HOME HOME=."}) {
    const Run run =
        shell("cd " + folder.path().string() + " && env " + home + " " + program() + " " + problem + " --cudnn 9.99");
    INFO(home << run.err);
    CHECK(run.exit_code == 3);
    CHECK_THAT(run.err, ContainsSubstring("--cudnn 9.99: no cuDNN of that version is installed"));
  }
}

TEST_CASE("a cuDNN that other users can write is skipped by a search but loaded if named", "[environment]") {
  const CudnnCopy copy;
  const fs::path folder = copy.file("libcudnn.so.9").parent_path();
  const auto finds_copy = [&] {
    for (const auto& candidate : cudnn::find_libraries(""))
      if (candidate.path.parent_path() == folder) return true;
    return false;
  };
  setenv("LD_LIBRARY_PATH", folder.c_str(), 1);
  CHECK(finds_copy());
  fs::permissions(folder, fs::perms::all);
  CHECK_FALSE(finds_copy());
  setenv("LD_LIBRARY_PATH", fs::relative(folder).c_str(), 1);
  CHECK_FALSE(finds_copy());
  unsetenv("LD_LIBRARY_PATH");
  setenv("ATTNPROBE_CUDNN", folder.c_str(), 1);
  CHECK(finds_copy());
  unsetenv("ATTNPROBE_CUDNN");
  CHECK(cudnn::find_libraries(folder).size() == 1);
}

}  // namespace attnprobe::test::environment_test
