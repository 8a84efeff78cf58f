#include "run/device/execution.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "run/device/kernels.hpp"

namespace attnprobe::run {

Execution::Execution(const cudnn::DeviceContext& device, const cudnn::Descriptor& plan, const graph::OpGraph& graph,
                     const std::map<graph::Uid, void*>& pointers, void* workspace)
    : device_(device), plan_(plan), pack_(device.library(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
  std::vector<int64_t> uids;
  std::vector<void*> places;
  scalars_.reserve(graph.tensors.size());
  for (const auto& t : graph.tensors) {
    if (t.is_virtual) continue;
    uids.push_back(t.uid);
    if (!t.by_value) {
      places.push_back(pointers.at(t.uid));
      continue;
    }
    if (!t.value)
      throw Error(ErrorKind::internal, fmt::format("the value of scalar {} (uid {}) is not known", t.name, t.uid));
    scalars_.push_back(0);
    kernels::store(reinterpret_cast<char*>(&scalars_.back()), static_cast<int>(t.data_type), 0, *t.value);
    places.push_back(&scalars_.back());
  }
  pack_.set_all(ATTNPROBE_ATTRIBUTE(VARIANT_PACK_UNIQUE_IDS), std::span<const int64_t>(uids));
  pack_.set_pointers(ATTNPROBE_ATTRIBUTE(VARIANT_PACK_DATA_POINTERS), places);
  pack_.set_pointers(ATTNPROBE_ATTRIBUTE(VARIANT_PACK_WORKSPACE), std::span<void* const>(&workspace, 1));
  pack_.finalize();
}

void Execution::operator()() const {
  const auto& library = device_.library();
  const cudnnStatus_t status = library.api().cudnnBackendExecute(device_.handle(), plan_.get(), pack_.get());
  if (status == CUDNN_STATUS_SUCCESS) return;
  CudnnFailure failure;
  failure.call = "cudnnBackendExecute";
  failure.status_code = static_cast<int>(status);
  failure.status = library.status_name(status);
  failure.last_error = library.last_error();
  const std::string words = failure.last_error.empty() ? "" : ": " + failure.last_error;
  throw Error(failure, fmt::format("cudnnBackendExecute gave {}{}", failure.status, words));
}

}  // namespace attnprobe::run
