// RAII over cudnnBackendDescriptor_t, with attribute types deduced from C++ types.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cudnn/library.hpp"
#include "cudnn/log_capture.hpp"

namespace attnprobe::cudnn {

/// An attribute with its name for error messages: ATTNPROBE_ATTRIBUTE(TENSOR_DIMENSIONS).
struct Attribute {
  cudnnBackendAttributeName_t id;
  const char* name;
};
#define ATTNPROBE_ATTRIBUTE(suffix) (::attnprobe::cudnn::Attribute{CUDNN_ATTR_##suffix, "CUDNN_ATTR_" #suffix})

/// C++ type -> cudnnBackendAttributeType_t, per cudnn_graph.h's table of attribute types.
template <class T>
struct AttributeType;
#define ATTNPROBE_ATTRIBUTE_TYPE(cpp, constant)                    \
  template <>                                                      \
  struct AttributeType<cpp> {                                      \
    static constexpr cudnnBackendAttributeType_t value = constant; \
  }
ATTNPROBE_ATTRIBUTE_TYPE(int64_t, CUDNN_TYPE_INT64);
ATTNPROBE_ATTRIBUTE_TYPE(int32_t, CUDNN_TYPE_INT32);
ATTNPROBE_ATTRIBUTE_TYPE(float, CUDNN_TYPE_FLOAT);
ATTNPROBE_ATTRIBUTE_TYPE(double, CUDNN_TYPE_DOUBLE);
ATTNPROBE_ATTRIBUTE_TYPE(bool, CUDNN_TYPE_BOOLEAN);
ATTNPROBE_ATTRIBUTE_TYPE(char, CUDNN_TYPE_CHAR);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnHandle_t, CUDNN_TYPE_HANDLE);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnBackendDescriptor_t, CUDNN_TYPE_BACKEND_DESCRIPTOR);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnDataType_t, CUDNN_TYPE_DATA_TYPE);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnPointwiseMode_t, CUDNN_TYPE_POINTWISE_MODE);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnReduceTensorOp_t, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnRngDistribution_t, CUDNN_TYPE_RNG_DISTRIBUTION);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnBackendTensorReordering_t, CUDNN_TYPE_TENSOR_REORDERING_MODE);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnBackendHeurMode_t, CUDNN_TYPE_HEUR_MODE);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnBackendKnobType_t, CUDNN_TYPE_KNOB_TYPE);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnBackendNumericalNote_t, CUDNN_TYPE_NUMERICAL_NOTE);
ATTNPROBE_ATTRIBUTE_TYPE(cudnnBackendBehaviorNote_t, CUDNN_TYPE_BEHAVIOR_NOTE);
#undef ATTNPROBE_ATTRIBUTE_TYPE

/// Owns a backend descriptor. cuDNN counts references, so a descriptor may be destroyed before those that refer to it.
/// attnprobe still destroys them in reverse order of creation.
class Descriptor {
 public:
  /// Throws Error(cudnn).
  Descriptor(const Library& library, cudnnBackendDescriptorType_t type);
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  cudnnBackendDescriptor_t get() const { return descriptor_; }
  const char* type_name() const;

  /// Each throws Error(cudnn) naming call, descriptor, attribute, status and cuDNN's last error.
  template <class T>
  void set(Attribute attribute, const T& value) {
    set_raw(attribute, AttributeType<T>::value, 1, &value);
  }
  void set(Attribute attribute, const Descriptor& value) { set(attribute, value.get()); }
  template <class T>
  void set_all(Attribute attribute, std::span<const T> values) {
    set_raw(attribute, AttributeType<T>::value, static_cast<int64_t>(values.size()), values.data());
  }
  void set_all(Attribute attribute, std::span<const Descriptor> values);
  /// For CUDNN_TYPE_VOID_PTR, because a descriptor has the same C++ type.
  void set_pointers(Attribute attribute, std::span<void* const> values) {
    set_raw(attribute, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(values.size()), values.data());
  }

  void finalize();
  /// Finalizes; the caller interprets the status.
  cudnnStatus_t try_finalize();

  template <class T>
  T get(Attribute attribute) const {
    T value{};
    get_raw(attribute, AttributeType<T>::value, 1, &value);
    return value;
  }
  /// Returns at most `capacity` values.
  template <class T>
  std::vector<T> get_all(Attribute attribute, int64_t capacity) const {
    std::vector<T> values(static_cast<size_t>(capacity));
    values.resize(static_cast<size_t>(get_raw(attribute, AttributeType<T>::value, capacity, values.data())));
    return values;
  }
  /// The number of values.
  int64_t count(Attribute attribute, cudnnBackendAttributeType_t type) const {
    return get_raw(attribute, type, 0, nullptr);
  }
  /// A CUDNN_TYPE_CHAR attribute, up to its first zero.
  std::string get_text(Attribute attribute) const;
  /// Attributes with descriptors as values: cuDNN fills descriptors that the caller created.
  std::vector<Descriptor> get_descriptors(Attribute attribute, cudnnBackendDescriptorType_t type,
                                          int64_t capacity) const;

 private:
  void set_raw(Attribute attribute, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  int64_t get_raw(Attribute attribute, cudnnBackendAttributeType_t type, int64_t count, void* values) const;
  void check(cudnnStatus_t status, const char* call, const char* attribute) const;
  void reset() noexcept;

  const Library* library_;
  cudnnBackendDescriptorType_t type_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace attnprobe::cudnn
