#include "fetch/releases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/folder_lock.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cudnn/library_info.hpp"

namespace attnprobe::fetch {
namespace {

namespace fs = std::filesystem;

// By CUDA's major version: cuDNN's package, the folder that all releases for it share, and the wheels in that. One
// release of each, so that the same cuDNN is the same everywhere; 13.0.88 is the NVRTC of scripts/setup.
struct CudaPackages {
  int cuda;
  const char* cudnn;
  const char* shared_folder;
  std::array<std::pair<const char*, const char*>, 2> shared;
};
constexpr std::array<CudaPackages, 2> packages{{
    {12,
     "nvidia-cudnn-cu12",
     "cuda-12.9",
     {{{"nvidia-cuda-nvrtc-cu12", "12.9.86"}, {"nvidia-cublas-cu12", "12.9.1.4"}}}},
    {13, "nvidia-cudnn-cu13", "cuda-13.0", {{{"nvidia-cuda-nvrtc", "13.0.88"}, {"nvidia-cublas", "13.0.2.14"}}}},
}};

const CudaPackages& packages_for(int cuda) {
  return *std::find_if(packages.begin(), packages.end(), [&](const auto& p) { return p.cuda == cuda; });
}

// A wheel of 517 MB was 940 MB unpacked (cuDNN 9.28.1.4).
constexpr double unpacked_share = 1.9;

bool is_older(const std::string& a, const std::string& b) {
  return version_numbers(a) < version_numbers(b);
}

int64_t size_of_folder(const fs::path& folder) {
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !entry.is_symlink()) bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

// From the links that fetch() made.
int cuda_of(const fs::path& release) {
  return fs::is_symlink(release / "nvidia/cu13") ? 13 : 12;
}

bool is_meant_by(const std::string& version, const std::string& word) {
  return word == "latest" || (version + ".").starts_with(word + ".");
}

std::string minor_of(const std::string& version) {
  const auto numbers = version_numbers(version);
  return fmt::format("{}.{}", numbers.at(0), numbers.size() > 1 ? numbers[1] : 0);
}

void check_word(const std::string& word) {
  const auto numbers = is_version(word) ? version_numbers(word) : std::vector<int>{};
  if (word == "latest") return;
  if (numbers.size() < 2 || numbers.size() > 4 || numbers[0] != 9)
    throw Error(
        ErrorKind::usage,
        fmt::format("VERSION: \"{}\" is not a version of cuDNN 9; allowed: 9.14, 9.19.0.56, latest", cut(word)));
  if (std::vector<int>(numbers.begin(), numbers.begin() + 2) < version_numbers("9.8"))
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "VERSION: cuDNN {} answers for no GPU that is not there; 9.8 is the first that does. What attnprobe knows of "
            "older ones, it knows by rule: --cudnn {} asks that without the library",
            word, word));
}

Wheel wheel_of(const std::string& package, const std::string& version, const std::string& index) {
  for (auto& wheel : wheels_of(package, index))
    if (wheel.version == version) return wheel;
  throw Error(ErrorKind::environment, fmt::format("{}/{}/ has no {} for this machine", index, package, version));
}

int cuda_of_package(const std::string& package) {
  return package.ends_with("12") ? 12 : 13;
}

Wheel chosen(const std::vector<Wheel>& all, const std::string& word) {
  const auto found =
      std::find_if(all.rbegin(), all.rend(), [&](const Wheel& w) { return is_meant_by(w.version, word); });
  if (found != all.rend()) return *found;
  std::vector<std::string> there;
  there.reserve(all.size());
  for (const auto& wheel : all) there.push_back(wheel.version);
  throw Error(ErrorKind::usage, fmt::format("VERSION: the index has no cuDNN {} for this machine; it has {}", word,
                                            fmt::join(there, ", ")));
}

// What is to be made before releases for these CUDAs: what they share.
void add_shared_steps(FetchPlan& plan, const FetchOptions& options) {
  std::set<int> cudas;
  for (const auto& step : plan.steps) cudas.insert(step.cuda);
  std::vector<FetchStep> shared;
  for (const int cuda : cudas) {
    const CudaPackages& p = packages_for(cuda);
    if (fs::exists(options.folder / p.shared_folder)) continue;
    FetchStep step{p.shared_folder, cuda, true, {}};
    for (const auto& [package, version] : p.shared) step.wheels.push_back(wheel_of(package, version, options.index));
    shared.push_back(std::move(step));
  }
  plan.steps.insert(plan.steps.begin(), shared.begin(), shared.end());
}

fs::path scratch_of(const std::string& step, const fs::path& folder) {
  return folder / (".partial-" + step);
}

void make(const FetchStep& step, const fs::path& folder, const OnProgress& on_progress) {
  const fs::path scratch = scratch_of(step.name, folder), made = scratch / "made";
  fs::remove_all(made);
  fs::create_directories(made / "nvidia");
  // All of them first: what was unpacked and not yet put in place is unpacked again after an interruption, not brought again.
  std::vector<fs::path> files;
  for (const auto& wheel : step.wheels)
    files.push_back(download(wheel, scratch, [&](int64_t bytes) {
      if (on_progress) on_progress(wheel, bytes);
    }));
  for (const auto& file : files) {
    unpack(file, made);
    fs::remove(file);
  }
  if (!step.is_shared) {
    // attnprobe looks for NVRTC and cuBLASLt in the packages that pip puts beside nvidia/cudnn: links, one copy for all.
    const std::string shared = packages_for(step.cuda).shared_folder;
    for (const auto& entry : fs::directory_iterator(folder / shared / "nvidia"))
      fs::create_symlink(fs::path("../..") / shared / "nvidia" / entry.path().filename(),
                         made / "nvidia" / entry.path().filename());
  }
  fs::rename(made, folder / step.name);
  fs::remove_all(scratch);
}

}  // namespace

fs::path usual_folder() {
  if (const auto folder = cudnn::fetched_folder()) return *folder;
  throw Error(ErrorKind::environment,
              "neither XDG_CACHE_HOME nor HOME names a folder for cuDNN releases; --folder does");
}

std::vector<Release> releases_in(const fs::path& folder) {
  std::vector<Release> releases;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (const std::string name = entry.path().filename(); is_version(name) && fs::exists(entry.path() / "nvidia/cudnn"))
      releases.push_back({name, cuda_of(entry.path()), size_of_folder(entry.path())});
  std::sort(releases.begin(), releases.end(),
            [](const auto& a, const auto& b) { return is_older(a.version, b.version); });
  return releases;
}

std::vector<Wheel> releases_of_index(const std::string& address, std::optional<int> cuda) {
  std::map<std::string, Wheel> by_version;  // of two, the one for the later CUDA stays
  for (const auto& p : packages) {
    if (cuda && *cuda != p.cuda) continue;
    for (auto& wheel : wheels_of(p.cudnn, address))
      if (is_version(wheel.version) && version_numbers(wheel.version) >= version_numbers("9.8"))
        by_version[wheel.version] = std::move(wheel);
  }
  std::vector<Wheel> wheels;
  wheels.reserve(by_version.size());
  for (auto& [version, wheel] : by_version) wheels.push_back(std::move(wheel));
  std::sort(wheels.begin(), wheels.end(), [](const auto& a, const auto& b) { return is_older(a.version, b.version); });
  return wheels;
}

FetchPlan plan_fetch(const FetchOptions& options) {
  for (const auto& word : options.versions) check_word(word);
  if (options.each_minor_from) check_word(*options.each_minor_from);
  FetchPlan plan;
  std::map<std::string, Wheel> wanted;
  std::vector<std::string> asked;
  for (const auto& word : options.versions) {
    if (fs::exists(options.folder / word / "nvidia/cudnn"))
      plan.here.push_back(word);
    else
      asked.push_back(word);
  }
  if (!asked.empty() || options.each_minor_from) {
    const auto all = releases_of_index(options.index, options.cuda);
    for (const auto& word : asked) {
      const Wheel wheel = chosen(all, word);
      wanted[wheel.version] = wheel;
    }
    std::map<std::string, Wheel> of_minor;
    if (options.each_minor_from)
      for (const auto& wheel : all)
        if (!is_older(minor_of(wheel.version), minor_of(*options.each_minor_from)))
          of_minor[minor_of(wheel.version)] = wheel;
    for (const auto& [minor, wheel] : of_minor) wanted[wheel.version] = wheel;
  }
  for (const auto& [version, wheel] : wanted) {
    if (fs::exists(options.folder / version))
      plan.here.push_back(version);
    else
      plan.steps.push_back({version, cuda_of_package(wheel.package), false, {wheel}});
  }
  for (const auto& version : plan.here)
    if (options.cuda && cuda_of(options.folder / version) != *options.cuda)
      throw Error(ErrorKind::usage,
                  fmt::format("--cuda {}: {} is here and built for CUDA {}; --folder DIR keeps the others apart",
                              *options.cuda, version, cuda_of(options.folder / version)));
  std::sort(plan.steps.begin(), plan.steps.end(),
            [](const auto& a, const auto& b) { return is_older(a.name, b.name); });
  add_shared_steps(plan, options);
  int64_t largest = 0;  // what lies packed beside what is unpacked
  for (const auto& step : plan.steps) {
    int64_t packed = 0;
    for (const auto& wheel : step.wheels) {
      packed += wheel.bytes;
      plan.begun_bytes += begun_bytes(wheel, scratch_of(step.name, options.folder));
    }
    plan.download_bytes += packed;
    largest = std::max(largest, packed);
  }
  plan.disk_bytes = largest + static_cast<int64_t>(unpacked_share * static_cast<double>(plan.download_bytes));
  return plan;
}

void fetch(const FetchPlan& plan, const fs::path& folder, const OnProgress& on_progress) try {
  if (plan.steps.empty()) return;
  fs::create_directories(folder);
  const FolderLock lock(folder, "--folder");
  const auto free = static_cast<int64_t>(fs::space(folder).available);
  if (free < plan.disk_bytes)
    throw Error(
        ErrorKind::environment,
        fmt::format("{} has {:.1f} GB free, and {:.1f} GB are needed; --folder DIR puts the libraries elsewhere",
                    folder.string(), static_cast<double>(free) / 1e9, static_cast<double>(plan.disk_bytes) / 1e9));
  for (const auto& step : plan.steps)
    if (!fs::exists(folder / step.name)) make(step, folder, on_progress);
} catch (const fs::filesystem_error& e) {
  throw Error(ErrorKind::environment, e.what());
}

int64_t remove_release(const std::string& version, const fs::path& folder) try {
  const auto releases = releases_in(folder);
  const auto found =
      std::find_if(releases.begin(), releases.end(), [&](const auto& r) { return r.version == version; });
  if (found == releases.end()) {
    std::vector<std::string> there;
    there.reserve(releases.size());
    for (const auto& release : releases) there.push_back(release.version);
    throw Error(ErrorKind::usage, fmt::format("VERSION: \"{}\" is not a release in {}{}", cut(version), folder.string(),
                                              there.empty() ? "; there is none" : "; there are " + quoted_list(there)));
  }
  const FolderLock lock(folder, "--folder");
  int64_t freed = found->bytes;
  fs::remove_all(folder / version);
  const bool is_shared =
      std::count_if(releases.begin(), releases.end(), [&](const auto& r) { return r.cuda == found->cuda; }) > 1;
  const fs::path shared = folder / packages_for(found->cuda).shared_folder;
  if (!is_shared && fs::exists(shared)) {
    freed += size_of_folder(shared);
    fs::remove_all(shared);
  }
  return freed;
} catch (const fs::filesystem_error& e) {
  throw Error(ErrorKind::environment, e.what());
}

}  // namespace attnprobe::fetch
