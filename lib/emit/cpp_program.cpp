#include <fmt/format.h>

#include "base/text.hpp"
#include "emit/cpp_graph.hpp"
#include "emit/cpp_runtime.hpp"
#include "emit/cpp_text.hpp"
#include "emit/emit.hpp"
#include "probe/knob_names.hpp"

namespace attnprobe::emit {

std::string cpp_program(const Question& question, const graph::OpGraph& graph, const gpu::Target& target) {
  const bool is_simulated = target.kind == gpu::Kind::simulated;
  std::string text = cpp_comment((question.name.empty() ? "" : question.name + ": ") + question.description) + "\n//\n";
  text += cpp_comment(fmt::format(
              "Prints cuDNN's answer for this operation graph on {}.",
              is_simulated ? fmt::format("a simulated {} ({}; --gpu: on this machine's GPU)", target.name, target.id)
                           : "this machine's first GPU")) +
          "\n";
  text += fmt::format("// Written by attnprobe {}; the graph is that for cuDNN {}.\n//\n", ATTNPROBE_VERSION,
                      question.cudnn_version.text());
  text += "//   g++ -std=c++17 reproducer.cpp -o reproducer -ldl && ./reproducer\n//\n";
  text +=
      "// --engine 9 KERNEL_CFG=7 asks one engine config instead of heuristic mode A; --plan compiles the first that passes.\n";
  text += "// Without a CUDA driver: LD_PRELOAD=…/libattnprobe_null_driver.so ./reproducer\n";
  if (!question.command.empty()) text += cpp_comment("The same with attnprobe: " + question.command) + "\n";
  text += cpp_prelude;
  text += cpp_graph(graph);
  text += fmt::format("\n// CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION{}\nconst char* const device_properties = {};\n",
                      is_simulated ? "" : "; none: a real GPU",
                      is_simulated ? cpp_raw_string(json_text(target.properties)) : "\"\"");
  std::string knobs;
  for (const std::string& name : probe::all_knob_names())
    knobs += fmt::format("{}\"{}\"", knobs.empty() ? "" : ", ", name);
  text += fmt::format("\n// Of cudnnBackendKnobType_t, by number.\nconst char* const knob_names[] = {{{}}};\n", knobs);
  return text + cpp_main;
}

}  // namespace attnprobe::emit
