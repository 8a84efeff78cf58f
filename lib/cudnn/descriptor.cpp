#include "cudnn/descriptor.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::cudnn {
namespace {

const char* descriptor_type_name(cudnnBackendDescriptorType_t type) {
#define ATTNPROBE_CASE(name) \
  case name:                 \
    return #name
  // The operations' types may be newer than the header.
  const char* name = nullptr;
  graph::for_each_operation([&](auto table) {
    if (type == table.descriptor.number) name = table.descriptor.name;
    if (table.has_math && type == table.math.number) name = table.math.name;
  });
  if (name != nullptr) return name;
  switch (type) {
    ATTNPROBE_CASE(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    ATTNPROBE_CASE(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    ATTNPROBE_CASE(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    ATTNPROBE_CASE(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    ATTNPROBE_CASE(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    ATTNPROBE_CASE(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    ATTNPROBE_CASE(CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
    ATTNPROBE_CASE(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    ATTNPROBE_CASE(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    default:
      return "a backend descriptor";
  }
#undef ATTNPROBE_CASE
}

}  // namespace

Descriptor::Descriptor(const Library& library, cudnnBackendDescriptorType_t type) : library_(&library), type_(type) {
  check(library_->api().cudnnBackendCreateDescriptor(type, &descriptor_), "cudnnBackendCreateDescriptor", "");
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : library_(other.library_), type_(other.type_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  reset();
  library_ = other.library_;
  type_ = other.type_;
  descriptor_ = std::exchange(other.descriptor_, nullptr);
  return *this;
}

// A destructor cannot report errors; a descriptor that cuDNN refuses to destroy is only a leak.
void Descriptor::reset() noexcept {
  if (descriptor_ != nullptr) library_->api().cudnnBackendDestroyDescriptor(descriptor_);
  descriptor_ = nullptr;
}

const char* Descriptor::type_name() const {
  return descriptor_type_name(type_);
}

void Descriptor::check(cudnnStatus_t status, const char* call, const char* attribute) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  CudnnFailure failure;
  failure.call = call;
  failure.descriptor = type_name();
  failure.attribute = attribute;
  failure.status_code = status;
  failure.status = library_->status_name(status);
  failure.last_error = library_->last_error();
  if (const LogCapture* capture = LogCapture::active()) failure.log = capture->text();
  const std::string message =
      fmt::format("{}({}{}{}) gave {}{}{}", call, failure.descriptor, *attribute == '\0' ? "" : ", ", attribute,
                  failure.status, failure.last_error.empty() ? "" : ": ", failure.last_error);
  throw Error(std::move(failure), message);
}

void Descriptor::set_raw(Attribute attribute, cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  check(library_->api().cudnnBackendSetAttribute(descriptor_, attribute.id, type, count, values),
        "cudnnBackendSetAttribute", attribute.name);
}

int64_t Descriptor::get_raw(Attribute attribute, cudnnBackendAttributeType_t type, int64_t count, void* values) const {
  int64_t given = 0;
  check(library_->api().cudnnBackendGetAttribute(descriptor_, attribute.id, type, count, &given, values),
        "cudnnBackendGetAttribute", attribute.name);
  return given;
}

void Descriptor::set_all(Attribute attribute, std::span<const Descriptor> values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& value : values) raw.push_back(value.get());
  set_all(attribute, std::span<const cudnnBackendDescriptor_t>(raw));
}

void Descriptor::finalize() {
  check(try_finalize(), "cudnnBackendFinalize", "");
}

cudnnStatus_t Descriptor::try_finalize() {
  return library_->api().cudnnBackendFinalize(descriptor_);
}

std::string Descriptor::get_text(Attribute attribute) const {
  const std::vector<char> text = get_all<char>(attribute, count(attribute, CUDNN_TYPE_CHAR));
  return {text.data(), strnlen(text.data(), text.size())};
}

std::vector<Descriptor> Descriptor::get_descriptors(Attribute attribute, cudnnBackendDescriptorType_t type,
                                                    int64_t capacity) const {
  std::vector<Descriptor> descriptors;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < capacity; ++i) {
    descriptors.emplace_back(*library_, type);
    raw.push_back(descriptors.back().get());
  }
  const int64_t given = get_raw(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, capacity, raw.data());
  descriptors.erase(descriptors.begin() + std::min(given, capacity), descriptors.end());
  return descriptors;
}

}  // namespace attnprobe::cudnn
