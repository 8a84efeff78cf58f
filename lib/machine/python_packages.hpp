// Reads the dist-info folders of a site-packages folder as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attnprobe::machine {

/// "nvidia_cudnn.cu12" -> "nvidia-cudnn-cu12" (PEP 503).
std::string normalised_package(const std::string& name);

/// A distribution's dist-info.
struct DistInfo {
  std::string name;     ///< normalised
  std::string version;  ///< from the folder's name
  std::filesystem::path folder;
};

/// The distributions in the folder, by name.
std::vector<DistInfo> dist_infos(const std::filesystem::path& site_packages);

/// One "Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'" of METADATA.
struct Requirement {
  std::string package;    ///< normalised
  std::string specifier;  ///< "==9.10.2.21"; "" for any
  bool is_extra = false;  ///< belongs to an extra ("; extra == 'with-cuda'"), which may not have been requested
};
std::vector<Requirement> requirements_of(const DistInfo& info);

/// Whether a version satisfies "<10.0,>=9.1": ==, !=, <, <=, >, >=, ~=, and "==9.*".
bool satisfies(const std::string& version, const std::string& specifier);

/// A file of RECORD: "nvidia/cudnn/lib/libcudnn.so.9,sha256=…,125136".
struct RecordedFile {
  std::filesystem::path path;    ///< below site-packages
  std::optional<uint64_t> size;  ///< none if RECORD has no size
};
std::vector<RecordedFile> recorded_files(const DistInfo& info);

/// The site-packages of an interpreter, of a virtual environment's folder, or the folder itself if it is one. Throws
/// Error(usage) for any other path.
std::vector<std::filesystem::path> site_packages_of(const std::filesystem::path& python);

}  // namespace attnprobe::machine
