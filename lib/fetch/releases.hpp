// cuDNN releases side by side, each with the NVRTC and cuBLASLt that it loads: which are here, which the index has,
// bringing and removing them. Each lies in a folder of its own, where cudnn::find_libraries() looks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fetch/wheels.hpp"

namespace attnprobe::fetch {

/// A release in the folder.
struct Release {
  std::string version;  ///< "9.19.0.56"
  int cuda = 13;        ///< the major version of CUDA that it is built for
  int64_t bytes = 0;    ///< on disk, without what releases share
};

/// The folder where attnprobe keeps and finds them. Throws Error(environment) where there is no home for one.
std::filesystem::path usual_folder();

/// In ascending order; none where there is no such folder.
std::vector<Release> releases_in(const std::filesystem::path& folder);

/// What the index has for this machine, in ascending order. `cuda`: 12 or 13; none: both, 13 where there is one.
std::vector<Wheel> releases_of_index(const std::string& address, std::optional<int> cuda);

struct FetchOptions {
  std::vector<std::string> versions;           ///< "9.14" (its newest), "9.19.0.56", "latest"
  std::optional<std::string> each_minor_from;  ///< the newest of each minor from this one on: "9.8"
  std::optional<int> cuda;
  std::string index;             ///< index_address()'s
  std::filesystem::path folder;  ///< is made where it is not there
};

/// One folder that is to be made: a release, or what those for one CUDA share.
struct FetchStep {
  std::string name;  ///< "9.19.0.56", "cuda-13.0"
  int cuda = 13;
  bool is_shared = false;
  std::vector<Wheel> wheels;
};

struct FetchPlan {
  std::vector<FetchStep> steps;
  std::vector<std::string> here;  ///< asked for, and there
  int64_t download_bytes = 0;
  int64_t begun_bytes = 0;  ///< of these, what an interrupted fetch left
  int64_t disk_bytes = 0;   ///< at most, while it goes on
};

/// Throws Error(usage) for a version that the index does not have, or that cannot simulate (before 9.8), and
/// Error(environment) where it cannot be reached. A release that is named in full and here needs no index.
FetchPlan plan_fetch(const FetchOptions& options);

/// Told before a wheel and while it comes.
using OnProgress = std::function<void(const Wheel& wheel, int64_t bytes)>;

/// Does it: a folder appears under its name when it is complete, never before; wheels that were begun are gone on with.
/// Throws Error(environment) where the disk has less room than the plan needs, and what download() and unpack() throw.
void fetch(const FetchPlan& plan, const std::filesystem::path& folder, const OnProgress& on_progress);

/// Removes a release, and what it shared where no other needs that. Gives the bytes that became free. Throws
/// Error(usage) where it is not in the folder.
int64_t remove_release(const std::string& version, const std::filesystem::path& folder);

}  // namespace attnprobe::fetch
