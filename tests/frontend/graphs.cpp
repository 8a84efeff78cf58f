#include "graphs.hpp"

#include <dlfcn.h>

namespace frontend {
namespace {

Json last_logged;

// cuDNN separates the lines of one message by NUL bytes.
void on_message(cudnnSeverity_t, void*, const cudnnDebug_t*, const char* message) {
  const std::string marker = "{\"cudnnVersion\"";
  for (const char* text = message; *text != '\0'; text += std::char_traits<char>::length(text) + 1) {
    const std::string line(text);
    const size_t begin = line.find(marker), end = line.rfind('}');
    if (begin == std::string::npos || end == std::string::npos) continue;
    const Json json = Json::parse(line.substr(begin, end + 1 - begin), nullptr, false);
    if (json.is_object() && json.contains("operationGraph")) last_logged = json["operationGraph"];
  }
}

std::string without_kernels(const std::vector<uint8_t>& bytes) {
  Json json = Json::from_ubjson(bytes);
  Json plan = Json::parse(json["cudnn_backend_data"].get<std::string>(), nullptr, false);
  if (plan.is_object() && plan.contains("engine")) plan["engine"].erase("payload");
  json["cudnn_backend_data"] = plan.dump();
  std::string hexadecimal;
  for (const uint8_t byte : Json::to_ubjson(json)) {
    const char* digits = "0123456789abcdef";
    hexadecimal += digits[byte / 16];
    hexadecimal += digits[byte % 16];
  }
  return hexadecimal;
}

}  // namespace

void watch_operation_graphs() {
  using SetCallback = cudnnStatus_t (*)(unsigned, void*, cudnnCallback_t);
  const auto set = reinterpret_cast<SetCallback>(dlsym(fe::cudnn_dlhandle, "cudnnSetCallback"));
  if (set != nullptr) set(CUDNN_SEV_INFO_EN, nullptr, &on_message);
}

Json describe_graph(const std::string& line, const std::function<void(fe::graph::Graph&, const Config&)>& prepare,
                    bool serialize) {
  Json result{{"stage", "parse"}, {"message", ""}, {"frontend", nullptr}, {"backend", nullptr}};
  auto passes = [&](const char* stage, fe::error_t status) {
    result["stage"] = stage;
    if (status.is_bad()) result["message"] = status.get_message();
    return status.is_good();
  };
  try {
    last_logged = nullptr;
    const Json json = Json::parse(line);
    result["name"] = json.value("name", "");
    result["config"] = json;
    const Config config = parse_config(json);
    const auto graph = std::make_shared<fe::graph::Graph>();
    prepare(*graph, config);
    result["stage"] = "graph";
    add_attention(graph, config);
    result["frontend"] = Json::parse(graph->print());
    if (!passes("validate", graph->validate())) return result;
    if (!passes("build_operation_graph", graph->build_operation_graph())) return result;
    result["stage"] = "built";
    result["backend"] = last_logged;
    if (!serialize) return result;
    if (!passes("built", graph->create_execution_plans({fe::HeurMode_t::A})) ||
        !passes("built", graph->check_support()) || !passes("built", graph->build_plans()))
      return result;
    std::vector<uint8_t> bytes;
    if (!passes("built", graph->serialize(bytes))) return result;
    result["serialized"] = without_kernels(bytes);
    result["stage"] = "serialized";
  } catch (const NotExpressible& e) {
    result["stage"] = "not_expressible";
    result["message"] = e.what();
  } catch (const std::exception& e) {
    result["message"] = e.what();
  }
  return result;
}

}  // namespace frontend
