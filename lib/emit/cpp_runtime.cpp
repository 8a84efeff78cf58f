#include "emit/cpp_runtime.hpp"

namespace attnprobe::emit {

const char* const cpp_prelude = R"text(#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// The part of cuDNN's backend API that this program uses, without its headers. Works with any cuDNN 9.
struct Name {
  int number;
  const char* name;
};

struct Descriptor {
  void* handle = nullptr;
  const char* type = "";
};

struct Cudnn {
  size_t (*GetVersion)();
  const char* (*GetErrorString)(int status);
  void (*GetLastErrorString)(char* text, size_t size);
  int (*SetCallback)(unsigned mask, void* data, void (*callback)(int, void*, const void*, const char*));
  int (*Create)(void** handle);
  int (*BackendCreateDescriptor)(int type, void** descriptor);
  int (*BackendFinalize)(void* descriptor);
  int (*BackendSetAttribute)(void* descriptor, int name, int type, int64_t count, const void* values);
  int (*BackendGetAttribute)(void* descriptor, int name, int type, int64_t count, int64_t* given, void* values);
} cudnn;

template <class F>
void bind(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function != nullptr) return;
  std::printf("%s is not in libcudnn.so.9\n", name);
  std::exit(2);
}

void load_cudnn() {
  void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::printf("%s\nLD_LIBRARY_PATH may name its folder\n", dlerror());
    std::exit(2);
  }
  bind(library, "cudnnGetVersion", cudnn.GetVersion);
  bind(library, "cudnnGetErrorString", cudnn.GetErrorString);
  bind(library, "cudnnGetLastErrorString", cudnn.GetLastErrorString);
  bind(library, "cudnnSetCallback", cudnn.SetCallback);
  bind(library, "cudnnCreate", cudnn.Create);
  bind(library, "cudnnBackendCreateDescriptor", cudnn.BackendCreateDescriptor);
  bind(library, "cudnnBackendFinalize", cudnn.BackendFinalize);
  bind(library, "cudnnBackendSetAttribute", cudnn.BackendSetAttribute);
  bind(library, "cudnnBackendGetAttribute", cudnn.BackendGetAttribute);
}

std::string last_error() {
  std::vector<char> text(65535);
  cudnn.GetLastErrorString(text.data(), text.size());
  text.back() = '\0';
  std::string error = text.data();
  while (!error.empty() && std::strchr(" \n\t", error.back()) != nullptr) error.pop_back();
  return error;
}

void check(int status, const char* call, const char* descriptor, const char* attribute = "") {
  if (status == 0) return;
  const std::string error = last_error();
  std::printf("%s(%s%s%s) gave %s%s%s\n", call, descriptor, *attribute == '\0' ? "" : ", ", attribute,
              cudnn.GetErrorString(status), error.empty() ? "" : ": ", error.c_str());
  std::exit(2);
}

Descriptor create(Name type) {
  Descriptor descriptor{nullptr, type.name};
  check(cudnn.BackendCreateDescriptor(type.number, &descriptor.handle), "cudnnBackendCreateDescriptor", type.name);
  return descriptor;
}

void finalize(const Descriptor& descriptor) {
  check(cudnn.BackendFinalize(descriptor.handle), "cudnnBackendFinalize", descriptor.type);
}

void set(const Descriptor& descriptor, Name name, int type, int64_t count, const void* values) {
  check(cudnn.BackendSetAttribute(descriptor.handle, name.number, type, count, values), "cudnnBackendSetAttribute",
        descriptor.type, name.name);
}

int64_t get(const Descriptor& descriptor, Name name, int type, int64_t count, void* values) {
  int64_t given = 0;
  check(cudnn.BackendGetAttribute(descriptor.handle, name.number, type, count, &given, values),
        "cudnnBackendGetAttribute", descriptor.type, name.name);
  return given;
}

)text";

const char* const cpp_main = R"text(
// cuDNN's log messages, which have the reasons for refused engine configs.
std::vector<std::string> messages;

void receive(int, void*, const void*, const char* message) {
  std::string text;
  for (; message != nullptr && *message != '\0'; message += std::strlen(message) + 1) text += std::string(message) + "\n";
  messages.push_back(text);
}

void drop(int, void*, const void*, const char*) {}

void listen(bool wanted) {
  if (wanted) messages.clear();
  if (wanted)
    cudnn.SetCallback(CUDNN_SEV_ERROR_EN | CUDNN_SEV_WARNING_EN | CUDNN_SEV_INFO_EN, nullptr, receive);
  else
    cudnn.SetCallback(CUDNN_SEV_ERROR_EN, nullptr, drop);
}

// The engine configs with the lines that say why not; if none works, cuDNN repeats them all in one message.
void print_reasons() {
  bool has_other = false;
  const auto is_repeated = [](const std::string& text) { return text.find("=== error stack") != std::string::npos; };
  const auto says_why = [](const std::string& text) { return text.find("Reason:") != std::string::npos; };
  for (const std::string& text : messages) has_other = has_other || (says_why(text) && !is_repeated(text));
  for (const std::string& text : messages) {
    if (has_other && is_repeated(text)) continue;
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      const size_t first = text.find_first_not_of(" \t", begin);
      const std::string line = first < end ? text.substr(first, end - first) : "";
      if (line.rfind("engineConfig:", 0) == 0 || line.find("Reason:") != std::string::npos)
        std::printf("  %s\n", line.c_str());
    }
  }
}

std::string name_of(int64_t knob) {
  const auto known = static_cast<int64_t>(sizeof(knob_names) / sizeof(*knob_names));
  return knob >= 0 && knob < known ? knob_names[knob] : std::to_string(knob);
}

// "engine 9 KERNEL_CFG=7"
std::string text_of(const Descriptor& config) {
  const Descriptor engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  void* handle = engine.handle;
  get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
  int64_t index = -1;
  get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
  std::vector<Descriptor> choices;
  std::vector<void*> handles;
  for (int i = 0; i < 64; ++i) {
    choices.push_back(create(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
    handles.push_back(choices.back().handle);
  }
  const int64_t count = get(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                            static_cast<int64_t>(handles.size()), handles.data());
  std::map<std::string, int64_t> knobs;
  for (int64_t i = 0; i < count; ++i) {
    int type = 0;
    int64_t value = 0;
    get(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    get(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
    knobs[name_of(type)] = value;
  }
  std::string text = "engine " + std::to_string(index);
  for (const auto& knob : knobs) text += " " + knob.first + "=" + std::to_string(knob.second);
  return text;
}

void choose_device(const Descriptor& descriptor, Name attribute, const Descriptor& device) {
  if (device.handle != nullptr) set(descriptor, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device.handle);
}

// Finalizes, and prints the status, the last error and the reasons after a refusal.
bool passes(const char* what, const Descriptor& descriptor) {
  listen(true);
  const int status = cudnn.BackendFinalize(descriptor.handle);
  listen(false);
  std::printf("%s: %s\n", what, cudnn.GetErrorString(status));
  if (status == 0) return true;
  const std::string error = last_error();
  if (!error.empty()) std::printf("  last error: %s\n", error.c_str());
  print_reasons();
  return false;
}

// The engine configs of heuristic mode A that pass cuDNN's support check, in its order.
std::vector<Descriptor> ask_mode_a(const Descriptor& graph, const Descriptor& device) {
  const Descriptor heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const int mode = CUDNN_HEUR_MODE_A;
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph.handle);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  choose_device(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  if (!passes("mode A", heuristics)) return {};
  const int64_t candidates = get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<Descriptor> configs;
  std::vector<void*> handles;
  for (int64_t i = 0; i < candidates; ++i) {
    configs.push_back(create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    handles.push_back(configs.back().handle);
  }
  listen(true);
  const int64_t supported =
      candidates == 0 ? 0
                      : get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, candidates, handles.data());
  listen(false);
  configs.resize(static_cast<size_t>(supported));
  std::printf("%lld engine configs proposed, %lld supported\n", static_cast<long long>(candidates), static_cast<long long>(supported));
  for (const Descriptor& config : configs) std::printf("supported: %s\n", text_of(config).c_str());
  print_reasons();
  return configs;
}

// The engine config of "--engine 9 KERNEL_CFG=7", if it passes.
std::vector<Descriptor> ask_engine(const Descriptor& graph, const Descriptor& device, const std::vector<std::string>& words) {
  const Descriptor engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR), config = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  const int64_t index = words.empty() ? 0 : std::atoll(words[0].c_str());
  set(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph.handle);
  set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
  choose_device(engine, CUDNN_ATTR_ENGINE_DEVICEPROP, device);
  if (!passes("engine", engine)) return {};
  std::vector<void*> choices;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    int type = -1;
    for (int knob = 0; knob < static_cast<int>(sizeof(knob_names) / sizeof(*knob_names)); ++knob)
      if (words[i].substr(0, equals) == knob_names[knob]) type = knob;
    if (equals == std::string::npos || type < 0) {
      std::printf("%s is not KNOB=VALUE\n", words[i].c_str());
      std::exit(2);
    }
    const int64_t value = std::atoll(words[i].c_str() + equals + 1);
    const Descriptor choice = create(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    set(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    set(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
    finalize(choice);
    choices.push_back(choice.handle);
  }
  set(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine.handle);
  if (!choices.empty())
    set(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(choices.size()), choices.data());
  return passes("engine config", config) ? std::vector<Descriptor>{config} : std::vector<Descriptor>{};
}

bool build_plan(const Descriptor& config, const Descriptor& device, void* handle) {
  const Descriptor plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config.handle);
  choose_device(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device);
  if (handle != nullptr) set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  return passes(("plan of " + text_of(config)).c_str(), plan);
}

// 0: an engine config passes (with --plan, it also compiles), 1: none does, 2: any other failure.
int main(int argc, char** argv) {
  bool on_gpu = *device_properties == '\0', wants_plan = false, wants_engine = false;
  std::vector<std::string> engine;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    on_gpu = on_gpu || word == "--gpu";
    wants_plan = wants_plan || word == "--plan";
    wants_engine = wants_engine || word == "--engine";
    if (word.rfind("--", 0) != 0) engine.push_back(word);
  }
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    std::printf(
        "No CUDA driver (libcuda.so.1): without one cuDNN refuses every engine config. attnprobe's null driver replaces "
        "it: LD_PRELOAD=libattnprobe_null_driver.so\n");
  load_cudnn();
  listen(false);
  std::printf("cuDNN %zu\n", cudnn.GetVersion());
  Descriptor device;
  void* handle = nullptr;
  if (on_gpu) {
    check(cudnn.Create(&handle), "cudnnCreate", "");
  } else {
    device = create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    set(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
        static_cast<int64_t>(std::strlen(device_properties)), device_properties);
    finalize(device);
  }
  const Descriptor graph = make_graph(handle);
  std::printf("operation graph: CUDNN_STATUS_SUCCESS\n");
  const std::vector<Descriptor> configs = wants_engine ? ask_engine(graph, device, engine) : ask_mode_a(graph, device);
  const bool works = !configs.empty() && (!wants_plan || build_plan(configs[0], device, handle));
  return works ? 0 : 1;
}
)text";

}  // namespace attnprobe::emit
