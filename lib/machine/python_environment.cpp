#include "machine/python_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "attention/config.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cudnn/library_file.hpp"
#include "cudnn/loader_folders.hpp"
#include "machine/python_packages.hpp"
#include "rules/gate_demands.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view wheel_prefix = "nvidia-cudnn-cu";
// The small cuDNN has its own folder: attnprobe uses it, but frameworks do not load it.
constexpr std::string_view small_wheel_prefix = "nvidia-cudnn-jit-cu";
// Distributions that pass attention to cuDNN, with rules in lib/rules/frameworks.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> known_frameworks{
    {{"torch", "torch"},
     {"jax", "jax"},
     {"jax-cuda12-plugin", ""},
     {"jax-cuda13-plugin", ""},
     {"transformer-engine", "transformer-engine"},
     {"transformer-engine-torch", "transformer-engine"},
     {"tensorflow", ""},
     {"keras", "keras"},
     {"vllm", "vllm"},
     {"sglang", "sglang"},
     {"flashinfer-python", "flashinfer"},
     {"onnxruntime-gpu", "onnxruntime"},
     {"diffusers", "diffusers"},
     {"nvidia-cudnn-frontend", ""}}};

// The files of a cuDNN wheel, compared with the files on disk.
struct WheelFiles {
  DistInfo wheel;
  fs::path folder;  // version of its libraries
  std::vector<std::string> missing, replaced;
};

std::string in_words(const DistInfo& info) {
  return info.name + " " + info.version;
}

int cuda_major_of(const std::string& wheel) {
  const std::string_view digits = std::string_view(wheel).substr(wheel_prefix.size());
  int major = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), major);
  return error == std::errc() && end == digits.data() + digits.size() && major < 100 ? major : 0;
}

class Inspection {
 public:
  Inspection(const fs::path& python, const MachineGpus& machine) : machine_(machine) {
    found_.python = python.string();
    for (const auto& folder : site_packages_of(python)) {
      found_.folders.push_back(folder.string());
      for (auto& info : dist_infos(folder)) infos_.push_back(std::move(info));
    }
    // The interpreter's name in commands; for a folder, the interpreter below it.
    std::error_code ignored;
    command_ =
        fs::is_directory(python, ignored)
            ? (fs::exists(python / "bin/python", ignored) ? (python / "bin/python").string() : std::string("python"))
            : python.string();
    command_ = shell_word(command_) + " -m pip";
  }

  PythonEnvironment result() {
    look_at_frameworks();
    look_at_wheels();
    look_at_nvrtc();
    look_at_driver();
    look_at_gpus();
    look_at_loader();
    look_at_demands();
    look_at_gates();
    look_at_loads();
    found_.extras = extra_changes(infos_);
    return std::move(found_);
  }

 private:
  void part(const std::string& what, bool ok, const std::string& detail, const std::string& cure = "") {
    found_.parts.push_back({what, ok, detail, cure});
  }

  void problem(const std::string& id, const std::string& head, const std::string& what, const std::string& cure) {
    found_.problems.push_back({id, what, cure});
    part(head, false, what, cure);
  }

  void look_at_frameworks() {
    for (const DistInfo& info : infos_)
      for (const auto& [name, gate] : known_frameworks)
        if (info.name == name) {
          found_.frameworks.push_back({info.name, info.version, info.folder.string()});
          part(info.name, true, rules::release_words(gate, info.version));
        }
    if (found_.frameworks.empty()) part("frameworks", false, "none that uses cuDNN's attention");
  }

  void look_at_wheels() {
    for (const DistInfo& info : infos_) {
      if (info.name.starts_with(small_wheel_prefix)) {
        const fs::path library = info.folder.parent_path() / "nvidia/cudnn_jit/lib/libcudnn.so.9";
        std::error_code ignored;
        const bool is_there = fs::exists(library, ignored);
        part(info.name, is_there,
             is_there ? info.version + ", the small cuDNN, for attnprobe only: no framework loads it"
                      : info.version + ": its files are missing",
             is_there
                 ? ""
                 : fmt::format("{} install --force-reinstall --no-deps {}=={}", command_, info.name, info.version));
      }
      if (!info.name.starts_with(wheel_prefix)) continue;
      found_.cudnn_wheels.push_back({info.name, info.version, info.folder.string()});
      wheels_.push_back(files_of(info));
    }
    if (wheels_.empty()) {
      problem("no_cudnn_wheel", "cuDNN",
              "no cuDNN wheel is in this environment: a framework uses the one that the loader finds",
              fmt::format("{} install {}", command_, wanted_wheel()));
      return;
    }
    // The wheel whose files are all in place was installed last.
    const auto whole = std::find_if(wheels_.begin(), wheels_.end(),
                                    [](const auto& w) { return w.missing.empty() && w.replaced.empty(); });
    const WheelFiles& in_place = whole == wheels_.end() ? wheels_.back() : *whole;
    found_.cudnn_path = (in_place.folder / "libcudnn.so.9").string();
    found_.cudnn_version = versions_in(in_place.folder);
    cudnn_major_ = cuda_major_of(in_place.wheel.name);
    for (const WheelFiles& wheel : wheels_)
      part(wheel.wheel.name, wheel.missing.empty() && wheel.replaced.empty(),
           wheel.wheel.version + (wheel.missing.empty() && wheel.replaced.empty() ? ", its files are in place" : ""));
    if (wheels_.size() > 1 && wheels_[0].folder == wheels_[1].folder) {
      problem("two_cudnn_wheels", "cuDNN",
              fmt::format("{} and {} are both installed, into one folder: the files there are {}",
                          in_words(wheels_[0].wheel), in_words(wheels_[1].wheel),
                          whole == wheels_.end() ? "a mixture of both" : "those of " + in_words(in_place.wheel)),
              mend_command());
      return;
    }
    if (!in_place.missing.empty())
      problem("cudnn_file_missing", "cuDNN",
              fmt::format("{} lacks files: {}", in_words(in_place.wheel), fmt::join(in_place.missing, ", ")),
              mend_command());
    else if (!in_place.replaced.empty())
      problem("cudnn_files_replaced", "cuDNN",
              fmt::format("files of {} were replaced by others: {}", in_words(in_place.wheel),
                          fmt::join(in_place.replaced, ", ")),
              mend_command());
    else if (found_.cudnn_version.find(' ') != std::string::npos)
      problem("two_cudnn_versions", "cuDNN",
              fmt::format("sub-libraries of several versions are in {}: {}", in_place.folder.string(),
                          found_.cudnn_version),
              mend_command());
  }

  static WheelFiles files_of(const DistInfo& info) {
    WheelFiles files{info, info.folder.parent_path() / "nvidia/cudnn/lib", {}, {}};
    bool names_any = false;
    for (const RecordedFile& recorded : recorded_files(info)) {
      const std::string name = recorded.path.filename();
      if (!name.starts_with("libcudnn") || name.find(".so") == std::string::npos) continue;
      names_any = true;
      const fs::path file = info.folder.parent_path() / recorded.path;
      files.folder = file.parent_path();
      std::error_code missing;
      const uint64_t size = fs::file_size(file, missing);
      if (missing)
        files.missing.push_back(name);
      else if (recorded.size && *recorded.size != size)
        files.replaced.push_back(name);
    }
    std::error_code ignored;
    if (!names_any && !fs::exists(files.folder / "libcudnn.so.9", ignored)) files.missing.emplace_back("libcudnn.so.9");
    return files;
  }

  // "9.10.2", or "9.10.2 (libcudnn_graph.so.9), 9.19.0 (libcudnn_ops.so.9)" for files with a version.
  static std::string versions_in(const fs::path& folder) {
    std::map<std::string, std::string> files;
    std::error_code ignored;
    for (const char* name : {"libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_adv.so.9"})
      if (const std::string version = cudnn::version_of_file(folder / name); !version.empty())
        files[version] += (files[version].empty() ? "" : ", ") + std::string(name);
    if (files.size() == 1) return files.begin()->first;
    std::string all;
    for (const auto& [version, names] : files) all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", version, names);
    return all;
  }

  // The wheel that a framework here requires, otherwise an installed wheel.
  std::string wanted_wheel() const {
    for (const DistInfo& info : infos_)
      for (const Requirement& wanted : requirements_of(info))
        if (wanted.package.starts_with(wheel_prefix)) return shell_word(wanted.package + wanted.specifier);
    return wheels_.empty() ? "nvidia-cudnn-cu13" : shell_word(in_place_name());
  }
  std::string in_place_name() const { return wheels_.front().wheel.name + "==" + wheels_.front().wheel.version; }

  std::string mend_command() const {
    std::string others;
    const std::string wanted = wanted_wheel();
    for (const WheelFiles& wheel : wheels_)
      if (wanted.find(wheel.wheel.name) == std::string::npos) others += " " + wheel.wheel.name;
    const std::string install = fmt::format("{} install --force-reinstall --no-deps {}", command_, wanted);
    return others.empty() ? install : fmt::format("{} uninstall -y{} && {}", command_, others, install);
  }

  void look_at_demands() {
    for (const DistInfo& info : infos_)
      for (const Requirement& wanted : requirements_of(info)) {
        if (!wanted.package.starts_with(wheel_prefix)) continue;
        CudnnDemand demand{in_words(info), wanted.package, wanted.specifier, false};
        std::string there;
        for (const WheelFiles& wheel : wheels_)
          if (wheel.wheel.name == wanted.package) {
            there = wheel.wheel.version;
            demand.is_met = satisfies(there, wanted.specifier);
          }
        // Requirements of an extra that was not requested are ignored: the cuDNN may come from a CUDA toolkit.
        if (wanted.is_extra && there.empty()) continue;
        if (!demand.is_met && !wheels_.empty())
          problem("pin_not_met", info.name,
                  fmt::format("{} needs {}{}, but {} is installed", demand.by, demand.package, demand.specifier,
                              there.empty() ? "none of that name" : there),
                  fmt::format("{} install {}", command_, shell_word(demand.package + demand.specifier)));
        else if (demand.is_met)
          part(info.name, true, fmt::format("needs {}{}: installed", demand.package, demand.specifier));
        found_.demands.push_back(std::move(demand));
      }
  }

  void look_at_gates() {
    const auto cudnn = CudnnVersion::parse(found_.cudnn_version);
    if (!cudnn) return;
    for (const auto& framework : found_.frameworks)
      for (const auto& [name, rules] : known_frameworks) {
        if (framework.name != name || rules.empty()) continue;
        const auto demands = rules::gate_demands(rules, framework.version, *cudnn);
        if (demands.empty()) continue;
        const rules::GateDemand& newest = demands.front();
        problem(
            "gate_wants_newer", framework.name,
            fmt::format(
                "by rule, {} {} silently does not send some calls to cuDNN {} that it would send to {} or newer: {}",
                framework.name, framework.version, cudnn->text(), newest.from.text(), trim(newest.message)),
            fmt::format("{} install --no-deps {}", command_,
                        shell_word(fmt::format("{}{}>={}", wheel_prefix, cudnn_major_, newest.from.text()))));
      }
  }

  // LD_LIBRARY_PATH precedes a library's RUNPATH and pip's folder.
  void look_at_loader() {
    std::error_code ignored;
    const fs::path own = fs::path(found_.cudnn_path).parent_path();
    for (const auto& folder : cudnn::library_path_folders()) {
      if (!fs::exists(folder / "libcudnn.so.9", ignored) && !fs::exists(folder / "libcudnn_graph.so.9", ignored))
        continue;
      if (!own.empty() && fs::equivalent(folder, own, ignored)) continue;
      const std::string version = versions_in(folder);
      problem(
          "system_cudnn_first", "loader",
          fmt::format(
              "LD_LIBRARY_PATH has {}; its cuDNN{} is found before the environment's, so one process loads sub-libraries of two versions",
              folder.string(), version.empty() ? "" : " " + version),
          "unset LD_LIBRARY_PATH");
      return;
    }
    for (const auto& folder : cudnn::loader_folders()) {
      if (!fs::exists(folder / "libcudnn.so.9", ignored)) continue;
      const std::string version = versions_in(folder);
      const bool differs = !version.empty() && !found_.cudnn_version.empty() && version != found_.cudnn_version;
      const bool by_bare_name = std::any_of(found_.frameworks.begin(), found_.frameworks.end(),
                                            [](const auto& f) { return f.name == "onnxruntime-gpu"; });
      if (differs && by_bare_name)
        problem("system_cudnn_first", "loader",
                fmt::format("ONNX Runtime opens cuDNN by its bare name and finds {} in {}; the environment has {}",
                            version, folder.string(), found_.cudnn_version),
                "export LD_LIBRARY_PATH=" + shell_word(own.string()));
      else
        part("loader", true,
             fmt::format("{} has cuDNN {} too, for programs that open it by its bare name", folder.string(), version));
      return;
    }
  }

  // By rule: a framework's RPATH, or its own loading code, finds its environment's wheel, unless LD_LIBRARY_PATH
  // overrides it.
  void look_at_loads() {
    const bool is_overruled = std::any_of(found_.problems.begin(), found_.problems.end(),
                                          [](const auto& p) { return p.id == "system_cudnn_first"; });
    if (found_.frameworks.empty() || found_.cudnn_version.empty() || is_overruled) return;
    std::vector<std::string> names;
    for (const auto& framework : found_.frameworks) names.push_back(framework.name + " " + framework.version);
    found_.loads = fmt::format("{} {} cuDNN {} ({})", fmt::join(names, ", "), names.size() == 1 ? "loads" : "load",
                               found_.cudnn_version, found_.cudnn_path);
    part("by rule", true, found_.loads);
  }

  void look_at_nvrtc() {
    if (cudnn_major_ == 0) return;
    const std::string name = fmt::format("libnvrtc.so.{}", cudnn_major_);
    const fs::path packages = fs::path(found_.cudnn_path).parent_path() / "../..";
    std::error_code ignored;
    fs::path folder;
    for (const fs::path& place : {packages / fmt::format("cu{}/lib", cudnn_major_), packages / "cuda_nvrtc/lib"})
      if (folder.empty() && fs::exists(place / name, ignored)) folder = place.lexically_normal();
    const std::string wheel =
        cudnn_major_ >= 13 ? "nvidia-cuda-nvrtc" : fmt::format("nvidia-cuda-nvrtc-cu{}", cudnn_major_);
    if (folder.empty()) {
      for (const auto& place : cudnn::loader_folders())
        if (fs::exists(place / name, ignored)) {
          part("NVRTC", true, fmt::format("{} of {}, not of the environment", name, place.string()));
          return;
        }
      problem(
          "no_nvrtc", "NVRTC",
          fmt::format("{} is neither in the environment nor on the loader's path: cuDNN compiles no attention kernel",
                      name),
          fmt::format("{} install {}", command_, wheel));
      return;
    }
    look_at_builtins(folder, name, wheel);
  }

  void look_at_builtins(const fs::path& folder, const std::string& name, const std::string& wheel) {
    std::string release;  // "12.8" of nvidia-cuda-nvrtc-cu12 12.8.93
    for (const DistInfo& info : infos_)
      if (info.name == wheel) {
        const auto numbers = version_numbers(is_version(info.version) ? info.version : "0");
        release = fmt::format("{}.{}", numbers[0], numbers.size() > 1 ? numbers[1] : 0);
      }
    std::vector<std::string> builtins;
    std::error_code ignored;
    constexpr std::string_view begin = "libnvrtc-builtins.so.";
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (const std::string file = entry.path().filename(); file.starts_with(begin))
        builtins.push_back(file.substr(begin.size()));
    const std::string cure = fmt::format("{} install --force-reinstall --no-deps {}", command_, wheel);
    if (builtins.empty())
      problem("no_nvrtc_builtins", "NVRTC",
              fmt::format("{} is in {} without its builtins ({}*): no kernel compiles", name, folder.string(), begin),
              cure);
    else if (!release.empty() && std::find(builtins.begin(), builtins.end(), release) == builtins.end())
      problem("nvrtc_builtins_differ", "NVRTC",
              fmt::format("{} {} is installed, but the builtins next to its library are of {}: no kernel compiles",
                          wheel, release, fmt::join(builtins, ", ")),
              cure);
    else
      part("NVRTC", true, fmt::format("{} with builtins {} ({})", name, fmt::join(builtins, ", "), folder.string()));
  }

  void look_at_driver() {
    if (machine_.driver_version == 0 || cudnn_major_ == 0) return;
    const int major = machine_.driver_version / 1000;
    if (major < cudnn_major_)
      problem("driver_too_old", "CUDA driver",
              fmt::format("the driver supports CUDA {}.{}, but this environment's cuDNN is built with CUDA {}", major,
                          machine_.driver_version / 10 % 100, cudnn_major_),
              fmt::format("{} install {}{}, with a framework built for CUDA {}; or update the driver", command_,
                          wheel_prefix, major, major));
    else
      part("CUDA driver", true, fmt::format("CUDA {}.{}", major, machine_.driver_version / 10 % 100));
  }

  // By rule: whether this cuDNN supports any attention on the GPUs here.
  void look_at_gpus() {
    const auto cudnn = CudnnVersion::parse(found_.cudnn_version);
    if (!cudnn) return;
    const auto plainest = attention::configs_from_options({{"heads", 1}, {"seqlen", 128}, {"head_dim", 64}}).front();
    for (const int sm : machine_.sms) {
      const auto unmet = rules::unmet_requirements(plainest.spec, *cudnn, sm);
      if (unmet.empty()) continue;
      problem("gpu_without_attention", "GPU",
              fmt::format("by rule, cuDNN {} has no attention for this GPU (sm_{}): {} ({})", cudnn->text(), sm,
                          unmet.front().text, unmet.front().source.text),
              rules::gpu_suffices(plainest.spec, *cudnn, sm)
                  ? fmt::format("{} install -U {}{}", command_, wheel_prefix, cudnn_major_)
                  : "use another attention backend: no cuDNN release supports attention on this GPU");
      return;
    }
  }

  PythonEnvironment found_;
  std::vector<DistInfo> infos_;
  std::vector<WheelFiles> wheels_;
  std::string command_;
  int cudnn_major_ = 0;
  MachineGpus machine_;
};

}  // namespace

PythonEnvironment inspect_python(const fs::path& python, const MachineGpus& machine) {
  return Inspection(python, machine).result();
}

}  // namespace attnprobe::machine
