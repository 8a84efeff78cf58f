// cuDNN releases side by side: which are here, which are known to exist, bringing and removing them. Each lies in a folder of
// its own, where cudnn::find_libraries() looks; NVRTC and cuBLASLt lie once for all releases of one CUDA. Not installed.
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

/// A release of cuDNN 9 that was read: lib/fetch/releases.json.
struct KnownRelease {
  std::string version;                ///< "9.20.0.48"
  std::vector<int64_t> cuda;          ///< major versions of CUDA that it has packages for
  int64_t small_mb = 0, full_mb = 0;  ///< downloads of the packages, in megabytes; 0: there is none
};

/// In ascending order.
const std::vector<KnownRelease>& known_releases();

/// The newest known release that a word means: "9.14", "9.19.0", "9.19.0.56"; null for none.
const KnownRelease* known_release(const std::string& word);

/// A release in the folder.
struct Release {
  std::string version;  ///< "9.19.0.56"
  int cuda = 13;        ///< the major version of CUDA that it is built for
  int64_t bytes = 0;    ///< on disk, without what releases share
  Keep kept = Keep::small;
};

/// The folder where attnprobe keeps and finds them. Throws Error(environment) where there is no home for one.
std::filesystem::path usual_folder();

/// In ascending order; none where there is no such folder.
std::vector<Release> releases_in(const std::filesystem::path& folder);

struct FetchOptions {
  std::vector<std::string> versions = {};           ///< "9.14" (its newest), "9.19.0.56", "latest"
  std::optional<std::string> each_minor_from = {};  ///< the newest of each minor from this one on: "9.8"
  std::optional<int> cuda = {};                     ///< 12 or 13, no other
  int preferred_cuda = 13;                          ///< without `cuda`, where there is a package for it
  bool full = false;                                ///< every library, where else the small cuDNN is enough
  bool compiler = false;                            ///< NVRTC too, with which releases up to 9.20 compile plans
  std::filesystem::path folder = {};                ///< is made where it is not there
};

/// A release that is to be had, or what those for one CUDA share.
struct FetchStep {
  std::vector<std::string> requirements;  ///< of pip, the first that can be had: "nvidia-cudnn-jit-cu13==9.20.0.48"
  std::string version;                    ///< of the release where it is known: "9.20.0.48"
  int cuda = 13;
  Keep keep = Keep::small;
  int64_t megabytes = 0;  ///< of the download; 0: not known
};

struct FetchPlan {
  std::vector<FetchStep> steps;
  std::vector<std::string> here;  ///< releases asked for, and there
};

/// Throws Error(usage) for a word that is not a version of cuDNN 9, or one that cannot simulate (before 9.8), or not for that
/// CUDA. Asks nobody: what is not known is left to the package index.
FetchPlan plan_fetch(const FetchOptions& options);

/// Told before each step.
using OnStep = std::function<void(const FetchStep& step, const Downloader& downloader)>;

/// Does it, and gives the releases that came. A release appears under its name when it is complete and checked, never before.
/// Throws Error(environment) with what was tried.
std::vector<Release> fetch(const FetchPlan& plan, const std::filesystem::path& folder, const OnStep& on_step,
                           const Waiting& waiting = {});

/// The same from a wheel that is here; none where it holds what releases share (NVRTC, cuBLAS).
std::optional<Release> add_wheel(const std::filesystem::path& wheel, const std::filesystem::path& folder, Keep keep);

/// Removes a release, and what it shared where no other needs that. Gives the bytes that became free. Throws
/// Error(usage) where it is not in the folder.
int64_t remove_release(const std::string& version, const std::filesystem::path& folder);

}  // namespace attnprobe::fetch
