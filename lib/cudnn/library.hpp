// A cuDNN loaded at run time: where it was found, what was really loaded, and the calls into it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "cudnn/api.hpp"
#include "cudnn/library_info.hpp"

namespace attnprobe::cudnn {

/// One loaded cuDNN. It stays loaded until the process ends (cuDNN does not survive dlclose), and one process loads one
/// cuDNN: two builds side by side share symbols.
class Library {
 public:
  /// Loads the libcudnn.so.9 at `path`, and its sub-libraries and NVRTC from beside it, so that none of another build
  /// gets mixed in. Throws Error(environment) naming the file and the loader's words.
  static std::unique_ptr<Library> load(const std::filesystem::path& path);

  const Api& api() const { return api_; }
  /// As cudnnGetVersion: 91900 for 9.19.0.
  CudnnVersion version() const { return info_.version; }
  const LibraryInfo& info() const { return info_; }
  /// Why no plan can be compiled; "" where one can.
  const std::string& no_compiler() const { return no_compiler_; }
  std::string status_name(cudnnStatus_t status) const { return api_.cudnnGetErrorString(status); }
  /// cudnnGetLastErrorString: why the last failing call failed, "" if cuDNN kept nothing. Reading clears it.
  std::string last_error() const;

 private:
  Library() = default;
  Api api_;
  LibraryInfo info_;
  std::string no_compiler_;
};

}  // namespace attnprobe::cudnn
