// A cuDNN loaded at run time: its path, the files actually loaded, and calls into it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "cudnn/api.hpp"
#include "cudnn/library_info.hpp"

namespace attnprobe::cudnn {

/// One loaded cuDNN. It stays loaded until the process ends, because cuDNN does not survive dlclose. A process loads
/// only one cuDNN: two builds would share symbols.
class Library {
 public:
  /// Loads the libcudnn.so.9 at `path`, with the sub-libraries and the NVRTC next to it, so that builds are not mixed.
  /// Throws Error(environment) with the file and the loader's message.
  static std::unique_ptr<Library> load(const std::filesystem::path& path);

  const Api& api() const { return api_; }
  /// As from cudnnGetVersion: 91900 for 9.19.0.
  CudnnVersion version() const { return info_.version; }
  const LibraryInfo& info() const { return info_; }
  /// Why no plan can be compiled; otherwise "".
  const std::string& no_compiler() const { return no_compiler_; }
  std::string status_name(cudnnStatus_t status) const { return api_.cudnnGetErrorString(status); }
  /// cudnnGetLastErrorString: why the last failing call failed; "" if cuDNN recorded nothing. Reading clears it.
  std::string last_error() const;

 private:
  Library() = default;
  Api api_;
  LibraryInfo info_;
  std::string no_compiler_;
};

}  // namespace attnprobe::cudnn
