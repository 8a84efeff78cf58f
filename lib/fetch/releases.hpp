// Installed and known cuDNN releases; downloading and removing them. Each release has its own folder, where
// cudnn::find_libraries() finds it. Releases for the same CUDA share NVRTC and cuBLASLt. Not installed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fetch/downloader.hpp"
#include "fetch/wheels.hpp"

namespace attnprobe::fetch {

/// A release of cuDNN 9, from lib/fetch/releases.json.
struct KnownRelease {
  std::string version;                ///< "9.20.0.48"
  std::vector<int64_t> cuda;          ///< CUDA major versions with a package
  int64_t small_mb = 0, full_mb = 0;  ///< download sizes of the packages, in megabytes; 0: no package
};

/// In ascending order.
const std::vector<KnownRelease>& known_releases();

/// The newest known release for "9.14", "9.19.0" or "9.19.0.56"; null if unknown.
const KnownRelease* known_release(const std::string& word);

/// An installed release.
struct Release {
  std::string version;  ///< "9.19.0.56"
  int cuda = 13;        ///< CUDA major version of the build
  int64_t bytes = 0;    ///< on disk, without shared packages
  Keep kept = Keep::small;
};

/// The folder where attnprobe keeps and finds releases. Throws Error(environment) if there is no home folder.
std::filesystem::path usual_folder();

/// In ascending order; empty if the folder is missing.
std::vector<Release> releases_in(const std::filesystem::path& folder);

struct FetchOptions {
  std::vector<std::string> versions = {};           ///< "9.14" (its newest), "9.19.0.56", "latest"
  std::optional<std::string> each_minor_from = {};  ///< the newest patch of each minor version from this one on: "9.8"
  std::optional<int> cuda = {};                     ///< 12 or 13; only this CUDA
  int preferred_cuda = 13;                          ///< without `cuda`: preferred CUDA, used if a package for it exists
  bool full = false;                                ///< all libraries, even if the small cuDNN would do
  bool compiler = false;                            ///< also NVRTC, which releases up to 9.20 need for compiling plans
  std::filesystem::path folder = {};                ///< created if missing
};

/// A release to download, or the shared packages of one CUDA's releases.
struct FetchStep {
  std::vector<std::string> requirements;  ///< for pip, in order of preference: "nvidia-cudnn-jit-cu13==9.20.0.48"
  std::string version;                    ///< of the release, if known: "9.20.0.48"
  int cuda = 13;
  Keep keep = Keep::small;
  int64_t megabytes = 0;  ///< of the download; 0: unknown
};

struct FetchPlan {
  std::vector<FetchStep> steps;
  std::vector<std::string> here;  ///< requested releases that are already installed
};

/// Throws Error(usage) for a word that is not a version of cuDNN 9. Also throws for a version that cannot simulate GPUs
/// (before 9.8) or has no package for that CUDA. Does not use the network, so unlisted releases are checked only by the
/// package index.
FetchPlan plan_fetch(const FetchOptions& options);

/// Called before each step.
using OnStep = std::function<void(const FetchStep& step, const Downloader& downloader)>;

/// Executes the plan and returns the downloaded releases. A release appears under its name only when it is complete and
/// checked. Throws Error(environment) with a list of the attempts.
std::vector<Release> fetch(const FetchPlan& plan, const std::filesystem::path& folder, const OnStep& on_step,
                           const Waiting& waiting = {});

/// The same from a local wheel; none if the wheel is a shared package (NVRTC, cuBLAS).
std::optional<Release> add_wheel(const std::filesystem::path& wheel, const std::filesystem::path& folder, Keep keep);

/// Removes a release, and its shared packages if no other release needs them. Returns the bytes freed. Throws
/// Error(usage) if the release is not in the folder.
int64_t remove_release(const std::string& version, const std::filesystem::path& folder);

}  // namespace attnprobe::fetch
