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
#include "cudnn/library_file.hpp"
#include "cudnn/library_info.hpp"

namespace attnprobe::fetch {
namespace {

namespace fs = std::filesystem;

// A package that all releases for one CUDA share. Its version is fixed, so that a cuDNN behaves the same on every
// machine; 13.0.88 is the NVRTC of scripts/setup.
struct SharedPackage {
  const char* requirement;
  const char* library;  // file whose presence shows that the package is installed
  int64_t megabytes;
};
struct Cuda {
  int major;
  const char* folder;
  SharedPackage nvrtc, cublas;
  std::vector<const char*> links;  // per release: attnprobe searches the packages next to nvidia/cudnn
};
const std::array<Cuda, 2>& cudas() {
  static const std::array<Cuda, 2> all{
      {{12,
        "cuda-12.9",
        {"nvidia-cuda-nvrtc-cu12==12.9.86", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", 90},
        {"nvidia-cublas-cu12==12.9.1.4", "nvidia/cublas/lib/libcublasLt.so.12", 581},
        {"cuda_nvrtc", "cublas"}},
       {13,
        "cuda-13.0",
        {"nvidia-cuda-nvrtc==13.0.88", "nvidia/cu13/lib/libnvrtc.so.13", 90},
        {"nvidia-cublas==13.0.2.14", "nvidia/cu13/lib/libcublasLt.so.13", 421},
        {"cu13"}}}};
  return all;
}

const Cuda& cuda_called(int major) {
  return *std::find_if(cudas().begin(), cudas().end(), [&](const Cuda& cuda) { return cuda.major == major; });
}

bool is_older(const std::string& a, const std::string& b) {
  return version_numbers(a) < version_numbers(b);
}

int64_t size_of_folder(const fs::path& folder) {
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !entry.is_symlink()) bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

Release release_in(const fs::path& folder) {
  const Keep kept = cudnn::is_jit_only(library_folder(folder)) ? Keep::small : Keep::full;
  return {folder.filename(), fs::is_symlink(folder / "nvidia/cu13") ? 13 : 12, size_of_folder(folder), kept};
}

void check_word(const std::string& word) {
  if (word == "latest") return;
  const auto numbers = is_version(word) ? version_numbers(word) : std::vector<int>{};
  const bool has_empty_part = (word + ".").find("..") != std::string::npos;
  if (numbers.size() < 2 || numbers.size() > 4 || numbers[0] != 9 || has_empty_part)
    throw Error(
        ErrorKind::usage,
        fmt::format("VERSION: \"{}\" is not a version of cuDNN 9; allowed: 9.14, 9.19.0.56, latest", cut(word)));
  if (std::vector<int>(numbers.begin(), numbers.begin() + 2) < version_numbers("9.8"))
    throw Error(ErrorKind::usage,
                fmt::format("VERSION: cuDNN {} cannot simulate a GPU; 9.8 is the first that can. `--cudnn {}` answers "
                            "by rule, without the library",
                            word, word));
}

// If several builds of a version are installed, the newest one counts.
std::optional<Release> here(const std::string& word, const FetchOptions& options) {
  const KnownRelease* known = known_release(word);
  std::optional<Release> found;
  for (auto& release : releases_in(options.folder))
    if (is_of_version(release.version, known != nullptr ? known->version : word) &&
        (!options.full || release.kept == Keep::full))
      found = std::move(release);
  if (found && options.cuda && found->cuda != *options.cuda)
    throw Error(ErrorKind::usage,
                fmt::format("--cuda {}: {} is already installed, built for CUDA {}; name another folder with --folder",
                            *options.cuda, found->version, found->cuda));
  return found;
}

const KnownRelease& newest_small() {
  const auto& all = known_releases();
  return *std::find_if(all.rbegin(), all.rend(), [](const KnownRelease& release) { return release.small_mb > 0; });
}

// "==9.29.*" for an unknown minor.
std::string specifier_of(const std::string& word) {
  if (word == "latest") return ">=9.8,<10";
  const bool is_build = version_numbers(word).size() == 4;
  return fmt::format("=={}{}", word, is_build ? "" : ".*");
}

FetchStep step_for(const std::string& word, const FetchOptions& options) {
  FetchStep step;
  step.keep = options.full ? Keep::full : Keep::small;
  step.cuda = options.cuda.value_or(options.preferred_cuda);
  const KnownRelease* known = known_release(word);
  if (known != nullptr && std::find(known->cuda.begin(), known->cuda.end(), step.cuda) == known->cuda.end()) {
    if (options.cuda)
      throw Error(ErrorKind::usage, fmt::format("--cuda {}: cuDNN {} has packages for CUDA {} only", *options.cuda,
                                                known->version, fmt::join(known->cuda, ", ")));
    step.cuda = static_cast<int>(known->cuda.front());
  }
  const std::string specifier = specifier_of(known == nullptr ? word : known->version);
  const auto add = [&](const char* package) {
    step.requirements.push_back(fmt::format("nvidia-{}-cu{}{}", package, step.cuda, specifier));
  };
  const bool has_small = !options.full && (word == "latest" || (known != nullptr && known->small_mb > 0));
  // A release newer than all known releases may have a small package.
  if (has_small || (!options.full && (known == nullptr || is_older(newest_small().version, known->version))))
    add("cudnn-jit");
  if (!has_small) add("cudnn");
  if (known != nullptr) {
    step.version = known->version;
    step.megabytes = has_small ? known->small_mb : known->full_mb;
  }
  return step;
}

void add_shared(FetchPlan& plan, const Cuda& cuda, const SharedPackage& package, const FetchOptions& options) {
  if (fs::exists(options.folder / cuda.folder / package.library)) return;
  plan.steps.push_back({{package.requirement}, "", cuda.major, Keep::full, package.megabytes});
}

// ---- downloading and removing

class Maker {
 public:
  explicit Maker(const fs::path& folder)
      : folder_(folder), lock_((fs::create_directories(folder), folder), "--folder", longest_download) {
    fs::remove_all(scratch());
    fs::create_directories(made() / "nvidia");
  }
  ~Maker() {
    std::error_code ignored;
    fs::remove_all(scratch(), ignored);
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  fs::path arrivals() const { return scratch() / "arrived"; }

  // The name of the installed release; none for a shared package.
  std::optional<Release> put_in_place(const fs::path& arrived, Keep keep) {
    const Package package = take_libraries(arrived, made(), keep);
    if (!package.is_cudnn()) {
      share(cuda_called(package.cuda()));
      return std::nullopt;
    }
    check_word(package.version);
    check_cudnn(made(), package.version);
    for (const char* link : cuda_called(package.cuda()).links)
      fs::create_symlink(fs::path("../..") / cuda_called(package.cuda()).folder / "nvidia" / link,
                         made() / "nvidia" / link);
    const fs::path place = folder_ / package.version;
    if (fs::exists(place)) fs::rename(place, scratch() / "replaced");
    fs::rename(made(), place);
    return release_in(place);
  }

 private:
  fs::path scratch() const { return folder_ / ".partial"; }
  fs::path made() const { return scratch() / "made"; }

  void share(const Cuda& cuda) {
    for (const auto& entry : fs::recursive_directory_iterator(made())) {
      if (!entry.is_regular_file()) continue;
      const fs::path place = folder_ / cuda.folder / fs::relative(entry.path(), made());
      fs::create_directories(place.parent_path());
      fs::rename(entry.path(), place);
    }
  }

  fs::path folder_;
  FolderLock lock_;
};

void check_room(const FetchStep& step, const fs::path& folder) {
  // A wheel of 74 MB unpacks to 178 MB; pip keeps one copy in its cache and may temporarily need another.
  constexpr int64_t factor = 4;
  const auto free = static_cast<int64_t>(fs::space(folder).available);
  if (const int64_t needed = factor * step.megabytes * 1'000'000; free < needed)
    throw Error(ErrorKind::environment,
                fmt::format("{} has {} MB free, but {} MB are needed; --folder DIR puts the libraries elsewhere",
                            folder.string(), free / 1'000'000, needed / 1'000'000));
}

// Downloads the first requirement that is available.
void download_one(const FetchStep& step, const Downloader& downloader, const fs::path& arrivals,
                  const Waiting& waiting) {
  std::string tried;
  for (const auto& requirement : step.requirements) {
    fs::remove_all(arrivals);
    try {
      return download(downloader, requirement, arrivals, waiting);
    } catch (const Error& e) {
      tried += (tried.empty() ? "" : "; ") + std::string(e.what());
    }
  }
  throw Error(ErrorKind::environment, tried);
}

}  // namespace

fs::path usual_folder() {
  if (const auto folder = cudnn::fetched_folder()) return *folder;
  throw Error(ErrorKind::environment,
              "neither XDG_CACHE_HOME nor HOME names a folder for cuDNN releases; name one with --folder");
}

std::vector<Release> releases_in(const fs::path& folder) {
  std::vector<Release> releases;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (is_version(entry.path().filename().string()) && !library_folder(entry.path()).empty())
      releases.push_back(release_in(entry.path()));
  std::sort(releases.begin(), releases.end(),
            [](const auto& a, const auto& b) { return is_older(a.version, b.version); });
  return releases;
}

FetchPlan plan_fetch(const FetchOptions& options) {
  std::vector<std::string> words = options.versions;
  for (const auto& word : words) check_word(word);
  if (options.each_minor_from) {
    check_word(*options.each_minor_from);
    for (const auto& release : known_releases()) {
      const auto numbers = version_numbers(release.version);
      const std::string minor = fmt::format("{}.{}", numbers[0], numbers[1]);
      if (!is_older(minor, *options.each_minor_from) && known_release(minor) == &release) words.push_back(minor);
    }
  }
  FetchPlan plan;
  std::set<int> needed;
  for (const auto& word : words) {
    if (const auto release = here(word, options)) {
      plan.here.push_back(release->version);
      needed.insert(release->cuda);
      continue;
    }
    plan.steps.push_back(step_for(word, options));
    needed.insert(plan.steps.back().cuda);
  }
  for (const int major : needed) {
    const Cuda& cuda = cuda_called(major);
    if (options.compiler) add_shared(plan, cuda, cuda.nvrtc, options);
    if (options.full) add_shared(plan, cuda, cuda.cublas, options);
  }
  return plan;
}

std::vector<Release> fetch(const FetchPlan& plan, const fs::path& folder, const OnStep& on_step,
                           const Waiting& waiting) try {
  std::vector<Release> came;
  if (plan.steps.empty()) return came;
  const Downloader downloader = find_downloader();
  for (const auto& step : plan.steps) {
    Maker maker(folder);
    // Another process, such as a shard of the same job, may have been faster.
    const bool is_here = !step.version.empty() && !library_folder(folder / step.version).empty();
    if (is_here && step.keep == Keep::small) continue;
    check_room(step, folder);
    if (on_step) on_step(step, downloader);
    download_one(step, downloader, maker.arrivals(), waiting);
    if (auto release = maker.put_in_place(maker.arrivals(), step.keep)) came.push_back(std::move(*release));
  }
  return came;
} catch (const fs::filesystem_error& e) {
  throw Error(ErrorKind::environment, e.what());
}

std::optional<Release> add_wheel(const fs::path& wheel, const fs::path& folder, Keep keep) try {
  if (!fs::is_regular_file(wheel))
    throw Error(ErrorKind::usage, fmt::format("--wheel {}: it is not a file", wheel.string()));
  return Maker(folder).put_in_place(wheel, keep);
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
  const fs::path shared = folder / cuda_called(found->cuda).folder;
  if (!is_shared && fs::exists(shared)) {
    freed += size_of_folder(shared);
    fs::remove_all(shared);
  }
  return freed;
} catch (const fs::filesystem_error& e) {
  throw Error(ErrorKind::environment, e.what());
}

}  // namespace attnprobe::fetch
