#include "frameworks/calls/call_reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/input.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "frameworks/calls/named_releases.hpp"
#include "frameworks/calls/python_call.hpp"
#include "frameworks/calls/python_source.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::frameworks {
namespace {

constexpr size_t most_axes = 8;

// How to read the calls of a framework.
struct CallForm {
  Caller caller;
  std::string option;                   // "--torch"
  std::string mark;                     // "attnprobe-torch"
  std::string function;                 // "scaled_dot_product_attention"
  std::vector<std::string> positional;  // its parameters in order
  FrameworkCall (*read)(const JsonView& place, const std::string& asked_release);
};

const CallForm& form_of(Caller caller) {
  static const CallForm torch{Caller::torch,
                              "--torch",
                              "attnprobe-torch",
                              "scaled_dot_product_attention",
                              {"query", "key", "value", "attn_mask", "dropout_p", "is_causal"},
                              read_torch_call};
  static const CallForm jax{
      Caller::jax,  "--jax", "attnprobe-jax", "dot_product_attention", {"query", "key", "value", "bias", "mask"},
      read_jax_call};
  return caller == Caller::torch ? torch : jax;
}

void add_call(std::vector<FrameworkCall>& calls, FrameworkCall call) {
  const auto known =
      std::find_if(calls.begin(), calls.end(), [&](const FrameworkCall& one) { return one.given == call.given; });
  if (known != calls.end())
    ++known->times;
  else
    calls.push_back(std::move(call));
}

bool says_dtype(const Json& tensor) {
  return tensor.is_object() && tensor.contains("dtype") && !tensor["dtype"].is_null();
}

// The inputs without a type, if the call itself also has no type.
std::vector<std::string> untyped_inputs(const Json& call) {
  std::vector<std::string> names;
  if (!call.is_object() || says_dtype(call)) return names;
  for (const char* name : {"query", "key", "value"})
    if (call.contains(name) && !says_dtype(call[name])) names.emplace_back(name);
  return names;
}

// Reads calls one by one and fills in missing types.
class CallReader {
 public:
  CallReader(const CallReading& reading, const CallForm& form) : reading_(reading), form_(form) {}

  FrameworkCall read(const JsonView& place) {
    Json given = place.json();
    const auto untyped = untyped_inputs(given);
    if (!untyped.empty()) given["dtype"] = missing_type(given);
    FrameworkCall call = form_.read(place.with(given), reading_.release);
    if (!untyped.empty() && !reading_.dtype)
      call.notes.push_back(
          fmt::format("{} without a dtype: {} is assumed; dtype, in the call or next to it, names another",
                      fmt::join(untyped, ", "), given["dtype"].get<std::string>()));
    own_type_ = call.graphs.front().dtype;
    is_dtype_used_ = is_dtype_used_ || !untyped.empty() || own_type_ == reading_.dtype;
    call.origin = {place.source().name, place.pointer()};
    call.given = std::move(given);
    return call;
  }

  // An option that no call uses is an error.
  void check_dtype_was_used() const {
    if (!reading_.dtype || is_dtype_used_ || !own_type_) return;
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is for calls without a type, but the call has {}",
                                              reading_.dtype_place, name_of(*reading_.dtype), name_of(*own_type_)));
  }

 private:
  // The type of another input, because inputs usually share a type.
  Json missing_type(const Json& call) const {
    if (reading_.dtype) return name_of(*reading_.dtype);
    for (const char* name : {"query", "key", "value"})
      if (call.contains(name) && says_dtype(call[name])) return call[name]["dtype"];
    return name_of(DataType::bf16);
  }

  const CallReading& reading_;
  const CallForm& form_;
  bool is_dtype_used_ = false;
  std::optional<DataType> own_type_;
};

// Finds a program's printed lines among other text.
std::vector<FrameworkCall> calls_in_lines(std::string_view text, const std::string& file_name, const std::string& mark,
                                          CallReader& reader) {
  std::vector<FrameworkCall> calls;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const size_t at = line.find(mark + " {");
    if (at == std::string_view::npos) continue;
    const JsonSource source{fmt::format("{}:{}", file_name, number), ": ", false};
    const Json json = parse_json(trim(line.substr(at + mark.size())), source, {.comments = false});
    FrameworkCall call = reader.read(JsonView(json, source));
    call.origin = {file_name, std::to_string(number)};
    add_call(calls, std::move(call));
  }
  return calls;
}

// Whether rules of that release, or of an earlier one, are known.
bool is_read(const std::string& framework) try {
  return rules::choose_gates({framework}, "the text").front().is_known();
} catch (const Error&) {
  return false;
}

// Calls in a program's source, which a bug report may include. The text names the release.
std::vector<FrameworkCall> calls_of_source(std::string_view text, const std::string& file_name, const CallForm& form,
                                           CallReader& reader) {
  const std::string framework(name_of(form.caller));
  std::vector<std::string> releases;
  for (const NamedRelease& one : named_releases(text))
    if (one.framework == framework && std::find(releases.begin(), releases.end(), one.version) == releases.end())
      releases.push_back(one.version);
  std::vector<FrameworkCall> calls;
  std::string problem;
  for (SourceCall& found : source_calls(text)) {
    if (found.framework != framework) continue;
    if (releases.size() == 1 && is_read(framework + "==" + releases.front()))
      found.call[framework] = releases.front();
    else if (releases.size() == 1)
      found.guesses.push_back(
          fmt::format("by the rules of the newest release, because those of {} are unknown", releases.front()));
    const JsonSource source{fmt::format("{}:{}", file_name, found.line), ": ", false};
    try {
      FrameworkCall call = reader.read(JsonView(found.call, source));
      call.origin = {file_name, std::to_string(found.line)};
      for (const auto& guess : found.guesses) call.notes.push_back("read from the source: " + guess);
      add_call(calls, std::move(call));
    } catch (const Error& e) {
      if (problem.empty()) problem = e.what();
    }
  }
  if (calls.empty() && !problem.empty()) throw Error(ErrorKind::usage, problem);
  if (calls.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "{}: no call found; allowed: JSON, a line \"{} {{…}}\", or source that calls {}() on tensors of known sizes",
            file_name, form.mark, form.function));
  return calls;
}

std::vector<FrameworkCall> with_names(std::vector<FrameworkCall> calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].name.empty()) calls[i].name = calls.size() == 1 ? "call" : fmt::format("call[{}]", i);
    for (auto& spec : calls[i].graphs)
      spec.name = calls[i].graphs.size() == 1
                      ? calls[i].name
                      : fmt::format("{}, {}", calls[i].name, is_bprop(spec) ? "backward" : "forward");
  }
  return calls;
}

std::vector<FrameworkCall> calls_in(std::string_view text, const JsonSource& source, const CallForm& form,
                                    CallReader& reader) {
  const std::string_view content = trim(text);
  std::vector<FrameworkCall> calls;
  // Titles and log lines also begin with a bracket: "[BUG] …", "[rank0]: attnprobe-torch {…}".
  const std::string_view first = content.starts_with('[') ? trim(content.substr(1)) : content;
  const bool is_json =
      first.starts_with('{') || first.starts_with('/') || (content.starts_with('[') && first.starts_with(']'));
  if (is_python_call(content, form.function)) {
    const Json json = read_python_call(content, source.name, form.positional);
    calls.push_back(reader.read(JsonView(json, source)));
  } else if (!is_json || content.find(form.mark + " {") != std::string_view::npos) {
    calls = calls_in_lines(text, source.name, form.mark, reader);
    if (calls.empty()) calls = calls_of_source(text, source.name, form, reader);
  } else {
    const Json json = parse_json(text, source);
    const JsonView whole(json, source);
    if (json.is_array())
      for (const JsonView& place : whole.elements()) add_call(calls, reader.read(place));
    else
      add_call(calls, reader.read(whole));
    if (calls.empty()) whole.fail("no call in it");
  }
  reader.check_dtype_was_used();
  return with_names(std::move(calls));
}

}  // namespace

bool is_before(const std::string& release, const std::string& other) {
  const std::string plain = release.substr(0, release.find_first_not_of(".0123456789"));
  const auto numbers = rules::release_numbers(plain);
  return numbers && *numbers < *rules::release_numbers(other);
}

DataType call_type_in(const JsonView& place) {
  constexpr std::string_view module = "torch.";
  std::string word = place.text();
  if (word.starts_with(module)) word.erase(0, module.size());
  if (word == "bool") return DataType::boolean;
  const Json plain = word;
  return place.with(plain).one_of<DataType>();
}

CallTensor tensor_in(const JsonView& place) {
  CallTensor tensor;
  const auto extents = [&](const JsonView& list) {
    if (list.elements().empty() || list.elements().size() > most_axes)
      list.fail_unless_it_is(fmt::format("a shape of 1 to {} dimensions", most_axes));
    std::vector<int64_t> values;
    for (const JsonView& one : list.elements()) values.push_back(one.integer(1, attention::max_extent));
    return values;
  };
  if (place.json().is_array()) {
    tensor.shape = extents(place);
    return tensor;
  }
  if (place.json().is_string()) place.fail_unless_it_is("a tensor with its sizes, as in q[2, 8, 1024, 64]");
  JsonObject object(place);
  tensor.shape = extents(object.take("shape"));
  if (const auto dtype = object.find_set("dtype")) tensor.dtype = call_type_in(*dtype);
  if (const auto grad = object.find_set("requires_grad")) tensor.requires_grad = grad->boolean();
  if (const auto device = object.find_set("device")) tensor.device = device->text();
  if (const auto strides = object.find_set("strides")) {
    tensor.strides.emplace();
    for (const JsonView& one : strides->elements()) tensor.strides->push_back(one.integer(0, attention::max_extent));
    if (tensor.strides->size() != tensor.shape.size())
      strides->fail(fmt::format("{} strides for {} dimensions", tensor.strides->size(), tensor.shape.size()));
  }
  object.finish();
  return tensor;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i-- > 0;) strides[i] = saturated_product(strides[i + 1], shape[i + 1]);
  return strides;
}

void add_passes(FrameworkCall& call, const attention::AttentionSpec& forward, bool trains) {
  call.graphs = {forward};
  call.graphs.front().pass = trains ? attention::Pass::fprop_train : attention::Pass::fprop;
  if (!trains) return;
  call.graphs.push_back(forward);
  call.graphs.back().pass = attention::Pass::bprop;
}

void check_graphs(const FrameworkCall& call, const JsonView& place) {
  for (const auto& spec : call.graphs) {
    const auto found = attention::contradictions(spec);
    if (!found.empty()) place.fail(fmt::format("as a config: {}: {}", found.front().field, found.front().message));
  }
}

std::vector<FrameworkCall> parse_calls(const CallReading& reading, std::string_view text,
                                       const std::string& file_name) {
  const CallForm& form = form_of(reading.caller);
  CallReader reader(reading, form);
  return calls_in(text, {file_name}, form, reader);
}

std::vector<FrameworkCall> calls_in_source(const CallReading& reading, std::string_view text,
                                           const std::string& file_name) {
  const CallForm& form = form_of(reading.caller);
  CallReader reader(reading, form);
  return with_names(calls_of_source(text, file_name, form, reader));
}

std::vector<FrameworkCall> load_calls(const CallReading& reading, const std::string& given) {
  const CallForm& form = form_of(reading.caller);
  CallReader reader(reading, form);
  const std::string_view word = trim(given);
  if (word.starts_with('{') || word.starts_with('[') || is_python_call(word, form.function))
    return calls_in(word, {form.option, ": ", false}, form, reader);
  if (word.find('(') != std::string_view::npos)
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "{}: \"{}\" is not a call of {}; allowed: a call with sizes ({}(q[2, 8, 1024, 64], …)), JSON, or a file",
            form.option, cut(given), form.function, form.function));
  return calls_in(input_text(given), {input_name(given)}, form, reader);
}

}  // namespace attnprobe::frameworks
