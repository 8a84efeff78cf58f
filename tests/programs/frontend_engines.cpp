// Prints which of cudnn-frontend's own engines support a config, according to attnprobe's data. Reads configs, one JSON
// object per line. For each config, prints the strides of Q, K, V and O, and the engines by compute capability.
// lab/compare-frontend-engines reads the output.
#include <iostream>
#include <string>

#include "attention/config.hpp"
#include "rules/flat_problem.hpp"
#include "rules/frontend_engines.hpp"

int main() {
  using namespace attnprobe;
  constexpr CudnnVersion newest = 92800;
  std::string line;
  while (std::getline(std::cin, line)) {
    const attention::AttentionSpec spec = attention::parse_configs(line, "standard input").at(0).spec;
    Json answer = {{"q", q_strides(spec)}, {"k", k_strides(spec)}, {"v", v_strides(spec)}, {"o", o_strides(spec)}};
    for (const int sm : {75, 80, 86, 89, 90, 100, 103, 107, 110, 120, 121}) {
      Json ids = Json::array();
      for (const auto& engine : rules::frontend_engines(spec, newest, sm)) ids.push_back(engine.id);
      answer["engines"][std::to_string(sm)] = ids;
    }
    std::cout << answer.dump() << "\n";
  }
}
