// Asks cudnn-frontend itself about attention configs: reads normalised configs as JSON lines, writes one verdict per
// line. Without a GPU it asks about the GPU with the given cuDNN device properties.
//
//   frontend_verdict --properties FILE [--driver FILE] [--cudnn FILE] [--timeout SECONDS] < configs > verdicts
//   frontend_verdict --device          [--cudnn FILE] [--timeout SECONDS] < configs > verdicts
//
// With --graphs it writes the graphs instead (graphs.hpp), with --serialized also their stored plans.
#include "verdict.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "graphs.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // cudnn-frontend requires its user to define it
}

namespace frontend {
namespace {

struct Options {
  std::string properties, driver, cudnn = "libcudnn.so.9";
  bool device = false, graphs = false, serialized = false;
  int timeout_seconds = 120;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "frontend_verdict: " << message << "\n";
  std::exit(3);
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--version") {
      std::cout << CUDNN_FRONTEND_MAJOR_VERSION << "." << CUDNN_FRONTEND_MINOR_VERSION << "."
                << CUDNN_FRONTEND_PATCH_VERSION << std::endl;
      std::exit(0);
    }
    if (word == "--device" || word == "--graphs" || word == "--serialized") {
      (word == "--device" ? options.device : options.graphs) = true;
      if (word == "--serialized") options.serialized = true;
      continue;
    }
    if (i + 1 == argc) fail("unknown option or missing value: " + word);
    const std::string value = argv[++i];
    if (word == "--properties")
      options.properties = value;
    else if (word == "--driver")
      options.driver = value;
    else if (word == "--cudnn")
      options.cudnn = value;
    else if (word == "--timeout")
      options.timeout_seconds = std::atoi(value.c_str());
    else
      fail("unknown option: " + word);
  }
  if (options.device == !options.properties.empty()) fail("either --device or --properties FILE is needed");
  return options;
}

// The properties from a separate file, or from an attnprobe target.
Json read_properties(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail("cannot read " + path);
  Json json = Json::parse(file);
  return json.contains("properties") ? json["properties"] : json;
}

// The target of every graph.
struct Target {
  std::shared_ptr<fe::DeviceProperties> properties;  ///< null: a real device, and the handle
  int32_t sm = 0;
  cudnnHandle_t handle = nullptr;
};

Target open_target(const Options& options) {
  // Before cuDNN, which then finds this libcuda.so.1 by its SONAME.
  if (!options.driver.empty() && dlopen(options.driver.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) fail(dlerror());
  fe::cudnn_dlhandle = dlopen(options.cudnn.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (fe::cudnn_dlhandle == nullptr) fail(dlerror());
  Target target;
  if (options.device) {
    if (fe::detail::create_handle(&target.handle) != CUDNN_STATUS_SUCCESS)
      fail("cudnnCreate failed: " + fe::detail::get_last_error_string_());
    return target;
  }
  const Json json = read_properties(options.properties);
  const std::string text = json.dump();
  target.sm = json.at("deviceVer").get<int32_t>() / 10;
  target.properties = std::make_shared<fe::DeviceProperties>();
  auto status = target.properties->deserialize(std::vector<uint8_t>(text.begin(), text.end()));
  if (status.is_bad()) fail(options.properties + ": " + status.get_message());
  return target;
}

std::string chosen_implementation(const fe::graph::Graph& graph) {
  const Json json = Json::parse(graph.print(), nullptr, false);
  if (!json.is_object() || !json.contains("nodes")) return "";
  for (const Json& node : json["nodes"])
    if (node.contains("implementation")) return node["implementation"].get<std::string>();
  return "";
}

std::vector<std::string> engine_tags(const fe::graph::Graph& graph) {
  std::vector<std::string> tags;
  const int64_t count = graph.get_execution_plan_count();
  for (int64_t i = 0; i < count; ++i) {
    std::string tag;
    if (graph.get_plan_name_at_index(i, tag).is_good()) tags.push_back(tag);
  }
  return tags;
}

void prepare(const Target& target, const Config& config, fe::graph::Graph& graph) {
  graph.set_io_data_type(data_type(config.dtype))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  if (target.properties) graph.set_device_properties(target.properties).set_sm_version(target.sm);
}

void walk(const Target& target, const Config& config, Verdict& verdict) {
  const auto graph = std::make_shared<fe::graph::Graph>();
  prepare(target, config, *graph);
  verdict.stage = "graph";
  add_attention(graph, config);
  auto passes = [&](const char* stage, const std::function<fe::error_t()>& step) {
    verdict.stage = stage;
    fe::error_t status = step();
    if (status.is_good()) return true;
    verdict.code = Json(status.get_code()).get<std::string>();
    verdict.message = status.get_message().substr(0, 4000);
    return false;
  };
  if (!passes("validate", [&] { return graph->validate(); })) return;
  verdict.implementation = chosen_implementation(*graph);
  if (!passes("build_operation_graph", [&] {
        return target.handle != nullptr ? graph->build_operation_graph(target.handle) : graph->build_operation_graph();
      }))
    return;
  if (!passes("create_execution_plans", [&] {
        return graph->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
      }))
    return;
  verdict.engines = engine_tags(*graph);
  if (passes("check_support", [&] { return graph->check_support(); })) verdict.stage = "ok";
}

Verdict ask_one(const Target& target, const std::string& line) {
  Verdict verdict;
  verdict.stage = "parse";
  try {
    fe::detail::get_last_error_string_();  // clears the last text, which cuDNN keeps until it is read
    const Json json = Json::parse(line);
    verdict.name = json.value("name", "");
    walk(target, parse_config(json), verdict);
  } catch (const NotExpressible& e) {
    verdict.stage = "not_expressible";
    verdict.message = e.what();
  } catch (const std::exception& e) {
    verdict.code = "exception";
    verdict.message = e.what();
  }
  return verdict;
}

void write_graphs(const Options& options, const std::vector<std::string>& lines) {
  const Target target = open_target(options);
  watch_operation_graphs();
  for (const std::string& line : lines) {
    // One child each, because cudnn-frontend 1.23 writes beyond its array of operations for the longest graphs.
    const pid_t child = fork();
    if (child < 0) fail("fork failed");
    if (child > 0) {
      int status = 0;
      waitpid(child, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) std::cerr << "died at " << line << std::endl;
      continue;
    }
    const Json json = describe_graph(
        line, [&](fe::graph::Graph& graph, const Config& config) { prepare(target, config, graph); },
        options.serialized);
    std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
    _exit(0);
  }
}

}  // namespace
}  // namespace frontend

int main(int argc, char** argv) {
  using namespace frontend;
  const Options options = parse_options(argc, argv);
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) lines.push_back(line);
  if (options.graphs) {
    write_graphs(options, lines);
    return 0;
  }
  const auto make_ask = [&]() -> Ask {
    const auto target = std::make_shared<Target>(open_target(options));
    return [target](const std::string& line) { return ask_one(*target, line); };
  };
  ask_all(lines, make_ask, options.timeout_seconds, [](const Verdict& verdict) {
    std::cout << verdict.to_json().dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  });
}
