#include "run/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/version.hpp"
#include "build/expand.hpp"

namespace attnprobe::run {
namespace {

using graph::Role;
using graph::Tensor;

// All 1 bits are a NaN in every floating type, and no kernel computes exactly this NaN.
constexpr unsigned char poison = 0xff;
// The reference's share of the free memory, and its limit on any GPU: more memory does not make it faster.
constexpr double share_of_memory = 0.6;
constexpr size_t most_reference_bytes = size_t{24} << 30;
// dQ is summed in memory that the caller must clear before this cuDNN (cudnn-frontend 1.32).
constexpr CudnnVersion first_that_clears{9, 6, 0};

size_t reference_bytes(const Device& device) {
  return std::min(most_reference_bytes,
                  static_cast<size_t>(share_of_memory * static_cast<double>(device.free_bytes())));
}

// The number of words in which two memories differ.
int64_t differing_words(Device& device, const Memory& a, const Memory& b) {
  const auto counts = counted<kernels::Index>(device, [&](kernels::Index* places, int64_t threads) {
    const kernels::DifferenceArgs args{reinterpret_cast<const unsigned*>(a.data()),
                                       reinterpret_cast<const unsigned*>(b.data()),
                                       static_cast<int64_t>(std::min(a.bytes(), b.bytes()) / sizeof(unsigned)), places};
    device.launch(Kernel::difference, args, threads);
  });
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace

void convert(Device& device, const View& from, const View& to) {
  kernels::PointwiseArgs args{};
  args.x = from;
  args.y = to;
  args.mode = kernels::mode_IDENTITY;
  device.launch(Kernel::pointwise, args, device.threads_for(kernels::elements(to)));
}

Problem::Problem(Device& device, const OpGraph& graph, const RunOptions& options, CudnnVersion cudnn_version,
                 size_t workspace)
    : device_(device),
      graph_(graph),
      options_(options),
      cudnn_version_(cudnn_version),
      data_(plan_data(graph, options)) {
  allocate(workspace);
  fill_inputs();
  try {
    expanded_ = build::expand(graph_);
    if (data_.backward) derive_forward();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::cuda) throw;
    no_reference_ = e.what();
  }
  device_.wait();
}

void Problem::allocate(size_t workspace) {
  size_t total = workspace;
  std::map<Uid, int64_t> sizes;  // of each buffer
  for (const auto& d : data_.tensors) {
    const int64_t offset = d.shares ? d.shares->offset : 0;
    int64_t& size = sizes[d.shares ? d.shares->first : d.uid];
    size = std::max(size, (offset + d.elements) * element_size(tensor(graph_, d.uid).data_type));
  }
  for (const auto& [uid, size] : sizes) total += static_cast<size_t>(size) + 2 * guard_bytes;
  if (total > device_.free_bytes())
    throw Error(ErrorKind::environment,
                fmt::format("the GPU is too small for this: {} MiB of tensors and workspace, {} MiB free", total >> 20,
                            device_.free_bytes() >> 20));
  lengths_q_ = memory_of(device_, data_.lengths.q);
  lengths_kv_ = memory_of(device_, data_.lengths.kv);
  for (const auto& [uid, size] : sizes) {
    Buffer& buffer = buffers_[uid];
    buffer.size = size;
    buffer.memory = Memory(device_, static_cast<size_t>(size) + 2 * guard_bytes);
    device_.set_bytes(buffer.memory.data(), poison, buffer.memory.bytes());
  }
  for (const auto& d : data_.tensors) {
    const Tensor& t = tensor(graph_, d.uid);
    Place place;
    place.buffer = d.shares ? d.shares->first : d.uid;
    place.data = buffers_.at(place.buffer).memory.data() + guard_bytes +
                 (d.shares ? d.shares->offset * element_size(t.data_type) : 0);
    place.view = view_of(graph_, t, place.data, inputs_);
    inputs_[d.uid] = place.view;
    places_[d.uid] = place;
  }
}

const Tensor* Problem::find(Role role) const {
  for (const auto& t : graph_.tensors)
    if (t.role == role && places_.count(t.uid) > 0) return &t;
  return nullptr;
}

Inputs Problem::inputs() const {
  Inputs inputs = inputs_;
  for (const auto& d : data_.tensors)
    if (d.use != Use::input) inputs.erase(d.uid);
  return inputs;
}

std::map<Uid, void*> Problem::pointers() const {
  std::map<Uid, void*> pointers;
  for (const auto& [uid, place] : places_) pointers[uid] = place.data;
  return pointers;
}

void Problem::fill(const TensorData& d) {
  const Place& buffer = places_.at(d.uid);
  const DataType type = tensor(graph_, d.uid).data_type;
  if (!d.integers.empty()) {
    if (type == DataType::i32) {
      const std::vector<int32_t> values(d.integers.begin(), d.integers.end());
      device_.copy_in(buffer.data, values.data(), values.size() * sizeof(int32_t));
    } else {
      device_.copy_in(buffer.data, d.integers.data(), d.integers.size() * sizeof(int64_t));
    }
    return;
  }
  if (!d.reals.empty()) {
    const std::vector<float> values(d.reals.begin(), d.reals.end());
    device_.copy_in(buffer.data, values.data(), values.size() * sizeof(float));
    return;
  }
  kernels::FillArgs args = d.fill;
  args.y = buffer.view;
  if (args.factor_of_unused != 0) args.lengths = reinterpret_cast<const int*>(lengths_q_.data());
  // In cuDNN's own order the elements' positions are unknown, but all of the memory belongs to them.
  if (d.reordered) {
    args.y.offsets = nullptr;
    for (size_t axis = 0; axis < 3; ++axis) args.y.dims[axis] = args.y.strides[axis] = 1;
    args.y.dims[3] = d.elements;
    args.y.strides[3] = 1;
  }
  device_.launch(Kernel::fill, args, device_.threads_for(kernels::elements(args.y)));
}

void Problem::fill_inputs() {
  for (const auto& d : data_.tensors)
    if (d.use == Use::input && !d.derived) fill(d);
}

void Problem::derive_forward() {
  const auto forward = forward_of(expanded_);
  // The plan's dropout mask may not be known yet; in this case O is computed later.
  if (!forward || (random_mask() && !mask_known_)) {
    for (const auto& d : data_.tensors)
      if (d.derived) fill(d);
    return;
  }
  Inputs inputs = inputs_;
  for (const auto& d : data_.tensors)
    if (d.derived) inputs.erase(d.uid);
  const auto results = evaluate(device_, *forward, inputs, reference_bytes(device_));
  for (const auto& d : data_.tensors)
    if (d.derived) convert(device_, results.at(d.uid).view, places_.at(d.uid).view);
  device_.wait();
}

void Problem::reset_outputs() {
  for (const auto& d : data_.tensors) {
    if (d.use == Use::input) continue;
    const Buffer& buffer = buffers_.at(places_.at(d.uid).buffer);
    device_.set_bytes(buffer.memory.data(), poison, buffer.memory.bytes());
    if (d.use == Use::scratch && cudnn_version_ < first_that_clears)
      device_.set_bytes(places_.at(d.uid).data, 0, static_cast<size_t>(buffer.size));
  }
}

const int* Problem::lengths(const TensorData& d) const {
  if (d.rows.empty()) return nullptr;
  return reinterpret_cast<const int*>(d.rows == data_.lengths.kv ? lengths_kv_.data() : lengths_q_.data());
}

std::optional<Uid> Problem::random_mask() const {
  for (const auto& operation : expanded_.operations)
    if (const auto* rng = std::get_if<graph::Rng>(&operation)) return rng->y;
  return std::nullopt;
}

void Problem::fill_as(Role role, int kind, double a, int64_t start, int64_t group, int64_t which) {
  const Tensor* t = find(role);
  if (t == nullptr) return;
  kernels::FillArgs args{};
  args.y = places_.at(t->uid).view;
  args.kind = kind;
  args.a = a;
  args.start = start;
  args.group = group;
  args.which = which;
  device_.launch(Kernel::fill, args, device_.threads_for(kernels::elements(args.y)));
}

// Whether position-dependent numbers, such as a relative position, are added to the scores, so that some P are 0 for
// any Q and K.
bool adds_positions(const OpGraph& graph) {
  std::set<Uid> positions, scores;
  for (const auto& operation : graph.operations) {
    if (const auto* matmul = std::get_if<graph::Matmul>(&operation)) scores.insert(matmul->c);
    const auto* pointwise = std::get_if<graph::Pointwise>(&operation);
    if (pointwise == nullptr || !pointwise->y) continue;
    bool score = false, position = pointwise->mode == graph::PointwiseMode::GEN_INDEX, slope = false;
    if (!position)
      for (const auto& operand : {pointwise->x, pointwise->b, pointwise->t}) {
        if (!operand) continue;
        score = score || scores.count(*operand) > 0;
        position = position || positions.count(*operand) > 0;
        slope = slope || tensor(graph, *operand).role == Role::alibi_slopes;  // set to 0 while the mask is read
      }
    if (score && position && pointwise->mode == graph::PointwiseMode::ADD) return true;
    if (score)
      scores.insert(*pointwise->y);
    else if (position && !slope)
      positions.insert(*pointwise->y);
  }
  return false;
}

// Finds the mask that the plan uses, for any generator. Equal scores make every visible P the same. With an identity
// for V (backward: for dO), the output shows which P were kept, one head dimension of columns (rows) at a time.
void Problem::find_mask(Uid mask, const Execute& execute) {
  const Shape dims = four(tensor(expanded_, mask).dims);
  if (mask_memory_.bytes() == 0) mask_memory_ = Memory(device_, static_cast<size_t>(count(dims)));
  const View view = packed_view(dims, DataType::u8, mask_memory_.data());
  device_.set_bytes(mask_memory_.data(), 0, mask_memory_.bytes());
  const Tensor* from = find(data_.backward ? Role::dv : Role::o);
  const Tensor* other = find(data_.backward ? Role::d_o : Role::v);
  if (from == nullptr || other == nullptr || adds_positions(expanded_))
    throw Error(ErrorKind::internal, "the dropout mask cannot be derived from this graph's outputs");
  for (const Role role :
       {Role::q, Role::k_transposed, Role::k, Role::stats, Role::sink, Role::bias, Role::alibi_slopes})
    fill_as(role, kernels::fill_constant, 0);
  kernels::ReadMaskArgs args{};
  args.from = places_.at(from->uid).view;
  args.mask = view;
  args.backward = data_.backward ? 1 : 0;
  args.group = data_.backward ? dims[1] / from->dims[1] : 1;
  const int64_t extent = data_.backward ? dims[2] : dims[3], step = from->dims[3];
  for (args.which = 0; args.which < args.group; ++args.which)
    for (args.start = 0; args.start < extent; args.start += step) {
      fill_as(other->role, kernels::fill_identity, 1, args.start, args.group, args.which);
      reset_outputs();
      execute();
      device_.launch(Kernel::read_mask, args, device_.threads_for(kernels::elements(args.from)));
    }
  device_.wait();
  inputs_[mask] = view;
  fill_inputs();
}

// The graph outputs the plan's mask; O shows whether the plan really used it. Tiles that no query sees are not written:
// P is 0 there, and the mask's content must not turn it into NaN.
void Problem::read_dumped_mask(Uid mask, const Execute& execute) {
  const Shape dims = four(tensor(expanded_, mask).dims);
  if (mask_memory_.bytes() == 0) mask_memory_ = Memory(device_, static_cast<size_t>(count(dims)));
  reset_outputs();
  execute();
  kernels::ReadMaskArgs args{};
  args.from = places_.at(mask).view;
  args.mask = packed_view(dims, DataType::u8, mask_memory_.data());
  args.group = 1;
  device_.launch(Kernel::read_mask, args, device_.threads_for(kernels::elements(args.from)));
  device_.wait();
  inputs_[mask] = args.mask;
}

void Problem::make_reference(const Execute& execute) {
  if (!no_reference_.empty()) return;
  try {
    const auto mask = random_mask();
    bool known = !reference_.empty();
    if (mask && places_.count(*mask) == 0) {
      find_mask(*mask, execute);
      if (old_mask_.bytes() != 0) {
        known = known && differing_words(device_, old_mask_, mask_memory_) == 0;
      } else {
        old_mask_ = Memory(device_, mask_memory_.bytes());
        known = false;
      }
      device_.copy(old_mask_.data(), mask_memory_.data(), mask_memory_.bytes());
      mask_known_ = true;
      if (data_.backward) derive_forward();
    } else if (mask) {
      read_dumped_mask(*mask, execute);
      mask_known_ = true;
      if (data_.backward) derive_forward();
      known = false;
    }
    if (known) return;
    reference_.clear();
    Inputs given = inputs();
    if (mask) given[*mask] = inputs_.at(*mask);
    reference_ = evaluate(device_, expanded_, given, reference_bytes(device_));
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::cuda || e.kind() == ErrorKind::cudnn) throw;
    no_reference_ = e.what();
  }
}

bool Problem::repeats_alike(const Execute& execute, int64_t repeats) {
  std::map<Uid, Memory> first;  // memory by buffer
  for (const auto& d : data_.tensors) {
    if (d.use != Use::output) continue;
    const Uid buffer = places_.at(d.uid).buffer;
    const Memory& memory = buffers_.at(buffer).memory;
    Memory copy(device_, memory.bytes());
    device_.copy(copy.data(), memory.data(), memory.bytes());
    first[buffer] = std::move(copy);
  }
  bool alike = true;
  for (int64_t i = 0; i < repeats; ++i) {
    reset_outputs();
    execute();
    for (const auto& [buffer, memory] : first)
      alike = differing_words(device_, memory, buffers_.at(buffer).memory) == 0 && alike;
  }
  return alike;
}

probe::RunFindings Problem::verify(const Execute& execute, int64_t repeats) {
  probe::RunFindings findings;
  findings.data = std::string(name_of(options_.data));
  if (options_.verify) make_reference(execute);
  reset_outputs();
  execute();
  device_.wait();
  bool right = true;
  for (const auto& d : data_.tensors) {
    if (d.use == Use::input) continue;
    auto output = compare(d);
    // Reports scratch memory only if the plan wrote outside it.
    if (d.use == Use::scratch && output.right) continue;
    right = right && output.right;
    auto largest = [](std::optional<double>& most, const std::optional<double>& x) {
      if (x) most = std::max(most.value_or(0), *x);
    };
    largest(findings.max_abs_err, output.max_abs_err);
    largest(findings.max_rel_err, output.max_rel_err);
    largest(findings.relative_l2, output.relative_l2);
    findings.outputs.push_back(std::move(output));
  }
  findings.status = right ? probe::RunStatus::ok : probe::RunStatus::wrong_result;
  const int64_t unwritten = right ? 0 : unwritten_mask();
  if (unwritten > 0 && std::all_of(findings.outputs.begin(), findings.outputs.end(),
                                   [](const auto& o) { return o.unwritten == 0 && o.outside == 0; })) {
    findings.status = probe::RunStatus::not_verified;
    findings.message = fmt::format(
        "{} elements of the dropout mask, which is an output, were not written, so the dropped elements are unknown",
        unwritten);
    findings.reference.clear();
  } else if (!reference_.empty())
    findings.reference = fmt::format("the graph, interpreted in {}", name_of(device_.real()));
  else if (right && options_.verify) {
    findings.status = probe::RunStatus::not_verified;
    findings.message = no_reference_;
  }
  if (findings.status == probe::RunStatus::wrong_result)
    for (const auto& output : findings.outputs)
      if (!output.right && findings.message.empty())
        findings.message =
            output.outside > 0
                ? fmt::format("{}: {} elements outside the tensor were written", output.tensor, output.outside)
            : output.unwritten > 0
                ? fmt::format("{}: {} of its elements were not written", output.tensor, output.unwritten)
            : output.wrong > 0 ? fmt::format("{}: {} of {} elements are wrong, first at [{}]", output.tensor,
                                             output.wrong, output.elements, fmt::join(output.first_wrong, ", "))
                               : fmt::format("{}: the error is {:.2g} of the reference's norm, {:.2g} allowed",
                                             output.tensor, output.relative_l2.value_or(0), output.allowed_l2);
  if (repeats <= 0) return findings;

  findings.deterministic = repeats_alike(execute, repeats);
  findings.repeats = repeats;
  return findings;
}

}  // namespace attnprobe::run
