// The GPU that cuDNN is asked about: a handle for a real GPU, or a device property descriptor.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/version.hpp"
#include "cudnn/descriptor.hpp"

namespace attnprobe::cudnn {

/// The first cuDNN that answers for an absent GPU (cuDNN's release notes; 9.7 has no such descriptor).
inline constexpr CudnnVersion first_version_with_device_properties{9, 8, 0};

class DeviceContext {
 public:
  /// A GPU described by the JSON of a device property descriptor. Throws Error(environment) if this cuDNN is older than
  /// 9.8, Error(cudnn) if it refuses the JSON.
  static DeviceContext simulated(const Library& library, const std::string& properties_json);
  /// The first GPU visible to this process, by a handle, as frameworks use it. Throws Error(environment) if cuDNN
  /// creates no handle.
  static DeviceContext real(const Library& library);

  const Library& library() const { return *library_; }
  cudnnHandle_t handle() const { return handle_.get(); }
  bool is_simulated() const { return properties_.has_value(); }

  /// Sets the GPU of a heuristics, engine or plan descriptor. Call it for every such descriptor: cuDNN silently accepts
  /// one without a GPU and then describes nothing.
  void apply(Descriptor& descriptor, Attribute device_properties) const;

 private:
  explicit DeviceContext(const Library& library) : library_(&library), handle_(nullptr, nullptr) {}
  const Library* library_;
  std::unique_ptr<cudnnContext, decltype(&::cudnnDestroy)> handle_;
  std::optional<Descriptor> properties_;
};

/// cuDNN's JSON for the first GPU visible to this process; `targets dump` writes it. Throws Error(environment) if cuDNN
/// is older than 9.8, Error(cudnn) otherwise.
std::string device_properties_json(const Library& library);

}  // namespace attnprobe::cudnn
