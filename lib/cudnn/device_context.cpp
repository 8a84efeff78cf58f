#include "cudnn/device_context.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace attnprobe::cudnn {
namespace {

void require_device_properties(const Library& library) {
  if (library.version() >= first_version_with_device_properties) return;
  throw Error(ErrorKind::environment, fmt::format("cuDNN {} cannot simulate a GPU, which needs 9.8; use "
                                                  "a newer cuDNN (--cudnn) or a real GPU (--target device:0)",
                                                  library.version().text()));
}

}  // namespace

DeviceContext DeviceContext::simulated(const Library& library, const std::string& properties_json) {
  require_device_properties(library);
  DeviceContext context(library);
  Descriptor properties(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set_all(ATTNPROBE_ATTRIBUTE(DEVICEPROP_JSON_REPRESENTATION), std::span<const char>(properties_json));
  try {
    properties.finalize();
  } catch (const Error& e) {
    // 9.28 requires memoryBusWidth, which older versions neither require nor report. Later versions may require further
    // properties.
    throw Error(
        ErrorKind::usage,
        fmt::format("cuDNN {} refuses the target's device properties; a key that this version needs may be missing "
                    "(9.28 needs memoryBusWidth): {}",
                    library.version().text(), e.what()));
  }
  context.properties_ = std::move(properties);
  return context;
}

DeviceContext DeviceContext::real(const Library& library) {
  DeviceContext context(library);
  cudnnHandle_t handle = nullptr;
  const cudnnStatus_t status = library.api().cudnnCreate(&handle);
  if (status != CUDNN_STATUS_SUCCESS)
    throw Error(ErrorKind::environment,
                fmt::format("cuDNN cannot create a handle on the GPU: cudnnCreate returned {}{}{}",
                            library.status_name(status), ": ", library.last_error()));
  context.handle_ = {handle, library.api().cudnnDestroy};
  return context;
}

void DeviceContext::apply(Descriptor& descriptor, Attribute device_properties) const {
  if (properties_) descriptor.set(device_properties, *properties_);
}

std::string device_properties_json(const Library& library) {
  require_device_properties(library);
  Descriptor properties(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(ATTNPROBE_ATTRIBUTE(DEVICEPROP_DEVICE_ID), int32_t{0});
  properties.finalize();
  return properties.get_text(ATTNPROBE_ATTRIBUTE(DEVICEPROP_JSON_REPRESENTATION));
}

}  // namespace attnprobe::cudnn
