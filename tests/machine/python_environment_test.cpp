// `doctor --python` and `doctor --pid`: build each state of an environment from links to real libraries, and check the
// diagnosis.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "catch.hpp"
#include "cudnn/library_file.hpp"
#include "machine/process_libraries.hpp"
#include "machine/python_environment.hpp"
#include "machine/python_extras.hpp"
#include "machine/python_packages.hpp"
#include "rules/gate_demands.hpp"
#include "support.hpp"

namespace attnprobe::test::python_environment_test {

namespace fs = std::filesystem;
using namespace attnprobe::machine;

namespace {

fs::path real_folder() {
  return fs::canonical(cudnn_path()).parent_path();
}

// A virtual environment with links to the machine's own cuDNN.
class VirtualEnvironment {
 public:
  VirtualEnvironment() {
    fs::create_directories(packages());
    fs::create_directories(folder_.path() / "bin");
    std::ofstream(folder_.path() / "pyvenv.cfg") << "home = /usr/bin\n";
    std::ofstream(python()) << "";
  }
  fs::path python() const { return folder_.path() / "bin/python"; }
  fs::path packages() const { return folder_.path() / "lib/python3.12/site-packages"; }
  fs::path libraries() const { return packages() / "nvidia/cudnn/lib"; }

  void install(const std::string& name, const std::string& version, const std::string& requires_dist = "",
               const std::string& record = "") const {
    const fs::path info = packages() / fmt::format("{}-{}.dist-info", name, version);
    fs::create_directories(info);
    std::ofstream(info / "METADATA") << "Metadata-Version: 2.1\nName: " << name << "\n"
                                     << requires_dist << "\nRequires-Dist: not-read==1\n";
    std::ofstream(info / "RECORD") << record;
  }

  // The wheel of cuDNN with all its files. File sizes that are too large by `larger` imitate another version.
  void install_cudnn(const std::string& name, const std::string& version, uint64_t larger = 0) const {
    fs::create_directories(libraries());
    std::string record;
    for (const auto& entry : fs::directory_iterator(real_folder())) {
      const std::string file = entry.path().filename();
      if (!file.starts_with("libcudnn") || !file.ends_with(".so.9")) continue;
      if (!fs::exists(libraries() / file)) fs::create_symlink(fs::canonical(entry.path()), libraries() / file);
      record += fmt::format("nvidia/cudnn/lib/{},sha256=x,{}\n", file, fs::file_size(entry.path()) + larger);
    }
    install(name, version, "", record);
  }

  void install_nvrtc(const std::string& release, const std::string& builtins) const {
    const fs::path lib = packages() / "nvidia/cu13/lib";
    fs::create_directories(lib);
    std::ofstream(lib / "libnvrtc.so.13") << "";
    if (!builtins.empty()) std::ofstream(lib / ("libnvrtc-builtins.so." + builtins)) << "";
    install("nvidia_cuda_nvrtc", release);
  }

 private:
  TemporaryFolder folder_;
};

// A library that claims another version: the real file with the value of its version symbol changed.
void copy_as_other_version(const fs::path& from, const fs::path& to, CudnnVersion other = {9, 77, 1}) {
  std::string bytes = read_text(from);
  const auto version = *CudnnVersion::parse(cudnn::version_of_file(from));
  const auto packed = [](int major, int minor, int patch) {
    return std::string{static_cast<char>(patch), static_cast<char>(minor), static_cast<char>(major), '\0'};
  };
  const std::string old = packed(version.major(), version.minor(), version.patch());
  for (size_t at = bytes.find(old); at != std::string::npos; at = bytes.find(old, at + 4))
    bytes.replace(at, 4, packed(other.major(), other.minor(), other.patch()));
  fs::remove(to);
  std::ofstream(to, std::ios::binary) << bytes;
}

std::vector<std::string> ids_of(const std::vector<EnvironmentProblem>& problems) {
  std::vector<std::string> ids;
  for (const auto& problem : problems) {
    CHECK_FALSE(problem.what.empty());
    CHECK_FALSE(problem.cure.empty());
    ids.push_back(problem.id);
  }
  return ids;
}

using Ids = std::vector<std::string>;

std::string real_version() {
  return cudnn::version_of_file(real_folder() / "libcudnn_graph.so.9");
}

}  // namespace

TEST_CASE("A library's version is read from its file without loading it", "[doctor]") {
  CHECK(CudnnVersion::parse(real_version()));
  CHECK(cudnn::version_of_file(real_folder() / "libcudnn.so.9").empty());
  CHECK(cudnn::version_of_file("/nowhere").empty());
  CHECK(cudnn::version_of_file(source_dir() / "README.md").empty());
  const TemporaryFolder folder;
  copy_as_other_version(real_folder() / "libcudnn_graph.so.9", folder.path() / "a.so");
  CHECK(cudnn::version_of_file(folder.path() / "a.so") == "9.77.1");
  // Truncated and damaged files give no version, and cause no crash.
  const std::string bytes = read_text(folder.path() / "a.so");
  for (const size_t kept : {size_t{3}, size_t{64}, size_t{5000}, bytes.size() / 2})
    CHECK(cudnn::version_of_file(folder.file("cut.so", bytes.substr(0, kept))).empty());
}

TEST_CASE("Versions are compared with requirements", "[doctor]") {
  for (const char* specifier :
       {"", "==9.10.2.21", ">=9.1,<10.0", "<10,>=9.10.2.21", "~=9.10", "==9.*", "!=9.11.*", ">9"})
    CHECK(satisfies("9.10.2.21", specifier));
  for (const char* specifier : {"==9.10.2", ">=9.11", "<9.10", "~=9.11", "==8.*", "!=9.*", "==x", "<=9.9"})
    CHECK_FALSE(satisfies("9.10.2.21", specifier));
  CHECK(normalised_package("Nvidia_cuDNN.cu12") == "nvidia-cudnn-cu12");
}

TEST_CASE("The releases' own files name the cuDNN that a gate requires", "[doctor]") {
  REQUIRE(rules::gate_release("torch", "2.8.0+cu128") != nullptr);
  CHECK(rules::gate_release("torch", "2.8.0+cu128")->cudnn == "9.10.2.21");
  CHECK(rules::gate_release("torch", "9.9.9") == nullptr);
  CHECK(rules::gate_release("nothing", "1.0") == nullptr);
  // 2.14 passes head dimensions above 128 to cuDNN only from 9.22.1 on.
  const auto old = rules::gate_demands("torch", "2.14.0", CudnnVersion(9, 20, 0));
  CHECK(std::any_of(old.begin(), old.end(),
                    [](const auto& d) { return d.rule == "head_dim" && d.from > CudnnVersion(9, 22, 0); }));
  CHECK(rules::gate_demands("torch", "2.99.0", CudnnVersion(9, 20, 0)).empty());  // release not read
  const auto newest = rules::gate_demands("torch", "2.15.0", CudnnVersion(9, 99, 0));
  CHECK(newest.empty());
}

TEST_CASE("doctor --python: a correct environment has no findings", "[doctor]") {
  const VirtualEnvironment venv;
  venv.install_cudnn("nvidia_cudnn_cu13", real_version() + ".56");
  venv.install_nvrtc("13.0.88", "13.0");
  venv.install("torch", "2.11.0",
               "Requires-Dist: nvidia-cudnn-cu13==" + real_version() + ".56; platform_system == \"Linux\"");
  for (const fs::path& named :
       {venv.python(), venv.packages(), venv.packages().parent_path().parent_path().parent_path()}) {
    const PythonEnvironment found = inspect_python(named, {13000, {}});
    INFO(named.string() << Json(found).dump(1));
    CHECK(ids_of(found.problems).empty());
    REQUIRE(found.frameworks.size() == 1);
    CHECK(found.frameworks[0].name == "torch");
    CHECK(found.cudnn_version == real_version());
    REQUIRE(found.demands.size() == 1);
    CHECK(found.demands[0].is_met);
  }
}

TEST_CASE("doctor --python: each problem has a name and a command", "[doctor][slow]") {
  const std::string version = real_version() + ".56";
  const VirtualEnvironment venv;
  const auto ids = [&](int driver = 13000) { return ids_of(inspect_python(venv.python(), {driver, {}}).problems); };
  const auto install_whole = [&] {
    venv.install_cudnn("nvidia_cudnn_cu13", version);
    venv.install_nvrtc("13.0.88", "13.0");
  };
  SECTION("no cuDNN wheel is installed") {
    CHECK(ids() == Ids{"no_cudnn_wheel"});
  }
  SECTION("two wheels share one folder") {
    install_whole();
    venv.install_cudnn("nvidia_cudnn_cu12", "9.1.0.70", 7);
    venv.install("torch", "2.99.0", "Requires-Dist: nvidia-cudnn-cu13==" + version);
    const PythonEnvironment found = inspect_python(venv.python(), {13000, {}});
    CHECK(ids_of(found.problems) == Ids{"two_cudnn_wheels"});
    CHECK_THAT(found.problems[0].what, ContainsSubstring("the files there are those of nvidia-cudnn-cu13 " + version));
    CHECK_THAT(found.problems[0].cure, ContainsSubstring("-m pip uninstall -y nvidia-cudnn-cu12 && "));
    CHECK_THAT(found.problems[0].cure,
               EndsWith("-m pip install --force-reinstall --no-deps nvidia-cudnn-cu13==" + version));
  }
  SECTION("a file is missing") {
    install_whole();
    fs::remove(venv.libraries() / "libcudnn_heuristic.so.9");
    const PythonEnvironment found = inspect_python(venv.python(), {0, {}});
    CHECK(ids_of(found.problems) == Ids{"cudnn_file_missing"});
    CHECK_THAT(found.problems[0].what, ContainsSubstring("libcudnn_heuristic.so.9"));
  }
  SECTION("a wheel has no libraries") {
    venv.install("nvidia_cudnn_cu13", version, "", "nvidia_cudnn_cu13/__init__.py,sha256=x,0\n");
    const PythonEnvironment found = inspect_python(venv.python(), {0, {}});
    CHECK(ids_of(found.problems) == Ids{"cudnn_file_missing"});
    CHECK_THAT(found.problems[0].what, EndsWith("lacks files: libcudnn.so.9"));
  }
  SECTION("a wheel's name has no valid CUDA version") {
    venv.install("nvidia_cudnn_cuab", version);
    venv.install("nvidia_cudnn_cu999999999999", version);
    CHECK(ids() == Ids{"two_cudnn_wheels"});
  }
  SECTION("METADATA, RECORD and libraries are endless") {
    install_whole();
    const fs::path info = venv.packages() / fmt::format("nvidia_cudnn_cu13-{}.dist-info", version);
    for (const fs::path& file : {info / "METADATA", info / "RECORD", venv.libraries() / "libcudnn_graph.so.9"}) {
      fs::remove(file);
      REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    }
    CHECK(ids().empty());
    // METADATA as a sparse file of 4 GB.
    fs::remove(info / "METADATA");
    std::ofstream(info / "METADATA") << "Name: x\n\n";
    fs::resize_file(info / "METADATA", uint64_t{4} << 30);
    CHECK(ids().empty());
  }
  SECTION("a file belongs to another wheel") {
    install_whole();
    fs::remove(venv.libraries() / "libcudnn_heuristic.so.9");
    std::ofstream(venv.libraries() / "libcudnn_heuristic.so.9") << "x";
    CHECK(ids() == Ids{"cudnn_files_replaced"});
  }
  SECTION("sub-libraries of two versions have the same size") {
    install_whole();
    copy_as_other_version(real_folder() / "libcudnn_graph.so.9", venv.libraries() / "libcudnn_graph.so.9");
    const PythonEnvironment found = inspect_python(venv.python(), {0, {}});
    CHECK(ids_of(found.problems) == Ids{"two_cudnn_versions"});
    CHECK_THAT(found.problems[0].what, ContainsSubstring("9.77.1 (libcudnn_graph.so.9)"));
  }
  SECTION("the version differs from the one that the framework pins") {
    install_whole();
    venv.install("torch", "2.99.0", "Requires-Dist: nvidia-cudnn-cu13==9.1.0.70");
    CHECK(ids() == Ids{"pin_not_met"});
  }
  SECTION("the wheel is for a different CUDA from the one that the framework pins") {
    install_whole();
    venv.install("some_plugin", "0.5.1", "Requires-Dist: nvidia-cudnn-cu12<10.0,>=9.1");
    const PythonEnvironment found = inspect_python(venv.python(), {0, {}});
    CHECK(ids_of(found.problems) == Ids{"pin_not_met"});
    CHECK_THAT(found.problems[0].what, ContainsSubstring("none of that name is installed"));
  }
  SECTION("an extra counts if its wheel is installed") {
    install_whole();
    venv.install("jax_cuda12_plugin", "0.5.1", "Requires-Dist: nvidia-cudnn-cu12<10.0,>=9.1; extra == \"with-cuda\"");
    CHECK(ids().empty());
    venv.install("jax_cuda13_plugin", "0.99.0", "Requires-Dist: nvidia-cudnn-cu13<10.0,>=9.98; extra == \"with-cuda\"");
    CHECK(ids() == Ids{"pin_not_met"});
  }
  SECTION("the gate requires a newer cuDNN than the installed one") {
    install_whole();
    venv.install("torch", "2.15.0", "Requires-Dist: nvidia-cudnn-cu13==" + version);
    const PythonEnvironment found = inspect_python(venv.python(), {0, {}});
    CHECK(ids_of(found.problems) == Ids{"gate_wants_newer"});
    CHECK_THAT(found.problems[0].what,
               StartsWith("by rule, torch 2.15.0 silently does not send some calls to cuDNN " + real_version()));
    const Run run = run_attnprobe("doctor --python " + venv.python().string());
    CHECK(run.exit_code == 0);  // nothing is broken
  }
  SECTION("NVRTC's builtins are from another release") {
    venv.install_cudnn("nvidia_cudnn_cu13", version);
    venv.install_nvrtc("13.0.88", "12.8");
    CHECK(ids() == Ids{"nvrtc_builtins_differ"});
  }
  SECTION("NVRTC has no builtins") {
    venv.install_cudnn("nvidia_cudnn_cu13", version);
    venv.install_nvrtc("13.0.88", "");
    CHECK(ids() == Ids{"no_nvrtc_builtins"});
  }
  SECTION("NVRTC is missing") {
    // For a CUDA that does not exist, because the loader would find this machine's own.
    venv.install_cudnn("nvidia_cudnn_cu11", version);
    CHECK(ids() == Ids{"no_nvrtc"});
  }
  SECTION("one GPU is too old, another is newer than this cuDNN") {
    install_whole();
    const PythonEnvironment old = inspect_python(venv.python(), {13000, {90, 75}});
    CHECK(ids_of(old.problems) == Ids{"gpu_without_attention"});
    CHECK_THAT(old.problems[0].what, ContainsSubstring("needs Ampere (sm_80) or newer; this is sm_75"));
    CHECK_THAT(old.problems[0].cure, ContainsSubstring("another attention backend"));
    for (const char* name : {"libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_adv.so.9"})
      copy_as_other_version(real_folder() / name, venv.libraries() / name, {9, 6, 0});
    const PythonEnvironment young = inspect_python(venv.python(), {13000, {90, 120}});
    CHECK(ids_of(young.problems) == Ids{"gpu_without_attention"});
    CHECK_THAT(young.problems[0].what, ContainsSubstring("cuDNN 9.6.0 has no attention for this GPU (sm_120)"));
  }
  SECTION("the driver is too old") {
    install_whole();
    CHECK(ids(12040) == Ids{"driver_too_old"});
  }
}

TEST_CASE("doctor says which cuDNN a framework loads, and what attnprobe's extras would change", "[doctor]") {
  const std::string version = real_version() + ".56";
  const VirtualEnvironment venv;
  venv.install_cudnn("nvidia_cudnn_cu12", version);
  venv.install("nvidia_cuda_nvrtc_cu12", "12.9.86");
  venv.install("torch", "2.99.0", "Requires-Dist: nvidia-cudnn-cu12==" + version);
  const auto look = [&] { return inspect_python(venv.python(), {0, {}}); };
  const std::string loads = fmt::format("torch 2.99.0 loads cuDNN {} ({}", real_version(), venv.libraries().string());
  SECTION("an extra for another CUDA overwrites the framework's cuDNN") {
    const PythonEnvironment found = look();
    CHECK_THAT(found.loads, StartsWith(loads));
    REQUIRE(found.extras.size() == 2);
    CHECK(found.extras[0].extra == "cu13");
    CHECK(found.extras[0].overwritten == "nvidia-cudnn-cu12==" + version);
    CHECK(found.extras[0].comes.size() == 3);
    CHECK(found.extras[1].stays == Ids{"nvidia-cudnn-cu12==" + version, "nvidia-cuda-nvrtc-cu12==12.9.86"});
    CHECK(found.extras[1].comes == Ids{"nvidia-cublas-cu12>=12,<13"});
    CHECK(found.extras[1].overwritten.empty());
    const auto findings = extra_findings(found);
    CHECK_FALSE(findings[0].ok);
    CHECK_THAT(findings[0].detail, ContainsSubstring("installs nvidia-cudnn-cu13>=9,<10, nvidia-cublas>=13,<14"));
    CHECK_THAT(findings[0].detail, EndsWith(": its cuDNN overwrites the files of nvidia-cudnn-cu12==" + version +
                                            " (nvidia/cudnn), which torch 2.99.0 loads; `pip freeze` then lists both"));
    CHECK_THAT(findings[0].cure, StartsWith("install no extra here"));
    CHECK(findings[1].ok);
    CHECK_THAT(findings[1].detail, EndsWith("stay; installs nvidia-cublas-cu12>=12,<13"));
    const Run run = run_attnprobe("doctor --python " + venv.python().string());
    CHECK_THAT(run.out, ContainsSubstring(loads));
    CHECK_THAT(run.out,
               ContainsSubstring("what pip would change in it (nothing was installed)\n  --  attnprobe[cu13]"));
  }
  SECTION("another release of a package that an extra requires is replaced") {
    venv.install("nvidia_cublas_cu12", "11.5.0");
    const PythonEnvironment found = look();
    CHECK(found.extras[1].goes == Ids{"nvidia-cublas-cu12==11.5.0"});
    CHECK_FALSE(extra_findings(found)[1].ok);
    CHECK_THAT(extra_findings(found)[1].detail, EndsWith("in place of nvidia-cublas-cu12==11.5.0"));
  }
  SECTION("every package is installed") {
    venv.install("nvidia_cublas_cu12", "12.9.1.4");
    CHECK_THAT(extra_findings(look())[1].detail, StartsWith("nothing: nvidia-cudnn-cu12=="));
  }
  SECTION("the environment in which doctor runs is also examined") {
    const Environment here{{"VIRTUAL_ENV", venv.python().parent_path().parent_path().string()}};
    const Json json = run_attnprobe("doctor --format json", here).json();
    CHECK_THAT(json["python"]["loads"].get<std::string>(), StartsWith(loads));
  }
}

TEST_CASE("The extras are those of pyproject.toml", "[doctor]") {
  std::string words;
  for (const auto& change : extra_changes({})) {
    std::string line = change.extra + " = [";
    for (const auto& one : change.comes) line += fmt::format("{}\"{}\"", line.ends_with('[') ? "" : ", ", one);
    words = line + "]";
    CHECK_THAT(read_text(source_dir() / "pyproject.toml"), ContainsSubstring("\n" + words + "\n"));
  }
}

TEST_CASE("doctor --python: a system cuDNN shadows the environment's", "[doctor]") {
  const VirtualEnvironment venv;
  venv.install_cudnn("nvidia_cudnn_cu13", real_version() + ".56");
  venv.install_nvrtc("13.0.88", "13.0");
  const TemporaryFolder system;
  fs::copy_file(real_folder() / "libcudnn.so.9", system.path() / "libcudnn.so.9");
  copy_as_other_version(real_folder() / "libcudnn_graph.so.9", system.path() / "libcudnn_graph.so.9");
  const std::string command = "doctor --python " + venv.python().string();
  CHECK(run_attnprobe(command).exit_code == 0);
  const Run run = run_attnprobe(command, {{"LD_LIBRARY_PATH", system.path().string()}});
  CHECK(run.exit_code == 3);
  CHECK_THAT(run.out,
             StartsWith("LD_LIBRARY_PATH has " + system.path().string() + "; its cuDNN 9.77.1 is found before"));
  CHECK_THAT(run.out, ContainsSubstring("\n-> unset LD_LIBRARY_PATH\n"));
  const Json json = run_attnprobe(command + " --format json", {{"LD_LIBRARY_PATH", system.path().string()}}).json();
  CHECK(json["problems"][0]["id"] == "system_cudnn_first");
  CHECK(json["cudnn_version"] == real_version());
}

TEST_CASE("doctor --python and --pid refuse objects that they cannot examine", "[doctor]") {
  const std::pair<const char*, const char*> cases[] = {
      {"--python /nowhere", "--python /nowhere: there is no such file or folder"},
      {"--python /proc", "--python /proc: no site-packages found"},
      {"--pid 0", "--pid"},
      {"--pid 99999999", "--pid 99999999: no such process"},
      {"--pid 1 --cudnn x", "--cudnn"}};
  for (const auto& [arguments, message] : cases) {
    const Run run = run_attnprobe(std::string("doctor ") + arguments);
    INFO(arguments);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, ContainsSubstring(message));
  }
}

TEST_CASE("doctor --pid: lists a process's loaded libraries from its memory map", "[doctor]") {
  const TemporaryFolder other;
  copy_as_other_version(real_folder() / "libcudnn_graph.so.9", other.path() / "libcudnn_graph.so.9");
  const auto look = [&](const std::string& preload, const std::string& before = "") {
    return shell(
        fmt::format("LD_PRELOAD={} sleep 30 & pid=$!; sleep 0.5; {} {} doctor --pid $pid --format json; code=$?; "
                    "kill $pid; exit $code",
                    preload, before, program()));
  };
  const std::string ops = (real_folder() / "libcudnn_ops.so.9").string();
  const std::string graph = (real_folder() / "libcudnn_graph.so.9").string();
  const std::string strange = (other.path() / "libcudnn_graph.so.9").string();
  const Run whole = look(graph);
  CHECK(whole.exit_code == 0);
  const Json library = whole.json()["libraries"][0];
  CHECK(library["name"] == "libcudnn_graph.so.9");
  CHECK(library["version"] == real_version());
  CHECK(whole.json()["command"] == "sleep 30");
  const Run mixed = look(strange + ":" + ops);
  CHECK(mixed.exit_code == 3);
  CHECK(mixed.json()["problems"][0]["id"] == "two_cudnn_versions");
  const Run gone = look(strange, "rm " + strange + ";");
  CHECK(gone.json()["problems"][0]["id"] == "deleted_files");
  CHECK(gone.json()["libraries"][0]["deleted"] == true);
}

TEST_CASE("A memory map's libraries and their conflicts", "[doctor]") {
  const auto map_of = [](const std::vector<std::string>& paths) {
    std::string text = "7f0 r-xp 00000000 00:00 0 [vdso]\n";
    for (const auto& path : paths)
      for (const char* part : {"r--p", "r-xp"})
        text += fmt::format("7f00-7f01 {} 00000000 08:01 42    {}\n", part, path);
    return text;
  };
  const auto ids = [&](const std::vector<std::string>& paths) {
    return ids_of(problems_of(libraries_in_maps(map_of(paths), "/nowhere")));
  };
  CHECK(libraries_in_maps("", "").empty());
  CHECK(libraries_in_maps(map_of({"/usr/lib/libc.so.6", "/a/libcudart.so.12", "/a/libcuda.so.1"}), "/nowhere").size() ==
        2);
  CHECK(
      ids({"/a/libcudnn.so.9", "/a/libcudnn_graph.so.9", "/b/libnvrtc.so.13", "/b/libnvrtc-builtins.so.13.0"}).empty());
  CHECK(ids({"/a/libcudnn.so.9", "/b/libcudnn_graph.so.9"}) == Ids{"two_cudnn_folders"});
  CHECK(ids({"/b/libnvrtc.so.13", "/b/libnvrtc-builtins.so.12.8"}) == Ids{"nvrtc_builtins_differ"});
  CHECK(ids({"/b/libnvrtc.so.13", "/b/libnvrtc.so.12"}) == Ids{"two_nvrtc_versions"});
  CHECK(ids({"/a/libcudnn.so.9 (deleted)"}) == Ids{"deleted_files"});
  const auto spaced = libraries_in_maps(map_of({"/my folder/libcudnn.so.9 (deleted)"}), "/nowhere");
  REQUIRE(spaced.size() == 1);
  CHECK(spaced[0].path == "/my folder/libcudnn.so.9");
}

}  // namespace attnprobe::test::python_environment_test
